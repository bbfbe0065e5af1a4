"""Who else works on an agent: another program, as its traces tell, or an engine that can't be seen from here.

A run of ours in sight is `runs.live_run`'s to tell. Reads only.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator

from core.evolution.observed import QUIET_S
from core.evolution.observed_project import Observer, told_sessions
from core.evolution.run_view import OBSERVED, RunView
from core.evolution.specs import RunPaths, run_paths
from core.foundation.errors import ConflictError
from core.state.locks import is_held
from core.state.paths import AgentPaths, ProjectPaths

_GOING_S = 5.0  # how long a killed engine is given to be gone


class BesideError(ConflictError):
    """Another program seems to be at work on the agent. It may be meant, so whoever asks may insist."""


def refuse_company(agent: AgentPaths, known: Iterable[RunView]) -> None:
    """Raise BesideError where another program's loop is at work on `agent`; `known` are the runs of ours.

    There is no process to ask, only files: a loop counts as at work until it ends or was quiet for ten minutes.
    """
    if not _written_lately(agent.project):
        return
    found = [
        view
        for view in Observer(agent.project).read(told_sessions(known))
        if view.agent_id == agent.id and view.state == "running"
    ]
    if not found:
        return
    view = found[-1]
    on = f" on {view.benchmark_id}" if view.benchmark_id else ""
    model = view.spec.get("model") or {}
    by = f", with {model['provider']} / {model['model_id']}" if model.get("model_id") else ""
    raise BesideError(
        f"Another program is at work on agent {agent.id}{on}: {view.kind}, Session"
        f" {view.run_id.removeprefix(OBSERVED)}{by}, last heard of {view.updated or 'at an unknown time'}.",
        hint=f"End it there or wait: {QUIET_S / 60:.0f} minutes without a word count as its end. Two at a time would "
        "measure each other's changes; to start all the same, say --beside.",
    )


def refuse_unseen(agent: AgentPaths, known: Iterable[RunView], but: str | None = None) -> None:
    """Raise ConflictError where a run that seems dead from here holds its lock: its engine is out of sight."""
    for view in known:
        if view.agent_id == agent.id and view.run_id != but and view.state == "dead":
            refuse_held(run_paths(agent.project, view.run_id))


def refuse_held(run: RunPaths) -> None:
    """Raise ConflictError where an engine that isn't seen from here holds a run's lock.

    One that was killed a moment ago may hold it still, until the system has taken it apart: that is waited for.
    """
    until = time.monotonic() + _GOING_S
    while held := is_held(run.lock):
        if time.monotonic() >= until:
            break
        time.sleep(0.05)
    if held:
        raise ConflictError(
            f"Run {run.id} is at work out of sight of this process: its engine holds {run.lock.name}, but is none of "
            "the processes here.",
            hint="It was started in another container or on another machine. Stop it there, or wait for its end.",
        )


def _written_lately(project: ProjectPaths) -> bool:
    """Tell whether any trace of the project was written within QUIET_S: most starts need no closer look."""
    earliest = time.time() - QUIET_S
    return any(moment >= earliest for agent_id in project.agent_ids() for moment in _times(project.agent(agent_id)))


def _times(agent: AgentPaths) -> Iterator[float]:
    for directory, _, names in os.walk(agent.traces):
        for name in names:
            try:
                yield os.stat(os.path.join(directory, name)).st_mtime  # noqa: PTH116, PTH118  # tens of thousands
            except OSError:
                continue
