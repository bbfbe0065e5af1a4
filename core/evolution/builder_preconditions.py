"""What several of a Builder's steps need: that the disk holds what was submitted, and the Target what was measured."""

from __future__ import annotations

from collections.abc import Mapping

from core.evolution.builder_state import BuilderState, CaseHashes, stale
from core.evolution.refusal import Refusal, listed


def unsubmitted(state: BuilderState, hashes: Mapping[str, CaseHashes]) -> Refusal | None:
    """Refuse where what lies on disk is not what was submitted."""
    if not state.hashes:
        return Refusal("no_revision", "No revision is submitted: write the Cases, then submit_revision.")
    if changed := stale(state, hashes):
        return Refusal(
            "changed_since_submission",
            f"{listed(changed)} changed after submit_revision. Submit the revision again before you go on.",
        )
    return None


def changed_agent(state: BuilderState, version: int, state_hash: str) -> Refusal | None:
    """Refuse where the Target is not what the first dispatch met."""
    if state.version is not None and (version != state.version or state_hash != state.state_hash):
        return Refusal(
            "agent_changed",
            "The Target Agent's state changed since the first dispatch; its results no longer compare. A Builder never "
            "changes it. Stop with stop_run and say so.",
        )
    return None
