"""Making a Candidate out of edits: inside the surface, general, with a prediction, never tried before; then staged.

Whoever proposes goes through here: the Optimizer's tool, and a curator's operations (EVOLUTION 3.5 no. 61 to 65).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from core.evolution import edits as surface
from core.evolution.admissible import inadmissible
from core.evolution.candidate import Staged, apply_edits, contents, stage
from core.evolution.desk import Desk
from core.evolution.optimizer_rules import Propose, refusal
from core.evolution.protocol_tool import require
from core.evolution.refusal import Refusal
from core.evolution.trials import Trials, expected_in
from core.foundation.visible import decode
from core.skillrepo.document import installed
from core.state import snapshots
from core.state.paths import AgentPaths


def edit_problem(desk: Desk, edits: Sequence[surface.Edit]) -> Refusal | None:
    """Return why these edits of the present state may not be tried, whatever the protocol's state; or None."""
    present = contents(desk.agent.state)
    return surface.problem(edits, present, library_skills(desk.agent)) or inadmissible(
        edits, desk.benchmark, [decode(raw) for raw in present.values()]
    )


def prepare(
    trials: Trials, edits: Sequence[surface.Edit], hypothesis: str, prediction: Mapping[str, Any]
) -> tuple[Staged, Mapping[str, Any]]:
    """Stage a Candidate for `Trials.place`, and return what the journal should say of it. Raises RefuseError.

    `prediction` is `{"overall": "higher", "cases": [{"case_id", "expected_score"}]}`.
    """
    desk = trials.desk
    digest = surface.digest(edits)
    number = snapshots.next_version(desk.agent)
    expected = expected_in(prediction)
    require(
        refusal(
            trials.state(),
            Propose(trials.present(), hypothesis, expected, digest, number, edit_problem(desk, edits)),
        )
    )
    require(desk.budget_refusal())
    snapshots.create(desk.agent)  # what stands now can always be gone back to (no. 65)
    why = {edit.path: edit.why for edit in edits}
    staged = stage(desk.agent, desk.run.candidate(number), number, lambda root: apply_edits(root, edits), why)
    return staged, {"hypothesis": hypothesis, "prediction": dict(prediction), "digest": digest}


def library_skills(agent: AgentPaths) -> frozenset[str]:
    """Return the names of skills that belong to a library: the program's own, and installed ones marked as such."""
    own = {entry.name for entry in resources.files("skills").iterdir() if (entry / "SKILL.md").is_file()}
    marked = {skill.name for skill in installed(agent.skills) if "preinstall" in skill.fields}
    return frozenset(own | marked | {"agent-initialization", "agent-creation"})
