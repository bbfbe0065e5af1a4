"""The world of problems: generators with verifiers, files by path, and how answers are read and compared."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.curation.worlds import Split
from core.foundation.errors import UsageError
from trainer.worlds import open_world
from trainer.worlds.datasets import load_problems
from trainer.worlds.reasoning import make
from trainer.worlds.reasoning.answers import boxed, final_answer, same

WITHOUT_GYM = importlib.util.find_spec("reasoning_gym") is None
needs_gym = pytest.mark.skipif(WITHOUT_GYM, reason="the extra reasoning (reasoning-gym) is not installed")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"So \boxed{42}.", "42"),
        (r"First \boxed{1}, but then \boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed {x = {3}}", "x = {3}"),
        (r"\boxed{unclosed", r"\boxed{unclosed"),
        ("Thinking.\nThe final answer is 17.\n", "17"),
        ("I think\nanswer: yes", "yes"),
        ("some steps\n12 apples", "12 apples"),
        ("", ""),
    ],
)
def test_the_final_answer_of_a_text(text: str, answer: str) -> None:
    assert final_answer(text) == answer


def test_a_box_is_the_last_one_that_is_closed() -> None:
    assert boxed(r"\boxed{1} \boxed{2") == "1"
    assert boxed("none") is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("42", "42"),
        ("042", "42"),
        ("12,345", "12345"),
        (r"\frac{1}{2}", "0.5"),
        (r"$\dfrac{3}{6}$", "1/2"),
        (r"\text{Yes}", "yes"),
        ("x = 3", "3"),
        (r"\left(1, 2\right)", "(1,2)"),
        (r"30^\circ", "30"),
        ("50\\%", "50"),
        ("7.", "7"),
    ],
)
def test_answers_that_say_the_same(given: str, expected: str) -> None:
    assert same(given, expected)


@pytest.mark.parametrize(
    ("given", "expected"), [("42", "43"), ("", ""), ("1/0", "1"), ("no", "yes"), ("0.33", "1/3"), ("A", "B")]
)
def test_answers_that_do_not(given: str, expected: str) -> None:
    assert not same(given, expected)


@pytest.mark.skipif(importlib.util.find_spec("math_verify") is None, reason="math-verify is not installed")
def test_math_verify_knows_what_plain_comparison_does_not() -> None:
    assert same(r"\frac{\sqrt{2}}{2}", r"\frac{1}{\sqrt{2}}")
    assert same("x^2-1", "(x-1)(x+1)")
    assert not same("x^2-1", "(x-1)(x+2)")


@needs_gym
@pytest.mark.meets("K7")
def test_streams_hold_every_generator_and_groups_one_in_order_of_difficulty() -> None:
    world = make()
    stream = world.stream("test", 1)
    assert len(stream) == 120
    assert {task.family for task in stream} == set(world.families)
    assert {task.difficulty for task in stream} == {0.0, 1.0, 2.0, 3.0}
    assert stream == world.stream("test", 1)
    group = world.group("train", 3, 8)
    assert len({task.family for task in group}) == 1
    levels = [task.difficulty for task in group]
    assert levels == sorted(levels, key=lambda level: level or 0)
    assert json.loads(json.dumps([dict(task.data) for task in group])) == [dict(task.data) for task in group]


@needs_gym
def test_the_splits_share_no_problem() -> None:
    world = make()
    seeds = {split: {task.seed for task in world.stream(split, 1, 60)} for split in ("train", "test")}
    assert max(seeds["train"]) < 2**30 <= min(seeds["test"])


@needs_gym
@pytest.mark.meets("K4")
def test_the_right_answer_wins_and_a_wrong_one_does_not() -> None:
    world = make()
    for family in world.families:
        for task in world.group("test", 2, 2, family):
            game = world.play(task)
            assert game.intro == task.text
            assert game.score == 0.0
            game.step(f"I think so.\n\\boxed{{{task.data['answer'].strip('$')}}}")
            assert (game.won, game.done, game.score) == (True, True, 1.0), task.id
            wrong = world.play(task)
            told = wrong.step("\\boxed{certainly a banana}")
            assert not wrong.won
            assert task.data["answer"] not in told
            assert wrong.step(f"\\boxed{{{task.data['answer']}}}") == "The problem was answered already."
            assert not wrong.won


@needs_gym
def test_problems_are_the_same_in_processes_with_other_hash_seeds() -> None:
    program = (
        "from trainer.worlds.reasoning import make\n"
        "world = make()\n"
        "print(world.fingerprint, [(t.id, t.text, dict(t.data)) for t in world.stream('train', 4, 48)])\n"
        "import sys; print('torch' in sys.modules)"
    )
    said = [
        subprocess.run(
            [sys.executable, "-P", "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1]
    assert said[0].endswith("False\n")


@needs_gym
def test_only_models_can_play_and_nothing_is_judged_by_rules() -> None:
    world = open_world("reasoning")
    task = world.stream("train", 0, 1)[0]
    with pytest.raises(UsageError, match="only models can solve"):
        world.run(task, (), "weak")
    assert world.executors == ()
    assert world.max_steps == 1
    assert len(world.oracle()) == len(world.families)


@needs_gym
def test_generators_can_be_chosen_and_unknown_ones_are_named() -> None:
    assert make(generators="gcd, lcm").families == ("gcd", "lcm")
    with pytest.raises(UsageError, match="no generator with levels named teleport"):
        make(generators="gcd,teleport")
    assert make(generators="gcd").fingerprint != make(generators="lcm").fingerprint


def test_without_the_package_the_world_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainer.worlds.reasoning.gym.importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError) as caught:
        make()
    assert "exuvia[reasoning]" in caught.value.hint


# Files by path, of the shape that their hubs serve ------------------------------------------------------------------


def deepmath(count: int) -> list[dict[str, Any]]:
    return [
        {
            "question": f"Evaluate the limit number {at}.",
            "final_answer": f"\\frac{{{at}}}{{2}}",
            "difficulty": 3.0 + at % 5,
            "topic": "Mathematics -> Calculus -> Limits" if at % 2 else "Mathematics -> Algebra -> Groups",
            "r1_solution_1": "a long text",
        }
        for at in range(count)
    ]


def write_jsonl(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def test_deepmath_by_path(tmp_path: Path) -> None:
    world = make(dataset="deepmath", path=write_jsonl(tmp_path / "deepmath.jsonl", deepmath(200)))
    assert world.families == ("Algebra", "Calculus")
    train, test = world.stream("train", 1), world.stream("test", 1)
    assert len(train) + len(test) == 200
    assert 8 <= len(test) <= 35  # one in ten, by hash
    assert not {task.id for task in train} & {task.id for task in test}
    assert {task.difficulty for task in train} == {3.0, 4.0, 5.0, 6.0, 7.0}
    game = world.play(train[0])
    game.step(f"\\boxed{{{train[0].data['answer']}}}")
    assert game.won
    assert len({task.family for task in world.group("train", 1, 6)}) == 1
    with pytest.raises(UsageError, match="has no 6 problems of Topology for train"):
        world.group("train", 1, 6, "Topology")
    with pytest.raises(UsageError, match="problems for test, 150 were asked for"):
        world.stream("test", 1, 150)


def test_aime_by_path_is_a_test_set(tmp_path: Path) -> None:
    records = [{"id": at, "problem": f"Find n_{at}.", "answer": str(at), "year": "2024"} for at in range(30)]
    path = tmp_path / "aime.json"
    path.write_text(json.dumps(records), "utf-8")
    world = make(dataset="aime", path=path)
    assert len(world.stream("test", 0)) == 30
    with pytest.raises(UsageError, match="aime is a test set"):
        world.stream("train", 0)


def test_gpqa_by_path_shows_four_choices_in_an_order_that_does_not_tell(tmp_path: Path) -> None:
    path = tmp_path / "gpqa_diamond.csv"
    with path.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerow(
            ["Question", "Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3",
             "High-level domain"]
        )  # fmt: skip
        for at in range(40):
            writer.writerow([f"Why {at}?", "right", "wrong", "worse", "worst", "Physics"])
    problems = load_problems("gpqa", path)
    assert len({problem.answer for problem in problems}) == 4
    for problem in problems:
        assert f"{problem.answer}) right" in problem.question
    assert problems == load_problems("gpqa", path)
    world = make(dataset="gpqa", path=path)
    game = world.play(world.stream("test", 0)[0])
    game.step("\\boxed{E}")
    assert not game.won


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.jsonl", '{"question": "Q"}\n', "Record 1 of .* has no topic; it has question"),
        ("a.jsonl", "[1]\n", "line 1 is no JSON object"),
        ("a.jsonl", "{broken\n", "can't be read"),
        ("a.jsonl", "", "holds no problem"),
        ("a.json", '{"a": 1}', "no list of JSON objects"),
        ("a.txt", "x", r"is none of \.jsonl, \.json, \.csv, \.parquet"),
        ("a.jsonl", '{"question": "Q", "topic": "T", "final_answer": "1", "difficulty": "hard"}\n', "Record 1 of"),
    ],
)
def test_what_a_file_lacks_is_said(tmp_path: Path, name: str, text: str, why: str) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=why):
        load_problems("deepmath", path)


def test_an_absent_file_and_an_unknown_data_set_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no file"):
        load_problems("aime", tmp_path / "none.json")
    with pytest.raises(UsageError, match="no data set 'math500'"):
        load_problems("math500", tmp_path / "none.json")
    with pytest.raises(UsageError, match="needs its name and its path"):
        make(dataset="aime")


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is not None, reason="pyarrow is installed")
def test_parquet_without_pyarrow_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1")
    with pytest.raises(UsageError, match="needs pyarrow"):
        load_problems("deepmath", path)


def test_a_question_that_comes_twice_counts_once(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "d.jsonl", deepmath(5) + deepmath(5))
    assert len(load_problems("deepmath", path)) == 5


def test_the_split_of_a_file_does_not_depend_on_the_other_problems(tmp_path: Path) -> None:
    few = make(dataset="deepmath", path=write_jsonl(tmp_path / "few.jsonl", deepmath(100)))
    many = make(dataset="deepmath", path=write_jsonl(tmp_path / "many.jsonl", deepmath(200)))
    split: Split = "test"
    assert {task.id for task in few.stream(split, 0)} <= {task.id for task in many.stream(split, 0)}
