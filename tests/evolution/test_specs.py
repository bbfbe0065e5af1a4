"""A run's settings are what they say or nothing starts (FAULTS: bool-as-number, non-finite values)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.evolution.specs import EvaluateSpec, RunPaths, parse_spec, read_spec
from core.foundation.errors import DamagedError, UsageError

EVALUATE: dict[str, Any] = {"kind": "evaluate", "agent_id": "a", "benchmark_id": "b"}


@pytest.mark.parametrize(
    "changes",
    [
        {"agent_id": "../../x"},
        {"benchmark_id": "no/../x"},
        {"runs": True},
        {"runs": "2"},
        {"runs": 1.5},
        {"seed": True},
        {"seed": "7"},
        {"concurrency": True},
        {"append": "yes"},
        {"append": 1},
        {"allow_unisolated": "true"},
        {"budgets": {"wall_s": True}},
        {"budgets": {"wall_s": float("inf")}},
        {"budgets": {"cost_usd": float("nan")}},
        {"budgets": {"tokens": True}},
        {"rehearsal": {"seed": True}},
        {"rehearsal": {"seed": "x"}},
        {"rehearsal": {"faults": 5}},
        {"rehearsal": {"faults": {"fenced": True}}},
        {"rehearsal": {"faults": {"fenced": float("nan")}}},
        {"rehearsal": {"slow_s": float("inf")}},
        {"kind": "optimize", "target_score": True},
        {"kind": "optimize", "target_score": 10**400},
        {"kind": "optimize", "target_score": float("nan")},
    ],
    ids=str,
)
def test_what_is_not_what_it_should_be_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        parse_spec({**EVALUATE, **changes})


def test_whole_numbers_are_points_and_text_can_be_written() -> None:
    spec = parse_spec({"kind": "optimize", "agent_id": "a", "benchmark_id": "b", "target_score": 90})
    assert spec.model_dump()["target_score"] == 90.0
    odd = parse_spec({**EVALUATE, "summary": "caf\udce9"})
    assert isinstance(odd, EvaluateSpec)
    assert odd.summary == "caf\ufffd"


@pytest.mark.parametrize(
    "raw",
    [b"[" * 100_000, b"\xff", b"", b"null", b"[]", json.dumps({**EVALUATE, "runs": True}).encode(), b'{"kind": NaN}'],
    ids=lambda raw: repr(raw)[:12],
)
def test_a_spec_on_disk_that_is_none_is_damaged(tmp_path: Path, raw: bytes) -> None:
    run = RunPaths(tmp_path / "run")
    run.root.mkdir()
    run.spec.write_bytes(raw)
    with pytest.raises(DamagedError):
        read_spec(run)
