"""What stands below the lists of the Trace pane: a record for reading, a mark of a timeline, an empty state. Pure."""

from __future__ import annotations

import re

from core.traces.search_all import Hit
from tui.screens.panes.trace_list import KIND_TONES, marked
from tui.stores.trace import OpenTrace
from tui.stores.trace_facts import Facts
from tui.stores.trace_lanes import LanesView, Mark
from tui.stores.trace_rows import SessionRow
from tui.stores.trace_search import FoundEverywhere
from tui.stores.trace_whole import DETAIL_CHARACTERS, GLANCE_CHARACTERS
from tui.stores.trace_words import count, duration, usd
from tui.widgets.spans import Line, Span, plain

EMPTY = [
    "A trace is everything a Session did, record by record. There is none here yet.",
    "See the whole loop offline: exuvia demo. Or start a run: S.",
]


def record_head(trace: OpenTrace, number: int, *, raw: bool) -> Line:
    """Return the words above a record: what it is, what it took and cost, where Enter leads."""
    line = trace.line(number)
    spans: list[Span] = [(f"{number} {line.kind}", KIND_TONES.get(line.kind, "strong"))]
    if raw:
        spans.append(("  raw", "mark"))
    leads = trace.leads_to(number)
    if leads and leads != trace.head.session_id:
        spans.append(("  Enter opens the Session it started", "accent"))
    spans.append((f"  {facts_words(trace.facts(number))}", "dim"))
    return tuple(spans)


def facts_words(facts: Facts) -> str:
    """Return times, tokens, context and cost in words."""
    words: list[str] = []
    if facts.ms is not None:
        words.append(f"took {duration(facts.ms)}")
    if facts.wait_ms:
        words.append(f"waited {duration(facts.wait_ms)} for approval")
    request = facts.of
    if request is None:
        return "  ".join(words)
    if request.tokens is not None:
        tokens = request.tokens
        words.append(f"{count(tokens.cache_write)} in {count(tokens.cache_read)} cached {count(tokens.output)} out")
    elif request.is_unknown:
        words.append("tokens not counted")
    if request.occupancy is not None and request.window is not None:
        words.append(f"context {request.occupancy:.0%} of {count(request.window)}".replace("%", " %"))
    if request.tokens is not None or request.is_unknown:
        words.append(usd(request.cost) if request.cost is not None else "cost unknown")
    if request.per_second is not None:
        words.append(f"{request.per_second:.0f} tokens/s")
    return "  ".join(words)


def record_told(
    trace: OpenTrace, number: int, pattern: re.Pattern[str] | None, *, raw: bool, is_read: bool
) -> list[Line]:
    """Return a record for reading, with what was looked for marked; more of one that `is_read`."""
    is_long = is_read or pattern is not None
    lines = plain(trace.detail(number, raw=raw, most=DETAIL_CHARACTERS if is_long else GLANCE_CHARACTERS))
    return [marked(line, pattern) for line in lines] if pattern is not None else lines


def lanes_told(view: LanesView | None, mark: Mark | None) -> list[Line]:
    """Return what a mark of a timeline was, and when."""
    if view is None or mark is None:
        return plain(["Nothing on this lane."], "dim")
    took = f"took {duration(mark.end - mark.start)}, began {duration(mark.start - view.begin)} after the first record"
    number = f"record {mark.number} of {mark.session_id}" if mark.number is not None else mark.session_id
    return [((took, "plain"),), ((number, "dim"),)]


def _nothing_found(found: FoundEverywhere | None) -> list[str]:
    if found is None:
        return ["Nothing is looked for. * looks through all traces."]
    if found.is_whole:
        all_of = f"All {found.sessions} Sessions were" if found.sessions != 1 else "The one Session was"
        typed = "capitals as typed" if found.query.exact else "in any case"
        return [
            f"{all_of} looked through: no trace holds {found.query.text!r} ({typed}).",
            "* looks for something else, Esc goes back.",
        ]
    if found.is_ended:
        return ["The search was ended before anything was found.", "* looks again, Esc goes back."]
    return ["Nothing found so far; still looking. Esc ends it."]


def hit_told(hit: Hit | None, row: SessionRow | None, found: FoundEverywhere | None) -> list[Line]:
    """Return a result of a search at length: whose record it is, where in the file, and the text around it."""
    if hit is None:
        return plain(_nothing_found(found), "dim")
    match = hit.match
    return [
        ((row.about if row is not None else hit.session_id, "strong"),),
        ((hit.session_id, "dim"),),
        (("bytes ", "dim"), (f"{match.start} to {match.end} of its file", "dim")),
        ((match.before, "plain"), (match.hit, "found"), (match.after, "plain")),
    ]
