"""Review and full traffic are asked in the inbox and applied once, also after a kill between the two."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.foundation.errors import ConflictError, RefusedError, UsageError
from core.state import approvals, audit
from core.state.paths import ProjectPaths
from core.strategy.bank.bank import Bank
from core.strategy.bank.releasing import ask_full, ask_review, complete, decide
from tests.strategy.bank.banks import ADA, NIGHTLY, make, release_text, step, strategy_text, write

SYNTHESIZED = "origin: {kind: synthesized, evidence: [cluster-7]}\n"


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    made = make(tmp_path)
    write(made, strategy_text(more=SYNTHESIZED))
    made.publish("shop.refund", NIGHTLY)
    return made


def project(bank: Bank) -> ProjectPaths:
    assert bank.project is not None
    return bank.project


@pytest.mark.meets("S105", "S106")
def test_a_synthesized_draft_waits_for_a_person_and_needs_evidence(bank: Bank) -> None:
    with pytest.raises(RefusedError, match="nothing says how it did"):
        ask_review(project(bank), "shop.refund", 1, NIGHTLY)
    asked = ask_review(project(bank), "shop.refund", 1, NIGHTLY, evidence=["run-1"], why="127 empty answers")
    assert (
        ask_review(project(bank), "shop.refund", 1, NIGHTLY, evidence=["run-1"], why="127 empty answers").id == asked.id
    )
    (waiting,) = approvals.waiting(project(bank))
    assert "Approve shop.refund version 1 in review?" in waiting.text
    assert "rests on: run-1" in waiting.text
    decide(project(bank), asked.id, "approve", "looks right", actor="cli")
    standing = bank.standing("shop.refund", 1)
    assert standing.state == "shadow"
    assert standing.reviewed_by == audit.signature()
    assert approvals.waiting(project(bank)) == ()
    events = len(bank.journal().events)
    assert complete(project(bank)) == ()
    assert len(bank.journal().events) == events  # applied once


@pytest.mark.meets("S105")
def test_rejected_it_is_a_draft_again_and_can_be_asked_anew(bank: Bank) -> None:
    asked = ask_review(project(bank), "shop.refund", 1, NIGHTLY, evidence=["run-1"])
    decide(project(bank), asked.id, "reject", "two purposes", actor="console")
    assert bank.standing("shop.refund", 1).state == "draft"
    assert bank.journal().events[-1].why == "two purposes"
    again = ask_review(project(bank), "shop.refund", 1, ADA, evidence=["run-2"])
    assert again.id != asked.id
    with pytest.raises(ConflictError, match="decided before"):
        decide(project(bank), asked.id, "approve")
    assert bank.standing("shop.refund", 1).state == "review"


def test_a_decision_whose_process_ended_is_applied_later(bank: Bank) -> None:
    asked = ask_review(project(bank), "shop.refund", 1, NIGHTLY, evidence=["run-1"])
    approvals.decide(project(bank), asked.id, "approve", "yes")  # and the process ends here
    assert bank.standing("shop.refund", 1).state == "review"
    assert complete(project(bank)) == ()
    assert bank.standing("shop.refund", 1).state == "shadow"


def test_what_was_moved_meanwhile_is_not_decided(bank: Bank) -> None:
    asked = ask_review(project(bank), "shop.refund", 1, NIGHTLY, evidence=["run-1"])
    bank.move("shop.refund", 1, step("archived"))
    with pytest.raises(ConflictError, match="it is archived now"):
        decide(project(bank), asked.id, "approve")
    assert approvals.pending(project(bank), "strategy")  # nothing was decided
    approvals.decide(project(bank), asked.id, "approve")
    assert "it is archived now" in complete(project(bank))[0]
    assert bank.standing("shop.refund", 1).state == "archived"


@pytest.mark.meets("S103", "S106")
def test_full_traffic_is_asked_for_and_replaces_the_old_version(bank: Bank) -> None:
    bank.move("shop.refund", 1, step("review"))
    bank.move("shop.refund", 1, step("shadow", evidence=("run-1",)))
    bank.move("shop.refund", 1, step("gray", stage=0))
    bank.move("shop.refund", 1, step("active", force=True, why="first of its kind"))
    write(bank, strategy_text(version=2))
    write(bank, release_text(2, "rollout: {stages: [{percent: 50, hold_hours: 100000}]}\n"), ending=".release.yaml")
    bank.publish("shop.refund", ADA)
    bank.move("shop.refund", 2, step("review"))
    with pytest.raises(RefusedError, match="is review, not gray"):
        ask_full(project(bank), "shop.refund", 2)
    bank.move("shop.refund", 2, step("shadow"))
    bank.move("shop.refund", 2, step("gray", stage=0))
    with pytest.raises(RefusedError, match="holds until"):
        ask_full(project(bank), "shop.refund", 2, evidence=["ab-3"])
    bank.take_back("shop.refund", ADA, "hold was a typo")
    write(bank, strategy_text(version=3))
    write(bank, release_text(3, "rollout: {stages: [{percent: 50}]}\n"), ending=".release.yaml")
    bank.publish("shop.refund", ADA)
    bank.move("shop.refund", 3, step("review"))
    bank.move("shop.refund", 3, step("shadow"))
    bank.move("shop.refund", 3, step("gray", stage=0))
    asked = ask_full(project(bank), "shop.refund", 3, evidence=["ab-3"])
    decide(project(bank), asked.id, "approve", "ten points more")
    assert bank.standing("shop.refund", 3).state == "active"
    assert bank.standing("shop.refund", 3).replaced == 1
    assert bank.journal().events[-1].evidence == ("ab-3",)


def test_other_approvals_are_left_alone(bank: Bank) -> None:
    question = approvals.Approval(id="question-1", kind="question", agent_id="a", title="Which?")
    approvals.request(project(bank), question)
    with pytest.raises(UsageError, match="about no strategy"):
        decide(project(bank), "question-1", "approve")
