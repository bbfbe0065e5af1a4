"""Turns, live: what was said, suggested and decided, why, and what the session knew after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.foundation import strict_json
from core.state.paths import ProjectPaths
from core.strategy.bank.bank import bank_of
from core.strategy.execution.records import Execution
from tui.screens.panes.base import local, span_of
from tui.screens.panes.strategies_pages import Asked, Page
from tui.stores.strategies_turns import TurnLine, TurnReader, Turns
from tui.widgets.line_list import Row
from tui.widgets.spans import Line, Span, fit, middle, short, width_of

_LONGEST = 400
_GOOD = frozenset({"recovered", "auto-complete", "resumed"})
_WARN = frozenset(
    {"fallback", "retry", "circuit open", "circuit opened", "unknown", "missing", "not completed", "skipped", "skip"}
    | {"withheld", "left out", "not repeated", "event unanswered", "unbound", "superseded", "dropped"}
)
_BAD = frozenset(
    {"still failed", "fallback failed", "aborted", "budget spent", "nothing fits", "defect", "unprofiled failure"}
    | {"refused"}
)


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """The turns that are shown, and of which strategy alone, "" for all."""

    turns: Turns
    only: str


class TurnsPage(Page[TurnFacts]):
    """Turns, the newest first."""

    rest = " The newest first. s: of the selected strategy alone; Tab: read it; Space holds."
    follows = True

    def __init__(self) -> None:
        self._reader = TurnReader()

    def read(self, asked: Asked, project: ProjectPaths) -> TurnFacts:
        only = asked.line.id if asked.wide and asked.line is not None else ""
        return TurnFacts(self._reader.read(bank_of(project).records, asked.view.executions, only), only)

    def title(self, facts: TurnFacts) -> str:
        count = len(facts.turns.lines)
        told = f"{'the newest ' if facts.turns.more else ''}{count} turn{'s' * (count != 1)}"
        return f"{told} with {facts.only}" if facts.only else told

    def rows(self, facts: TurnFacts, width: int) -> Sequence[Row]:
        if not facts.turns.lines:
            told = f"No turn with {facts.only} was tracked." if facts.only else _NONE
            return [Row("none", (((told, "dim"),),), selectable=False)]
        rows = [Row(f"finding:{n}", (((one, "bad"),),)) for n, one in enumerate(facts.turns.findings[:3])]
        return [*rows, *(_row(one, width) for one in facts.turns.lines)]

    def below(self, facts: TurnFacts, key: str, width: int) -> tuple[Line, list[Line]]:
        one = next((line for line in facts.turns.lines if line.key == key), None)
        if one is None:
            return (), []
        heading: Line = ((f"{middle(one.session, 40)} turn {one.number}", "strong"), (f"  {local(one.time)}", "dim"))
        return heading, turn_lines(one)


_NONE = "No turn yet. A governed agent's turns come here: exuvia run AGENT, or chat, with skills.selection: strategy."


def _row(one: TurnLine, width: int) -> Row:
    strategies = " > ".join(name.partition(".")[2] for name in one.strategies) or "no strategy"
    room = max(10, width - 12 - 11 - 9 - 9)
    wide = max(12, room * 2 // 3) if one.turn is not None else room
    said = one.turn.utterance if one.turn is not None else ""
    tone = {"done": "plain", "question": "mark"}.get(one.kind, "bad")
    fell = any(run.fallbacks for run in one.executions)
    line: Line = (
        (fit(local(one.time), 12), "dim"),
        (fit(middle(one.session, 10), 11), "plain"),
        (fit(one.kind, 9), tone),
        (fit(span_of(one.latency_ms) if one.latency_ms is not None else "-", 8, right=True) + " ", "dim"),
        *_path(strategies, one.code, fell, wide),
        (short(said, max(0, room - wide)), "dim"),
    )
    attributes = " ".join(f"{key}:{value}" for run in one.executions[:1] for key, value in run.user.items())
    marks = f"{'fallback ' if fell else ''}{one.code}"
    find = f"{one.session} {' '.join(one.strategies)} kind:{one.kind} {marks} {said} {attributes}"
    return Row(one.key, (line,), find=find)


def _path(strategies: str, code: str, fell: bool, width: int) -> list[Span]:
    ended: list[Span] = [(f" {code}", "bad")] if code else [(" fallback", "warn")] if fell else []
    used = sum(width_of(text) for text, _ in ended)
    name = short(strategies, max(6, width - used - 1))
    return [(name, "plain"), *ended, (" " * max(1, width - used - width_of(name)), "plain")]


def turn_lines(one: TurnLine) -> list[Line]:
    """Return all that is known of a turn: what was said, suggested, decided, executed, compared and known after it."""
    turn = one.turn
    lines: list[Line] = []
    if turn is None:
        lines.append((("Its decision trace is not kept; this is what the log of executions says.", "dim"),))
    else:
        lines.append((("said         ", "dim"), (turn.utterance, "strong")))
        lines.append((("suggested    ", "dim"), (_suggested(turn.suggestion), "plain")))
        ended = f"{turn.kind} {turn.code}".rstrip()
        lines.append((("ended        ", "dim"), (ended, "bad" if turn.kind == "failed" else "plain")))
        lines += [(), (("Decided", "title"),), *(event_line(event) for event in turn.events)]
    lines += [(), (("Executed", "title"),)] if one.executions else []
    for run in one.executions:
        lines += _execution_lines(run)
    if turn is not None and turn.comparisons:
        lines += [(), (("In shadow", "title"),), *(_comparison_line(found) for found in turn.comparisons)]
    if turn is not None:
        lines += [(), (("The context after it", "title"),), *_context_lines(turn.context)]
    return lines


def _suggested(suggestion: Mapping[str, Any]) -> str:
    intent, sure = suggestion.get("intent", "-"), suggestion.get("confidence")
    told = f"{intent}" + (f" ({sure:.2f})" if isinstance(sure, int | float) and not isinstance(sure, bool) else "")
    skill = suggestion.get("intended_skill")
    told += f", {skill}" if skill else ""
    arguments = suggestion.get("arguments")
    return f"{told} {_short_json(arguments)}" if arguments else told


def event_line(event: Mapping[str, Any]) -> Line:
    """Return an event of a decision trace in a line."""
    name = str(event.get("event", ""))
    code = event.get("code")
    tone = "bad" if name in _BAD or event.get("verdict") == "failed" else "warn" if name in _WARN else "good"
    tone = tone if name in _BAD | _WARN | _GOOD or event.get("verdict") == "failed" else "accent"
    depth = str(event.get("at", "")).count(">")  # a strategy that another one calls
    label = "  " * min(3, depth) + name
    spans: list[Span] = [(fit(label, max(13, len(label))) + " ", tone)]
    for key, value in event.items():
        if key in ("event", "at", "code"):
            continue
        spans += [(f"{key} ", "dim"), (f"{_short_json(value)}  ", "plain")]
    if code:
        spans.append((f"{code}", "bad"))
    return tuple(spans)


def _execution_lines(run: Execution) -> list[Line]:
    name = f"{run.strategy_id} version {run.version}" if run.strategy_id else "a skill without a strategy"
    head: list[Span] = [(f"{name}", "strong"), (f"  on {run.event}, {span_of(run.latency_ms)}", "dim")]
    head += [(f"  {run.code}", "bad")] if run.code else []
    head += [("  a dry run", "accent")] if run.dry_run else []
    lines: list[Line] = [tuple(head)]
    lines += [(("  path       ", "dim"), (" > ".join(run.execution_path), "plain"))] if run.execution_path else []
    for level, found in run.validation_result.items():
        if found is None:
            continue
        told = f"{found.passed} passed" + (f", {found.unknown} unknown" if found.unknown else "")
        failed = f", failed: {' '.join(found.failed)}" if found.failed else ""
        over = ", over its budget" if found.overrun else ""
        spans: Line = ((f"  {level:<10} ", "dim"), (told, "plain"), (failed, "bad"), (over, "warn"))
        lines.append((*spans, (f", {found.ms:.1f} ms", "dim")))
    if run.pseudo_success is not None:
        told = "pseudo-success: a probe found no effect" if run.pseudo_success else "a probe found the effect"
        lines.append((("  probe      ", "dim"), (told, "bad" if run.pseudo_success else "good")))
    lines += [(("  fallbacks  ", "dim"), (", ".join(run.fallbacks), "warn"))] if run.fallbacks else []
    lines += [(("  completed  ", "dim"), (", ".join(run.completed), "plain"))] if run.completed else []
    lines += [(("  missed     ", "dim"), (", ".join(run.missed), "warn"))] if run.missed else []
    impact = "unknown" if run.business_impact is None else f"{run.business_impact:g}"
    user = " ".join(f"{key}={value}" for key, value in run.user.items())
    lines.append((("  impact     ", "dim"), (impact, "plain"), (f"   {user}" if user else "", "dim")))
    return lines


def _comparison_line(found: Mapping[str, Any]) -> Line:
    name = f"{found.get('strategy_id')} {found.get('new_version')}"
    same = found.get("same")
    spans: list[Span] = [(f"{name} beside {found.get('old_version')}: ", "plain")]
    for aspect, value in same.items() if isinstance(same, Mapping) else ():
        word, tone = {True: ("same", "good"), False: ("other", "bad"), None: ("?", "dim")}.get(value, ("?", "dim"))
        spans += [(f"{aspect} ", "dim"), (f"{word}  ", tone)]
    withheld = found.get("withheld") or ()
    return (*spans, (f"not called: {', '.join(map(str, withheld))}" if withheld else "", "warn"))


def _context_lines(context: Mapping[str, Any], before: str = "") -> list[Line]:
    """Return a nested context as paths and values."""
    lines: list[Line] = []
    for key, value in sorted(context.items()):
        path = f"{before}{key}"
        if isinstance(value, Mapping) and value and len(path) < 60:
            lines += _context_lines(value, f"{path}.")
        else:
            lines.append(((f"{path} ", "accent"), (_short_json(value), "plain")))
    return lines


def _short_json(value: Any) -> str:
    text = value if isinstance(value, str) else _dumped(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _dumped(value: Any) -> str:
    try:
        return strict_json.dumps(value)
    except (TypeError, ValueError):
        return str(value)
