"""Training runs: start, watch, pause, resume, stop. Each is a job in `<project>/.exuvia/training/<id>/`.

The trainer is a program of its own (`python -P -m trainer run DIRECTORY`), since it alone may import torch. All that is
said here is said by files: `request.json` tells it what to do, `control` to pause, `events.jsonl` tells what it did.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from core.curation import jobs, trainer_check, training_records
from core.curation.jobs import JobPaths
from core.curation.training_records import read
from core.curation.training_run import OVER, History, TrainingRun, fold, state_of
from core.curation.training_thinning import Thinning
from core.foundation import strict_json
from core.foundation.clock import IDENTIFIER, now_ms
from core.foundation.errors import ConflictError, DamagedError, NotFoundError, UsageError
from core.state import atomic, readonly
from core.state.locks import held
from core.state.paths import ProjectPaths

INSTALL = "pip install 'exuvia[trainer]'"
_FOLLOW_S = 0.2
_LEAVING_S = 15.0
_PIECE = 8 << 20  # bytes of events that are read at once


def run_paths(project: ProjectPaths, run_id: str) -> JobPaths:
    """Return the paths of a run, there or not. Raises UsageError where the id is none."""
    if not IDENTIFIER.fullmatch(run_id):
        raise UsageError(f"{run_id!r} is no id of a training run.", hint="List them: exuvia train list")
    return JobPaths(project.training / run_id)


def can_train() -> bool:
    """Tell whether what the trainer computes with is installed, without importing it."""
    return all(importlib.util.find_spec(name) is not None for name in ("torch", "safetensors"))


def require_trainer() -> None:
    """Raise UsageError with the command that installs what is missing."""
    if not can_train():
        raise UsageError("Training needs torch, which is not installed here.", hint=f"Install it: {INSTALL}")


def start(
    project: ProjectPaths,
    preset: str,
    *,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
    run_id: str | None = None,
) -> str:
    """Start a run and return its id. `settings` are keys of the preset with other values; `seed` None is the preset's.

    What they mean is the trainer's to judge: it is asked first, and nothing is made where it can't begin. Raises
    UsageError then and where torch is missing, ReadOnlyError in a home that is opened read-only.
    """
    readonly.refuse(project.root)
    require_trainer()
    trainer_check.training(project, preset, seed, settings or {})
    run = run_paths(project, run_id or jobs.new_id(preset))
    with _starting(project):
        if run.root.exists():
            raise ConflictError(f"There is already a run {run.id}.", hint="Start again; it gets another id.")
        run.root.mkdir(parents=True)
        request = {"time": now_ms(), "preset": preset, "seed": seed, "settings": dict(settings or {})}
        atomic.write_text(run.request, strict_json.dumps(request, indent=1) + "\n")
        _launch(run)
    return run.id


def resume(project: ProjectPaths, run_id: str) -> str:
    """Let a paused run go on, or start a stopped, failed or dead one again from its last checkpoint. Returns its id."""
    readonly.refuse(project.root)
    run = _existing(project, run_id)
    view = read_run(project, run_id)
    if view.state == "finished":
        raise UsageError(f"Run {run_id} is finished; there is nothing to resume.", hint="Start another one.")
    with _starting(project):
        jobs.order(run.root, "run")
        if not jobs.alive(run.root):
            require_trainer()
            if not view.spec:  # it never began: what it was asked for may be what can't be
                asked = view.asked
                trainer_check.training(project, view.preset, view.seed, dict(asked.get("settings") or {}))
            _launch(run)
        elif not (view.pausing or view.state == "paused"):
            raise ConflictError(f"Run {run_id} is at work (process {view.pid}).", hint="exuvia train show follows it.")
    return run_id


def pause(project: ProjectPaths, run_id: str) -> None:
    """Ask a run to wait after the step, of imitation or of GRPO, or the measurement that it is in.

    Raises UsageError where it does not run.
    """
    readonly.refuse(project.root)
    run = _existing(project, run_id)
    if not jobs.alive(run.root):
        raise UsageError(f"Run {run_id} does not run; there is nothing to pause.", hint="List them: exuvia train list")
    jobs.order(run.root, "pause")


def stop(project: ProjectPaths, run_id: str, *, grace_s: float = jobs.STOP_GRACE_S) -> TrainingRun:
    """Stop a run: it writes a checkpoint and ends, or is killed after `grace_s` seconds. Returns it as it is then.

    A run that was killed, or that hadn't come far enough to answer, is written down as stopped: it didn't die by
    itself. Raises UsageError where it does not run.
    """
    readonly.refuse(project.root)
    run = _existing(project, run_id)
    if not jobs.alive(run.root):
        state = read_run(project, run_id).state
        raise UsageError(
            f"Run {run_id} does not run: it is {state}. There is nothing to stop.",
            hint=f"It can be looked at: exuvia train show {run_id}"
            if state == "finished"
            else f"Go on with it: exuvia train resume {run_id}",
        )
    left = jobs.stop(run.root, grace_s=grace_s)
    now = read_run(project, run_id)
    if now.state != "dead":
        return now
    kept = now.history.checkpoints
    lost = f"what it did after its checkpoint of step {kept[-1].step} is done again" if kept else "it begins anew"
    how = "stopped, but it ended without an answer" if left else f"it didn't end within {grace_s:g} s and was killed"
    training_records.write(run.events, "end", state="stopped", reason=f"{how}; resumed, {lost}", summary=None)
    return read_run(project, run_id)


def names(project: ProjectPaths) -> tuple[str, ...]:
    """Return the names of what may be training runs, in no order; none where there is no such directory."""
    try:
        with os.scandir(project.training) as entries:
            return tuple(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return ()


def list_runs(project: ProjectPaths) -> tuple[TrainingRun, ...]:
    """Return the project's runs, newest first; what cannot be a run is left out."""
    found: list[TrainingRun] = []
    for name in sorted(names(project), key=jobs.by_time, reverse=True):
        try:
            found.append(read_run(project, name))
        except (UsageError, DamagedError, OSError):
            continue  # `exuvia train show` says what is wrong with it
    return tuple(found)


