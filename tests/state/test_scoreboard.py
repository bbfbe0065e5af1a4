"""Appending to a scoreboard: nothing before it changes, whatever shape it has, and damage is refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from core.foundation.errors import DamagedError
from core.state import locks, yaml12
from core.state.evaluation import Evaluation, RunScore, evaluation_of
from core.state.paths import BenchmarkPaths, HomePaths
from core.state.scoreboard import append_evaluation, parse_scoreboard, read_scoreboard, rendered
from tests.state.golden import FIXTURES

STATE = HomePaths(FIXTURES / "penguin-state").project("default_project")


def _evaluation(version: int = 3, summary: str = "One: two.", provider: str = "custom") -> Evaluation:
    runs = [RunScore(score=77.5, cost=1.85e-05, duration_ms=10, session_id=f"s-{version}")]
    return evaluation_of(
        version,
        (provider, "5e3", "medium"),
        {"CASE-001-a": runs, "CASE-002-b": runs},
        time="2026-01-02T00:00:00Z",
        title="A title",
        summary=summary,
    )


@pytest.fixture
def benchmark(tmp_path: Path) -> BenchmarkPaths:
    paths = HomePaths(tmp_path).project("p").agent("a").benchmark("b")
    paths.root.mkdir(parents=True)
    return paths


def test_the_rendering_is_that_of_the_format() -> None:
    evaluation = evaluation_of(
        2,
        ("custom", "mock-1", "medium"),
        {
            "CASE-001-dedupe": [
                RunScore(score=70, cost=None, duration_ms=501, session_id="session-2026-11-30-20-19-35-52045d85"),
                RunScore(score=85, cost=None, duration_ms=442, session_id="session-2026-11-30-20-19-35-88a7fd51"),
            ]
        },
        time="2026-11-30T20:19:36Z",
        title="Case-insensitive dedupe accepted",
        summary="Lab data. Hypothesis: comparing emails case-insensitively removes the remaining duplicates.",
    )
    sample = STATE.agent("csv_helper").benchmark("csv-cleanup").scoreboard.read_text(encoding="utf-8")
    second = sample.index("  - time: 2026-11-30T20:19:36Z")
    assert rendered(evaluation) == sample[second:]


def test_a_new_scoreboard_is_made(benchmark: BenchmarkPaths) -> None:
    append_evaluation(benchmark, _evaluation())
    text = benchmark.scoreboard.read_text(encoding="utf-8")
    assert text == "evaluations:\n" + rendered(_evaluation())
    assert read_scoreboard(benchmark.scoreboard).evaluations == (_evaluation(),)
    assert sorted(path.name for path in benchmark.root.iterdir()) == ["scoreboard.yaml"]


def test_the_text_before_stays_byte_for_byte(benchmark: BenchmarkPaths) -> None:
    before = b"# kept\nevaluations:\n" + rendered(_evaluation(1)).encode() + b"\n# a last word\n\n"
    benchmark.scoreboard.write_bytes(before)
    append_evaluation(benchmark, _evaluation(2))
    after = benchmark.scoreboard.read_bytes()
    assert after == before + rendered(_evaluation(2)).encode()
    assert [e.version for e in read_scoreboard(benchmark.scoreboard).evaluations] == [1, 2]


@pytest.mark.parametrize("agent_id", ["csv_helper", "default_agent"])
def test_samples_are_appended_to(benchmark: BenchmarkPaths, agent_id: str) -> None:
    agent = STATE.agent(agent_id)
    source = agent.benchmark(agent.benchmark_ids()[0]).scoreboard
    before = source.read_bytes()
    benchmark.scoreboard.write_bytes(before)
    append_evaluation(benchmark, _evaluation())
    assert benchmark.scoreboard.read_bytes() == before + rendered(_evaluation()).encode()
    old = read_scoreboard(source).evaluations
    assert read_scoreboard(benchmark.scoreboard).evaluations == (*old, _evaluation())


ONE = rendered(_evaluation(1))


@pytest.mark.parametrize(
    ("before", "kept"),
    [
        ("evaluations: []\n", 0),
        ("evaluations: [] # none yet\n", 0),
        ("evaluations: [\n]\n", 0),
        ("evaluations:\n", 0),
        ("evaluations: ~\n", 0),
        ("evaluations: null # none\n", 0),
        ("# only a comment\n", 0),
        ("evaluations:", 0),
        ("evaluations:\n" + ONE.rstrip("\n"), 1),
        ("evaluations:\n" + ONE + "note: kept\nother: [1]\n", 1),
        ("evaluations: []\nnote: kept\n", 0),
        ("note: kept\nevaluations: []\n", 0),
        ("note: kept\n", 0),
        ("---\nevaluations:\n" + ONE, 1),
        ("\ufeffevaluations:\n" + ONE, 1),
        (("evaluations:\n" + ONE).replace("\n", "\r\n"), 1),
        ("evaluations:\n" + rendered(_evaluation(1), 0), 1),
        ("evaluations:\n" + rendered(_evaluation(1), 6), 1),
        ('{"evaluations": []}\n', 0),
        ('{"evaluations": [], "note": 1}', 0),
        ("evaluations: [{ time: x }]\n", 1),
        ("evaluations: [{ time: x },\n]\n", 1),
        ("evaluations:\n  - time: x\n    note: |\n      a block\n\n\n", 1),
    ],
)
def test_every_way_to_write_the_list_is_appended_to(benchmark: BenchmarkPaths, before: str, kept: int) -> None:
    benchmark.scoreboard.write_bytes(before.encode())
    append_evaluation(benchmark, _evaluation())
    after = benchmark.scoreboard.read_bytes().decode()
    document, old = yaml12.load(after), yaml12.load(before) or {}
    assert len(document["evaluations"]) == kept + 1
    assert Evaluation.model_validate(document["evaluations"][-1]) == _evaluation()
    assert {k: v for k, v in document.items() if k != "evaluations"} == {
        k: v for k, v in old.items() if k != "evaluations"
    }
    for comment in ("# none yet", "# none", "# only a comment"):
        assert (comment in after) == (comment in before)
    assert ("\r\n" in before) == (after.count("\r\n") == after.count("\n") > 0)


@pytest.mark.parametrize(
    "before",
    [
        b"- time: x\n",
        b"evaluations: text\n",
        b"evaluations: {}\n",
        b"a: 1\na: 2\nevaluations: []\n",
        b"evaluations:\n\t- x\n",
        b"evaluations: []\n---\nevaluations: []\n",
        b"evaluations: []\nnote: \xff\n",
        b"other: &x []\nevaluations: *x\n",
    ],
)
def test_a_file_that_cannot_be_appended_to_is_left_alone(benchmark: BenchmarkPaths, before: bytes) -> None:
    benchmark.scoreboard.write_bytes(before)
    with pytest.raises(DamagedError) as refused:
        append_evaluation(benchmark, _evaluation())
    assert str(benchmark.scoreboard) in str(refused.value)
    assert benchmark.scoreboard.read_bytes() == before


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text_reads_back(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    benchmark = HomePaths(tmp_path_factory.mktemp("h")).project("p").agent("a").benchmark("b")
    benchmark.root.mkdir(parents=True)
    evaluation = _evaluation(1, summary=text, provider=text or "x")
    append_evaluation(benchmark, evaluation)
    append_evaluation(benchmark, evaluation)
    assert read_scoreboard(benchmark.scoreboard).evaluations == (evaluation, evaluation)


def test_an_older_reader_sees_the_same_texts_and_numbers() -> None:
    evaluation = _evaluation(1, summary="yes", provider="on")
    record = yaml.safe_load("evaluations:\n" + rendered(evaluation))["evaluations"][0]
    assert (record["provider"], record["model_id"], record["summary"]) == ("on", "5e3", "yes")
    assert record["cases"][0]["runs"][0]["cost"] == 1.85e-05


def test_writers_wait_for_each_other(benchmark: BenchmarkPaths) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda version: append_evaluation(benchmark, _evaluation(version)), range(1, 9)))
    versions = [e.version for e in read_scoreboard(benchmark.scoreboard).evaluations]
    assert sorted(versions) == list(range(1, 9))


def test_the_lock_lies_among_our_own_files(benchmark: BenchmarkPaths) -> None:
    assert benchmark.lock.is_relative_to(benchmark.root.parent.parent.parent.parent / ".exuvia")
    with locks.held(benchmark.lock), pytest.raises(locks.LockedError), locks.held(benchmark.lock, timeout_s=0):
        pass


def test_dropped_evaluations_keep_their_lines_and_good_ones_stay() -> None:
    bad = ONE.replace("score: 77.5", "score: 177.5", 1)
    text = "evaluations:\n" + ONE + bad + "  # between\n  - just text\n" + ONE
    reading = parse_scoreboard(text, Path("scoreboard.yaml"))
    assert len(reading.evaluations) == 2
    first, second = reading.dropped
    assert first.line == 2 + ONE.count("\n")
    assert first.reason == "score: Input should be less than or equal to 100"
    assert first.raw.startswith(bad.rstrip("\n"))
    assert second.reason == "an evaluation must be a mapping"
    assert second.raw == "  - just text"
    assert [d.line for d in reading.diagnostics] == [first.line, second.line]


def test_an_absent_scoreboard_is_empty_and_says_so(tmp_path: Path) -> None:
    reading = read_scoreboard(tmp_path / "scoreboard.yaml")
    assert not reading.exists
    assert reading.evaluations == ()
    assert list(tmp_path.iterdir()) == []
