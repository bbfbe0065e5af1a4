"""A stream run's process: makes what the spec names, walks arm by arm, writes what came out (K6)."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from core.curation import jobs, stream_repositories
from core.curation.arm_building import Workshop
from core.curation.arms import Arm, NotRun, Stream
from core.curation.curator_process import CuratorProcessError
from core.curation.executors import ScriptedExecutor
from core.curation.jobs import Work
from core.curation.meter import Budget, Meter
from core.curation.stream import Happened, Loop, Walker, replay, walk, walkers
from core.curation.stream_files import Journal, StreamPaths, StreamWriter, facts_of, read_journal, same
from core.curation.stream_report import write_report
from core.curation.stream_spec import GROUP, StreamSpec, load_spec
from core.curation.worlds import World
from core.foundation.errors import ConflictError, ExuviaError
from core.foundation.visible import visible_line
from core.state.paths import ProjectPaths

OpenWorld = Callable[[StreamSpec, ProjectPaths], World]
_SAY_S = 5.0  # between two lines of progress


def run(root: Path, project: ProjectPaths, open_world: OpenWorld) -> int:
    """Walk the run in `root`, from the start or from where it was left. Returns 0 finished, 1 failed, 130 stopped."""
    paths = StreamPaths(root)
    spec = load_spec(paths.spec)
    with jobs.at_work(root) as work:
        began = paths.events.exists()
        writer: StreamWriter | None = None
        closing = contextlib.ExitStack()
        try:
            world = open_world(spec, project)
            closing.callback(getattr(world, "close", _nothing))  # a world that keeps an engine lets it go
            shop = Workshop(spec, world, project, Meter(Budget(spec.max_tokens, spec.max_usd)))
            executor = shop.executor()
            writer = StreamWriter(paths, keep_episodes=not isinstance(executor, ScriptedExecutor))
            judge, content_judge = shop.judge(executor), shop.content_judge(paths.judgements)
            streams = draw_streams(spec, world)
            loop = Loop(world, executor, judge, content_judge, streams, spec.seed, spec.parallel)
            facts = facts_of(
                world, streams, executor.name, judge.name, content_judge.name if content_judge is not None else "off"
            )
            journal = read_journal(paths) if began else Journal()
            if journal.facts is None:
                writer.start(facts)
            elif difference := same(journal.facts, facts):
                raise ConflictError(
                    f"The {difference} of {paths.id} is not what it was when the run began.",
                    hint="Its numbers would mix two things; start another run.",
                )
            else:
                writer.resume()
            whole = _arms(shop, loop, journal, paths, writer, work)
            state, reason = ("finished", "") if whole else ("stopped", "stopped by the operator")
        except ExuviaError as error:
            state, reason = "failed", f"{error} {error.hint}".strip()
        finally:
            closing.close()
        (writer or StreamWriter(paths, keep_episodes=False)).end(state, reason)
        _say(f"{paths.id}: {state}{f': {reason}' if reason else ''}")
        write_report(paths, spec)
    return {"finished": 0, "stopped": 130}.get(state, 1)


def draw_streams(spec: StreamSpec, world: World) -> tuple[Stream, ...]:
    """Return the streams of a run, one a seed."""
    if spec.order == "grouped":
        return tuple(
            Stream(seed, world.group(spec.split, seed, spec.tasks or GROUP, spec.family)) for seed in spec.seeds
        )
    return tuple(Stream(seed, world.stream(spec.split, seed, spec.tasks)) for seed in spec.seeds)


def _arms(shop: Workshop, loop: Loop, journal: Journal, paths: StreamPaths, writer: StreamWriter, work: Work) -> bool:
    """Walk every arm that isn't done. Returns False where the operator stopped it."""
    for arm in shop.arms():
        record = journal.arms.get(arm.name)
        if record is not None and record.state == "done":
            continue
        if isinstance(arm, NotRun):
            _not_run(writer, arm)
            continue
        try:
            whole = _arm(arm, loop, journal, writer, work, shop.meter)
        except CuratorProcessError as error:
            written = read_journal(paths).arms.get(arm.name)
            if written is not None and written.positions:
                raise  # it had begun: what it needs is gone, and comes back with a resume
            _not_run(writer, NotRun(arm.name, f"{error}"))
            continue
        if whole is None:
            continue
        written = read_journal(paths).arms.get(arm.name)
        if written is not None:
            stream_repositories.keep(paths, written, extra=shop.spec.extra)
        if not whole:
            return False
        writer.arm_done(arm.name)
    return True


def _arm(arm: Arm, loop: Loop, journal: Journal, writer: StreamWriter, work: Work, meter: Meter) -> bool | None:
    """Walk an arm; None where it refuses the world, False where it was stopped."""
    with arm.working():
        if refusal := arm.refuses(loop.world.name):
            _not_run(writer, NotRun(arm.name, refusal))
            return None
        walking = walkers(arm, loop.streams)
        start = _replayed(arm.name, walking, journal)
        progress = _Progress(arm.name, loop)

        def go_on() -> bool:
            work.wait_while_paused()
            return not work.stopping

        def record(position: int, happened: Sequence[Happened], seconds: float) -> None:
            writer.position(arm.name, position, happened, seconds, meter)
            progress.at(position, [place.success for place, _ in happened])

        return walk(arm, loop, walking, start=start, record=record, go_on=go_on)


def _replayed(name: str, walking: Sequence[Walker], journal: Journal) -> int:
    """Fold what is recorded into the memories; return the position to go on at."""
    record = journal.arms.get(name)
    if record is None:
        return 0
    replay(
        walking,
        [{place.seed: place.change for place in places if place.change is not None} for places in record.positions],
    )
    return len(record.positions)


class _Progress:
    """A line now and then: which arm, how far, how it goes."""

    def __init__(self, name: str, loop: Loop) -> None:
        self._name = name
        self._positions = loop.positions
        self._said = time.monotonic()
        self._known = 0
        self._won = 0

    def at(self, position: int, successes: Sequence[bool | None]) -> None:
        self._known += sum(success is not None for success in successes)
        self._won += sum(bool(success) for success in successes)
        last = position + 1 == self._positions
        if last or time.monotonic() - self._said >= _SAY_S:
            self._said = time.monotonic()
            share = f"{100 * self._won / self._known:.1f} %" if self._known else "nothing measured"
            _say(f"{self._name}: {position + 1} of {self._positions} tasks a stream, success {share}")


def _not_run(writer: StreamWriter, arm: NotRun) -> None:
    writer.not_run(arm)
    _say(f"{arm.name}: not run: {arm.reason}")


def _nothing() -> None:
    """What a world does that has nothing to close."""


def _say(text: str) -> None:
    sys.stdout.write(visible_line(text) + "\n")
    sys.stdout.flush()