def read_run(project: ProjectPaths, run_id: str) -> TrainingRun:
    """Return a run as its files tell it. Raises NotFoundError, or DamagedError where its settings are unreadable."""
    return Reader(project, run_id).read()


class Reader:
    """Reads one run again and again, each record once. Invariant: `history` folds all before byte `_end`."""

    def __init__(self, project: ProjectPaths, run_id: str) -> None:
        self.run = _existing(project, run_id)
        self._history = History()
        self._end = 0
        self._damaged = self._passed = 0
        self._thinning: Thinning | None = None

    def read(self) -> TrainingRun:
        """Return the run as it is now. Raises DamagedError where its settings are unreadable."""
        began = jobs.began(self.run.root)  # before its records: one that has ended has written them all
        if self._thinning is None:
            self._thinning = Thinning(_size(self.run.events))
        while True:  # piece by piece: what was folded takes a fraction of what was read
            found = read(self.run.events, start=self._end, most=_PIECE, wanted=self._thinning.wanted)
            if found.records:
                self._history = fold(self._history, found.records)
            self._damaged += len(found.gaps)
            self._passed += found.passed
            moved, self._end = found.end > self._end, found.end
            if not moved:
                break
        history = self._history
        state = state_of(history, began)
        reason = history.end.reason if history.end is not None and state == history.end.state else ""
        if state == "dead":
            words = jobs.last_words(self.run.root)
            reason = f"it ended on its own, its last words: {words}" if words else "it ended on its own without a word"
        return TrainingRun(
            id=self.run.id,
            state=state,
            asked=_document(self.run.request),
            spec=_document(self.run.spec) or (history.start.spec if history.start else {}),
            history=history,
            pid=jobs.pid(self.run.root),
            reason=reason,
            pausing=state == "running" and jobs.ordered(self.run.root) == "pause",
            damaged_lines=self._damaged,
            passed_lines=self._passed,
            summary=_summary(self.run.summary, history),
        )


async def follow(project: ProjectPaths, run_id: str) -> AsyncIterator[TrainingRun]:
    """Yield the run whenever it changes, until it is over."""
    reader = Reader(project, run_id)
    seen: tuple[Any, ...] = ()
    while True:
        run = reader.read()
        now = (run.state, run.pausing, run.history)
        if now != seen:
            seen = now
            yield run
        if run.state in OVER and not jobs.alive(reader.run.root):
            return
        await asyncio.sleep(_FOLLOW_S)


def _existing(project: ProjectPaths, run_id: str) -> JobPaths:
    run = run_paths(project, run_id)
    if not run.request.is_file() and not run.spec.is_file():
        raise NotFoundError(
            f"There is no training run {run_id!r} in project {project.id}.", hint="List them: exuvia train list"
        )
    return run


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _document(path: Path) -> Mapping[str, Any]:
    try:
        document = strict_json.parse(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise DamagedError(
            f"{path.name} of run {path.parent.name} cannot be read: {error}", hint="Start anew."
        ) from error
    if not isinstance(document, dict):
        raise DamagedError(f"{path.name} of run {path.parent.name} is no JSON object.", hint="Start anew.")
    return document


def _summary(path: Path, history: History) -> Mapping[str, Any] | None:
    """Return what came out: the file, else what the last event carries."""
    try:
        document = strict_json.parse(path.read_bytes())
        if isinstance(document, dict):
            return document
    except (OSError, ValueError):
        pass  # not written yet, or hurt: the event says the same
    return history.end.summary if history.end is not None else None


def _launch(run: JobPaths) -> None:
    jobs.start(run.root, ["-m", "trainer", "run", str(run.root), "--settings-apart"])


def _starting(project: ProjectPaths) -> AbstractContextManager[None]:
    return held(project.own / "starting", timeout_s=_LEAVING_S)
