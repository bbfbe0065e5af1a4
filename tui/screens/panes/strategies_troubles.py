"""Troubles: what one sees, where to look, what is done about it, and what a look at the real records finds now.

The first help page of the pane: an empty bank shows it too (STRATEGY S130).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.foundation import strict_json
from core.state.paths import ProjectPaths
from core.strategy.bank.bank import bank_of
from core.strategy.bank.states import moment, newest
from core.strategy.bank.tracked import tracked
from core.strategy.conditions.condition import compile_condition
from core.strategy.conditions.errors import ConditionError
from core.strategy.conditions.registry import registry_of
from core.strategy.documents.release import BankSettings
from core.strategy.execution.records import Execution
from core.strategy.governance.conflicts import Held, static
from core.strategy.governance.troubles import TROUBLES, Name, Trouble
from core.strategy.governance.troubleshoot import Asked as AskedTurn
from core.strategy.governance.troubleshoot import Diagnosis, heavy, left_out, logged_success, other_path, swallowed
from core.strategy.schema.directory import skills_of
from tui.screens.panes.strategies_pages import Asked, Page
from tui.stores.strategies_rollout import drawn
from tui.stores.strategies_turns import TurnReader, Turns
from tui.stores.views import StrategiesView
from tui.widgets.line_list import Row
from tui.widgets.spans import Line, fit, short

_OF_THE_TURN = frozenset({"utterance", "utterance_raw", "intent", "turn", "session", "event"})


@dataclass(frozen=True, slots=True)
class TroubleFacts:
    """What each row's diagnosis found; `looked` counts the executions that were looked at."""

    found: Mapping[Name, tuple[Diagnosis, ...]]
    looked: int


class TroublesPage(Page[TroubleFacts]):
    """The table of troubles."""

    rest = " Each row looks at what was tracked; reported figures are the account's claims."

    def __init__(self) -> None:
        self._reader = TurnReader()

    def read(self, asked: Asked, project: ProjectPaths) -> TroubleFacts:
        bank, view = bank_of(project), asked.view
        if not view.lines:
            return TroubleFacts({}, 0)
        runs = tracked(bank).executions
        written = [one.entry.authored for one in view.lines if one.entry.authored is not None]
        diagnoses = [
            *logged_success(runs, (), skills_of(project).schemas),
            *other_path(_asked(self._reader.read(bank.records, ()))),
            *_swallowed(view, project, runs),
            *heavy(written, runs),
            *_left_out(view),
        ]
        found: dict[Name, tuple[Diagnosis, ...]] = {}
        for one in diagnoses:
            found[one.trouble] = (*found.get(one.trouble, ()), one)
        return TroubleFacts(found, len(runs))

    def title(self, facts: TroubleFacts) -> str:
        count = sum(map(len, facts.found.values()))
        told = f"{count} found" if count else "nothing found"
        return f"{told} in {facts.looked} executions" if facts.looked else "what goes wrong, and what is done about it"

    def leads_to(self, facts: TroubleFacts, key: str) -> str:
        one = self._diagnosis(facts, key)
        return one.subject if one is not None else ""

    def _diagnosis(self, facts: TroubleFacts, key: str) -> Diagnosis | None:
        kind, _, rest = key.partition(":")
        name, _, number = rest.partition(":")
        found = next((some for trouble, some in facts.found.items() if trouble == name), ())
        return found[int(number)] if kind == "found" and number.isdigit() and int(number) < len(found) else None

    def rows(self, facts: TroubleFacts, width: int) -> Sequence[Row]:
        rows: list[Row] = []
        for number, trouble in enumerate(TROUBLES, 1):
            found = facts.found.get(trouble.name, ())
            told = f"{len(found)} found" if found else ""
            line: Line = (
                (f"{number} ", "dim"),
                (fit(short(trouble.symptom, width - 14), width - 13), "strong"),
                (fit(told, 10, right=True), "bad"),
            )
            rows.append(Row(f"trouble:{trouble.name}", (line,), find=f"{trouble.symptom} {trouble.fix}"))
            for at, one in enumerate(found):
                row: Line = (("  ! ", "bad"), (f"{one.subject}: ", "plain"), (one.found, "dim"))
                rows.append(Row(f"found:{trouble.name}:{at}", (row,), find=f"{one.subject} {one.found}"))
        return rows

    def below(self, facts: TroubleFacts, key: str, width: int) -> tuple[Line, list[Line]]:
        one = self._diagnosis(facts, key)
        if one is not None:
            lines: list[Line] = [((one.found, "plain"),), (("do       ", "mark"), (one.fix, "plain"))]
            evidence = "  ".join(f"{name} {strict_json.dumps(value)}" for name, value in one.evidence.items())
            return ((one.subject, "strong"),), [*lines, (("evidence ", "dim"), (evidence, "dim"))]
        trouble = next((found for found in TROUBLES if key == f"trouble:{found.name}"), None)
        return ((), []) if trouble is None else ((("where to look, and what to do", "dim"),), trouble_lines(trouble))


def trouble_lines(trouble: Trouble) -> list[Line]:
    """Return a row of the table: where to look, what is done, and what the account claims for it."""
    return [
        ((trouble.symptom, "strong"),),
        (("look     ", "dim"), (trouble.look, "plain")),
        (("do       ", "mark"), (trouble.fix, "plain")),
        ((trouble.reported, "dim"),),
    ]


def _swallowed(view: StrategiesView, project: ProjectPaths, runs: Sequence[Execution]) -> list[Diagnosis]:
    """Look whether strategies lost their calls to one whose trigger contains theirs, since it became active."""
    settings = view.settings or BankSettings()
    schemas = skills_of(project).schemas
    if not schemas:
        return []
    registry = registry_of(settings, schemas.values())
    held: list[Held] = []
    since = {}
    for line in view.lines:
        active, strategy = newest(line.entry.versions, "active"), line.entry.authored
        if active is None or strategy is None or strategy.trigger is None:
            continue
        try:
            held.append(Held(strategy, compile_condition(strategy.trigger.when, registry)))
        except (ConditionError, ValueError):
            continue  # the text page tells it
        since[line.id] = moment(active.since)
    conflicts = static(held)
    found: list[Diagnosis] = []
    for name in sorted({one.by for one in conflicts}):
        before = [run for run in runs if moment(run.time) < since[name]]
        after = [run for run in runs if moment(run.time) >= since[name]]
        found += swallowed(before, after, name, conflicts)
    return found


def _asked(turns: Turns) -> list[AskedTurn]:
    """Return the turns as they were decided: what a session knew when one began is what it knew after the last."""
    found: list[AskedTurn] = []
    known: dict[str, Mapping[str, Any]] = {}
    for line in reversed(turns.lines):
        turn = line.turn
        if turn is None:
            continue
        sure = turn.suggestion.get("confidence")
        confidence = float(sure) if isinstance(sure, int | float) and not isinstance(sure, bool) else None
        context = {name: value for name, value in known.get(turn.session, {}).items() if name not in _OF_THE_TURN}
        way = turn.strategy or None
        found.append(AskedTurn(turn.session, turn.turn, turn.utterance, confidence, context, way))
        known[turn.session] = turn.context
    return found


def _left_out(view: StrategiesView) -> list[Diagnosis]:
    found: list[Diagnosis] = []
    for line in view.lines:
        gray = newest(line.entry.versions, "gray")
        compared = drawn(gray, view.executions)
        if compared is not None:
            found += left_out(line.id, compared)
    return found
