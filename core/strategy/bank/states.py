"""States of a version, and which move is allowed to whom: pure, the same rule for a move and for reading it back.

    draft -> review -> shadow -> gray (stage 0, 1, ...) -> active -> deprecated -> archived;  offline

No version reaches users, or even a shadow, unless a person has approved it in review (STRATEGY S105, S106). The fold
of `state.jsonl` asks the same rule, so a line that somebody wrote by hand gives no traffic either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

from core.strategy.documents.release import Assign, Release, Stage

State = Literal["draft", "review", "shadow", "gray", "active", "deprecated", "archived", "offline"]
STATES: tuple[State, ...] = get_args(State)
_YEARS = (1970, 3000)
SERVED: frozenset[State] = frozenset({"gray", "active"})
"""States in which a version answers users."""
DEFAULT_STAGES = (Stage(percent=1, hold_hours=24), Stage(percent=10, hold_hours=24), Stage(percent=100, hold_hours=24))
"""Stages of a release that names none (S67)."""

MOVES: Mapping[State, frozenset[State]] = {
    "draft": frozenset({"review", "archived"}),
    "review": frozenset({"draft", "shadow", "archived"}),
    "shadow": frozenset({"review", "gray", "archived", "offline"}),
    "gray": frozenset({"shadow", "gray", "active", "offline"}),
    "active": frozenset({"deprecated", "offline"}),
    "deprecated": frozenset({"active", "archived", "offline"}),
    "offline": frozenset({"review", "archived"}),
    "archived": frozenset(),
}
_BY_ENGINE: frozenset[tuple[State, State]] = frozenset(
    {
        ("draft", "review"),
        ("gray", "gray"),
        ("gray", "active"),
        ("gray", "shadow"),
        ("shadow", "offline"),
        ("gray", "offline"),
        ("active", "offline"),
        ("deprecated", "offline"),
    }
)
"""What needs no person: asking for review, the next stage of what a person let into gray, and taking back."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who moves a version: a person (the operator, an owner), or a part of the program ("nightly", "rollback")."""

    name: str
    person: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one version stands. `stage` counts from 0 and is -1 outside gray; `since` is when it got there.

    `reviewed_by` is the person who approved this version, "" while nobody has. `release` is the release as it was
    when the version entered shadow or gray: an edited release file changes no traffic before the next move.
    """

    id: str
    version: int
    sha256: str
    origin: str = "human"
    state: State = "draft"
    stage: int = -1
    since: str = ""
    reviewed_by: str = ""
    release: Release | None = None
    cuts: tuple[Mapping[str, float], ...] = ()
    """Of a stratified draw: for each stage that was entered, stratum to the bucket below which users are let in."""
    replaced: int | None = None
    """The version that was active when this one became it: what a rollback brings back."""

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages of its release, the default ones where it has none."""
        return stages_of(self.release)


@dataclass(frozen=True, slots=True)
class Step:
    """A move that is asked for. `force` passes over a stage or its waiting time: for a person with a reason only.

    `evidence` are ids of what it rests on: a benchmark run, a check, an A/B test, a shadow report, an alarm.
    `approval` is the id of the approval that it follows from, "" for none.
    """

    to: State
    actor: Actor
    time: str
    why: str = ""
    stage: int = -1
    evidence: tuple[str, ...] = ()
    force: bool = False
    release: Release | None = None
    cuts: Mapping[str, float] = field(default_factory=dict)
    approval: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a move isn't allowed, and the way out."""

    reason: str
    hint: str


def stages_of(release: Release | None) -> tuple[Stage, ...]:
    """Return the stages of a release, the default ones where it names none."""
    return release.rollout.stages if release is not None and release.rollout.stages else DEFAULT_STAGES


def refusal(now: Standing, step: Step) -> Refusal | None:
    """Return why `step` is not allowed, None where it is. Pure."""
    name = f"{now.id} version {now.version}"
    if step.to not in MOVES[now.state]:
        ways = ", ".join(state for state in STATES if state in MOVES[now.state])
        after = f"From there it may go to {ways}." if ways else "That is its end: publish a new version."
        return Refusal(f"{name} is {now.state}; it can't become {step.to}.", after)
    if not step.actor.person and (now.state, step.to) not in _BY_ENGINE:
        return Refusal(
            f"{step.actor.name} is no person; only a person moves a version from {now.state} to {step.to}.",
            "Let the owner decide it: exuvia strategy review, or the bank's page.",
        )
    if step.force and not (step.actor.person and step.why.strip()):
        return Refusal("Only a person forces a move, with a reason.", "Say why (--reason), or wait.")
    if step.to in SERVED and not now.reviewed_by:
        return Refusal(f"{name} was approved by nobody.", "Send it to review first; a person approves it there.")
    return _of_target(now, step, name)


