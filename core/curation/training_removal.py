"""Removing training runs: those that nobody works on, waits for or uses."""

from __future__ import annotations

import shutil

from core.curation import jobs, promotion
from core.curation.jobs import JobPaths
from core.curation.training import run_paths
from core.foundation.errors import ConflictError, NotFoundError
from core.state import approvals, audit, readonly
from core.state.paths import ProjectPaths


def remove(project: ProjectPaths, run_id: str, *, weights: bool = False, actor: str | None = None) -> None:
    """Remove a run with all its files, for good; `weights` says that its checkpoints may go too.

    Raises NotFoundError where there is none, ConflictError where a process works on it, where one of its checkpoints is
    the curator in use or is proposed as it, and where it has checkpoints and `weights` is False.
    """
    readonly.refuse(project.root)
    run = run_paths(project, run_id)
    if run.root.is_symlink() or not run.root.is_dir():
        raise NotFoundError(f"There is no training run {run_id!r}.", hint="List them: exuvia train list")
    if jobs.alive(run.root):
        raise ConflictError(f"Run {run_id} is at work.", hint=f"Stop it first: exuvia train stop {run_id}")
    used = promotion.in_use(project)
    if used is not None and used.run_id == run_id:
        raise ConflictError(
            f"Step {used.step} of {run_id} is the curator in use.", hint="Let it go first: exuvia train dismiss"
        )
    asked = [one for one in approvals.pending(project, "promotion") if one.body.get("run_id") == run_id]
    if asked:
        raise ConflictError(
            f"A checkpoint of {run_id} waits in the inbox.",
            hint=f"Decide it first: exuvia approvals show {asked[0].id}",
        )
    kept = _checkpoints(run)
    if kept and not weights:
        raise ConflictError(
            f"Run {run_id} holds {kept} checkpoints.", hint="Removed, they can't be had again; say --yes to do it."
        )
    going = run.root.with_name(f".removed-{run_id}")  # no reader takes a half of it for a run
    shutil.rmtree(going, ignore_errors=True)
    run.root.replace(going)
    shutil.rmtree(going)
    audit.record(project, "remove_training", run_id, {"checkpoints": kept}, actor)


def _checkpoints(run: JobPaths) -> int:
    return sum(1 for one in (run.root / "checkpoints").glob("step-*") if one.is_dir())
