"""Starting, watching, stopping and resuming runs. Each is a process of its own that outlives whoever started it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from core.agents.isolation import processes
from core.evolution.events import EventName, Journal, read_journal
from core.evolution.orphans import clean_orphans
from core.evolution.others import BesideError, refuse_company, refuse_held, refuse_unseen
from core.evolution.run_paths import ENGINE, ENGINES, Kind
from core.evolution.run_view import ENDED, RunView, fold_view, is_observed
from core.evolution.specs import (
    BuildSpec,
    CurateSpec,
    EvaluateSpec,
    OptimizeSpec,
    RunPaths,
    RunSpec,
    TrySpec,
    new_run_id,
    read_spec,
    run_paths,
)
from core.foundation import strict_json
from core.foundation.errors import ConflictError, DamagedError, NotFoundError, UsageError
from core.foundation.visible import decode
from core.state import atomic, readonly
from core.state.locks import held
from core.state.paths import AgentPaths, ProjectPaths, check_id

__all__ = [
    "BesideError",
    "BuildSpec",
    "CurateSpec",
    "EvaluateSpec",
    "OptimizeSpec",
    "RunSpec",
    "TrySpec",
    "exit_of",
    "follow",
    "list_runs",
    "live_run",
    "read_run",
    "resume",
    "start",
    "stop",
    "wait",
]

STOP_GRACE_S = 8.0
LEAVING_S = 15.0  # an engine that has journalled its end cleans up and leaves within this
_FOLLOW_S = 0.2
_LOG_TAIL = 4096  # bytes of the engine's log that are looked at for its last words


def start(
    project: ProjectPaths,
    spec: RunSpec,
    *,
    run_id: str | None = None,
    after: str | None = None,
    beside: bool = False,
) -> str:
    """Start a run and return its id. Raises UsageError where the spec cannot lead anywhere, ConflictError where
    another run works on the agent; `after` names the run that hands over to this one. Raises BesideError where
    another program's loop works on it, unless `beside` says that this is known and meant.

    The run's process is in a session of its own: closing the terminal or the console does not reach it.
    """
    readonly.refuse(project.root)
    _check(project, spec, after)
    if not beside and after is None:
        refuse_company(project.agent(spec.agent_id), list_runs(project))
    run = run_paths(project, run_id or new_run_id(spec.kind))
    with _starting(project):
        _check(project, spec, after)  # another may have started between
        if run.root.exists():
            raise ConflictError(f"There is already a run {run.id}.", hint="Start again; it gets another id.")
        run.root.mkdir(parents=True)
        atomic.write_text(run.spec, strict_json.dumps(spec.model_dump(mode="json"), indent=1) + "\n")
        _launch(run, spec.kind)
    return run.id


def resume(project: ProjectPaths, run_id: str, *, beside: bool = False) -> str:
    """Go on with a run that is blocked, stopped, failed or dead; finished cells stay. Returns its id.

    Raises ConflictError where it or another run on its agent runs, BesideError as `start` does, UsageError where
    there is nothing to go on with.
    """
    readonly.refuse(project.root)
    run = _existing(project, run_id)
    view = read_run(project, run_id)
    if view.state == "finished":
        raise UsageError(f"Run {run_id} is finished; there is nothing to resume.", hint="Look at its report.")
    deadline = time.monotonic() + LEAVING_S
    while view.state in ENDED and is_alive(run) and time.monotonic() < deadline:
        time.sleep(0.02)  # it has said its last word and is on its way out
    if not beside and not is_alive(run):
        refuse_company(project.agent(view.agent_id), list_runs(project))
    said = _lives(run)
    with _starting(project):
        if is_alive(run):
            raise ConflictError(f"Run {run_id} is running (process {view.pid}).", hint="Follow it: exuvia runs show")
        refuse_held(run)
        _alone(project.agent(view.agent_id), run_id)
        _launch(run, view.kind)
    deadline = time.monotonic() + LEAVING_S
    while _lives(run) == said and is_alive(run) and time.monotonic() < deadline:
        time.sleep(0.02)  # so that whoever looks next sees the new life and not the end of the old one
    return run_id


def stop(project: ProjectPaths, run_id: str, *, actor: str = "operator", grace_s: float = STOP_GRACE_S) -> RunView:
    """Stop a run: TERM, then KILL of everything it started. What is finished stays. Returns the view afterwards."""
    readonly.refuse(project.root)
    run = _existing(project, run_id)
    who = processes.recorded(_pid_file(run))
    if who is not None:
        # The engine first and alone: it ends its Targets itself and journals why.
        _signal(int(who.partition(":")[0]), signal.SIGTERM)
        deadline = time.monotonic() + grace_s
        while processes.is_alive(who) and time.monotonic() < deadline:
            time.sleep(0.05)
        processes.kill_tree(who, grace_s=0.5)
    journal = Journal(run.journal)
    clean_orphans(journal.events)
    if read_run(project, run_id).state not in ENDED:
        journal.append(EventName.STOPPED, actor=actor, reason=f"stopped by {actor}")
    return read_run(project, run_id)


def list_runs(project: ProjectPaths) -> tuple[RunView, ...]:
    """Return every readable run of the project, newest first."""
    found: list[RunView] = []
    try:
        names = sorted((entry.name for entry in os.scandir(project.runs) if entry.is_dir()), key=_by_time, reverse=True)
    except FileNotFoundError:
        return ()
    for name in names:
        try:
            found.append(read_run(project, name))
        except (UsageError, DamagedError, OSError):
            continue  # not a run of ours; `runs show` says what is wrong with it
    return tuple(found)


def _by_time(name: str) -> str:
    return name.partition("-")[2] + name


def read_run(project: ProjectPaths, run_id: str) -> RunView:
    """Return the view of a run. Raises NotFoundError, or DamagedError where its spec is unreadable."""
    run = _existing(project, run_id)
    spec = read_spec(run).model_dump(mode="json")
    events, damaged = read_journal(run.journal)
    view = fold_view(run.id, spec, events, alive=is_alive(run))
    if view.state == "dead" and not view.reason:
        view = replace(view, reason=_last_words(run))
    return replace(view, damaged_lines=len(damaged))


def _last_words(run: RunPaths) -> str:
    """Return why a dead engine may have ended, as far as its log tells, and the way out."""
    try:
        lines = decode(run.log.read_bytes()[-_LOG_TAIL:]).strip().splitlines()
    except FileNotFoundError:
        lines = []
    said = f"its last words: {lines[-1][:200]}" if lines else "without a word"
    return f"the engine ended on its own, {said} (exuvia runs resume {run.id})"


async def follow(project: ProjectPaths, run_id: str) -> AsyncIterator[RunView]:
    """Yield the run's view whenever it changes, until it has ended."""
    run, seen, last = _existing(project, run_id), -1, ""
    while True:
        size = run.journal.stat().st_size if run.journal.exists() else 0
        view = read_run(project, run_id) if size != seen or not is_alive(run) else None
        if view is not None and (size != seen or view.state != last):
            seen, last = size, view.state
            yield view
        if view is not None and view.state in ENDED | {"dead"} and not is_alive(run):
            return
        await asyncio.sleep(_FOLLOW_S)


