"""Annotations: what is refused, how a model is asked, a file that can be left and taken up, groups from it (K7)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.curation.worlds import Task
from core.foundation.errors import UsageError
from core.models.interface import ProviderError, Request, ToolCall
from tests.curation.scripted_model import Reply, Script, refused, text_of
from trainer.commands import annotate as command
from trainer.grouping import annotation_file
from trainer.grouping.annotator import TOOL, annotate
from trainer.grouping.attributes import KINDS, Attributes, problems, read, schema
from trainer.grouping.pipeline import task_groups
from trainer.grouping.similarity import Exact

pytestmark = pytest.mark.meets("K7")
TEXT = "A drawer holds 12 red and 8 blue socks; how many must be taken to be sure of a pair?"
GOOD: dict[str, Any] = {
    "topics": ["combinatorics"],
    "skills": ["worst case analysis"],
    "concepts": ["Pigeonhole  principle."],
    "strategies": ["bound by the worst case"],
    "pitfalls": ["confusing average and worst"],
    "difficulty": 2,
}


def task(name: str, text: str = TEXT, answer: str | None = "3", difficulty: float | None = None) -> Task:
    return Task(name, "socks", text, "train", 0, difficulty, {} if answer is None else {"answer": answer})


def test_a_good_annotation_is_read_into_comparable_phrases() -> None:
    attributes, difficulty = read(GOOD, TEXT, "3")
    assert attributes.concepts == ("pigeonhole principle",)
    assert difficulty == 2.0
    assert set(schema()["properties"]) == {*KINDS, "difficulty"}


@pytest.mark.parametrize(
    ("kind", "phrase", "why"),
    [
        ("skills", "to be able to think ahead", "more than 5 words"),
        ("strategies", "take three socks", "holds the answer"),
        ("concepts", "answer is 3", "holds the answer"),
        ("topics", "red and 8 blue socks", "repeats 5 words of the task"),
    ],
)
def test_phrases_that_are_long_or_give_the_task_away_are_refused(kind: str, phrase: str, why: str) -> None:
    answer = "three" if "three" in phrase else "3"
    with pytest.raises(UsageError, match=why):
        read({**GOOD, kind: [phrase]}, TEXT, answer)


def test_the_answer_counts_as_whole_words_only() -> None:
    assert problems(Attributes(concepts=("30 degrees",)), TEXT, "3") == ()
    assert problems(Attributes(concepts=("three cases",)), TEXT, None) == ()
    assert problems(Attributes(concepts=("x = 1/2 case",)), TEXT, "1/2") != ()
    assert problems(Attributes(concepts=("anything",)), TEXT, "?") == ()  # an answer without a word can't be looked for


@pytest.mark.parametrize(
    "changed",
    [
        {"difficulty": True},
        {"difficulty": "2"},
        {"difficulty": 11},
        {"skills": "counting"},
        {"skills": [3]},
        {"skills": ["a"] * 2 + [f"s{at}" for at in range(8)]},
        {"more": []},
    ],
)
def test_what_does_not_keep_the_schema_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        read({**GOOD, **changed}, TEXT, None)
    short = dict(GOOD)
    del short["pitfalls"]
    with pytest.raises(UsageError, match="has the keys"):
        read(short, TEXT, None)


def called(document: dict[str, Any]) -> Reply:
    return "", (ToolCall("1", TOOL, json.dumps(document)),)


def test_a_model_annotates_by_a_tool_call_or_in_plain_json() -> None:
    script = Script(lambda request: called(GOOD) if "sock" in text_of(request) else json.dumps(GOOD))
    made = annotate(script.model, [task("a"), task("b", "How high is a tower?")])
    assert [isinstance(one, annotation_file.Annotation) and one.attributes is not None for one in made] == [True, True]
    (tool,) = script.seen[0].tools
    assert tool.name == TOOL
    assert tool.parameters == schema()
    assert "answer" not in text_of(script.seen[0])  # the answer is no part of the question


def test_a_refused_annotation_is_asked_again_with_the_reason() -> None:
    def of(request: Request) -> Reply:
        return called(GOOD if "holds the answer" in text_of(request) else {**GOOD, "topics": ["answer 3"]})

    script = Script(of)
    (made,) = annotate(script.model, [task("a")])
    assert isinstance(made, annotation_file.Annotation)
    assert made.attributes is not None
    assert len(script.seen) == 2


def test_after_three_refusals_the_task_stands_without_attributes_and_with_the_reason() -> None:
    script = Script(lambda request: "no idea")
    (made,) = annotate(script.model, [task("a")])
    assert isinstance(made, annotation_file.Annotation)
    assert (made.attributes, made.difficulty) == (None, None)
    assert "no JSON" in made.reason
    assert len(script.seen) == 3


def test_a_refused_key_ends_it_at_once(tmp_path: Path) -> None:
    script = Script(lambda request: refused())
    tasks = tuple(task(f"t{number}", f"Task number {number}.") for number in range(200))
    with pytest.raises(ProviderError, match="the key was refused"):
        command.run(tmp_path / "annotations.jsonl", script.model, tasks)
    assert len(script.seen) <= 32  # no more than were asked about at a time


def test_one_task_that_the_provider_will_not_have_costs_no_other_one(tmp_path: Path) -> None:
    script = Script(lambda request: refused() if "number 7." in text_of(request) else called(GOOD))
    tasks = tuple(task(f"t{number}", f"Task number {number}.") for number in range(40))
    counts = command.run(tmp_path / "annotations.jsonl", script.model, tasks)
    assert counts == {"tasks": 40, "kept": 39, "refused": 0, "unreached": 1}


def test_the_command_goes_on_where_it_was_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "annotations.jsonl"
    tasks = (task("a"), task("b"), task("c", "one two three four"))
    busy = ProviderError("the server is\x1b[2J busy")
    down = Script(lambda request: busy if "four" in text_of(request) else called(GOOD))
    assert command.run(file, down.model, tasks) == {"tasks": 3, "kept": 2, "refused": 0, "unreached": 1}
    assert "1 tasks were not reached, the last one: the server is\u241b[2J busy\n" in capsys.readouterr().err
    up = Script(lambda request: called(GOOD))
    assert command.run(file, up.model, tasks) == {"tasks": 3, "kept": 3, "refused": 0, "unreached": 0}
    assert len(up.seen) == 1
    changed = (task("a", "Another text."), *tasks[1:])
    assert command.run(file, up.model, changed)["kept"] == 3
    assert len(up.seen) == 2  # only the task whose text is another one
    assert len(file.read_text("utf-8").splitlines()) == 4


def test_a_broken_record_and_a_missing_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no annotations at"):
        annotation_file.load(tmp_path / "none.jsonl")
    with pytest.raises(UsageError, match="no annotations at"):
        annotation_file.load(tmp_path)


GIVEN: dict[str, Any] = annotation_file.Annotation("a", "0" * 64, "lab/lab-1", None, 0.5).as_json()
PHRASES: dict[str, Any] = {kind: ["short phrase"] for kind in KINDS}


@pytest.mark.parametrize(
    "changed",
    [
        {"task": 3},
        {"task": None},
        {"text_sha256": None},
        {"difficulty": True},
        {"difficulty": "0.5"},
        {"attributes": []},
        {"attributes": {}},
        {"attributes": {**PHRASES, KINDS[0]: "a phrase, not a list of them"}},
        {"attributes": {**PHRASES, KINDS[0]: [1, 2]}},
    ],
    ids=str,
)
def test_a_broken_record_is_named_by_its_line(tmp_path: Path, changed: dict[str, Any]) -> None:
    file = tmp_path / "a\x1b[2J.jsonl"
    good = json.dumps({**GIVEN, "attributes": PHRASES})
    file.write_text(f"\n{good}\n{{torn\n{json.dumps({**GIVEN, **changed})}\n", "utf-8")
    with pytest.raises(UsageError, match=r"^Line 4 of .* is no annotation") as refused:
        annotation_file.load(file)
    assert "\x1b" not in str(refused.value)
    assert "Take that line out" in refused.value.hint


def test_a_line_that_a_kill_tore_costs_its_task_alone_and_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "annotations.jsonl"
    script = Script(lambda request: called(GOOD))
    command.run(file, script.model, (task("a"), task("b", "one two three four")))
    first, second = file.read_text("utf-8").splitlines()
    file.write_text(f"{first[:40]}\n{second}\n", "utf-8")
    assert set(annotation_file.load(file)) == {"b"}
    assert annotation_file.torn(file) == 1
    assert command.run(file, script.model, (task("a"), task("b", "one two three four")))["kept"] == 2
    assert "1 lines of" in capsys.readouterr().err
    assert len(script.seen) == 3


def test_the_command_says_what_it_cannot_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = tmp_path / "project"
    project.mkdir()
    given = [str(tmp_path / "f.jsonl"), "--project", str(project), "--world", "shop", "--count", "2"]
    assert command.main([*given, "--model", "nobody/none"]) != 0
    assert "nobody" in capsys.readouterr().err
    assert command.main([*given, "--model", "a/b", "--option", "x"]) == 2


def annotate_file(file: Path, tasks: list[Task]) -> None:
    for at, one in enumerate(tasks):
        document = {
            **GOOD,
            "topics": [f"topic {at}"],
            "concepts": ["parity", f"c{at}", f"c{at + 1}"],
            "difficulty": min(10.0, at * 0.6),
        }
        attributes, difficulty = read(document, one.text, None)
        annotation_file.append(
            file, annotation_file.Annotation(one.id, annotation_file.hash_of(one), "m", attributes, difficulty)
        )


def test_groups_come_from_tasks_and_their_annotations(tmp_path: Path) -> None:
    file, tasks = tmp_path / "a.jsonl", [task(f"t{at}", f"Text number {at}.", None) for at in range(15)]
    annotate_file(file, tasks)
    groups = task_groups(tasks, file, 4, smallest=3, largest=6, seed=1, encoder=Exact())
    assert len(groups) == 4
    assert all(3 <= len(group.tasks) <= 6 for group in groups)
    assert groups == task_groups(tasks, file, 4, smallest=3, largest=6, seed=1, encoder=Exact())
    assert any(member.how == "harder" for group in groups for member in group.members)
    for group in groups:
        assert [member.task.id for member in group.members] == [one.id for one in group.tasks]
        assert group.fallbacks == sum(member.how == "fallback" for member in group.members)


def test_an_annotation_of_another_text_does_not_count(tmp_path: Path) -> None:
    file, tasks = tmp_path / "a.jsonl", [task(f"t{at}", f"Text number {at}.", None) for at in range(4)]
    annotate_file(file, tasks)
    changed = [task("t0", "Something else.", None), *tasks[1:]]
    assert len(annotation_file.annotated(changed, annotation_file.load(file))) == 3
    with pytest.raises(UsageError, match="3 of 4 tasks are annotated"):
        task_groups(changed, file, 1, smallest=2, largest=4)


def test_the_data_sets_own_difficulty_wins_over_the_annotators(tmp_path: Path) -> None:
    file, tasks = tmp_path / "a.jsonl", [task("t0", "Text.", None, difficulty=7.5)]
    annotate_file(file, tasks)
    assert annotation_file.annotated(tasks, annotation_file.load(file))[0].difficulty == 7.5
