"""Which version of each strategy answers a user: the active one, or the one in gray for those it is drawn for.

Inside the gray group an A/B test, if the release has one, splits again under its own salt; its control arm keeps the
old version (S101).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.strategy.bank import assign
from core.strategy.bank.assign import User
from core.strategy.bank.bank import Bank
from core.strategy.bank.journal import Journal
from core.strategy.bank.states import Standing, newest

Arm = Literal["active", "gray", "control"]


@dataclass(frozen=True, slots=True)
class Served:
    """The version of a strategy for a user, and why: "active" for everybody, "gray" drawn for the new one, "control"
    drawn, but in the arm of the A/B test that keeps the old one."""

    id: str
    version: int
    arm: Arm


def chosen(journal: Journal, user: User) -> tuple[Served, ...]:
    """Return what answers a user, by id. A strategy without a version for the user is left out. Pure.

    Dates are not looked at: the executor does, at the moment of the decision (S61, S62).
    """
    ids = sorted({key[0] for key in journal.standings})
    found = (_of(journal.of(strategy_id), user) for strategy_id in ids)
    return tuple(one for one in found if one is not None)


def group_of(standing: Standing, user: User) -> Literal["gray", "control", "outside"]:
    """Return where a version in gray puts a user. Pure."""
    release = standing.release
    if release is None:
        release = assign.plain_release(standing.id, standing.version)
    if not assign.assigned(release, standing.stage, user, standing.cuts):
        return "outside"
    return "control" if assign.arm(release, user) == "a" else "gray"


def _of(versions: tuple[Standing, ...], user: User) -> Served | None:
    active, gray = newest(versions, "active"), newest(versions, "gray")
    group = "outside" if gray is None else group_of(gray, user)
    if gray is not None and group == "gray":
        return Served(gray.id, gray.version, "gray")
    if active is None:
        return None
    return Served(active.id, active.version, "control" if group == "control" else "active")


def texts(bank: Bank, choice: tuple[Served, ...]) -> dict[str, str]:
    """Return file name to text of the chosen versions, as the compiler takes them. Raises DamagedError for a changed
    one: nothing that was not published is ever run."""
    return {f".versions/{one.id}/{one.version}.yaml": bank.text(one.id, one.version) for one in choice}
