"""The list of the bank, and how the selected strategy stands: pure functions from facts to lines."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from core.foundation.clock import now_s
from core.strategy.bank.inventory import Domain
from core.strategy.bank.states import Standing, State, moment
from core.strategy.documents.reading import Fault
from core.strategy.documents.strategy import Strategy
from tui.screens.panes.base import local
from tui.stores.strategies_lines import StrategyLine
from tui.stores.strategies_ways import Way, audience, not_publishable, ways
from tui.stores.views import StrategiesView
from tui.widgets.line_list import Row
from tui.widgets.spans import Line, Span, fit, joined, short, width_of

TONES: dict[State, str] = {
    "draft": "plain", "review": "mark", "shadow": "accent", "gray": "warn", "active": "good", "deprecated": "dim",
    "archived": "dim", "offline": "bad",
}  # fmt: skip
_CALLS, _FAILED = 7, 8


def percent(value: float | None) -> str:
    """Return a share from 0 to 1 as people read it; a dash where nothing was counted, never 0."""
    return "-" if value is None else f"{100 * value:.1f} %"


def stands(one: Standing) -> str:
    """Return a version and its state: `4 gray 10 %`."""
    share = f" {one.stages[one.stage].percent:g} %" if one.state == "gray" else ""
    return f"{one.version} {one.state}{share}"


def bank_rows(view: StrategiesView, width: int) -> list[Row]:
    """Return the strategies under their domains, with where each one's versions stand."""
    name = max(16, min(34, width - 58))
    owner = max(8, min(18, width - name - _CALLS - _FAILED - 28))
    state = max(14, width - name - owner - _CALLS - _FAILED - 4)
    domains = {domain.name: domain for domain in (view.inventory.domains if view.inventory else ())}
    rows: list[Row] = []
    last = ""
    for one in sorted(view.lines, key=lambda line: (line.entry.domain, line.id)):
        if one.entry.domain != last:
            last = one.entry.domain
            rows.append(Row(f"domain:{last}", (_domain_line(domains.get(last), last, rows, width),), selectable=False))
        rows.append(Row(one.id, (_row(one, name, state, owner),), find=_find(one)))
    return rows


def _domain_line(domain: Domain | None, name: str, above: Sequence[Row], width: int) -> Line:
    columns = fit("calls", _CALLS, right=True) + fit("failed", _FAILED, right=True) if not above else ""
    if domain is None:  # all of it was put away
        return ((name, "title"), ("  archived", "dim"))
    parts: list[Span] = [(name, "title"), (f"{domain.count}", "dim"), (domain.owner or "nobody answers for it", "dim")]
    if not domain.owner:
        parts[-1] = (parts[-1][0], "warn")
    if domain.due is not None:
        due = "review overdue" if domain.overdue else f"review due {domain.due.astimezone():%m-%d}"
        parts.append((due, "warn" if domain.overdue else "dim"))
    line = joined(parts)
    used = sum(width_of(text) for text, _ in line)
    return (*line, (" " * max(1, width - used - len(columns)) + columns, "dim"))


def _row(one: StrategyLine, name: int, state: int, owner: int) -> Line:
    mark: Span = ("! ", "bad") if one.faults else ("+ ", "mark") if one.unpublished else ("  ", "plain")
    local_id = one.id.partition(".")[2] or one.id
    versions = one.at_work or one.entry.versions[-1:]
    told: list[Span] = []
    for version in versions[:3]:
        told += [("  " if told else "", "plain"), (stands(version), TONES[version.state])]
    if one.alarmed:
        told = [("ALARM  ", "bad"), *told]
    if one.faults:
        told = [(f"{len(one.faults)} fault{'s' * (len(one.faults) > 1)}  ", "bad"), *told]
    elif not versions:
        told = [("written, not published", "mark")]
    return (
        mark,
        (fit(local_id, name) + " ", "strong" if one.faults else "plain"),
        *_in(told, state),
        (" " + fit(one.owner or "-", owner), "dim"),
        (fit(f"{one.calls}" if one.calls else "-", _CALLS, right=True), "plain"),
        (fit(percent(one.failed / one.calls if one.calls else None), _FAILED, right=True), _failing(one)),
    )


def _failing(one: StrategyLine) -> str:
    return "bad" if one.calls >= 20 and one.failed / one.calls > 0.15 else "plain"


def _in(spans: Sequence[Span], width: int) -> list[Span]:
    """Return spans in exactly `width` cells."""
    found: list[Span] = []
    left = width
    for text, tone in spans:
        text = short(text, left) if left > 0 else ""
        found.append((text, tone))
        left -= width_of(text)
    return [*found, (" " * max(0, left), "plain")]


