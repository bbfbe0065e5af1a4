"""What is kept of a failure, and of whom nothing is (S96 to S98)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.strategy.execution.records import LevelResult
from core.strategy.feedback.bad_cases import Queue, capture, reasons_of
from tests.strategy.feedback.making import case, execution, trace


@pytest.mark.meets("S96")
def test_failed_checks_fallbacks_and_time_outs_are_bad_cases() -> None:
    failed = {"level0": LevelResult(passed=1, failed=("CHECK_FAILED",))}
    assert reasons_of(execution(validation_result=failed)) == ("validation_failed",)
    assert reasons_of(execution(fallbacks=("hand_over",))) == ("fallback",)
    assert reasons_of(execution(code="TIMEOUT")) == ("timeout", "failed")
    assert reasons_of(execution(pseudo_success=True)) == ("validation_failed",)
    assert reasons_of(execution()) == ()
    assert reasons_of(execution(code="TIMEOUT", dry_run=True)) == ()


@pytest.mark.meets("S96")
def test_a_time_out_behind_a_fallback_is_one_too() -> None:
    ran = trace({"event": "called", "skill": "pre", "code": "TIMEOUT"}, {"event": "called", "skill": "hand_over"})
    found = capture(execution(fallbacks=("hand_over",)), ran, "help", {})
    assert found is not None
    assert (found.reasons, found.skill, found.code) == (("fallback", "timeout"), "pre", "TIMEOUT")
    assert capture(execution(), trace({"event": "called", "skill": "pre"}), "help", {}) is None


@pytest.mark.meets("S97")
def test_it_holds_input_suggestion_calls_and_checks() -> None:
    ran = trace(
        {"event": "called", "at": "0:plan", "skill": "refund"},
        {"event": "called", "at": "0:other", "skill": "query_order"},
        {"event": "checked", "at": "0:plan", "check": "amount", "verdict": "failed", "code": "OVER_REFUND"},
    )
    failed = {"level1": LevelResult(failed=("OVER_REFUND",), ms=3.0), "level2": None}
    made = capture(
        execution(validation_result=failed, execution_path=("run refund", "probe query_order")),
        ran,
        "refund please",
        {"intent": "refund", "confidence": 0.9},
    )
    assert made is not None
    assert made.utterance == "refund please"
    assert made.suggestion == {"intent": "refund", "confidence": 0.9}
    assert made.calls == ("run refund", "probe query_order")
    assert made.validation["level1"]["failed"] == ["OVER_REFUND"]
    assert (made.skill, made.check, made.code) == ("refund", "amount", "OVER_REFUND")


@pytest.mark.meets("S98")
def test_nothing_of_the_user_reaches_the_file(tmp_path: Path) -> None:
    ran = trace(
        {"event": "called", "skill": "pay", "code": "TIMEOUT", "inputs": {"user_id": "u-9912", "to": "13812345678"}}
    )
    made = capture(
        execution(
            code="TIMEOUT", session="session-of-alice", user={"id": "u-9912", "device": "ios", "name": "Alice Smith"}
        ),
        ran,
        "I'm alice, card 4111 1111 1111 1111, u-9912, write to alice@example.com",
        {"arguments": {"phone": "+86 138-1234-5678"}},
    )
    assert made is not None
    Queue(tmp_path).add(made)
    text = Queue(tmp_path).path.read_text("utf-8").casefold()
    for secret in ("alice", "smith", "4111", "9912", "13812345678", "138-1234", "example.com", "session-of"):
        assert secret not in text
    assert made.segment == {"device": "ios"}
    assert "card <card-1>" in made.utterance


@pytest.mark.meets("S98")
def test_the_queue_only_grows_and_holds_a_case_once(tmp_path: Path) -> None:
    queue = Queue(tmp_path)
    assert queue.read().cases == ()
    first, second = case("one"), case("two")
    assert [queue.add(first), queue.add(first), queue.add(second)] == [True, False, True]
    before = queue.path.read_bytes()
    queue.add(case("three"))
    assert queue.path.read_bytes().startswith(before)
    held = queue.read()
    assert [one.utterance for one in held.cases] == ["one", "two", "three"]
    assert held.cases[0] == first


def test_a_damaged_line_is_shown_and_costs_no_other(tmp_path: Path) -> None:
    queue = Queue(tmp_path)
    queue.add(case("one"))
    with queue.path.open("a") as file:
        file.write(json.dumps({"no": "case"}) + "\nnonsense\n")
    queue.add(case("two"))
    held = queue.read()
    assert (len(held.cases), len(held.gaps)) == (2, 2)


def test_two_writers_see_each_others_cases_and_a_file_put_away_begins_anew(tmp_path: Path) -> None:
    one, other = Queue(tmp_path), Queue(tmp_path)
    assert one.add(case("one"))
    assert not other.add(case("one"))
    assert other.add(case("two"))
    assert [found.utterance for found in one.read().cases] == ["one", "two"]
    one.path.rename(tmp_path / "old.jsonl")
    assert one.read().cases == ()
    assert one.add(case("two"))
