"""A version enters a stage: known users are drawn inside their strata, and compared with all (STRATEGY S128, S129)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from core.strategy.bank import executions as log
from core.strategy.bank.assign import User, assigned, lets_in, plain_release, strata_cuts
from core.strategy.bank.bank import Bank
from core.strategy.bank.representation import Representation, represent
from core.strategy.bank.serving import user_of
from core.strategy.bank.states import Actor, Standing, Step

_KNOWN = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Entered:
    """Where the version stands now, and how those who are drawn compare with all who could be; without known users
    that is unknown."""

    standing: Standing
    representation: Representation


def enter_stage(
    bank: Bank,
    strategy_id: str,
    version: int,
    actor: Actor,
    now: datetime,
    *,
    stage: int | None = None,
    why: str = "",
    force: bool = False,
    evidence: tuple[str, ...] = (),
    population: Sequence[User] | None = None,
) -> Entered:
    """Move a version to gray, or in gray to its next stage (`stage` counts from 0). Raises as `Bank.move`.

    Where the release stratifies, the cut of each stratum is taken from `population`, the users of the last 30 days
    where it is None, and written down with the move.
    """
    standing = bank.standing(strategy_id, version)
    wanted = stage if stage is not None else standing.stage + 1
    release = bank.release(strategy_id) or standing.release or plain_release(strategy_id, version)
    users = known_users(bank, now) if population is None else tuple(population)
    stages = release.rollout.stages or standing.stages
    cuts: dict[str, float] = {}
    if release.rollout.assign.stratify and 0 <= wanted < len(stages):
        cuts = strata_cuts(release, wanted, users, standing.cuts[-1] if standing.cuts else {})
    step = Step(
        "gray", actor, now.isoformat(timespec="seconds"), why, stage=wanted, evidence=evidence, force=force, cuts=cuts
    )
    after = bank.move(strategy_id, version, step, expect=standing.state)
    return Entered(after, drawn_of(after, users))


def drawn_of(standing: Standing, users: Sequence[User]) -> Representation:
    """Compare those among `users` whom a version's stage draws with all whom it could draw: of its lines of business
    and devices. By the stratum's attribute, and those of the shadow's report. Pure."""
    release = standing.release or plain_release(standing.id, standing.version)
    open_to = [user for user in users if lets_in(standing.stages[standing.stage], user)]
    drawn = [user for user in open_to if assigned(release, standing.stage, user, standing.cuts)]
    shadow = release.rollout.shadow
    by = dict.fromkeys([release.rollout.assign.stratify, *(shadow.by if shadow is not None else ())])
    return represent(drawn, open_to, [attribute for attribute in by if attribute])


def known_users(bank: Bank, now: datetime) -> tuple[User, ...]:
    """Return the users of whom something was executed in the last 30 days, by id, as they were last."""
    found: dict[str, User] = {}
    for one in log.read(bank.records, since=now - _KNOWN, until=now).executions:
        user = user_of(one.user)
        if user.id and not one.dry_run:
            found[user.id] = user
    return tuple(user for _, user in sorted(found.items()))
