"""What the lessons are worth, measured: the pilots' story, each lesson alone, all of them, none of them."""

from __future__ import annotations

import csv
import re

import pytest

from core.models.rehearsal.choosing import SERVICE
from core.models.rehearsal.lesson_library import lessons, parse
from core.models.rehearsal.target_statement import KINDS
from core.state.yaml12 import load
from tests.rehearsal.workbench import (
    BENCHMARK,
    MATERIAL,
    average,
    cases,
    held_out,
    naive,
    open_cases,
    oracle,
    revision_at,
    score,
)

BY_ID = {lesson.id: lesson for lesson in lessons()}
# What each good skill is for, by the place of its Case.
SKILLS = {
    "tidy-records": (0, 3),
    "read-logs": (1,),
    "move-settings": (2,),
    "archive-once": (4,),
    "letters-to-table": (5,),
}
HARMFUL = {
    "small-letters": 0,
    "sort-unique": 3,
    "quick-table": 0,
    "count-lines": 1,
    "round-figures": 5,
    "fewer-turns": 4,
}


def test_the_library_offers_all_kinds_of_edit() -> None:
    edits = [lesson.edit for lesson in lessons()]
    assert edits.count("config") >= 2
    assert edits.count("agents_md") >= 3
    assert edits.count("skill") >= 6
    for lesson in lessons():
        assert lesson.hypothesis
        assert set(lesson.kinds) <= {*KINDS, SERVICE}
        assert set(lesson.related) <= set(BY_ID) - {lesson.id}
        assert (lesson.edit == "skill") == bool(lesson.skill)
        assert (lesson.edit == "strategy") == bool(lesson.strategy)
        assert lesson.builds_on in {"", *BY_ID}
        assert bool(lesson.settings) == (lesson.edit == "config")


def test_a_lesson_without_a_known_edit_is_refused() -> None:
    with pytest.raises(ValueError, match="edit"):
        parse("---\nid: x\nedit: prayer\n---\nbody\n")


def test_a_section_joins_agents_md_once() -> None:
    lesson = BY_ID["documents-first"]
    once = lesson.agents_md("# Clerk\n")
    assert once.startswith("# Clerk\n\n## Before you start\n")
    assert lesson.agents_md(once) == once


def test_neither_code_nor_lessons_know_a_case() -> None:
    """No id, title, file, column or value of a Case stands in what the Target and the Optimizer are made of."""
    root = BENCHMARK.parents[1] / "core" / "models" / "rehearsal"
    texts = {path.name: path.read_text(encoding="utf-8") for path in (*root.glob("*.py"), *root.glob("lessons/*.md"))}
    names: set[str] = set()
    for case in cases():
        names |= {case.name, case.name.split("-", 2)[2]}
        names.add(load((MATERIAL / case.name / "case.yaml").read_text(encoding="utf-8"))["title"])
        for path in (case / "statement").rglob("*"):
            if path.suffix in (".csv", ".jsonl", ".log", ".ini") and path.name not in (
                "mapping.csv",
                "corrections.csv",
            ):
                names.add(path.name)
            if path.suffix == ".csv":
                header = next(csv.reader(path.open(encoding="utf-8", newline="")))
                names |= {column for column in header if "_" in column and column not in ("old_key", "new_key")}
        statement = (case / "statement" / "README.md").read_text(encoding="utf-8")
        names |= set(re.findall(r"^- `(\w+_\w+)`", statement, re.MULTILINE))
    found = [
        (name, file) for name in sorted(names - {"first_seen", "last_seen"}) for file in texts if name in texts[file]
    ]
    assert found == []
    assert len(names) > 40


def test_the_drafts_are_too_easy_and_more_rows_change_nothing() -> None:
    first = average([revision_at(case, 1) for case in open_cases()], naive())
    second = average([revision_at(case, 2) for case in open_cases()], naive())
    assert 65 <= first <= 75
    assert abs(first - second) <= 2
    promised = [
        load(path.read_text(encoding="utf-8"))["prediction"]["score_if_observed"]
        for path in MATERIAL.glob("*/sharpenings/*/sharpening.yaml")
        if load(path.read_text(encoding="utf-8"))["kind"] == "size"
    ]
    assert promised
    assert max(promised) < second - 15


def test_the_separating_sharpenings_do_what_they_promised() -> None:
    third = average([revision_at(case, 3) for case in open_cases()], naive())
    last = average(open_cases(), naive())
    assert 45 < third < 55
    assert 30 <= last <= 44
    for case in open_cases():
        steps = sorted((MATERIAL / case.name / "sharpenings").glob("*/sharpening.yaml"))
        promised = load(steps[-1].read_text(encoding="utf-8"))["prediction"]["score_if_observed"]
        assert abs(score(case, naive()) - promised) <= 8


def test_the_oracle_reaches_85_to_95_and_the_held_out_cases_gain() -> None:
    assert 85 <= average(open_cases(), oracle()) <= 95
    hidden = [case for case in cases() if case.name in held_out()]
    assert average(hidden, oracle()) >= average(hidden, naive()) + 25


@pytest.mark.parametrize(("name", "places"), SKILLS.items(), ids=SKILLS)
def test_a_good_skill_lifts_its_kinds_and_leaves_the_others(name: str, places: tuple[int, ...]) -> None:
    taught = naive().with_lessons(BY_ID[name])
    for place, case in enumerate(open_cases()):
        gain = score(case, taught) - score(case, naive())
        assert gain >= 25 if place in places else gain == 0


@pytest.mark.parametrize("place", [0, 1, 2, 3, 5])
def test_reading_the_documents_first_helps_everywhere(place: int) -> None:
    case = open_cases()[place]
    assert score(case, naive().with_lessons(BY_ID["documents-first"])) >= score(case, naive()) + 10


def test_setting_aside_what_is_not_settled_helps() -> None:
    taught = naive().with_lessons(BY_ID["account-for-everything"])
    assert score(open_cases()[0], taught) >= score(open_cases()[0], naive()) + 5


def test_a_higher_limit_of_turns_helps_alone_and_with_long_procedures() -> None:
    case = open_cases()[4]
    assert score(case, naive().with_lessons(BY_ID["more-turns"])) >= score(case, naive()) + 15
    long = [BY_ID["archive-once"], BY_ID["documents-first"]]
    assert (
        score(case, naive().with_lessons(*long, BY_ID["more-turns"])) >= score(case, naive().with_lessons(*long)) + 10
    )


@pytest.mark.parametrize("name", ["kind-words", "more-tokens"])
def test_a_useless_lesson_changes_nothing(name: str) -> None:
    taught = naive().with_lessons(BY_ID[name])
    assert [score(case, taught) for case in open_cases()[:2]] == [score(case, naive()) for case in open_cases()[:2]]


@pytest.mark.parametrize(("name", "place"), HARMFUL.items(), ids=HARMFUL)
def test_a_harmful_lesson_costs_points(name: str, place: int) -> None:
    case = open_cases()[place]
    assert score(case, naive().with_lessons(BY_ID[name])) <= score(case, naive()) - 5


def test_runs_of_one_state_differ_a_little_by_seed_and_never_by_chance() -> None:
    case = revision_at(open_cases()[5], 1)
    found = [score(case, naive(), seed) for seed in range(7, 13)]
    assert 0 < max(found) - min(found) <= 10
    score.cache_clear()
    assert score(case, naive(), 7) == found[0]
