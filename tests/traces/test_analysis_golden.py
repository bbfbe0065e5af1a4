"""Our analysis gives the existing system's numbers for every sample trace, field by field."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.traces.analysis import analyze
from core.traces.reader import TraceFile

FIXTURES = Path(__file__).parents[1] / "fixtures"
GOLDENS = sorted(FIXTURES.glob("penguin-*/analysis__*.json"))


def trace_of(golden: Path) -> Path:
    _, agent, shard = golden.stem.split("__")
    state = "penguin-state" if golden.parent.name == "penguin-golden" else golden.parent.name
    (trace,) = (FIXTURES / state / "default_project" / "agents" / agent / "traces").glob(f"*/{shard}.jsonl")
    return trace


def test_there_are_goldens() -> None:
    assert len(GOLDENS) == 29


@pytest.mark.parametrize("golden", GOLDENS, ids=lambda path: path.stem[-12:])
def test_analysis_equals_the_existing_systems(golden: Path) -> None:
    with TraceFile(trace_of(golden)) as trace:
        assert analyze(trace.iter_records()).as_golden() == json.loads(golden.read_text(encoding="utf-8"))