def _find(one: StrategyLine) -> str:
    states = " ".join(f"state:{version.state}" for version in one.entry.versions) or f"state:{one.entry.state}"
    marks = (
        ("fault " if one.faults else "")
        + ("alarm " if one.alarmed else "")
        + ("unpublished" if one.unpublished else "")
    )
    return f"{one.id} domain:{one.entry.domain} owner:{one.owner} {states} {marks} {one.purpose}"


def overview(one: StrategyLine, view: StrategiesView, key: str) -> list[Line]:
    """Return how a strategy stands: what is wrong first, its purpose, its versions, and what may be done next.

    `key` is the key that takes a step on, "" where there is none.
    """
    lines: list[Line] = [fault_line(fault, one.place) for fault in one.faults[:4]]
    if len(one.faults) > 4:
        lines.append(((f"  and {len(one.faults) - 4} faults more", "bad"),))
    strategy = one.entry.authored
    if strategy is not None:
        lines.append(((strategy.purpose, "strong"),))
        lines += _about(strategy)
    elif not one.text:
        lines.append((("Its text is no longer here; the published versions are.", "dim"),))
    if one.alarm is not None and one.alarm.state != "unknown":
        lines.append((("alarm ", "bad" if one.alarmed else "dim"), (one.alarm.text, "bad" if one.alarmed else "plain")))
    lines += [_version_line(version) for version in reversed(one.entry.versions)]
    lines += _next_lines(one, key)
    lines += [(("?     ", "warn"), (str(fault), "warn")) for fault in one.warnings]
    lines += [(("law   ", "warn"), (f"{lint.path or one.id}: {lint.text}", "plain")) for lint in one.lints]
    if not view.checked:
        told = "No skill.yaml is known here, so conditions and calls are not checked, only how it is written."
        lines.append(((told, "dim"),))
    return lines


def _about(strategy: Strategy) -> list[Line]:
    lines: list[Line] = []
    if strategy.trigger is not None:
        lines.append(((f"on {strategy.trigger.event}: ", "dim"), (" ".join(strategy.trigger.when.split()), "plain")))
    priority = f"priority {strategy.conflict_resolution.priority}"
    layers = " ".join(strategy.layers)
    lines.append(((f"{layers}; {priority}; version {strategy.version} as written, by {strategy.owner}", "dim"),))
    return lines


def _version_line(one: Standing) -> Line:
    parts: list[Span] = [(f"version {one.version}", "plain"), (one.state, TONES[one.state])]
    if one.state == "gray":
        stage = one.stages[one.stage]
        parts.append((f"stage {one.stage + 1} of {len(one.stages)}: {audience(stage)}", "plain"))
        if (until := held_until(one)) > now_s():
            parts.append((f"holds until {local(until)}", "warn"))
    parts.append((f"since {local(one.since)}", "dim") if one.since else ("", "dim"))
    parts.append((f"approved by {one.reviewed_by}", "dim") if one.reviewed_by else ("", "dim"))
    parts.append((one.origin, "dim") if one.origin != "human" else ("", "dim"))
    return joined(parts)


def held_until(one: Standing) -> str:
    """Return the moment until which a stage of gray holds, as a time of ours."""
    until = moment(one.since) + timedelta(hours=one.stages[one.stage].hold_hours)
    return f"{until.astimezone(moment('2000-01-01T00:00:00+00:00').tzinfo):%Y-%m-%dT%H:%M:%SZ}"


def _next_lines(one: StrategyLine, key: str) -> list[Line]:
    return [*publish_lines(one), *(way_line(way, key) for way in ways(one, now_s()))]


def publish_lines(one: StrategyLine) -> list[Line]:
    """Return what can be done with a text that is no version yet; nothing where it is one."""
    if not one.unpublished:
        return []
    if (refused := not_publishable(one)) is not None:
        return [(("next  ", "warn"), (f"not publishable yet: {refused.reason} ", "warn"), (refused.hint, "plain"))]
    return [(("next  ", "mark"), ("the newest text is no version yet: n publishes it", "plain"))]


def fault_line(fault: Fault, place: str) -> Line:
    """Return a fault in a line; in the strategy's own file its place is line and column alone."""
    where = f"{fault.line}:{fault.column}" if fault.file == place and fault.line else fault.file.rpartition("/")[2]
    path = f" {fault.path}" if fault.path else ""
    return (("!     ", "bad"), (f"{where}{path}: ", "strong"), (fault.reason, "bad"))


def way_line(way: Way, key: str) -> Line:
    """Return a step that a version could take, or why it can't."""
    name = f"version {way.version} {way.what}"
    if way.refused is None:
        return (("next  ", "mark"), (f"{key} takes {name}" if key else name, "plain"))
    way_out = f"{key} forces it, with a reason" if way.forced and key else way.refused.hint
    return (("next  ", "dim"), (f"{name}: not yet, {way.refused.reason} ", "dim"), (way_out, "plain"))