async def wait(project: ProjectPaths, run_id: str, *, timeout_s: float | None = None) -> RunView:
    """Return the run's view once it has ended. Raises TimeoutError."""
    async with asyncio.timeout(timeout_s):
        async for _ in follow(project, run_id):
            pass
    return read_run(project, run_id)


def exit_of(view: RunView) -> int:
    """Return the exit code that a run's end stands for: 0 done, 1 failed, 3 blocked, 130 stopped."""
    return {"finished": 0, "blocked": 3, "stopped": 130}.get(view.state, 1)


def live_run(agent: AgentPaths) -> str | None:
    """Return the id of a living run on `agent`, for a rollback to refuse by."""
    return _living(agent, list_runs(agent.project))


def _living(agent: AgentPaths, views: Iterable[RunView]) -> str | None:
    alive = (view.run_id for view in views if view.agent_id == agent.id and view.state in {"running", "waiting"})
    return next(alive, None)


def is_alive(run: RunPaths) -> bool:
    """Tell whether the run's engine lives."""
    return processes.recorded(_pid_file(run)) is not None


def _lives(run: RunPaths) -> int:
    """Return how often the run's engine has said that it begins: at first, or again after a resume."""
    began = {EventName.RUN_STARTED, EventName.RUN_RESUMED}
    return sum(1 for event in read_journal(run.journal)[0] if event["event"] in began)


