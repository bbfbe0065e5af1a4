"""Skills of an agent's state as a repository and back: what nothing touches keeps its bytes (K1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.curation.skill_candidate import HOPE, hypothesis_of, prediction_of, title_of
from core.curation.skill_edits import edited, edits_of, state_skills
from core.evolution.edits import problem
from core.skillrepo.calls import from_native
from core.skillrepo.document import read_text
from core.skillrepo.operations import DELETE, INSERT, UPDATE, Call
from core.skillrepo.repository import Repository
from core.skillrepo.skill import write

pytestmark = pytest.mark.meets("K1")

LENIENT = b"---\nname: keep: books\nversion: 2\ndescription: Books, kept.\n---\n\nKeep.\n"
LATIN = b"---\nname: letters\ndescription: caf\xe9\n---\n\nRead.\n"
PRESENT = {
    "AGENTS.md": b"# Role\n",
    "skills/keep-books/SKILL.md": LENIENT,
    "skills/keep-books/scripts/run.sh": b"echo\n",
    "skills/letters/SKILL.md": LATIN,
    "skills/notes.txt": b"no skill",
}


def test_a_skill_is_known_by_its_folder() -> None:
    skills = state_skills(PRESENT)
    assert [skill.title for skill in skills] == ["keep-books", "letters"]
    assert skills[0].description == "Books, kept."
    assert skills[0].content == LENIENT.decode()


def test_nothing_done_is_no_edit() -> None:
    skills = state_skills(PRESENT)
    assert edits_of(skills, skills, PRESENT, {}) == ()
    assert edited(PRESENT, ()) == PRESENT


def test_a_deleted_skill_loses_its_whole_folder() -> None:
    skills = state_skills(PRESENT)
    edits = edits_of(skills, skills[1:], PRESENT, {"keep-books": "it misled"})
    assert [(edit.path, edit.delete, edit.why) for edit in edits] == [
        ("skills/keep-books/SKILL.md", True, "it misled"),
        ("skills/keep-books/scripts/run.sh", True, "it misled"),
    ]
    assert edited(PRESENT, edits).keys() == PRESENT.keys() - {edit.path for edit in edits}


def test_a_title_that_is_no_folder_name_gets_one_and_is_named_after_it() -> None:
    new = write("Sort the Mail!", "Mail, sorted.", "# Workflow\n1. Sort.")
    (edit,) = edits_of((), (new,), {}, {})
    assert edit.path == "skills/sort-the-mail/SKILL.md"
    assert edit.content is not None
    document = read_text(edit.content, directory="sort-the-mail")
    assert (document.name, document.dialect, document.valid) == ("sort-the-mail", "curated", True)


WORDS = st.sampled_from(["mail", "sort", "count", "table", "Log", "räume", "日本"])
TITLES = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)


@given(st.lists(st.tuples(TITLES, st.sampled_from(["a", "b"])), max_size=6))
def test_any_new_skills_stay_inside_the_edit_surface(pairs: list[tuple[str, str]]) -> None:
    """Whatever titles a curator finds: one folder each, valid for a strict reader, the same skills again."""
    repository = Repository()
    for title, body in pairs:
        content = write(title, f"About {title}.", f"# Workflow\n1. {body}").content
        repository.apply([call(INSERT, skill_name=title, content=content)])
    edits = edits_of((), repository.skills, {}, {})
    assert len({edit.path for edit in edits}) == len(repository)
    if edits:
        assert problem(edits, {}, frozenset()) is None
    again = state_skills(edited({}, edits))
    assert sorted(skill.description for skill in again) == sorted(skill.description for skill in repository.skills)


def call(name: str, **arguments: str) -> Call:
    return from_native(name, arguments)


# What a Candidate says of itself -----------------------------------------------------------------------------

SUM = write("add-column", "Add up a column of numbers in a file.", "# Workflow\n1. Sum.")
MAIL = write("sort-mail", "Put letters into folders by their date.", "# Workflow\n1. Sort.")
STATEMENTS = {"CASE-1": "Add up the column in data.csv.", "CASE-2": "Put the letters into folders."}


def test_a_prediction_names_the_cases_that_find_the_skill_or_led_to_it() -> None:
    scores = {"CASE-1": 40.0, "CASE-2": 60.0}
    told = prediction_of(["add-column"], (), (SUM,), STATEMENTS, scores, (), min_overlap=0.5)
    assert told["cases"] == [{"case_id": "CASE-1", "expected_score": 40 + HOPE * 60}]
    both = prediction_of(["add-column"], (MAIL,), (MAIL, SUM), STATEMENTS, scores, ["CASE-2"], min_overlap=0.0)
    assert [case["case_id"] for case in both["cases"]] == ["CASE-1", "CASE-2"]


def test_what_is_whole_can_gain_nothing() -> None:
    told = prediction_of(["add-column"], (), (SUM,), STATEMENTS, {"CASE-1": 100.0}, ["CASE-1"], min_overlap=0.0)
    assert told["cases"] == []


def test_skills_from_work_outside_the_benchmark_claim_every_case_that_lacks_points() -> None:
    other = write("fold-paper", "Fold cranes.", "# Workflow\n1. Fold.")
    scores = {"CASE-1": 40.0, "CASE-2": 100.0}
    told = prediction_of(["fold-paper"], (), (other,), STATEMENTS, scores, (), min_overlap=0.6)
    assert [case["case_id"] for case in told["cases"]] == ["CASE-1"]


def test_a_hypothesis_says_what_each_changed_skill_claims() -> None:
    better = write("sort-mail", "Put letters into folders by the date inside.", "# Workflow\n1. Sort.")
    text = hypothesis_of((MAIL,), (better, SUM))
    assert text == (
        "With add-column added and sort-mail reworked, tasks of their kind score higher. "
        "sort-mail: Put letters into folders by the date inside. "
        "add-column: Add up a column of numbers in a file."
    )
    assert hypothesis_of((MAIL,), ()) == "With sort-mail removed, tasks of their kind score higher."
    assert hypothesis_of((MAIL,), (MAIL,)) == ""
    wordy = write("long", "A thing. " * 100, "# Workflow\n1. Go.")
    assert len(hypothesis_of((), (wordy,))) < 300
    assert title_of([INSERT, INSERT, UPDATE, DELETE]) == "Curated skills: 2 new, 1 updated, 1 removed"
