"""Strategies and models: which go together, and whether the model may be changed (STRATEGY S117 to S119).

A strategy was written with one model's habits in mind: another is less sure of the same intent, or slower. Before a
change every strategy's routing examples are put to the new model; where one threshold can put all of them right it is
proposed, else the strategy is incompatible and the change is blocked.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from core.foundation.errors import BlockedError
from core.strategy.conditions.condition import Condition
from core.strategy.conditions.memory import Memory
from core.strategy.conditions.tree import And, Choice, Compare, Not, Or, Path, Tree
from core.strategy.conditions.tree import Literal as Constant
from core.strategy.conditions.truth import Truth
from core.strategy.conditions.view import View
from core.strategy.documents.release import ModelFit, Release
from core.strategy.documents.strategy import Strategy
from core.strategy.execution.suggestion import Suggestion

Status = Literal["untested", "compatible", "adapted", "incompatible"]
CONFIDENCE = "intent.confidence"
TIMEOUT_SCALE = "parallel_timeout_scale"
RED: frozenset[Status] = frozenset({"untested", "incompatible"})
_SLOWER = 1.2
"""Slower than that, time limits of parallel branches are proposed to grow."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What is known of one strategy with one model."""

    strategy_id: str
    model: str
    status: Status
    tested: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def red(self) -> bool:
        """Whether it blocks a change to this model."""
        return self.status in RED


def matrix(releases: Mapping[str, Release | None], models: Iterable[str]) -> tuple[Cell, ...]:
    """Return the matrix by strategy and model; what no release file mentions is untested. `releases` is by id."""
    found = []
    for (name, release), model in itertools.product(sorted(releases.items()), models):
        fit = release.compat.models.get(model) if release else None
        known = Cell(name, model, fit.status, fit.tested, fit.settings) if fit else Cell(name, model, "untested")
        found.append(known)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Trial:
    """A routing example put to a model: the context with what it said (`intent.name`, `intent.confidence`), nested,
    and whether the strategy should fire. `memory` and `now` as in any decision.
    """

    utterance: str
    should_fire: bool
    values: Mapping[str, Any]
    memory: Memory
    now: datetime


async def put(
    strategy: Strategy, ask: Callable[[str], Awaitable[Suggestion]], memory: Memory, now: datetime
) -> tuple[Trial, ...]:
    """Put a strategy's routing examples to a model and return the trials (S118).

    `ask` gives the model's suggestion for an utterance. It alone says intent and confidence; everything else of the
    context is what the example sets.
    """
    if strategy.trigger is None:
        return ()
    examples = [(one, True) for one in strategy.trigger.examples.fire]
    examples += [(one, False) for one in strategy.trigger.examples.no_fire]
    found = []
    for example, should_fire in examples:
        said = await ask(example.utterance)
        values: dict[str, Any] = {"utterance": example.utterance}
        for path, value in example.set.items():
            _set(values, path, value)
        values["intent"] = {"name": said.intent, "skill": said.intended_skill}
        if said.confidence is not None:
            values["intent"]["confidence"] = said.confidence
        found.append(Trial(example.utterance, should_fire, values, memory, now))
    return tuple(found)


def _set(values: dict[str, Any], path: str, value: Any) -> None:
    *holders, last = path.split(".")
    for name in holders:
        held = values.get(name)
        inner = dict(held) if isinstance(held, Mapping) else {}
        values[name] = inner
        values = inner
    values[last] = value


@dataclass(frozen=True, slots=True)
class Verdict:
    """The regression of one strategy with one model. `wrong` are examples that came out wrong without an adaptation."""

    cell: Cell
    trials: int
    wrong: tuple[str, ...]
    suggestion: str


def regress(
    strategy_id: str,
    condition: Condition,
    trials: Iterable[Trial],
    model: str,
    *,
    tested: str = "",
    latency_scale: float | None = None,
    patterns: Mapping[str, str] | None = None,
) -> Verdict:
    """Return whether a strategy works with a model, adapted where one threshold of confidence puts all right (S118).

    `latency_scale` is how many times as long the new model takes as the old one, where that was measured. Without a
    trial the cell is untested.
    """
    trials = list(trials)
    old = threshold(condition.tree)
    wrong = tuple(trial.utterance for trial in trials if not _right(condition, trial, 0.0, patterns))
    slow = latency_scale is not None and latency_scale > _SLOWER
    settings: dict[str, Any] = {TIMEOUT_SCALE: math.ceil(latency_scale * 10) / 10} if slow and latency_scale else {}
    status: Status = "untested" if not trials else "compatible" if not wrong else "incompatible"
    told = "put its routing examples to the model first" if not trials else ""
    if wrong:
        found = None if old is None else _adapted(condition, trials, old, patterns)
        if found is not None:
            settings[CONFIDENCE] = found
            status = "adapted"
            told = f"set the threshold of {CONFIDENCE} to {found} (from {old})"
        else:
            told = (
                f"{len(wrong)} of {len(trials)} examples go wrong at any threshold; rewrite the trigger for this model"
            )
    if slow and status in ("compatible", "adapted"):
        status = "adapted"
        more = f"give parallel branches {settings[TIMEOUT_SCALE]} times their time limit"
        told = f"{told}; {more}" if told else more
    return Verdict(Cell(strategy_id, model, status, tested, settings), len(trials), wrong, told)


