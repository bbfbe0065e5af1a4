"""Stream runs: start, watch, stop, resume, list. Each is a job in `<project>/.exuvia/streams/<id>/` (K6)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from core.curation import jobs, trainer_check
from core.curation.stream_files import StreamPaths, StreamWriter, read_journal
from core.curation.stream_report import summary_of
from core.curation.stream_spec import StreamSpec, load_spec, spec_json, write_spec
from core.curation.stream_summary import Summary
from core.foundation.clock import IDENTIFIER
from core.foundation.errors import ConflictError, DamagedError, NotFoundError, UsageError
from core.state import readonly
from core.state.locks import held
from core.state.paths import ProjectPaths

State = Literal["starting", "running", "paused", "finished", "stopped", "failed", "dead"]
_STARTING_S = 15.0


@dataclass(frozen=True, slots=True)
class StreamRun:
    """A run as lists and reports show it."""

    id: str
    state: State
    spec: StreamSpec
    summary: Summary
    reason: str = ""
    pid: int | None = None


def run_paths(project: ProjectPaths, run_id: str) -> StreamPaths:
    """Return the paths of a run, there or not. Raises UsageError where the id is none."""
    if not IDENTIFIER.fullmatch(run_id):
        raise UsageError(f"{run_id!r} is no id of a stream run.", hint="List them: exuvia stream list")
    return StreamPaths(project.streams / run_id)


def prepare(project: ProjectPaths, spec: StreamSpec, *, run_id: str | None = None) -> StreamPaths:
    """Make the directory of a run and write its spec.

    Raises UsageError for what cannot be, ConflictError for a taken id.
    """
    readonly.refuse(project.root)
    checked = spec.checked()
    paths = run_paths(project, run_id or jobs.new_id("stream"))
    with held(project.own / "starting", timeout_s=_STARTING_S):
        if paths.root.exists():
            raise ConflictError(f"There is already a run {paths.id}.", hint="Start again; it gets another id.")
        paths.root.mkdir(parents=True)
        write_spec(paths.spec, checked)
    return paths


def check(project: ProjectPaths, spec: StreamSpec, named: Sequence[str] = ()) -> None:
    """Ask the process that would walk it whether it can begin, with every arm of `named`; nothing is made.

    Raises UsageError where it can't.
    """
    trainer_check.stream(project, spec_json(spec.checked()), named)


def launch(paths: StreamPaths) -> int:
    """Start or go on with a prepared run in a process of its own; return its id."""
    return jobs.start(paths.root, ["-m", "trainer", "stream", str(paths.root)])


def resume(project: ProjectPaths, run_id: str) -> StreamPaths:
    """Return the paths of a run that can go on. Raises UsageError where it is finished, ConflictError where it runs."""
    readonly.refuse(project.root)
    run = read_run(project, run_id)
    if run.state == "finished":
        raise UsageError(
            f"Run {run_id} is finished; there is nothing to resume.", hint="exuvia stream report shows it."
        )
    paths = run_paths(project, run_id)
    jobs.order(paths.root, "run")
    if run.pid is not None and run.state != "paused":
        raise ConflictError(f"Run {run_id} is at work (process {run.pid}).", hint="exuvia stream report follows it.")
    return paths


def stop(project: ProjectPaths, run_id: str) -> StreamRun:
    """Stop a run; every whole position stays. Returns it as it is then.

    One that had to be killed is written down as stopped. Raises UsageError where it does not run.
    """
    readonly.refuse(project.root)
    paths = _existing(project, run_id)
    if not jobs.alive(paths.root):
        raise UsageError(
            f"Run {run_id} does not run: it is {read_run(project, run_id).state}. There is nothing to stop.",
            hint=f"Look at it: exuvia stream report {run_id}",
        )
    left = jobs.stop(paths.root)
    if read_run(project, run_id).state == "dead":
        how = "before it could answer" if left else "by a kill, as it didn't end by itself in time"
        StreamWriter(paths, keep_episodes=False).end("stopped", f"stopped by the operator {how}")
    return read_run(project, run_id)


def list_runs(project: ProjectPaths) -> tuple[StreamRun, ...]:
    """Return the project's runs, newest first; what cannot be a run is left out."""
    try:
        with os.scandir(project.streams) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return ()
    found: list[StreamRun] = []
    for name in sorted(names, key=jobs.by_time, reverse=True):
        try:
            found.append(read_run(project, name))
        except (UsageError, DamagedError, OSError):
            continue  # `exuvia stream report` says what is wrong with it
    return tuple(found)


def read_run(project: ProjectPaths, run_id: str) -> StreamRun:
    """Return a run as its files tell it. Raises NotFoundError, or DamagedError where its settings are unreadable."""
    paths = _existing(project, run_id)
    spec = load_spec(paths.spec)
    pid = jobs.pid(paths.root)  # before its records: one that has ended has written them all
    journal = read_journal(paths)
    summary = summary_of(paths, spec)
    if journal.ended is not None and pid is None:
        state, reason = journal.ended
        known: State = "finished" if state == "finished" else "stopped" if state == "stopped" else "failed"
        return StreamRun(run_id, known, spec, summary, reason)
    if pid is None:
        said = jobs.last_words(paths.root)
        reason = f"its process ended on its own{f', its last words: {said}' if said else ''}"
        return StreamRun(run_id, "dead", spec, summary, reason)
    if journal.facts is None or journal.ended is not None:
        return StreamRun(run_id, "starting", spec, summary, pid=pid)
    state_now: State = "paused" if jobs.ordered(paths.root) == "pause" else "running"
    return StreamRun(run_id, state_now, spec, summary, pid=pid)


def _existing(project: ProjectPaths, run_id: str) -> StreamPaths:
    paths = run_paths(project, run_id)
    if not paths.spec.is_file():
        raise NotFoundError(f"There is no stream run {run_id!r}.", hint="List them: exuvia stream list")
    return paths
