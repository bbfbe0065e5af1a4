"""The monthly audit of what is in force: what the law says of each strategy, what it would free, and how full the bank
is; the advisor's word on layers, and what each domain holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.foundation.errors import ExuviaError
from core.state.paths import ProjectPaths
from core.strategy.bank.bank import Bank, bank_of
from core.strategy.bank.states import moment, newest
from core.strategy.bank.tracked import impacts_of
from core.strategy.documents.release import BankSettings
from core.strategy.governance.advisor import Advice, advise
from core.strategy.governance.audit import LEAST_RUNS, Audit, InForce, audit
from core.strategy.governance.audit import Row as Audited
from core.strategy.governance.laws import Lint, never_failing
from core.strategy.schema.directory import skills_of
from tui.screens.panes.strategies_bank import percent
from tui.screens.panes.strategies_pages import Asked, Page
from tui.stores.strategies_rollout import present
from tui.stores.views import StrategiesView
from tui.widgets.line_list import Row
from tui.widgets.spans import Line, Span, fit, short

_ORDER = {"offline": 0, "optimise": 1, "archive": 2}
_TONES = {"offline": "bad", "optimise": "warn", "archive": "mark"}


@dataclass(frozen=True, slots=True)
class AuditFacts:
    """`lints` are of what was tracked: checks that never fail. `unread` names versions in force that can't be read."""

    audit: Audit
    advice: Advice
    lints: tuple[Lint, ...]
    unread: tuple[str, ...]
    view: StrategiesView


class AuditPage(Page[AuditFacts]):
    """The audit."""

    rest = " What the law says stands first; you decide: Enter opens it, R and x act on it."

    def read(self, asked: Asked, project: ProjectPaths) -> AuditFacts:
        bank, view = bank_of(project), asked.view
        held, unread = _in_force(bank, view)
        settings = view.settings or BankSettings()
        found = audit(held, view.executions, present(), settings.governance)
        kinds = len({one.strategy.id for one in held if one.strategy.trigger is not None})
        advice = advise(view.executions, skills=len(skills_of(project).schemas), kinds=kinds)
        impacts_of(bank)
        return AuditFacts(found, advice, never_failing(view.executions), unread, view)

    def title(self, facts: AuditFacts) -> str:
        gauge = facts.audit.gauge
        return f"{gauge.count} in force of {gauge.limit}, from where trouble was reported"

    def leads_to(self, facts: AuditFacts, key: str) -> str:
        return key.partition(":")[2] if key.startswith("row:") else ""

    def rows(self, facts: AuditFacts, width: int) -> Sequence[Row]:
        found = facts.audit
        name = max(26, min(36, width - 54))
        columns = "".join(fit(word, size, right=True) for word, size in
                          (("calls", 8), ("failed", 9), ("before", 9), ("stood in", 10)))  # fmt: skip
        rows = [_gauge_row(found, width), _load_row(found), _advice_row(facts.advice, width)]
        heading: Line = ((fit("In force", name + 1), "title"), (columns, "dim"), ("  the law says", "dim"))
        rows.append(Row("head", (heading,), selectable=False))
        ordered = sorted(
            found.rows, key=lambda row: (min((_ORDER[a] for a in row.actions), default=9), row.strategy_id)
        )
        blind = {lint.strategy_id for lint in facts.lints}
        rows += [_row(one, name, blind=one.strategy_id in blind) for one in ordered]
        if not found.rows:
            rows.append(Row("none", ((("No version answers users yet.", "dim"),),), selectable=False))
        rows += [Row(f"unread:{one}", (((f"not read: {one}", "bad"),),)) for one in facts.unread]
        return rows

    def below(self, facts: AuditFacts, key: str, width: int) -> tuple[Line, list[Line]]:
        if key == "advice":
            return (("which layers pay", "strong"),), _advice_lines(facts.advice)
        if key in ("gauge", "load"):
            return (("what the bank holds", "strong"),), _inventory_lines(facts.view)
        row = next((one for one in facts.audit.rows if f"row:{one.strategy_id}" == key), None)
        if row is None:
            return (), []
        lines: list[Line] = [
            ((f"{action}  ", _TONES[action]), (reason, "plain"))
            for action, reason in zip(row.actions, row.reasons, strict=True)
        ]
        lines += [((f"{lint.law.replace('_', ' ')}  ", "warn"), (f"{lint.text}; {lint.hint}", "plain"))
                  for lint in facts.lints if lint.strategy_id == row.strategy_id]  # fmt: skip
        if row.interval is not None:
            told = f"failed in {row.interval.low:.1%} to {row.interval.high:.1%} of runs (95 %)"
            lines.append(((told, "dim"),))
        if row.failure_rate is None:
            lines.append(((f"Of fewer than {LEAST_RUNS} runs no failure rate is told.", "dim"),))
        if row.new:
            lines.append((("It is younger than the period: that it was not called proves nothing.", "dim"),))
        return ((row.strategy_id, "strong"),), lines or [(("Nothing to do.", "good"),)]


