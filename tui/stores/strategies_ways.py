"""Where a version of a strategy may go next, by the bank's own rule. Pure: a page can say it while one looks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from core.foundation.errors import ExuviaError
from core.strategy.bank import journal
from core.strategy.bank.states import Actor, Refusal, Standing, State, Step
from core.strategy.bank.texts import refuse_version
from core.strategy.documents.release import Release, Stage
from tui.stores.strategies_lines import StrategyLine

Deed = Literal["submit", "approve", "gray", "stage", "full"]
_ANYBODY = Actor("somebody", person=True)
_BECAUSE = "a reason"


@dataclass(frozen=True, slots=True)
class Way:
    """A step that a version could take next from `state`.

    `refused` says why it may not now, None where it may; `forced` that a person may take it all the same, with a
    reason. `evidence` that it must name what it rests on. `what` says what comes of it.
    """

    id: str
    version: int
    state: State
    deed: Deed
    to: State
    stage: int
    what: str
    refused: Refusal | None
    forced: bool
    evidence: bool

    @property
    def open(self) -> bool:
        """Whether a person can take it at all."""
        return self.refused is None or self.forced

    def step(self, actor: Actor, time: str, why: str, evidence: tuple[str, ...] = ()) -> Step:
        """Return the step; forced where it must be."""
        force = self.refused is not None and self.forced
        return Step(self.to, actor, time, why, self.stage, evidence, force)


def ways(line: StrategyLine, now: str) -> tuple[Way, ...]:
    """Return the next step of each version that is at work, newest version first; `now` is a time of ours."""
    standings = {(one.id, one.version): one for one in line.entry.versions}
    found = (_next(one, line.entry.release, standings, now) for one in line.at_work)
    return tuple(way for way in found if way is not None)


def not_publishable(line: StrategyLine) -> Refusal | None:
    """Return why the newest text can't be published, None where it can."""
    strategy = line.entry.authored
    if strategy is None:
        return Refusal("it can't be read", "Its faults say why.")
    try:
        refuse_version(strategy, line.entry.sha256, line.entry.versions)
    except ExuviaError as error:
        return Refusal(str(error), error.hint)
    return None


def can_put_away(one: Standing) -> bool:
    """Tell whether a version may be archived where it stands."""
    return one.state in ("draft", "review", "shadow", "deprecated", "offline")


def _next(one: Standing, release: Release | None, standings: dict[journal.Key, Standing], now: str) -> Way | None:
    found = _target(one, release)
    if found is None:
        return None
    deed, to, stage, what = found
    step = Step(to, _ANYBODY, now, _BECAUSE, stage)
    if to in ("shadow", "gray") and release is not None:
        step = replace(step, release=release)
    evidence = deed == "approve" and one.origin != "human"
    if evidence:
        step = replace(step, evidence=("what it rests on",))
    refused = _refusal(standings, one, step)
    forced = refused is not None and _refusal(standings, one, replace(step, force=True)) is None
    return Way(one.id, one.version, one.state, deed, to, stage, what, refused, forced, evidence)


def _target(one: Standing, release: Release | None) -> tuple[Deed, State, int, str] | None:
    match one.state:
        case "draft" | "offline":
            return "submit", "review", -1, "to review"
        case "review":
            return "approve", "shadow", -1, "approved, into shadow, where it has no effect"
        case "shadow":
            stages = replace(one, release=release or one.release).stages
            return "gray", "gray", 0, f"into gray, {audience(stages[0])}"
        case "gray" if one.stage + 1 < len(one.stages):
            return "stage", "gray", one.stage + 1, f"to stage {one.stage + 2}, {audience(one.stages[one.stage + 1])}"
        case "gray":
            return "full", "active", -1, "to all users"
        case _:
            return None


def _refusal(standings: dict[journal.Key, Standing], one: Standing, step: Step) -> Refusal | None:
    try:
        journal.apply(dict(standings), journal.step_record(one.id, one.version, step, ""))
    except journal.UntakenError as error:
        return error.refused
    return None


def audience(stage: Stage) -> str:
    """Return whom a stage lets in, in words: `10 % of users, aftersale, ios or android`."""
    share = "all users" if stage.percent == 100 else f"{stage.percent:g} % of users"
    limits = (" or ".join(stage.business_line), " or ".join(stage.device))
    return ", ".join(part for part in (share, *limits) if part)
