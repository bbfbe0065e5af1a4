"""The rollout board of a strategy: stages, numbers of new and old, rules, alarm, shadow by segment, A/B."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from core.foundation.clock import now_s
from core.state.paths import ProjectPaths
from core.strategy.bank.bank import bank_of
from core.strategy.bank.comparison import Row as Segment
from core.strategy.bank.dashboards import Numbers, Share
from core.strategy.bank.states import Standing
from core.strategy.feedback.ab_report import AbReport
from tui.screens.panes.base import local
from tui.screens.panes.strategies_bank import held_until, percent, stands, way_line
from tui.screens.panes.strategies_pages import Asked, Page
from tui.stores.strategies_rollout import Rollout, present, rollout
from tui.stores.strategies_ways import audience, ways
from tui.widgets.line_list import Row
from tui.widgets.spans import Line, Span, fit, joined, short

_NAME, _CELL = 22, 13


class RolloutPage(Page[Rollout]):
    """The board."""

    rest = " a takes it on, R takes it back; below, what a row means. - is not measured."

    def read(self, asked: Asked, project: ProjectPaths) -> Rollout:
        assert asked.line is not None
        return rollout(bank_of(project), asked.view, asked.line, present())

    def title(self, facts: Rollout) -> str:
        beside = f" beside {stands(facts.old)}" if facts.old is not None else ""
        return f"{facts.line.id}  {stands(facts.new)}{beside}" if facts.new is not None else facts.line.id

    def rows(self, facts: Rollout, width: int) -> Sequence[Row]:
        if facts.new is None:
            told = "No version of it is on its way: n publishes its text, a takes it on."
            return [Row("none", (((told, "dim"),),), selectable=False)]
        rows = [_head("Stages")] if facts.new.state in ("gray", "shadow") else []
        rows += _stage_rows(facts.new) if rows else []
        rows += _alarm_rows(facts)
        rows += _number_rows(facts, width)
        rows += _rule_rows(facts, width)
        rows += _arm_rows(facts.arms) if facts.arms is not None else []
        rows += _shadow_rows(facts, width)
        rows += _segment_rows(facts, width)
        return rows

    def below(self, facts: Rollout, key: str, width: int) -> tuple[Line, list[Line]]:
        kind, _, rest = key.partition(":")
        lines: list[Line] = []
        match kind:
            case "number":
                lines = _number_below(facts, rest)
            case "rule":
                judged = facts.rules[int(rest)]
                lines = [((judged.text, "bad" if judged.verdict == "roll_back" else "plain"),),
                         ((_RULE, "dim"),)]  # fmt: skip
            case "alarm" if facts.alarm is not None:
                lines = [((facts.alarm.text, "plain"),), ((_ALARM, "dim"),)]
            case "arm" if facts.arms is not None:
                lines = _arm_below(facts.arms)
            case "shadow" | "segment":
                lines = _shadow_below(facts, rest)
            case "drawn" if facts.drawn is not None:
                lines = [((line, "plain"),) for line in facts.drawn.lines()]
                lines.append(((_DRAWN, "dim"),))
        next_lines = [way_line(way, "a") for way in ways(facts.line, now_s())]
        heading: Line = (("what may be done, and what the row means", "dim"),)
        return heading, [*lines, *next_lines]


_RULE = (
    "A rule of rollback_when: the new version against the others in the same hours. It takes the release back by "
    "itself (exuvia strategy nightly); with too few samples it says unknown, which takes nothing back and isn't passed."
)
_ALARM = "Hours of the clock, oldest first; ? is an hour of which nobody told an outcome: it neither raises nor clears."
_DRAWN = "Those whom the stage lets in beside all whom it could: what is off by more than two points is not like them."
_SHADOW = (
    "Turns in which the new version ran beside the old one, without an effect. A share counts where both can be "
    "compared; after a write that was not made nothing can. Marked are groups that differ more than all others, beyond "
    "chance."
)


def _head(title: str, columns: str = "") -> Row:
    return Row(f"head:{title}", (((title, "title"), (columns, "dim")),), selectable=False)


def _stage_rows(new: Standing) -> list[Row]:
    rows = []
    for number, stage in enumerate(new.stages):
        here = new.state == "gray" and number == new.stage
        done = new.state == "gray" and number < new.stage
        mark: Span = ("*", "warn") if here else ("+", "good") if done else (" ", "dim")
        until = held_until(new) if here else ""
        held = f"holds until {local(until)}" if until > now_s() else "held long enough" if here else ""
        hours = f"{stage.hold_hours:g} h" if stage.hold_hours else "a person decides"
        parts: list[Span] = [(f"{number + 1} {audience(stage)}", "strong" if here else "dim" if not done else "plain")]
        parts += [(f"for {hours}" if stage.hold_hours else hours, "dim"), (held, "warn" if until > now_s() else "good")]
        rows.append(Row(f"stage:{number}", ((mark, (" ", "plain"), *joined(parts)),), find=audience(stage)))
    return rows


def _alarm_rows(facts: Rollout) -> list[Row]:
    if facts.alarm is None:
        return []
    tone = {"alarm": "bad", "ok": "good", "unknown": "dim"}[facts.alarm.state]
    hours = " ".join("?" if hour.mean is None else f"{hour.mean:.0%}" for hour in facts.alarm.hours)
    word = {"alarm": "ALARM", "ok": "ok", "unknown": "unknown"}[facts.alarm.state]
    bound = f"{facts.alarm.metric} below {facts.alarm.alert.below:.0%} for {facts.alarm.alert.hours} h"
    line: Line = (("Alarm  ", "title"), (f"{word}  ", tone), (f"{bound}: ", "dim"), (hours, "plain"))
    return [Row("alarm:", (line,), find="alarm")]


def share(found: Share) -> str:
    """Return a share as people read it."""
    return percent(found.value)


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f} ms"


_ROWS: tuple[tuple[str, str, Callable[[Numbers], str], Callable[[Numbers], Share | None], str], ...] = (
    ("calls", "calls", lambda n: f"{n.executions}", lambda n: None, "Executions that served somebody; dry runs don't."),
    ("success", "success", lambda n: share(n.success), lambda n: n.success,
     "Ended without a failure code, and no probe found that nothing was effected."),
    ("fallback", "fallback used", lambda n: share(n.fallback), lambda n: n.fallback, "A recovery ran."),
    ("pseudo", "pseudo-success", lambda n: share(n.pseudo_success), lambda n: n.pseudo_success,
     "A skill said success and a probe found no effect; of those where one looked."),
    ("missed", "context missing", lambda n: share(n.missed), lambda n: n.missed,
     "A value that was needed was missing at first."),
    ("mistrigger", "mistriggered", lambda n: share(n.mistrigger), lambda n: n.mistrigger,
     "Used where it should not have been; of those of which somebody told (outcome mistrigger=true or false)."),
    ("p50", "latency p50", lambda n: _ms(n.latency_p50), lambda n: None, "Half of the executions took no longer."),
    ("p95", "latency p95", lambda n: _ms(n.latency_p95), lambda n: None, "All but one in twenty took no longer."),
    ("impact", "business impact", lambda n: percent(n.impact_mean), lambda n: None,
     "Mean of the outcome that the release names, of those that were told."),
    ("level0", "checked, level 0", lambda n: share(n.levels["level0"]), lambda n: n.levels["level0"],
     "Something was checked at level 0, always within its budget."),
    ("level1", "checked, level 1", lambda n: share(n.levels["level1"]), lambda n: n.levels["level1"],
     "Business rules were checked; the account's target is 5 % of calls (reported)."),
    ("level2", "checked, level 2", lambda n: share(n.levels["level2"]), lambda n: n.levels["level2"],
     "Checked after the answer; nobody waits for it."),
    ("cross", "probed", lambda n: share(n.levels["cross"]), lambda n: n.levels["cross"],
     "Another skill was asked whether the effect is there."),
    ("overruns", "over the budget", lambda n: share(n.overruns), lambda n: n.overruns,
     "Checks that took longer than their budget."),
    ("validation", "waited for checks", lambda n: _ms(n.validation_ms), lambda n: None,
     "Mean time that the user waited for checks."),
)  # fmt: skip
"""Key, name, how it is shown, its share where it is one, and what it means."""


def _number_rows(facts: Rollout, width: int) -> list[Row]:
    if not any(numbers.executions for numbers in facts.numbers.values()):
        since = f" since {local(_text(facts))}" if facts.since is not None else ""
        return [_head("Numbers"), Row("numbers", (((f"nothing of it was executed{since}", "dim"),),), selectable=False)]
    del width
    columns = fit(f"new: {facts.new.version}" if facts.new else "", _CELL, right=True)
    columns += fit(f"old: {facts.old.version}", _CELL, right=True) if facts.old is not None else ""
    since = f"Since {local(_text(facts))}" if facts.since is not None else "Numbers"
    rows = [_head(fit(since, _NAME), columns)]
    for key, name, shown, _, says in _ROWS:
        if key == "level0":
            rows.append(_head(fit("Validation mix", _NAME)))
        line: list[Span] = [(fit(name, _NAME), "plain")]
        for arm in ("new", "old"):
            if arm in facts.numbers:
                tone = "strong" if arm == "new" else "plain"
                line.append((fit(shown(facts.numbers[arm]), _CELL, right=True), tone))
        rows.append(Row(f"number:{key}", (tuple(line),), find=f"{name} {says}"))
    return rows


def _text(facts: Rollout) -> str:
    assert facts.since is not None
    return facts.since.isoformat()


def _number_below(facts: Rollout, key: str) -> list[Line]:
    _, _, _, of, says = next(row for row in _ROWS if row[0] == key)
    lines: list[Line] = [((says, "plain"),)]
    for arm in ("new", "old"):
        numbers = facts.numbers.get(arm)
        found = of(numbers) if numbers is not None else None
        if found is None:
            continue
        between = found.interval
        told = f"{found.hits} of {found.count}"
        told += (
            f", between {between.low:.1%} and {between.high:.1%} (95 %)" if between is not None else ", not measured"
        )
        lines.append(((f"{arm:<5} ", "dim"), (told, "plain")))
    return lines


def _rule_rows(facts: Rollout, width: int) -> list[Row]:
    if not facts.rules:
        return []
    rows = [_head("Taken back by itself when")]
    for number, judged in enumerate(facts.rules):
        word, tone = {"roll_back": ("now", "bad"), "hold": ("holds", "good"), "unknown": ("unknown", "dim")}[
            judged.verdict
        ]
        line: Line = ((fit(word, 9), tone), (short(judged.text, max(10, width - 10)), "plain"))
        rows.append(Row(f"rule:{number}", (line,), find=f"{judged.text} {judged.verdict}"))
    return rows


_DECIDED = {
    "promote": ("promote", "good"), "worse": ("worse", "bad"), "wait": ("wait", "dim"),
    "no_difference": ("no difference", "plain"), "underpowered": ("UNDERPOWERED", "warn"),
}  # fmt: skip


def _arm_rows(arms: AbReport) -> list[Row]:
    verdict = arms.verdict
    if verdict is None:
        told: Line = ((f"A/B against {arms.test.against}  ", "title"), ("no task in either arm yet", "dim"))
        return [Row("arm:", (told,))]
    word, tone = _DECIDED[verdict.decision]
    day = f"day {min(verdict.day, arms.rule.days)} of {arms.rule.days}"
    weak = verdict.decision == "wait" and verdict.samples < arms.rule.min_samples
    samples = f"{verdict.samples} of {arms.rule.min_samples} tasks an arm"
    head: Line = (
        (f"A/B against {arms.test.against}  ", "title"), (f"{word}  ", tone), (f"{day}, ", "dim"),
        (samples, "warn" if weak else "dim"), ("  underpowered so far" if weak else "", "warn"),
    )  # fmt: skip
    rows = [Row("arm:", (head,), find="ab underpowered")]
    for name, old, new in (
        ("completed", percent(arms.old.completion), percent(arms.new.completion)),
        ("fallback used", percent(arms.old.fallback_rate), percent(arms.new.fallback_rate)),
        ("mean latency", _ms(arms.old.latency_ms), _ms(arms.new.latency_ms)),
        ("satisfaction (NPS)", _score(arms.old.satisfaction), _score(arms.new.satisfaction)),
    ):
        line: Line = ((fit(f"  {name}", _NAME), "plain"), (fit(new, _CELL, right=True), "strong"),
                      (fit(old, _CELL, right=True), "plain"))  # fmt: skip
        rows.append(Row(f"arm:{name}", (line,), find=f"ab {name}"))
    return rows


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:+.0f}"


def _arm_below(arms: AbReport) -> list[Line]:
    rule, verdict = arms.rule, arms.verdict
    told = (
        f"Promoted where completion lies above on each of {rule.min_days} days and fallbacks are "
        f"{rule.fallback_drop:.0%} lower (the reported rule), with {rule.min_samples} tasks an arm and both beyond "
        f"chance at {rule.alpha:g} in all."
    )
    lines: list[Line] = []
    if verdict is not None:
        lines += [(("missing  ", "dim"), (reason, "plain")) for reason in verdict.reasons]
        found = "no rise" if verdict.detectable is None else f"a rise of {100 * verdict.detectable:.0f} points or more"
        lines.append((("so many tasks would find ", "dim"), (found, "plain")))
        literal = "promotes" if verdict.literal else "does not promote"
        lines.append(((f"The reported rule alone {literal}; it promotes identical versions too.", "dim"),))
    if arms.left_out:
        outside = f"{arms.left_out} executions are in neither arm: users outside the gray group, or without an id."
        lines.append(((outside, "dim"),))
    return [*lines, ((told, "dim"),)]


def _shadow_rows(facts: Rollout, width: int) -> list[Row]:
    report = facts.report
    if report is None:
        return []
    wide = width >= 84
    names = ("turns", "path", "output", "checks", "newly", "no more") + (("failed", "now") if wide else ())
    columns = "".join(fit(name, 9, right=True) for name in names)
    room = max(14, min(24, width - 9 * len(names) - 12))
    rows = [_head(fit(f"In shadow of {report.old_version or 'nothing'}", room), columns)]
    for number, row in enumerate((report.whole, *report.rows)):
        rows.append(Row(f"shadow:{number}", (_shadow_line(row, room, wide),), find=f"{row.attribute} {row.value}"))
    return rows


def _shadow_line(row: Segment, room: int, wide: bool) -> Line:
    name = f"{row.attribute} {row.value}".strip() if row.attribute != "all" else "all users"
    shares = [*row.differs.values(), row.gained, row.lost, *((row.failed_old, row.failed_new) if wide else ())]
    cells = fit(f"{row.turns}", 9, right=True) + "".join(fit(share(one), 9, right=True) for one in shares)
    marks = f"  ! {', '.join(row.suspicious)}" if row.suspicious else ""
    return (fit(name, room), "bad" if row.suspicious else "plain"), (cells, "plain"), (marks, "bad")


def _shadow_below(facts: Rollout, key: str) -> list[Line]:
    report = facts.report
    if report is None or not key.isdigit():
        return []
    row = (report.whole, *report.rows)[int(key)]
    lines: list[Line] = []
    if row.suspicious:
        lines.append(((f"More than everybody else: {', '.join(row.suspicious)}.", "bad"),))
    latency = f"p50 {_ms(row.latency_old_p50)} to {_ms(row.latency_new_p50)}, "
    latency += f"p95 {_ms(row.latency_old_p95)} to {_ms(row.latency_new_p95)}"
    lines.append((("old to new   ", "dim"), (latency, "plain")))
    withheld = f"{report.withheld} of {report.whole.turns} turns with a write that was not made."
    return [*lines, ((f"{withheld} {_SHADOW}", "dim"),)]


def _segment_rows(facts: Rollout, width: int) -> list[Row]:
    rows: list[Row] = []
    if facts.drawn is not None and facts.drawn.representativeness is not None:
        bad = facts.drawn.bias is not None and facts.drawn.bias > 0.02
        line: Line = (("Drawn  ", "title"), (short(facts.drawn.lines(1)[0], width - 8), "warn" if bad else "plain"))
        rows.append(Row("drawn:", (line,), find="drawn"))
    for attribute, found in facts.segments.items():
        if not found:
            continue
        names = ("calls", "success", "fallback", "p95")
        rows.append(_head(fit(f"New, by {attribute}", _NAME), "".join(fit(name, 11, right=True) for name in names)))
        for value, one in found.items():
            cells = (f"{one.executions}", share(one.success), share(one.fallback), _ms(one.latency_p95))
            told: Line = (
                (fit(f"  {value}", _NAME), "plain"),
                ("".join(fit(c, 11, right=True) for c in cells), "plain"),
            )
            rows.append(Row(f"segment:{attribute}:{value}", (told,), find=f"{attribute} {value}"))
    return rows