def _in_force(bank: Bank, view: StrategiesView) -> tuple[list[InForce], tuple[str, ...]]:
    held: list[InForce] = []
    unread: list[str] = []
    for line in view.lines:
        active = newest(line.entry.versions, "active")
        if active is None:
            continue
        try:
            held.append(InForce(bank.read(line.id, active.version), moment(active.since)))
        except (ExuviaError, OSError) as error:
            unread.append(str(error))
    return held, tuple(unread)


def _gauge_row(found: Audit, width: int) -> Row:
    gauge = found.gauge
    room = max(10, min(40, width - 40))
    full = min(room, round(room * gauge.count / max(1, gauge.limit)))
    tone = {"ok": "good", "near": "warn", "over": "bad"}[gauge.level]
    line: Line = (
        (fit("Explosion gauge", 17), "title"),
        ("#" * full, tone),
        ("." * (room - full), "dim"),
        (f" {gauge.count} of {gauge.limit}", tone),
    )
    return Row("gauge", (line,), find="gauge")


def _load_row(found: Audit) -> Row:
    load = found.load
    told = (
        f"{percent(load.strategies)} of strategies, {percent(load.conditions)} of conditions evaluated, "
        f"{percent(load.time)} of the time"
    )
    return Row("load", (((fit("It would free", 17), "title"), (told, "plain")),), find="load")


def _advice_row(advice: Advice, width: int) -> Row:
    layers = " ".join(advice.layers) or "not known yet"
    line: list[Span] = [(fit("Layers that pay", 17), "title"), (layers, "accent" if advice.layers else "dim")]
    line.append((short(f"  {advice.reason}", max(0, width - 18 - len(layers))), "dim"))
    return Row("advice", (tuple(line),), find="advice layers")


def _advice_lines(advice: Advice) -> list[Line]:
    def mean(value: float | None, error: float | None) -> str:
        return (
            "-" if value is None else f"{value:.2f}" + (f" (standard error {error:.2f})" if error is not None else "")
        )

    lines: list[Line] = [((advice.reason, "plain"),)]
    lines.append((("tasks seen   ", "dim"), (f"{advice.tasks}", "plain")))
    lines.append((("skill calls  ", "dim"), (mean(advice.calls, advice.calls_error), "plain")))
    lines.append((("branches     ", "dim"), (mean(advice.branches, advice.branches_error), "plain")))
    lines.append((("a check said no  ", "dim"), (percent(advice.effects), "plain")))
    return [*lines, *([((advice.banner, "warn"),)] if advice.banner else [])]


def _inventory_lines(view: StrategiesView) -> list[Line]:
    found = view.inventory
    if found is None:
        return []
    lines: list[Line] = []
    for domain in found.domains:
        states = ", ".join(f"{count} {state}" for state, count in domain.states.items())
        due = "nobody reviews it" if domain.due is None else f"review {'overdue' if domain.overdue else 'due'} "
        due += f"{domain.due.astimezone():%m-%d}" if domain.due is not None and not domain.overdue else ""
        lines.append(((fit(domain.name, 13) + " ", "strong"), (f"{domain.count}: {states or 'none'}; ", "plain"),
                      (due, "warn" if domain.overdue or not domain.owner else "dim")))  # fmt: skip
    lines.append(((f"{found.retired} retired within a quarter ({percent(found.retired_share)})", "dim"),))
    return lines


def _row(one: Audited, name: int, *, blind: bool) -> Row:
    cells = (
        fit(f"{one.calls}", 8, right=True)
        + fit(percent(one.failure_rate), 9, right=True)
        + fit(percent(one.before), 9, right=True)
        + fit(f"{one.fallbacks}", 10, right=True)
    )
    line: list[Span] = [(fit(one.strategy_id, name + 1), "plain"), (cells, "plain"), ("  ", "plain")]
    line += [(f"{action} ", _TONES[action]) for action in one.actions]
    line += [("new ", "dim")] if one.new else []
    line += [("never fails", "warn")] if blind else []
    return Row(f"row:{one.strategy_id}", (tuple(line),), find=f"{one.strategy_id} {' '.join(one.actions)}")