def with_fit(release: Release, cell: Cell) -> Release:
    """Return a release file that knows a cell."""
    fit = ModelFit(status=cell.status, tested=cell.tested, settings=dict(cell.settings))
    models = {**release.compat.models, cell.model: fit}
    return release.model_copy(update={"compat": release.compat.model_copy(update={"models": models})})


@dataclass(frozen=True, slots=True)
class Change:
    """Whether the model may be changed: not while one cell of a strategy in force is red (S119)."""

    model: str
    red: tuple[Cell, ...]
    adapted: tuple[Cell, ...]

    @property
    def allowed(self) -> bool:
        """Whether nothing stands in the way."""
        return not self.red


def change(cells: Iterable[Cell], model: str, in_force: Iterable[str]) -> Change:
    """Return what a change to `model` would meet. A strategy in force without a cell is untested."""
    held = {cell.strategy_id: cell for cell in cells if cell.model == model}
    wanted = [held.get(name, Cell(name, model, "untested")) for name in sorted(set(in_force))]
    adapted = tuple(cell for cell in wanted if cell.status == "adapted")
    return Change(model, tuple(cell for cell in wanted if cell.red), adapted)


def require(found: Change) -> None:
    """Raise BlockedError while the matrix is red, naming what blocks and the way out."""
    if not found.allowed:
        names = ", ".join(f"{cell.strategy_id} ({cell.status})" for cell in found.red[:5])
        more = f" and {len(found.red) - 5} more" if len(found.red) > 5 else ""
        raise BlockedError(
            f"The model can't be changed to {found.model}: {names}{more}.",
            hint="Run the regression, take its adaptations over, or put the incompatible ones off-line.",
        )


def threshold(tree: Tree) -> float | None:
    """Return the number above which a condition wants the confidence; None where it has none or several."""
    found = list(_thresholds(tree))
    return found[0] if len(found) == 1 else None


def _thresholds(tree: Tree) -> Iterable[float]:
    match tree:
        case Compare(operator=">" | ">=", left=Path() as path, right=Constant(value=int() | float() as value)):
            if path.name == CONFIDENCE:
                yield float(value)
        case Compare(operator="<" | "<=", left=Path() as path) if path.name == CONFIDENCE:
            # An upper bound: moving the lower one alone would be another condition.
            yield from (math.nan, math.nan)
        case And(parts=parts) | Or(parts=parts):
            for part in parts:
                yield from _thresholds(part)
        case Not(inner=inner):
            yield from _thresholds(inner)
        case Choice(test=test, yes=yes, no=no):
            for part in (test, yes, no):
                yield from _thresholds(part)


def _adapted(
    condition: Condition, trials: Iterable[Trial], old: float, patterns: Mapping[str, str] | None
) -> float | None:
    """Return the threshold, to two digits, that puts every example right with the most room; None where none does.

    Moving a single threshold is the same as moving every confidence the other way, so nothing is compiled anew.
    """
    trials = list(trials)
    seen = sorted({value for trial in trials if (value := _confidence(trial)) is not None})
    edges = [0.0, *seen, 1.0]
    rooms = sorted(itertools.pairwise(edges), key=lambda pair: (pair[0] - pair[1], abs(pair[0] - old)))
    for low, high in rooms:
        value = round((low + high) / 2, 2)
        if low <= value < high and all(_right(condition, trial, old - value, patterns) for trial in trials):
            return value
    return None


def _right(condition: Condition, trial: Trial, moved: float, patterns: Mapping[str, str] | None) -> bool:
    values = dict(trial.values)
    confidence = _confidence(trial)
    if moved and confidence is not None:
        values["intent"] = {**values["intent"], "confidence": confidence + moved}
    found = condition.judge(View(values, trial.memory, trial.now, patterns or {}))
    return (found.truth is Truth.TRUE) == trial.should_fire


def _confidence(trial: Trial) -> float | None:
    intent = trial.values.get("intent")
    value = intent.get("confidence") if isinstance(intent, Mapping) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
