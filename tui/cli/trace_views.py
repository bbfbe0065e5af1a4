"""The console's views of traces as commands: Sessions by filter, a Session over time, the Sessions of a run."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import click

from core.foundation.errors import NotFoundError
from tui.cli.common import Place, json_option, place_options, print_json, print_table, say

if TYPE_CHECKING:
    from core.traces.lanes import Timeline
    from tui.stores.trace_rows import Listing, SessionRow

FILTER_HELP = "Only sessions like this: words, role: agent: run: case: status: model:, ! in front for not."


def listing(place: Place) -> Listing:
    """Return all Sessions of a Project with what they cost, telling how far it is where that takes its time."""
    from tui.cli.progress import working
    from tui.stores.trace_sessions import SessionsOfProject

    with working("reading sessions") as progress:
        listings = deque(SessionsOfProject(place.project).listings(progress), maxlen=1)
    return listings[-1]


def wanted(place: Place, query: str) -> tuple[SessionRow, ...]:
    """Return the Sessions that a filter lets through, each tree newest first."""
    from tui.stores.trace_filter import parse

    like = parse(query)
    return tuple(row for row in listing(place).rows if like.lets(row.fields, row.text))


def facts_of(row: SessionRow) -> dict[str, Any]:
    """Return what a list knows of a Session, for machines; unknown is null, never 0."""
    return {
        "session_id": row.session_id,
        "agent_id": row.agent_id,
        "role": row.role,
        "status": row.state,
        "reason": row.reason,
        "title": row.title,
        "run_id": row.run_id or None,
        "case_id": row.case_id or None,
        "run": row.run,
        "version": row.version,
        "started_by": row.parent or None,
        "first": row.first_ts,
        "took_ms": row.ms,
        "tokens": row.tokens,
        "cost_known_usd": row.cost,
        "requests_of_unknown_cost": row.unknown if row.cost is not None else None,
        "score": row.score,
        "bytes": row.size,
    }


def print_rows(rows: tuple[SessionRow, ...]) -> None:
    """Print Sessions as a table; what one started stands below it, indented."""
    from tui.stores.trace_words import count, duration, usd, when

    print_table(
        ("role", "session", "what", "status", "began", "took", "tokens", "cost", "score"),
        [
            (
                "  " * row.depth + row.role,
                row.session_id,
                row.what,
                row.state,
                when(row.first_ts),
                duration(row.ms),
                count(row.tokens),
                usd(row.cost, row.unknown),
                "" if row.score is None else f"{row.score:.2f}",
            )
            for row in rows
        ],
    )


def rows_of_run(place: Place, run_id: str) -> tuple[SessionRow, ...]:
    """Return the Sessions of a run, () where no Session is of such a run."""
    return tuple(row for row in listing(place).rows if row.run_id == run_id)


@click.command("times", epilog="Example:  exuvia trace times SESSION --json")
@click.argument("session_id", metavar="SESSION")
@json_option
@place_options
def times(session_id: str, as_json: bool, place: Place) -> None:
    """Show SESSION over time: what model, tools and approvals took, and each request with tokens, context and cost."""
    from core.traces.lanes import LANES, timeline
    from core.traces.project_sessions import ProjectSessions
    from core.traces.session_trace import SessionTrace
    from tui.cli.progress import working
    from tui.stores.prices import prices_of
    from tui.stores.trace_words import count, duration, usd

    agent = ProjectSessions(place.project).agent_of(session_id)
    if agent is None:
        raise NotFoundError(
            f"There is no session {session_id!r} in {place.project.root}.", hint="List them: exuvia trace list"
        )
    with SessionTrace(agent, session_id) as trace, working(f"reading {session_id}") as progress:
        total = len(trace)

        def entries() -> Any:
            for number in range(total):
                if not number % 256:
                    progress(number, total)
                yield number, trace.entry(number)

        told = timeline(entries(), prices_of(place.project))
    if as_json:
        print_json(_times_facts(told))
        return
    say(
        "  ".join(
            f"{lane} {duration(told.totals.get(lane, 0))}"
            for lane in LANES
            if told.totals.get(lane) or lane != "connect"
        )
    )
    if told.unknown:
        say(f"{told.unknown} requests did not say their tokens")
    print_table(
        ("request", "entry", "took", "thinking", "in", "cached", "out", "tok/s", "context", "cost", "ended"),
        [
            (
                line.index + 1,
                line.number,
                duration(line.ms),
                duration(line.thinking_ms) if line.thinking_ms else "",
                *(
                    (count(line.tokens.cache_write), count(line.tokens.cache_read), count(line.tokens.output))
                    if line.tokens is not None
                    else ("unknown", "", "")
                    if line.is_unknown
                    else ("", "", "")
                ),
                None if line.per_second is None else f"{line.per_second:.0f}",
                None if line.occupancy is None else f"{line.occupancy:.0%}",
                "unknown" if line.cost is None else usd(line.cost),
                line.status,
            )
            for line in told.requests
        ],
    )


def _times_facts(told: Timeline) -> dict[str, Any]:
    return {
        "took_ms": told.end - told.begin,
        "lanes_ms": dict(told.totals),
        "cost_known_usd": told.cost,
        "requests_of_unknown_cost": told.uncosted,
        "requests": [
            {
                "entry": line.number,
                "took_ms": line.ms,
                "thinking_ms": line.thinking_ms,
                "status": line.status,
                "tokens": line.tokens.as_golden() if line.tokens is not None else None,
                "tokens_per_second": line.per_second,
                "context_tokens": line.context,
                "context_window": line.window,
                "cost_usd": line.cost,
            }
            for line in told.requests
        ],
        "stretches": [
            {"lane": lane, "kind": one.kind, "start_ms": one.start - told.begin, "ms": one.ms, "entry": one.number}
            for lane, found in told.stretches.items()
            for one in found
        ],
    }
