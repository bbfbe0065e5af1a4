"""Both sample homes, field by field against the existing system's own answers, and unchanged by the reading.

Known differences, where this program shows more: evaluations that the other system drops without a word stand in
`reading.dropped` with line, reason and text; missing and broken configs stand in `diagnostics`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.state.benchmark import Benchmark, read_benchmark
from core.state.paths import AgentPaths, HomePaths
from tests.state.golden import FIXTURES, tree_hash

STATE = FIXTURES / "penguin-state"
EDGE = FIXTURES / "penguin-edge"


def _read(agent: AgentPaths) -> tuple[Benchmark, ...]:
    return tuple(read_benchmark(agent.benchmark(benchmark_id)) for benchmark_id in agent.benchmark_ids())


def _golden(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _cases(benchmarks: tuple[Benchmark, ...]) -> dict[str, Any]:
    return {
        benchmark.id: {"cases": [{"id": case.id, "title": case.title} for case in benchmark.cases]}
        for benchmark in benchmarks
    }


@pytest.mark.parametrize("agent_id", ["csv_helper", "default_agent"])
def test_every_benchmark_and_case_of_the_state_home_is_read_as_the_other_system_reads_it(agent_id: str) -> None:
    before = tree_hash(STATE)
    benchmarks = _read(HomePaths(STATE).project("default_project").agent(agent_id))
    answers = FIXTURES / "penguin-golden"
    assert {"benchmarks": [b.as_golden() for b in benchmarks]} == _golden(answers / f"benchmarks__{agent_id}.json")
    assert _cases(benchmarks) == _golden(answers / f"cases__{agent_id}.json")
    assert tree_hash(STATE) == before


def test_every_edge_benchmark_is_read_as_the_other_system_reads_it() -> None:
    before = tree_hash(EDGE)
    benchmarks = _read(HomePaths(EDGE).project("default_project").agent("edge_agent"))
    golden = _golden(EDGE / "golden-benchmarks.json")["benchmarks"]
    assert [b.id for b in benchmarks] == [answer["id"] for answer in golden]
    for benchmark, answer in zip(benchmarks, golden, strict=True):
        assert benchmark.as_golden() == answer
    assert _cases(benchmarks) == _golden(EDGE / "golden-cases.json")
    assert tree_hash(EDGE) == before


def test_types_match_too() -> None:
    """In Python 1 == 1.0 == True; the answers' whole numbers must be whole here where they are counts."""
    (benchmark,) = _read(HomePaths(STATE).project("default_project").agent("csv_helper"))
    evaluation = benchmark.reading.evaluations[0]
    assert type(evaluation.version) is int
    assert type(evaluation.duration_ms) is int
    assert type(benchmark.runs) is int


@pytest.mark.parametrize(
    ("benchmark_id", "line", "reason"),
    [
        ("11-score-string", 2, "score: must be a number"),
        ("15-cost-missing", 2, "cost: is missing"),
        ("17-dur-float", 2, "duration_ms: must be a whole number"),
        ("19-run-empty", 2, "cases[0].runs: is empty"),
        ("25-case-id-key", 2, "cases[0].case: is missing"),
        ("27-top-list", 1, "no mapping with a list `evaluations` at the top"),
        ("31-session-missing", 2, "cases[0].runs[0].session_id: is missing"),
        ("35-dup-keys", 10, "the key 'score' is there twice"),
        ("39-tabs", 3, "while scanning"),  # the rest is worded by the YAML library
    ],
)
def test_what_would_vanish_is_kept_with_line_reason_and_text(benchmark_id: str, line: int, reason: str) -> None:
    paths = HomePaths(EDGE).project("default_project").agent("edge_agent").benchmark(benchmark_id)
    reading = read_benchmark(paths).reading
    (lost,) = reading.dropped
    assert lost.line == line
    assert lost.reason.startswith(reason)
    text = paths.scoreboard.read_text(encoding="utf-8")
    assert lost.raw == (text if lost.whole_file else text.split("\n", 1)[1].rstrip())
    assert len(reading.diagnostics) == 1


def test_configs_that_say_nothing_usable_are_told() -> None:
    agent = HomePaths(EDGE).project("default_project").agent("edge_agent")
    told = {
        benchmark_id: [str(d.text) for d in read_benchmark(agent.benchmark(benchmark_id)).diagnostics]
        for benchmark_id in ("01-ok", "51-cfg-broken", "53-cfg-runs-0")
    }
    assert told["01-ok"] == []
    assert "cannot be read" in told["51-cfg-broken"][0]
    assert "runs = 0" in told["53-cfg-runs-0"][0]
