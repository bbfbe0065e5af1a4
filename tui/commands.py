"""What a key does to the world: one call of core each, the same that the command line makes. They run in threads."""

from __future__ import annotations

from core.foundation.errors import NotFoundError
from core.state import approvals, rollback
from core.state.paths import ProjectPaths
from tui.messages import Outcome

ACTOR = "console"


def approve(project: ProjectPaths, approval_id: str, reason: str = "") -> Outcome:
    """Approve a freeze, and let its run go on where it had ended to wait."""
    return _decide(project, approval_id, "approve", reason)


def reject(project: ProjectPaths, approval_id: str, reason: str) -> Outcome:
    """Reject a freeze; the reason goes back to the Builder."""
    return _decide(project, approval_id, "reject", reason)


def _decide(project: ProjectPaths, approval_id: str, verdict: approvals.Verdict, reason: str) -> Outcome:
    from core.evolution import runs

    decision = approvals.decide(project, approval_id, verdict, reason, actor=ACTOR)
    approval, _ = approvals.get(project, approval_id)
    word = "Approved" if verdict == "approve" else "Rejected"
    text = f"{word}: freeze of {approval.benchmark_id}, signed {decision.signature}."
    try:
        state = runs.read_run(project, approval.run_id).state
    except NotFoundError:
        return Outcome(text, "The run that asked is not here.")
    if state in ("blocked", "dead", "stopped"):
        runs.resume(project, approval.run_id)
        return Outcome(text, "The run that asked goes on.")
    return Outcome(text, "The run goes on.")


def roll_back(project: ProjectPaths, agent_id: str, version: int | None, stop_run: str = "") -> Outcome:
    """Take an agent back to `version`, or to the accepted one before; with `stop_run`, stop that run first."""
    from core.evolution import runs

    if stop_run:
        runs.stop(project, stop_run, actor=ACTOR)
    done = rollback.roll_back(project.agent(agent_id), version=version, actor=ACTOR, live_run=runs.live_run)
    text = f"Rolled {agent_id} back: v{done.from_version} to v{done.to_version}."
    return Outcome(text, " ".join(("u undoes it; what was there is kept.", *done.warnings)))


def undo(project: ProjectPaths, agent_id: str, stop_run: str = "") -> Outcome:
    """Take the latest rollback back."""
    from core.evolution import runs

    if stop_run:
        runs.stop(project, stop_run, actor=ACTOR)
    done = rollback.undo(project.agent(agent_id), ACTOR, live_run=runs.live_run)
    return Outcome(f"Undone: {agent_id} is v{done.to_version} again (was v{done.from_version}).")


def stop(project: ProjectPaths, run_id: str) -> Outcome:
    """Stop a run and everything that it started."""
    from core.evolution import runs

    view = runs.stop(project, run_id, actor=ACTOR)
    return Outcome(f"Run {run_id} is {view.state}.", f"What is finished stays: exuvia runs resume {run_id}")