def _of_target(now: Standing, step: Step, name: str) -> Refusal | None:
    match step.to:
        case "shadow" if now.state == "review" and now.origin != "human" and not step.evidence:
            return Refusal(
                f"{name} is {now.origin}, and nothing says how it did.",
                "Run its check and the benchmark, and name that run as evidence (--evidence ID).",
            )
        case "shadow" | "gray" if step.release is not None and step.release.id != now.id:
            return Refusal(f"the release is one of {step.release.id}.", f"Set `id: {now.id}` in {now.id}.release.yaml.")
        case "shadow" | "gray" if step.release is not None and step.release.version != now.version:
            return Refusal(
                f"the release file speaks of version {step.release.version}, not of {now.version}.",
                f"Set `version: {now.version}` in {now.id}.release.yaml.",
            )
        case "gray":
            return _to_gray(now, step)
        case "active" if now.state == "gray":
            return _to_active(now, step)
    return None


def _to_gray(now: Standing, step: Step) -> Refusal | None:
    stages = stages_of(step.release or now.release)
    wanted = now.stage + 1 if now.state == "gray" else 0
    if not 0 <= step.stage < len(stages):
        return Refusal(
            f"there is no stage {step.stage + 1}; the release has {len(stages)}.",
            "After the last stage comes active." if step.stage >= len(stages) else "Stages count from 1.",
        )
    if step.stage < wanted:
        return Refusal(
            f"stage {step.stage + 1} was passed already: users who were let in stay in.",
            "Take it back as a whole (rollback), or go on.",
        )
    if step.stage > wanted and not step.force:
        return Refusal(f"stage {wanted + 1} comes next.", "Go there, or force it with a reason.")
    if now.state != "gray":
        return None
    return _held(now, step) or _same_draw(now, step)


def _same_draw(now: Standing, step: Step) -> Refusal | None:
    """Refuse a release that would let users out who were let in: another draw, or a smaller stage (S67)."""
    if step.release is None or step.release == now.release:
        return None
    before = _drawn_by(now.release, now)
    if _drawn_by(step.release, now) != before:
        return Refusal(
            "the release draws users in another way than when it began: some would lose the version again.",
            "Put `rollout.assign` back as it was, or take the version back and begin anew.",
        )
    if stages_of(step.release)[: now.stage + 1] != now.stages[: now.stage + 1]:
        return Refusal("a stage that was entered has changed in the release.", "Change only stages that are to come.")
    if _share_of_test(step.release) < _share_of_test(now.release):
        return Refusal(
            "the A/B test would give some users, who have the new version, the old one again.",
            "Leave `rollout.ab` as it was when the release began, or take the version back and begin anew.",
        )
    return None


def _drawn_by(release: Release | None, now: Standing) -> Assign:
    """Return how users are drawn, with the salt that counts: a release file that comes late is held to the default."""
    found = release.rollout.assign if release is not None else Assign()
    return found.model_copy(update={"salt": found.salt or f"{now.id}/{now.version}"})


def _share_of_test(release: Release | None) -> float:
    """Return the percent of the gray group that sees the new version: all of it without an A/B test."""
    return 100.0 if release is None or release.rollout.ab is None else float(release.rollout.ab.split)


def _to_active(now: Standing, step: Step) -> Refusal | None:
    if now.stage < len(now.stages) - 1 and not step.force and not step.evidence:
        return Refusal(
            f"it is at stage {now.stage + 1} of {len(now.stages)}.",
            "Pass the stages, name the A/B test that decided it as evidence, or force it with a reason.",
        )
    if not step.actor.person and not step.evidence:
        return Refusal(
            f"{step.actor.name} names no evidence for full traffic.", "Name the A/B test, or let a person decide."
        )
    return _held(now, step)


def _held(now: Standing, step: Step) -> Refusal | None:
    stage = now.stages[now.stage]
    until = moment(now.since) + timedelta(hours=stage.hold_hours)
    if step.force or moment(step.time) >= until:
        return None
    return Refusal(
        f"stage {now.stage + 1} holds until {until.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}.",
        "Wait, or force it with a reason.",
    )


def moved(now: Standing, step: Step) -> Standing:
    """Return the standing after an allowed step. Pure; ask `refusal` first."""
    after = replace(now, state=step.to, stage=step.stage if step.to == "gray" else -1, since=step.time)
    if now.state == "review" and step.to == "shadow":
        after = replace(after, reviewed_by=step.actor.name)
    if step.to in {"draft", "review"}:
        after = replace(after, reviewed_by="", release=None, cuts=(), replaced=None)  # looked at anew
    if step.to in {"shadow", "gray"} and step.release is not None:
        after = replace(after, release=step.release)
    if step.to == "shadow":
        after = replace(after, cuts=())
    if step.to == "gray":
        passed = max(0, step.stage - len(now.cuts))
        after = replace(after, cuts=(*now.cuts, *({} for _ in range(passed)), dict(step.cuts)))
    return after


def moment(text: str) -> datetime:
    """Return a time of our own, aware. Raises ValueError where it is none, has no zone, or lies where no clock is.

    The years are bounded so that whatever is reckoned from a time is a time too: a line of year 9999 would end every
    reader that adds an hour to it.
    """
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone; write one, such as +00:00")
    if not _YEARS[0] <= found.year <= _YEARS[1]:
        raise ValueError(f"{text!r} lies outside the years {_YEARS[0]} to {_YEARS[1]}")
    return found


def newest(standings: Sequence[Standing], *states: State) -> Standing | None:
    """Return the highest version in one of `states`, None where there is none. Pure."""
    found = [one for one in standings if one.state in states]
    return max(found, key=lambda one: one.version) if found else None
