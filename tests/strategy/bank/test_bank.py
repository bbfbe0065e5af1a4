"""The bank's files: versions that never change, moves with who and why, rollback in one line."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from core.foundation.errors import ConflictError, DamagedError, NotFoundError, RefusedError, UsageError
from core.state import audit, readonly
from core.strategy.bank.bank import Bank
from core.strategy.bank.dates import in_period, period
from core.strategy.bank.states import Actor, Step, moment
from core.strategy.documents.reading import FaultyFileError
from tests.strategy.bank.banks import ADA, NIGHTLY, make, release_text, step, strategy_text, to_active, to_gray, write


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    made = make(tmp_path)
    write(made, strategy_text())
    return made


@pytest.mark.meets("S58", "S59", "S60")
def test_a_published_version_never_changes(bank: Bank) -> None:
    first = bank.publish("shop.refund", ADA, "begin")
    assert (first.version, first.state, first.origin) == (1, "draft", "human")
    assert bank.publish("shop.refund", ADA) == first  # again: nothing new
    assert len(bank.journal().events) == 1

    write(bank, strategy_text(plan="{run: refund_fast}"))
    with pytest.raises(ConflictError, match="published and never changes") as refused:
        bank.publish("shop.refund", ADA)
    assert "version: 2 and parent_version: 1" in refused.value.hint
    assert not bank.entry("shop.refund").published

    write(bank, strategy_text(version=2, more="parent_version: 1\ncreated_by: ada\n", plan="{run: refund_fast}"))
    assert bank.publish("shop.refund", ADA).version == 2
    assert bank.read("shop.refund", 1).plan.run == "refund"  # type: ignore[union-attr]
    assert bank.read("shop.refund", 2).created_by == "ada"
    told = bank.difference("shop.refund", 1, 2)
    assert "-plan: {run: refund}" in told
    assert "+plan: {run: refund_fast}" in told
    assert bank.difference("shop.refund", 2) == ""


def test_numbers_go_up_and_parents_are_known(bank: Bank) -> None:
    write(bank, strategy_text(version=5))
    bank.publish("shop.refund", ADA)
    write(bank, strategy_text(version=4))
    with pytest.raises(UsageError, match="lower than 5"):
        bank.publish("shop.refund", ADA)
    write(bank, strategy_text(version=6, more="parent_version: 4\n"))
    with pytest.raises(UsageError, match="parent_version 4 was never published"):
        bank.publish("shop.refund", ADA)


def test_a_text_that_was_changed_behind_the_bank_goes_nowhere(bank: Bank) -> None:
    bank.publish("shop.refund", ADA)
    bank.move("shop.refund", 1, step("review"))
    version = bank.root / ".versions" / "shop.refund" / "1.yaml"
    version.chmod(0o644)
    version.write_text(strategy_text(plan="{run: other}"))
    with pytest.raises(DamagedError, match="is not what was published"):
        bank.text("shop.refund", 1)
    with pytest.raises(DamagedError):
        bank.move("shop.refund", 1, step("shadow"))
    with pytest.raises(ConflictError):
        bank.publish("shop.refund", ADA)


def test_a_publisher_that_was_killed_between_the_two_writes_can_publish_again(bank: Bank) -> None:
    bank.publish("shop.refund", ADA)
    (bank.root / "state.jsonl").unlink()  # as if the process had ended before its line
    assert bank.publish("shop.refund", ADA).version == 1
    assert len(bank.journal().events) == 1


def test_moves_are_written_with_who_and_why_and_audited(bank: Bank) -> None:
    bank.publish("shop.refund", ADA)
    bank.move("shop.refund", 1, step("review", why="ready"))
    standing = bank.move("shop.refund", 1, step("shadow", why="looks right"), expect="review")
    assert (standing.state, standing.reviewed_by) == ("shadow", "ada")
    events = bank.journal().events
    assert [(event.event, event.to, event.why) for event in events] == [
        ("published", "", ""),
        ("moved", "review", "ready"),
        ("moved", "shadow", "looks right"),
    ]
    assert bank.project is not None
    assert [entry.action for entry in audit.read(bank.project)] == [
        "strategy_publish",
        "strategy_move",
        "strategy_move",
    ]
    with pytest.raises(ConflictError, match="is shadow meanwhile, not review"):
        bank.move("shop.refund", 1, step("draft"), expect="review")
    with pytest.raises(RefusedError, match="can't become active") as refused:
        bank.move("shop.refund", 1, step("active"))
    assert "review, shadow" not in refused.value.hint
    assert "gray" in refused.value.hint


@pytest.mark.meets("S73")
def test_one_act_takes_back_what_was_released_last(bank: Bank) -> None:
    bank.publish("shop.refund", ADA)
    to_active(bank)
    write(bank, strategy_text(version=2))
    bank.publish("shop.refund", ADA)
    to_gray(bank, 2)
    assert bank.take_back("shop.refund", NIGHTLY, "fallbacks rose").state == "offline"
    assert bank.standing("shop.refund", 1).state == "active"  # never left

    write(bank, strategy_text(version=3))
    bank.publish("shop.refund", ADA)
    assert to_active(bank, 3).replaced == 1
    assert bank.standing("shop.refund", 1).state == "deprecated"
    assert bank.take_back("shop.refund", ADA, "by key", ("alarm-1",)).state == "offline"
    assert bank.journal().events[-1].evidence == ("alarm-1",)
    with pytest.raises(RefusedError, match="version 3 has no version that answers"):
        bank.take_back("shop.refund", ADA, "again", version=3)
    assert bank.standing("shop.refund", 1).state == "active"
    bank.take_back("shop.refund", ADA, "everything")
    with pytest.raises(RefusedError, match="no version"):
        bank.take_back("shop.refund", ADA, "again")


def test_only_one_version_is_in_gray(bank: Bank) -> None:
    bank.publish("shop.refund", ADA)
    to_gray(bank)
    write(bank, strategy_text(version=2))
    bank.publish("shop.refund", ADA)
    with pytest.raises(RefusedError, match=r"version 1 of .* is in gray"):
        to_gray(bank, 2)


def test_an_edited_release_changes_nothing_before_the_next_move(bank: Bank) -> None:
    write(bank, release_text(rollout="rollout: {stages: [{percent: 5}, {percent: 50}]}\n"), ending=".release.yaml")
    bank.publish("shop.refund", ADA)
    assert to_gray(bank).stages[0].percent == 5
    write(bank, release_text(rollout="rollout: {stages: [{percent: 90}, {percent: 100}]}\n"), ending=".release.yaml")
    assert bank.standing("shop.refund", 1).stages[0].percent == 5
    with pytest.raises(RefusedError, match="a stage that was entered has changed"):
        bank.move("shop.refund", 1, step("gray", 30, stage=1))
    write(
        bank,
        release_text(rollout="rollout: {assign: {salt: other}, stages: [{percent: 5}, {percent: 50}]}\n"),
        ending=".release.yaml",
    )
    with pytest.raises(RefusedError, match="draws users in another way"):
        bank.move("shop.refund", 1, step("gray", 30, stage=1))
    write(bank, release_text(version=2), ending=".release.yaml")
    with pytest.raises(RefusedError, match="speaks of version 2"):
        bank.move("shop.refund", 1, step("gray", 30, stage=1))


def test_faulty_files_are_listed_with_their_faults(bank: Bank) -> None:
    write(bank, "schema: strategy/v1\nid: [\n", "shop.broken")
    write(bank, strategy_text("shop.other"), "shop.renamed")
    entries = {entry.id: entry for entry in bank.entries()}
    assert "shop/shop.broken.yaml:" in str(entries["shop.broken"].faults[0])
    assert "the file is named shop.renamed" in str(entries["shop.renamed"].faults[0])
    assert not entries["shop.refund"].faults
    with pytest.raises(FaultyFileError):
        bank.publish("shop.broken", ADA)
    with pytest.raises(NotFoundError):
        bank.entry("shop.none")
    with pytest.raises(UsageError):
        bank.text("../../outside", 1)


def test_a_bank_without_a_project_keeps_its_records_out_of_commits(tmp_path: Path) -> None:
    bank = Bank(tmp_path / "checkout")
    bank.root.mkdir()
    write(bank, strategy_text())
    bank.publish("shop.refund", ADA)
    assert (bank.root / ".records" / ".gitignore").read_text() == "*\n"
    subprocess.run(["git", "init", "-q", str(bank.root)], check=True)
    told = subprocess.run(["git", "-C", str(bank.root), "status", "--short", "-uall"], capture_output=True, check=True)
    assert b".records" not in told.stdout
    assert b".versions/shop.refund/1.yaml" in told.stdout


def test_a_sealed_bank_is_not_changed(bank: Bank) -> None:
    with readonly.sealed(bank.root), pytest.raises(readonly.ReadOnlyError):
        bank.publish("shop.refund", ADA)
    assert not (bank.root / "state.jsonl").exists()


@pytest.mark.meets("S61", "S62")
def test_a_version_is_inactive_before_and_after_its_dates(bank: Bank) -> None:
    dates = 'effective_from: "2026-06-01T00:00:00+08:00"\ndeprecation_date: "2026-07-01T00:00:00+08:00"\n'
    write(bank, strategy_text(more=dates))
    strategy = bank.read("shop.refund")
    times = ["2026-05-31T15:59:59Z", "2026-05-31T16:00:00Z", "2026-06-30T15:59:59Z", "2026-06-30T16:00:00Z"]
    assert [in_period(strategy, moment(time)) for time in times] == [False, True, True, False]
    write(bank, strategy_text(more='effective_from: "2026-06-01"\n'))
    with pytest.raises(UsageError, match=r"effective_from.*no time zone"):
        period(bank.read("shop.refund"))


@pytest.mark.meets("S63")
def test_a_bank_in_git_shows_its_log(bank: Bank) -> None:
    from core.strategy.bank.git_log import log

    assert log(bank.root) is None
    git = ["git", "-C", str(bank.root), "-c", "user.name=Ada", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Refunds"]):
        subprocess.run([*git, *arguments], check=True)
    found = log(bank.root, "shop/shop.refund.yaml")
    assert found is not None
    assert [(one.author, one.subject) for one in found] == [("Ada", "Refunds")]
    assert log(bank.root, "shop/none.yaml") == ()


def test_a_step_of_the_engine_is_an_actor_like_any_other(bank: Bank) -> None:
    bank.publish("shop.refund", NIGHTLY)
    bank.move("shop.refund", 1, Step("review", NIGHTLY, "2026-06-01T00:00:00Z"))
    with pytest.raises(RefusedError, match="only a person"):
        bank.move("shop.refund", 1, Step("shadow", NIGHTLY, "2026-06-01T00:00:00Z"))
    assert bank.move("shop.refund", 1, Step("shadow", Actor("bo", True), "2026-06-01T00:00:00Z")).reviewed_by == "bo"
