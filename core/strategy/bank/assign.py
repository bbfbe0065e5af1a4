"""Which users a stage lets in, and which arm of an A/B test they see: the hash of their id, nothing stored (S67).

A user's bucket is a number from 0 to 100 that follows from the salt and the id alone. A stage of p percent lets in
the buckets below p, so who is in at 1 % is in at 10 % and at 100 %, on every machine, after every restart. An A/B
test draws under another salt: with one salt, all of the first 50 % of a gray group would see the same arm.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from core.foundation.strict_json import is_number
from core.strategy.bank.states import stages_of
from core.strategy.documents.release import Assign, Release, Stage

Arm = Literal["a", "b"]
UNKNOWN = "unknown"
"""Stratum, or segment, of users of whom the attribute isn't known."""


@dataclass(frozen=True, slots=True)
class User:
    """Whom a turn is for. `attributes` are what is known: device, business_line, age_band, active_days_30d, ..."""

    id: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


def bucket(salt: str, unit: str) -> float:
    """Return where `unit` falls, at least 0 and below 100. Pure; the same on every machine."""
    digest = hashlib.blake2b(f"{salt}\0{unit}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / 2**53 * 100  # 53 bits: what a float holds, so never 100


def assigned(release: Release, stage: int, user: User, cuts: tuple[Mapping[str, float], ...] = ()) -> bool:
    """Tell whether `stage` (from 0) of the release lets the user in.

    Who was let in by an earlier stage is in, so a stage never lets anyone out again. `cuts` are those of `strata_cuts`
    for each stage, where the draw is stratified by what was known of the population; without them each stratum is
    drawn at the stage's percent. A user without the unit's value, or of whom an attribute that the stage limits isn't
    known, keeps the version before.
    """
    unit = unit_of(release.rollout.assign, user)
    if unit is None:
        return False
    drawn = bucket(gray_salt(release), unit)
    stratum = stratum_of(release.rollout.assign, user)
    for number, at in enumerate(stages_of(release)[: stage + 1]):
        if not lets_in(at, user):
            continue
        cut = cuts[number].get(stratum, at.percent) if number < len(cuts) else at.percent
        if drawn < cut:
            return True
    return False


def arm(release: Release, user: User) -> Arm | None:
    """Return the arm of the release's A/B test: "b" sees the new version. None where there is no test, or no unit."""
    unit = unit_of(release.rollout.assign, user)
    if release.rollout.ab is None or unit is None:
        return None
    return "b" if bucket(ab_salt(release), unit) < release.rollout.ab.split else "a"


def gray_salt(release: Release) -> str:
    return f"gray:{_salt(release)}"


def ab_salt(release: Release) -> str:
    return f"ab:{_salt(release)}"


def _salt(release: Release) -> str:
    return release.rollout.assign.salt or f"{release.id}/{release.version}"


def unit_of(assign: Assign, user: User) -> str | None:
    """Return what is hashed for the user, None where it isn't known."""
    value = user.id if assign.unit == "user_id" else user.attributes.get(assign.unit)
    return None if value is None or value == "" else str(value)


def lets_in(stage: Stage, user: User) -> bool:
    """Tell whether a stage is open to the user's line of business and device; where those aren't known, it isn't."""
    limits = (("business_line", stage.business_line), ("device", stage.device))
    return all(not allowed or user.attributes.get(name) in allowed for name, allowed in limits)


def stratum_of(assign: Assign, user: User) -> str:
    """Return the user's stratum: "all" where none is asked for, "7+" from the bound 7 on, or the value itself."""
    if not assign.stratify:
        return "all"
    value = user.attributes.get(assign.stratify)
    if value is None:
        return UNKNOWN
    if not assign.strata:
        return str(value)
    if not is_number(value):
        return UNKNOWN
    bounds = sorted(assign.strata)
    place = bisect_right(bounds, value)
    return f"{bounds[place - 1]:g}+" if place else f"below {bounds[0]:g}"


def strata_cuts(
    release: Release, stage: int, population: Iterable[User], before: Mapping[str, float]
) -> dict[str, float]:
    """Return, for each stratum of the population, the bucket below which exactly the stage's share lies (S129).

    A plain draw hits each stratum's share only on average; these cuts hit it for the users that are known, to the
    nearest user. `before` are the previous stage's cuts: none falls, so that nobody is let out. Write them down with
    the move (`Step.cuts`): they belong to the stage from then on. A user whose stratum changes is drawn by the new
    stratum's cut, which differs from the old one's by the luck of the draw, not more.
    """
    assign, at = release.rollout.assign, stages_of(release)[stage]
    drawn: dict[str, list[float]] = {}
    for user in population:
        unit = unit_of(assign, user)
        if unit is not None and lets_in(at, user):
            drawn.setdefault(stratum_of(assign, user), []).append(bucket(gray_salt(release), unit))
    return {
        stratum: max(_cut(sorted(buckets), at.percent), before.get(stratum, 0.0)) for stratum, buckets in drawn.items()
    }


def _cut(buckets: list[float], percent: float) -> float:
    """Return a bound below which the nearest whole number to `percent` of the sorted buckets lies."""
    wanted = round(len(buckets) * percent / 100)
    if wanted == 0:
        return 0.0 if percent == 0 else min(percent, buckets[0])
    return 100.0 if wanted >= len(buckets) else (buckets[wanted - 1] + buckets[wanted]) / 2


def plain_release(strategy_id: str, version: int) -> Release:
    """Return the release of a version that has no release file: the default stages, drawn by user id."""
    return Release.model_validate({"schema": "release/v1", "id": strategy_id, "version": version})
