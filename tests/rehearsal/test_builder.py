"""The rehearsal Builder against a small engine: real files and commands, scores from a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.models.rehearsal import RehearsalOptions, RehearsalProvider
from core.models.rehearsal.refining import Rung, choose, named_cases
from core.models.rehearsal.review import is_format
from tests.rehearsal.build_protocol import BuildProtocol, write_library
from tests.rehearsal.conversation import Conversation

LIBRARY = {
    "CASE-001-a": ("size", "separating"),
    "CASE-002-b": ("size", "separating"),
    "CASE-003-c": ("separating",),
    "CASE-004-d": ("separating",),
}
MESSAGE = """Use the skill benchmark-design to design and calibrate a benchmark.
agent_id: clerk
requirement: Do clerical work on files. Be careful.
capability: careful clerical work
baseline_score: 45
pilots: 4
benchmark_id: chores
"""


def by_level(case: str, level: int) -> float:
    """Size changes little, separating much."""
    return {0: 82.0, 1: 80.0, 2: 31.0}[level] if case < "CASE-003" else {0: 75.0, 1: 30.0}[level]


def run(
    tmp_path: Path, *, clumsy: bool = False, seed: int = 7, message: str = MESSAGE, nudges: int = 0, **options: Any
) -> tuple[BuildProtocol, Conversation, str]:
    library = write_library(
        tmp_path / "library", options.pop("library", LIBRARY), options.pop("held_out", ("CASE-004-d",))
    )
    fail_once = options.pop("fail_once", set())
    engine = BuildProtocol(tmp_path / "project", library, score=options.pop("score", by_level), **options)
    engine.fail_once = fail_once
    provider = RehearsalProvider(RehearsalOptions(seed=seed, clumsy=clumsy))
    talk = Conversation(provider.reply, engine.tools(), seed=seed)
    text = talk.turn(message)
    for _ in range(nudges):
        if engine.phase() == "report":
            break
        text = talk.turn("The protocol has not finished. " + json.dumps({"state": engine.state()}))
    return engine, talk, text


def test_a_benchmark_is_drafted_calibrated_frozen_and_recorded(tmp_path: Path) -> None:
    engine, talk, text = run(tmp_path)
    assert engine.refusals == []
    assert engine.baseline is not None
    assert engine.stopped is None
    scores = [pilot["score"] for pilot in engine.pilots]
    assert len(scores) >= 3
    assert scores[1] > 70, "the first refinement only makes Cases longer"
    assert scores[-1] <= 45
    assert engine.level("CASE-004-d") == 1, "the held-out Case moves along"
    assert "Report of the Builder" in text
    assert len([message for message in talk.messages if type(message).__name__ == "ToolOutput"]) < 60


def test_a_level_replaces_what_was_there(tmp_path: Path) -> None:
    engine, _, _ = run(tmp_path)
    for case in engine.cases:
        assert len(list((engine.benchmark / case / "statement").glob("only-at-*"))) == 1


def test_every_prediction_stands_before_its_dispatch(tmp_path: Path) -> None:
    _, talk, _ = run(tmp_path)
    names = [name for name in talk.names() if name not in ("read_file", "exec_command", "protocol_status")]
    for place, name in enumerate(names):
        if name == "dispatch":
            assert names[place - 2 : place] == ["submit_revision", "record_review"]


def test_at_the_limit_the_lowest_pilot_is_put_back_and_frozen(tmp_path: Path) -> None:
    def worse(case: str, level: int) -> float:
        return {0: 70.0, 1: 60.0, 2: 90.0}[level]

    library = {"CASE-001-a": ("size", "separating"), "CASE-002-b": ("size", "separating")}
    engine, talk, _ = run(tmp_path, library=library, held_out=(), score=worse, pilots=3)
    assert "restore_lowest" in talk.names()
    assert engine.baseline is not None
    assert {engine.level(case) for case in engine.cases} == {1}


def test_a_rejection_that_names_a_case_is_answered_by_that_case(tmp_path: Path) -> None:
    library = {**LIBRARY, "CASE-001-a": ("size", "separating", "separating")}

    def score(case: str, level: int) -> float:
        return 15.0 if level == 3 else by_level(case, level)

    engine, _, _ = run(tmp_path, library=library, reject=["CASE-001 is still too easy."], score=score)
    assert engine.baseline is not None
    assert engine.level("CASE-001-a") == 3


def test_a_rejection_that_nothing_answers_stops_the_run_with_its_words(tmp_path: Path) -> None:
    engine, _, text = run(tmp_path, reject=["I don't like it."] * 9)
    assert engine.baseline is None
    assert engine.stopped is not None
    assert "I don't like it." in engine.stopped
    assert "Stopped:" in text


def test_failed_cells_are_tried_again_with_a_named_repair(tmp_path: Path) -> None:
    engine, talk, _ = run(tmp_path, fail_once={"CASE-002-b"})
    assert engine.baseline is not None
    repairs = [arguments["repair"] for name, arguments in talk.called if name == "dispatch" and arguments.get("repair")]
    assert len(repairs) == 1
    assert "CASE-002-b" in repairs[0]


def test_an_agent_without_a_requirement_is_not_invented(tmp_path: Path) -> None:
    message = "\n".join(line for line in MESSAGE.splitlines() if not line.startswith("requirement"))
    engine, _, _ = run(tmp_path, message=message)
    assert engine.stopped is not None
    assert not engine.agent


def test_a_small_loop_can_be_asked_for(tmp_path: Path) -> None:
    engine, _, _ = run(tmp_path, message=MESSAGE + "cases: 2\n")
    assert engine.cases == ["CASE-001-a", "CASE-002-b"]
    assert engine.baseline is not None


def test_the_same_seed_gives_the_same_calls(tmp_path: Path) -> None:
    _, first, _ = run(tmp_path / "a")
    _, second, _ = run(tmp_path / "b")

    def told(talk: Conversation, root: str) -> str:
        return json.dumps(talk.called).replace(root, "")

    assert told(first, str(tmp_path / "a")) == told(second, str(tmp_path / "b"))


@pytest.mark.parametrize("seed", range(20))
def test_the_clumsy_builder_completes_or_stops_with_a_reason(tmp_path: Path, seed: int) -> None:
    engine, _, _ = run(tmp_path, clumsy=True, seed=seed, nudges=40)
    assert engine.baseline is not None or engine.stopped


def test_most_clumsy_builders_complete(tmp_path: Path) -> None:
    done = 0
    for seed in range(10):
        engine, _, _ = run(tmp_path / str(seed), clumsy=True, seed=seed, nudges=40)
        done += engine.baseline is not None
    assert done >= 9


def rung(case: str, level: int, score: float, *, separates: bool, expected: float, held_out: bool = False) -> Rung:
    return Rung(case, level, separates=separates, held_out=held_out, score=score, expected=expected)


def test_choosing_takes_the_highest_scores_until_the_promise_reaches() -> None:
    rungs = {
        "A": rung("A", 1, 90, separates=True, expected=20),
        "B": rung("B", 1, 80, separates=True, expected=20),
        "C": rung("C", 1, 50, separates=True, expected=20),
        "H": rung("H", 1, 0, separates=True, expected=20, held_out=True),
    }
    measured = {"A": 90.0, "B": 80.0, "C": 50.0}
    assert choose(rungs, measured, wanted=55, first=False) == {"A": 1, "H": 1}
    assert set(choose(rungs, measured, wanted=20, first=False)) == {"A", "B", "C", "H"}
    assert set(choose(rungs, measured, wanted=55, first=False, last=True)) == {"A", "B", "H"}
    assert choose({}, measured, wanted=20, first=False) == {}


def test_names_of_cases_are_found_in_an_operators_words() -> None:
    cases = ["CASE-001-member-register", "CASE-010-logs"]
    assert named_cases("case-001 gives too much away", cases) == ["CASE-001-member-register"]
    assert named_cases("make it harder", cases) == []


def test_only_lines_of_format_are_waived() -> None:
    assert is_format("id,name,day,amount")
    assert is_format("`out.csv`: id, name, day, changed_on, 2026")
    assert not is_format("keep the row that was typed last unless the papers leave it open")