def _pid_file(run: RunPaths) -> Path:
    return run.root / "engine.pid"


def _existing(project: ProjectPaths, run_id: str) -> RunPaths:
    run = run_paths(project, run_id)
    if is_observed(run_id):
        raise UsageError(
            f"{run_id} is a run of another program, inferred from its traces: there is no process of ours in it.",
            hint="Stop it, go on with it or speak to it in the program that runs it.",
        )
    if not run.spec.is_file():
        raise NotFoundError(f"There is no run {run_id!r} in project {project.id}.", hint="List them: exuvia runs list")
    return run


def _check(project: ProjectPaths, spec: RunSpec, after: str | None) -> None:
    check_id("agent", spec.agent_id)
    agent = project.agent(spec.agent_id)
    benchmark = agent.benchmark(check_id("benchmark", spec.benchmark_id))
    if isinstance(spec, BuildSpec):
        if benchmark.root.exists():
            raise ConflictError(
                f"Agent {agent.id} has a benchmark {benchmark.id} already.", hint="Choose another benchmark id."
            )
        if not agent.config.is_file() and not (spec.requirement or "").strip():
            raise UsageError(
                f"There is no agent {agent.id}, and no requirement to make it from.", hint="Give --requirement TEXT."
            )
    else:
        if not agent.config.is_file():
            raise NotFoundError(f"There is no agent {agent.id!r}.", hint="List them: exuvia agent list")
        if not benchmark.root.is_dir():
            raise NotFoundError(f"Agent {agent.id} has no benchmark {benchmark.id!r}.", hint="Build one: exuvia build")
        from core.evolution.trials import measured_cases  # only what starts a run needs it

        if not measured_cases(benchmark):
            there = len(benchmark.case_ids())
            raise UsageError(
                f"Benchmark {benchmark.id} has no Case to measure" + (f": all {there} are held out." if there else "."),
                hint="A mean of nothing is no score. Add Cases, or take some off held_out.",
            )
    _alone(agent, after)


def _alone(agent: AgentPaths, but: str | None) -> None:
    """Raise ConflictError where a run other than `but` works on the agent, in sight or out of it."""
    known = list_runs(agent.project)
    if (holder := _living(agent, known)) not in {None, but}:
        raise ConflictError(
            f"Run {holder} is working on agent {agent.id}.", hint=f"Wait for it, or stop it: exuvia runs stop {holder}"
        )
    refuse_unseen(agent, known, but)


def _starting(project: ProjectPaths) -> AbstractContextManager[None]:
    """Hold what lets one process at a time look whether an agent is free and take it."""
    return held(project.own / "starting", timeout_s=LEAVING_S)


def _launch(run: RunPaths, kind: Kind) -> None:
    """Start the engine detached: own session, no terminal, output to the run's log."""
    with run.log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", ENGINES.get(kind, ENGINE), str(run.root)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=run.root,
            start_new_session=True,
            close_fds=True,
        )
    with contextlib.suppress(ProcessLookupError):  # it ended at once; its journal or its log says why
        processes.record(_pid_file(run), process.pid)
    # Reaped where it ends before us, so that it never stays as a zombie of a long-lived console.
    threading.Thread(target=process.wait, name=f"reap-{run.id}", daemon=True).start()


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
