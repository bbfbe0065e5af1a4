"""The closed loop over a task stream: retrieve, run the frozen executor, judge, curate, apply (CURATION 1.1, K6).

One pass from an empty memory; the same tasks feed it and are scored. The streams of an arm walk in lockstep, so that a
policy curates for all of them in one batch. What happened at a position is one record, written once: a run that is
killed anywhere goes on behind the last whole record, and its memories are folded from what stands there.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.curation.arms import Arm, Learned, Stream
from core.curation.content_judge import ContentJudge
from core.curation.curators import CurationInput
from core.curation.executors import Executor
from core.curation.memories import Memory, Operation
from core.curation.positions import Place, place_of
from core.curation.self_judgement import SelfJudge
from core.curation.worlds import ContentVerdict, Episode, Task, World
from core.foundation.errors import ExuviaError
from core.skillrepo.skill import Skill

LOST_IN_A_ROW = 3
"""So many positions in a row that lost every attempt stop a run: whatever is broken, going on won't mend it."""


class StreamBrokenError(ExuviaError):
    """The run can't go on as things are; what is recorded stays, and it can be resumed."""


@dataclass(frozen=True, slots=True)
class Loop:
    """What every arm of a run shares. `content_judge` None leaves what was written unjudged."""

    world: World
    executor: Executor
    judge: SelfJudge
    content_judge: ContentJudge | None
    streams: tuple[Stream, ...]
    seed: int = 0
    parallel: int = 8

    @property
    def positions(self) -> int:
        """How many positions the longest stream has."""
        return max((len(stream.tasks) for stream in self.streams), default=0)


@dataclass(slots=True)
class Walker:
    """One stream of one arm: its tasks and its memory."""

    stream: Stream
    memory: Memory


@dataclass(frozen=True, slots=True)
class Lane:
    """A walker at a position."""

    position: int
    walker: Walker

    @property
    def task(self) -> Task:
        return self.walker.stream.tasks[self.position]


Happened = tuple[Place, Episode]
Record = Callable[[int, Sequence[Happened], float], None]
"""Called once a position with the position, what happened to each stream there, and the seconds it took."""


def walkers(arm: Arm, streams: Sequence[Stream]) -> tuple[Walker, ...]:
    """Return the streams of an arm, each with an empty memory of its own."""
    return tuple(Walker(stream, arm.memory(stream)) for stream in streams)


def replay(walking: Sequence[Walker], lanes: Sequence[Mapping[int, Mapping[str, Any]]]) -> None:
    """Fold recorded changes into fresh memories. `lanes` holds, a position, the change of each stream by its seed."""
    by_seed = {walker.stream.seed: walker for walker in walking}
    for changes in lanes:
        for seed, change in changes.items():
            by_seed[seed].memory.take(change)


def walk(
    arm: Arm,
    loop: Loop,
    walking: Sequence[Walker],
    *,
    start: int,
    record: Record,
    go_on: Callable[[], bool],
) -> bool:
    """Walk from position `start` to the end. Returns False where `go_on` said stop.

    Raises StreamBrokenError where everything is lost for too long, and whatever the curator or an executor raises that
    no waiting mends; positions that are recorded stay.
    """
    lost = 0
    position = start
    # Nothing waits for anything where memories never change: then several positions make one batch.
    stride = max(1, loop.parallel // max(1, len(walking))) if arm.static else 1
    while position < loop.positions:
        if not go_on():
            return False
        batch = range(position, min(position + stride, loop.positions))
        began = time.monotonic()
        lanes = [Lane(at, walker) for at in batch for walker in walking if at < len(walker.stream.tasks)]
        done = _positions(arm, loop, lanes)
        seconds = (time.monotonic() - began) / len(batch)
        for at in batch:
            here = [one for lane, one in zip(lanes, done, strict=True) if lane.position == at]
            lost = lost + 1 if here and all(episode.success is None for _, episode in here) else 0
            record(at, here, seconds)
            if lost >= LOST_IN_A_ROW:
                raise StreamBrokenError(
                    f"{lost} positions in a row were lost to infrastructure: {here[0][1].failure}",
                    hint="Mend that, then resume; the lost positions stay masked.",
                )
        position = batch.stop
    return True


def _positions(arm: Arm, loop: Loop, lanes: Sequence[Lane]) -> list[Happened]:
    """Do what is to be done at these places, from retrieval to the changed memory."""
    found = [lane.walker.memory.find(lane.position, lane.task) for lane in lanes]
    held = [len(lane.walker.memory.skills) for lane in lanes]
    episodes = loop.executor.run(loop.world, list(zip((lane.task for lane in lanes), found, strict=True)))
    episodes = loop.judge.judge(loop.world.name, episodes)
    learned = _learned(arm, loop, lanes, episodes, found)
    operations = [
        () if one.change is None else lane.walker.memory.take(one.change)
        for lane, one in zip(lanes, learned, strict=True)
    ]
    contents = _judged(loop, episodes, operations)
    return [
        (
            place_of(
                lane.walker.stream.seed, episode, before, skills, lesson, done, verdicts, lane.walker.memory.skills
            ),
            episode,
        )
        for lane, episode, before, skills, lesson, done, verdicts in zip(
            lanes, episodes, held, found, learned, operations, contents, strict=True
        )
    ]


def _learned(
    arm: Arm, loop: Loop, lanes: Sequence[Lane], episodes: Sequence[Episode], found: Sequence[tuple[Skill, ...]]
) -> list[Learned]:
    """Ask the arm what each attempt teaches; an attempt that was lost teaches nothing and isn't shown."""
    if arm.static:
        return [Learned(None) for _ in lanes]
    shown = [
        (
            lane.walker.memory,
            CurationInput(episode, skills, curation_seed(loop.seed, lane.walker.stream.seed, lane.position)),
        )
        for lane, episode, skills in zip(lanes, episodes, found, strict=True)
        if episode.success is not None
    ]
    answers = iter(arm.learn(shown) if shown else ())
    return [Learned(None) if episode.success is None else next(answers) for episode in episodes]


def _judged(
    loop: Loop, episodes: Sequence[Episode], operations: Sequence[Sequence[Operation]]
) -> list[list[ContentVerdict | None]]:
    """Judge what was written and stands; None for an operation that wrote nothing."""
    judge = loop.content_judge
    if judge is None:
        return [[None] * len(done) for done in operations]
    questions = [
        (operation.content, episode)
        for episode, done in zip(episodes, operations, strict=True)
        for operation in done
        if operation.valid and operation.content
    ]
    verdicts = iter(judge.judge(questions))
    return [[next(verdicts) if one.valid and one.content else None for one in done] for done in operations]


def curation_seed(seed: int, stream: int, position: int) -> int:
    """Return what a sampling curator draws by at a position: the same for every arm, in any process."""
    digest = hashlib.sha256(f"curation {seed} {stream} {position}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
