"""`try`: the operator's own edit of an Agent State, measured as a Candidate, kept or taken back like any other.

The edit stands in the state already; what it is compared with is the snapshot of the present version. Nothing of
the edit is lost: where it is taken back, it stays in the run's directory, diff and files.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Any

from core.evolution import heldout
from core.evolution.candidate import Staged, copy_state, finish_staging, set_version
from core.evolution.desk import Desk
from core.evolution.optimizer_state import Goal
from core.evolution.protocol_tool import RefuseError
from core.evolution.results import phase, trial_result
from core.evolution.specs import TrySpec
from core.evolution.trials import Trials, measured_cases, reference_evaluation
from core.foundation.errors import BlockedError
from core.models.interface import ModelEntry, Provider
from core.state import snapshots
from core.state.agents import edit_config
from core.state.fingerprint import state_hash
from core.state.snapshots import Snapshot


async def try_flow(desk: Desk, spec: TrySpec, provider: Provider, entry: ModelEntry) -> dict[str, Any]:
    """Measure the operator's edit against the version it was made on, and decide by the same rule."""
    trials = Trials(desk, Goal(100.0, spec.runs, 1), proposer="operator")
    phase(desk, "reference")
    if trials.state().reference is None:
        trials.establish_reference(state_hash=_original(desk).content_hash)
    phase(desk, "candidate")
    trials.place("try-place", lambda: _stage(desk, spec), lambda staged: _number(desk, staged))
    phase(desk, "evaluate")
    try:
        await trials.measure("try-measure")
        phase(desk, "decide")
        event = trials.conclude(
            "try-decide",
            supported=None,
            observed="",
            title=f"Operator's edit, version {_version(trials)}",
            summary=spec.hypothesis,
        )
    except RefuseError as refused:
        raise BlockedError(refused.refusal.reason) from refused
    phase(desk, "heldout", "measuring the held-out Cases")
    final = await heldout.measure(desk, "final", runs=spec.runs)
    phase(desk, "report")
    if event["decision"] == "unevaluable":
        raise BlockedError(
            "The edit could not be measured: cells have no score. It was taken back.",
            hint="Its files are in the run's directory; mend the harness and try again.",
        )
    return trial_result(trials, final, stop_reason="the one Candidate is decided")


def _version(trials: Trials) -> int:
    candidate = trials.state().candidate
    # Decided before a crash: the summary that counts is journalled already.
    return candidate.version if candidate else 0


def _original(desk: Desk) -> Snapshot:
    """Return the snapshot that the operator's edit began from. Raises BlockedError where there is none to compare."""
    version = desk.present().version
    if reference_evaluation(desk, version, measured_cases(desk.benchmark)) is None:
        raise BlockedError(
            f"Version {version} has no complete evaluation on {desk.benchmark.id}, so there is nothing to beat.",
            hint="Undo the edit, evaluate the version, then edit and try again.",
        )
    kept = [s for s in snapshots.list_snapshots(desk.agent) if s.version == version and not s.beside and not s.damage]
    if not kept:
        raise BlockedError(
            f"There is no snapshot of version {version}, so what was edited is not known.",
            hint="Snapshots are made at a baseline and before each change: exuvia snapshot create.",
        )
    if kept[0].content_hash == state_hash(desk.agent.state):
        raise BlockedError(
            f"The state is that of version {version}; nothing was edited.", hint="Edit the agent's state, then try."
        )
    return kept[0]


def _stage(desk: Desk, spec: TrySpec) -> tuple[Staged, Mapping[str, Any]]:
    original, number = _original(desk), snapshots.next_version(desk.agent)
    root = desk.run.candidate(number)
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    snapshots.opened(original).extract_to(root / "before")
    copy_state(desk.agent.state, root / "after")
    set_version(root / "after", number)
    staged = finish_staging(root, number, {})
    return staged, {
        "hypothesis": spec.hypothesis,
        "prediction": {"overall": "higher", "cases": []},
        "digest": staged.after_hash,
    }


def _number(desk: Desk, staged: Staged) -> None:
    """Give the state that the operator edited the Candidate's version. Raises BlockedError if it changed since."""
    if state_hash(desk.agent.state) == staged.after_hash:
        return
    edit_config(desk.agent, {"version": staged.version})
    if state_hash(desk.agent.state) != staged.after_hash:
        raise BlockedError("The state changed while the trial began.", hint="Try again when it is at rest.")
