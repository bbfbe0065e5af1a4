"""What time alone brings: releases that take themselves back, and stages whose waiting time has passed (S67, S73).

Safe to run at any time and twice, by `exuvia strategy nightly` or by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core.foundation.errors import ConflictError, RefusedError
from core.strategy.bank import executions as log
from core.strategy.bank.bank import Bank
from core.strategy.bank.drawing import enter_stage
from core.strategy.bank.rollback import Judged, mistriggers_of, review, sweep
from core.strategy.bank.states import Actor, Standing, Step, moment
from core.strategy.execution.records import Execution

ENGINE = Actor("stages", person=False)


@dataclass(frozen=True, slots=True)
class Progress:
    """What happened to one version: "advanced" to a stage (from 1), "waits" in gray, or "taken back", and why.

    `restored` is the version that is active again after one was taken back from all traffic, None otherwise: whoever
    keeps copies in agents' states brings it into force there.
    """

    strategy_id: str
    version: int
    what: str
    why: str
    restored: int | None = None

    @property
    def text(self) -> str:
        """Say it in a line."""
        return f"{self.strategy_id} version {self.version} {self.what}: {self.why}"


def advance(bank: Bank, now: datetime) -> tuple[Progress, ...]:
    """Take back what a rule says, then move each version in gray whose stage has held long enough one stage on.

    A stage without `hold_hours` is left by a person only. So is the last one: full traffic is a decision
    (`releasing.ask_full`). A rule that knows too little holds a version where it is: unknown is not passed.
    """
    told: list[Progress] = []
    before = {
        (one.id, one.version): one for one in bank.journal().standings.values() if one.state in {"gray", "active"}
    }
    sweep(bank, now)
    after = bank.journal()
    for key in before:
        if after.standings[key].state == "offline":
            last = next(event for event in reversed(after.events) if (event.id, event.version) == key)
            restored = last.detail.get("restore")
            told.append(Progress(*key, "taken back", last.why, restored if isinstance(restored, int) else None))
    told += [_one(bank, one, now) for one in after.standings.values() if one.state == "gray"]
    return tuple(told)


def _one(bank: Bank, standing: Standing, now: datetime) -> Progress:
    def waits(why: str) -> Progress:
        return Progress(standing.id, standing.version, "waits", why)

    if standing.stage + 1 >= len(standing.stages):
        return waits("it is at the last stage; a person gives it all traffic")
    if not standing.stages[standing.stage].hold_hours:
        return waits("its stage has no hold_hours; a person moves it on")
    unsure = [rule.text for rule in _judged(bank, standing, now) if rule.verdict == "unknown" and not rule.segment]
    if unsure:
        return waits("; ".join(unsure))
    step = Step("gray", ENGINE, now.isoformat(timespec="seconds"), why="held long enough", stage=standing.stage + 1)
    refused = bank.refusal(standing.id, standing.version, step)
    if refused is not None:
        return waits(refused.reason)
    try:
        enter_stage(bank, standing.id, standing.version, ENGINE, now, stage=step.stage, why=step.why)
    except (ConflictError, RefusedError) as error:
        return waits(str(error))
    return Progress(standing.id, standing.version, "advanced", f"stage {step.stage + 1} of {len(standing.stages)}")


def _judged(bank: Bank, standing: Standing, now: datetime) -> tuple[Judged, ...]:
    release = standing.release
    if release is None or not release.rollout.rollback_when:
        return ()
    mine: list[Execution] = [
        one for one in log.read(bank.records, since=moment(standing.since), until=now).executions
        if one.strategy_id == standing.id
    ]  # fmt: skip
    return review(standing, mine, mistriggers_of(bank, moment(standing.since)), now)
