"""The answer gate: one plain document with the agreed keys, or nothing (EVOLUTION 3.4; FAULTS: scores and protocol)."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evolution.gate import EvaluationRequest, Failed, Malformed, Scored, read_answer
from core.models.interface import ModelRef

REQUEST = EvaluationRequest("CASE-001-a", 2, 3, "csv_helper", "csv", ModelRef("custom", "mock-1"))
FIELDS = {
    "protocol_version": "1",
    "status": "ok",
    "case_id": "CASE-001-a",
    "run": "2",
    "expected_version": "3",
    "provider": "custom",
    "model_id": "mock-1",
    "thinking_level": "medium",
    "score": "72.5",
    "cost": "null",
    "duration_ms": "432",
    "session_id": "session-2026-11-30-20-17-34-4cb09437",
}


def document(**changes: str | None) -> str:
    fields = {key: value for key, value in {**FIELDS, **changes}.items() if value is not None}
    return "".join(f"{key}: {value}\n" for key, value in fields.items())


def failure(**changes: str | None) -> str:
    dropped = dict.fromkeys(("score", "cost", "duration_ms", "session_id"))
    return document(**{**dropped, "status": "failed", "failure_code": "version_changed", **changes})


def test_a_plain_answer_is_read_in_any_order() -> None:
    lines = document().splitlines()
    random.Random(3).shuffle(lines)
    assert read_answer("\n".join(lines), REQUEST) == Scored("medium", 72.5, None, 432, FIELDS["session_id"])


def test_a_failure_is_read_with_unknown_runtime() -> None:
    answer = read_answer(failure(provider="null", model_id="null", thinking_level="null"), REQUEST)
    assert answer == Failed("version_changed")


HUGE = "1" + "0" * 350  # whole, and more than any float holds


@pytest.mark.parametrize(
    "score",
    [".nan", ".inf", "-.inf", "1e400", "NaN", "101", "-1", "true", "yes", "'50'", "null", "[50]", HUGE, f"-{HUGE}"],
    ids=lambda score: score[:12],
)
def test_what_is_no_score_is_malformed_and_never_zero(score: str) -> None:
    assert isinstance(read_answer(document(score=score), REQUEST), Malformed)


@pytest.mark.parametrize(
    ("key", "value"), [("cost", "1" + "0" * 350), ("session_id", '"a\\n"')], ids=("cost", "session")
)
def test_what_only_looks_like_a_cost_or_a_session_is_malformed(key: str, value: str) -> None:
    assert isinstance(read_answer(document(**{key: value}), REQUEST), Malformed)


def test_minus_zero_is_zero() -> None:
    answer = read_answer(document(score="-0.0"), REQUEST)
    assert isinstance(answer, Scored)
    assert str(answer.score) == "0.0"


@pytest.mark.parametrize(
    "text",
    [
        "```yaml\n" + document() + "```\n",
        "Here is the result:\n" + document(),
        document() + "\nDone.",
        document() + "---\n" + document(),
        document(status="okay"),
        document(status="true"),
        document(status="failed"),
        failure(failure_code="gave_up"),
        failure(score="0"),
        document(session_id=None),
        document() + "note: fine\n",
        document() + "score: 100\n",
        document(case_id="CASE-002-b"),
        document(run="'2'"),
        document(run="true"),
        document(expected_version="4"),
        document(model_id="mock-2"),
        document(duration_ms="-1"),
        document(duration_ms="4.5"),
        document(cost="-0.1"),
        document(cost=".inf"),
        document(thinking_level="deep"),
        document(session_id="../../etc"),
        document(protocol_version="2"),
        "",
        "- 1",
        "72.5",
        "\0",
    ],
)
def test_anything_else_is_malformed_with_a_reason(text: str) -> None:
    answer = read_answer(text, REQUEST)
    assert isinstance(answer, Malformed)
    assert answer.reason


@given(st.text(max_size=400))
def test_no_text_breaks_the_reader(text: str) -> None:
    assert isinstance(read_answer(text, REQUEST), Malformed)


def test_the_request_names_the_job_then_the_eight_fields() -> None:
    lines = REQUEST.message().splitlines()
    assert "agent-evaluation" in lines[0]
    assert [line.split(":")[0] for line in lines[1:]] == [
        "protocol_version",
        "case_id",
        "run",
        "expected_version",
        "test_agent_id",
        "benchmark_id",
        "provider",
        "model_id",
    ]
