"""A checkpoint becomes the curator in use by an approval alone, with its hash, whoever dies in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.curation import promotion
from core.foundation.errors import ConflictError, DamagedError, NotFoundError
from core.state import approvals, audit, readonly
from core.state.paths import ProjectPaths
from tests.curation.training_files import RUN, TrainingFiles, whole_run


@pytest.fixture
def project(tmp_path: Path) -> ProjectPaths:
    found = ProjectPaths(tmp_path / "home" / "default_project")
    found.root.mkdir(parents=True)
    return found


@pytest.fixture
def files(project: ProjectPaths) -> TrainingFiles:
    return whole_run(project)


def test_nothing_is_in_use_before_somebody_said_so(project: ProjectPaths, files: TrainingFiles) -> None:
    assert promotion.in_use(project) is None
    asked = promotion.propose(project, RUN)
    assert promotion.in_use(project) is None
    assert [one.id for one in approvals.pending(project)] == [asked.id]
    assert asked.body["step"] == 50  # the best on held-out tasks, not the last
    assert asked.body["arms"]["none"]["success"] == 0.429


def test_an_approval_puts_the_checkpoint_in_use_with_who_when_and_hash(
    project: ProjectPaths, files: TrainingFiles
) -> None:
    asked = promotion.propose(project, RUN)
    decision = promotion.decide(project, asked.id, "approve", actor="test")
    found = promotion.verified(project)
    assert found is not None
    assert (found.run_id, found.step, found.world, found.actor) == (RUN, 50, "household", "test")
    assert (found.signature, found.time) == (decision.signature, decision.time)
    assert found.path == files.job.root / "checkpoints" / "step-00050"
    assert audit.read(project)[-1].action == "approve"


def test_a_rejection_puts_nothing_in_use_and_stands(project: ProjectPaths, files: TrainingFiles) -> None:
    asked = promotion.propose(project, RUN)
    promotion.decide(project, asked.id, "reject", "too few tasks")
    assert promotion.in_use(project) is None
    with pytest.raises(ConflictError, match="was decided before: reject"):
        promotion.propose(project, RUN)
    other = promotion.propose(project, RUN, 40)
    assert other.body["step"] == 40


def test_asking_twice_asks_once(project: ProjectPaths, files: TrainingFiles) -> None:
    assert promotion.propose(project, RUN).id == promotion.propose(project, RUN).id
    assert len(approvals.pending(project)) == 1


def test_weights_that_were_changed_are_neither_proposed_nor_approved(
    project: ProjectPaths, files: TrainingFiles
) -> None:
    asked = promotion.propose(project, RUN, 40)
    weights = files.job.root / "checkpoints" / "step-00040" / "model.safetensors"
    weights.write_bytes(b"others")
    with pytest.raises(DamagedError, match="not those that the run wrote down"):
        promotion.decide(project, asked.id, "approve")
    assert len(approvals.pending(project)) == 1
    assert promotion.in_use(project) is None
    with pytest.raises(DamagedError):
        promotion.propose(project, RUN, 40)


def test_weights_that_change_later_are_noticed(project: ProjectPaths, files: TrainingFiles) -> None:
    promotion.decide(project, promotion.propose(project, RUN).id, "approve")
    (files.job.root / "checkpoints" / "step-00050" / "model.safetensors").write_bytes(b"others")
    with pytest.raises(DamagedError):
        promotion.verified(project)


def test_an_approval_whose_process_died_is_completed(project: ProjectPaths, files: TrainingFiles) -> None:
    first = promotion.propose(project, RUN, 30)
    promotion.decide(project, first.id, "approve")
    second = promotion.propose(project, RUN, 40)
    approvals.decide(project, second.id, "approve")  # and killed before curator.json was written
    promotion.complete(project)
    found = promotion.in_use(project)
    assert found is not None
    assert found.step == 40
    before = project.curator.read_bytes()
    promotion.complete(project)
    assert project.curator.read_bytes() == before


def test_what_is_dismissed_stays_dismissed_until_another_is_approved(
    project: ProjectPaths, files: TrainingFiles
) -> None:
    promotion.decide(project, promotion.propose(project, RUN, 30).id, "approve")
    assert promotion.dismiss(project).step == 30
    promotion.complete(project)
    assert promotion.in_use(project) is None
    with pytest.raises(NotFoundError):
        promotion.dismiss(project)
    promotion.decide(project, promotion.propose(project, RUN, 40).id, "approve")
    found = promotion.in_use(project)
    assert found is not None
    assert found.step == 40


@pytest.mark.parametrize("text", ["{", "[]", '{"run_id": "r"}', '{"run_id": "r", "step": 1, "path": "../../x"}'])
def test_a_hurt_file_is_said_and_an_approval_mends_it(project: ProjectPaths, files: TrainingFiles, text: str) -> None:
    project.curator.write_text(text)
    with pytest.raises(DamagedError):
        promotion.in_use(project)
    promotion.decide(project, promotion.propose(project, RUN).id, "approve")
    found = promotion.in_use(project)
    assert found is not None
    assert found.step == 50


def test_a_run_without_checkpoints_has_nothing_to_promote(project: ProjectPaths) -> None:
    TrainingFiles(project, "new-20260101-100000-aaaa")
    with pytest.raises(NotFoundError, match="has no checkpoint"):
        promotion.propose(project, "new-20260101-100000-aaaa")


def test_a_read_only_home_promotes_nothing(project: ProjectPaths, files: TrainingFiles) -> None:
    asked = promotion.propose(project, RUN)
    with readonly.sealed(project.root):
        for act in (
            lambda: promotion.propose(project, RUN, 40),
            lambda: promotion.decide(project, asked.id, "approve"),
            lambda: promotion.dismiss(project),
        ):
            with pytest.raises(readonly.ReadOnlyError):
                act()
