"""What a key does to training: one call of core each, the same that the command line makes. They run in threads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.foundation.errors import ExuviaError
from core.state.paths import ProjectPaths
from tui.messages import Outcome

ACTOR = "console"


def start(project: ProjectPaths, preset: str, seed: int | None, settings: Mapping[str, Any]) -> Outcome:
    """Start a training run."""
    from core.curation import training

    run_id = training.start(project, preset, seed=seed, settings=settings)
    return Outcome(f"Started {run_id}.", "It goes on without the console; K stops it.", made=run_id)


def go_on(project: ProjectPaths, run_id: str) -> Outcome:
    """Let a paused run go on, or start one again from its last checkpoint."""
    from core.curation import training

    training.resume(project, run_id)
    return Outcome(f"{run_id} goes on.")


def pause(project: ProjectPaths, run_id: str) -> Outcome:
    """Let a run wait after its step."""
    from core.curation import training

    training.pause(project, run_id)
    return Outcome(f"{run_id} waits once its step is done.", "C goes on with it.")


def stop(project: ProjectPaths, run_id: str) -> Outcome:
    """Stop a run, with a checkpoint."""
    from core.curation import training

    run = training.stop(project, run_id)
    hint = "C goes on from its last checkpoint." if run.state != "finished" else ""
    return Outcome(f"{run_id} is {run.state}.", hint)


def promote(project: ProjectPaths, run_id: str, step: int) -> Outcome:
    """Put a checkpoint before the operator, to be the curator in use."""
    from core.curation import promotion

    promotion.propose(project, run_id, step)
    return Outcome(f"Step {step} of {run_id} is proposed as the curator in use.", "6 decides it.")


def decide(project: ProjectPaths, approval_id: str, verdict: str, reason: str) -> Outcome:
    """Approve or reject a promotion."""
    from core.curation import promotion

    if verdict not in ("approve", "reject"):
        raise ExuviaError(f"A promotion is approved or rejected, not {verdict}.")
    decision = promotion.decide(project, approval_id, verdict, reason, actor=ACTOR)  # type: ignore[arg-type]  # one of two
    done = "It is the curator in use now" if verdict == "approve" else "It is not used"
    return Outcome(f"{done}, signed {decision.signature}.")
