"""Which version of each strategy answers a user: the active one, or the one in gray for those it is drawn for.

Inside the gray group an A/B test, if the release has one, splits again under its own salt; its control arm keeps the
old version (S101).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from core.strategy.bank import assign
from core.strategy.bank.assign import User
from core.strategy.bank.bank import Bank
from core.strategy.bank.changes import Stamp, changed, stamp
from core.strategy.bank.journal import Journal
from core.strategy.bank.representation import Representation, represent
from core.strategy.bank.states import Standing, moment, newest
from core.strategy.bank.texts import text_of
from core.strategy.documents.reading import Fault
from core.strategy.documents.skill import SkillSchema
from core.strategy.execution.compiled import Compiled
from core.strategy.execution.compiler import CompiledBank, compile_bank
from core.strategy.execution.records import Execution

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
    release = standing.release or assign.plain_release(standing.id, standing.version)
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


def texts(bank: Bank, choice: Iterable[Served]) -> dict[str, str]:
    """Return file name to text of the chosen versions, as the compiler takes them. Raises DamagedError for a changed
    one: nothing that was not published is ever run."""
    return {f".versions/{one.id}/{one.version}.yaml": bank.text(one.id, one.version) for one in choice}


@dataclass(frozen=True, slots=True)
class ForUser:
    """What a user's turn is run with: `run_turn(bank, ..., assignment=assignment)`. `served` says why, by id."""

    bank: CompiledBank
    assignment: Mapping[str, Compiled | None]
    served: tuple[Served, ...]


class Serving:
    """The versions that answer users, compiled; a change of the bank is taken up with the next turn (S79).

    Invariant: what `for_user` returned never changes, so a session keeps it as long as it likes. The base is what
    `in_force` holds (the copies in the agent's state) where that is given, else the bank's active versions. A version
    in gray that has faults answers nobody; `faults` tells them.
    """

    def __init__(self, bank: Bank, schemas: Mapping[str, SkillSchema], *, in_force: Path | None = None) -> None:
        self._bank, self._schemas, self._in_force = bank, schemas, in_force
        self._stamp: Stamp | None = None
        self._copies: frozenset[tuple[str, int, int]] = frozenset()
        self._base: CompiledBank | None = None
        self._gray: dict[str, tuple[Standing, Compiled]] = {}
        self._journal = Journal({}, {}, (), ())
        self.faults: tuple[Fault, ...] = ()

    def for_user(self, user: User, now: datetime) -> ForUser:
        """Return what answers a user at `now`. A version in gray outside its dates leaves the user the old one."""
        base = self._fresh()
        assignment: dict[str, Compiled | None] = {}
        served: dict[str, Served] = {}
        for one in base.strategies.values():
            served[one.id] = Served(one.id, one.strategy.version, "active")
        for strategy_id, (standing, compiled) in self._gray.items():
            group = group_of(standing, user) if compiled.in_force(now) else "outside"
            if group == "gray":
                assignment[strategy_id] = compiled
                served[strategy_id] = Served(strategy_id, standing.version, "gray")
            elif group == "control" and strategy_id in served:
                served[strategy_id] = Served(strategy_id, served[strategy_id].version, "control")
        return ForUser(base, assignment, tuple(one for _, one in sorted(served.items())))

    def _fresh(self) -> CompiledBank:
        now, copies = stamp(self._bank), self._copied()
        differs = changed(self._stamp, now) & {"settings", "states", "versions"}
        if self._base is not None and not differs and copies == self._copies:
            return self._base
        self._journal = self._bank.journal()
        settings = self._bank.settings()
        base = self._base_texts()
        self._base = compile_bank(base, settings, self._schemas, self._base)
        faults = list(self._base.faults)
        self._gray = {}
        for standing in self._journal.standings.values():
            if standing.state != "gray":
                continue
            name = f".versions/{standing.id}/{standing.version}.yaml"
            others = {file: text for file, text in base.items() if not _is_of(self._base, file, standing.id)}
            with_it = {**others, name: self._bank.text(standing.id, standing.version)}
            found = compile_bank(with_it, settings, self._schemas, self._base)
            mine = found.strategies.get(standing.id)
            if mine is not None:
                self._gray[standing.id] = (standing, mine)
            faults += (fault for fault in found.faults if fault.file == name)
        self.faults = tuple(dict.fromkeys(faults))
        self._stamp, self._copies = now, copies
        return self._base

    def _base_texts(self) -> dict[str, str]:
        if self._in_force is not None:
            return {path.relative_to(self._in_force).as_posix(): text_of(path) for path in self._yaml()}
        active = (one for one in self._journal.standings.values() if one.state == "active")
        return texts(self._bank, [Served(one.id, one.version, "active") for one in active])

    def _yaml(self) -> list[Path]:
        return sorted(self._in_force.rglob("*.yaml")) if self._in_force is not None else []

    def _copied(self) -> frozenset[tuple[str, int, int]]:
        seen = ((path, path.stat()) for path in self._yaml())
        return frozenset((str(path), status.st_size, status.st_mtime_ns) for path, status in seen)


def _is_of(base: CompiledBank, file: str, strategy_id: str) -> bool:
    entry = base.files.get(file)
    return entry is not None and entry.compiled is not None and entry.compiled.id == strategy_id


@dataclass(frozen=True, slots=True)
class Arms:
    """The executions of an A/B test since the version is in gray: those of the control arm, and of the new version.

    `left_out`: executions of the strategy by users outside the gray group, or whose user isn't known.
    """

    old: tuple[Execution, ...]
    new: tuple[Execution, ...]
    left_out: int


def arms(standing: Standing, executions: Iterable[Execution]) -> Arms:
    """Return the two arms of a version in gray. Users outside the gray group count in neither: they were drawn by
    nothing, and may differ. Pure.
    """
    old: list[Execution] = []
    new: list[Execution] = []
    left_out = 0
    for one in executions:
        if one.strategy_id != standing.id or one.dry_run or moment(one.time) < moment(standing.since):
            continue
        group = group_of(standing, user_of(one.user))
        if group == "gray" and one.version == standing.version:
            new.append(one)
        elif group == "control" and one.version != standing.version:
            old.append(one)
        else:
            left_out += 1
    return Arms(tuple(old), tuple(new), left_out)


def user_of(attributes: Mapping[str, Any]) -> User:
    """Return the user whom a session's attributes describe; without an id nobody, who is drawn for nothing."""
    return User(str(attributes.get("id") or ""), attributes)


def profile(standing: Standing, executions: Iterable[Execution], attributes: Iterable[str]) -> Representation:
    """Compare the users who met a version in gray with all users of the strategy since then (S128). Pure."""
    users: dict[str, User] = {}
    drawn: dict[str, User] = {}
    for one in executions:
        user = user_of(one.user)
        if one.strategy_id != standing.id or one.dry_run or not user.id or moment(one.time) < moment(standing.since):
            continue
        users.setdefault(user.id, user)
        if one.version == standing.version:
            drawn.setdefault(user.id, user)
    return represent(list(drawn.values()), users.values(), tuple(attributes))
