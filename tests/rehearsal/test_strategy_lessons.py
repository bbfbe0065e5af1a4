"""Lessons that are strategies: each is a Candidate's edit of the shop clerk, in order, for customers' tasks alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from core.agents.builtin import SHOP_CLERK, make
from core.evolution.edits import Edit, problem
from core.models.rehearsal.choosing import SERVICE, Record, Seen, affected, choose, kind_of
from core.models.rehearsal.lesson_library import lessons
from core.models.rehearsal.target_statement import KINDS
from core.state.fresh import ensure_home
from core.state.paths import AgentPaths
from core.strategy.documents.release import BankSettings
from core.strategy.execution.compiler import compile_bank
from core.strategy.schema.directory import skills_in
from tests.agents.shop import BENCHMARK, CASES

STRATEGIES = {lesson.id: lesson for lesson in lessons() if lesson.edit == "strategy"}
STATEMENTS = {case: (BENCHMARK / case / "statement" / "README.md").read_text() for case in CASES}
SERVED = dict.fromkeys(CASES, SERVICE)


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> AgentPaths:
    return make(ensure_home(tmp_path_factory.mktemp("home")), SHOP_CLERK)


def present(agent: AgentPaths) -> Mapping[str, bytes]:
    return {path.relative_to(agent.state).as_posix(): path.read_bytes() for path in _files(agent.state)}


def _files(root: Path) -> list[Path]:
    return [path for path in sorted(root.rglob("*")) if path.is_file()]


@pytest.mark.meets("S3")
@pytest.mark.parametrize("name", STRATEGIES)
def test_a_lesson_is_the_version_after_what_stands_and_compiles_over_the_clerks_skills(
    agent: AgentPaths, name: str
) -> None:
    lesson, held = STRATEGIES[name], present(agent)
    text = lesson.next_version(held[lesson.path].decode())
    assert "\nversion: 2\nparent_version: 1\n" in text
    assert problem([Edit(lesson.path, text)], held, frozenset()) is None
    assert problem([Edit(lesson.path, lesson.body)], held, frozenset()) is not None  # version 1 stays as it is
    root = "strategies/"
    files = {path.removeprefix(root): raw.decode() for path, raw in held.items() if path.startswith(root)}
    files.pop("bank.yaml")
    bank = compile_bank(
        {**files, lesson.path.removeprefix(root): text},
        BankSettings(registry={"ticket_id": "string"}),
        skills_in(agent.skills).schemas,
    )
    assert bank.faults == ()


def test_a_strategy_that_is_not_there_yet_begins_at_its_own_version() -> None:
    lesson = STRATEGIES["second-channel"]
    assert lesson.next_version(None) == lesson.body


def test_strategies_are_tried_on_customers_tasks_and_nothing_else_is() -> None:
    assert {kind_of(text) for text in STATEMENTS.values()} == {SERVICE}
    served = Seen(dict.fromkeys(CASES, 20.0), STATEMENTS, SERVED)
    assert {lesson.id for lesson in lessons() if affected(lesson, served)} == STRATEGIES.keys()
    for kind in KINDS:
        chores = Seen(served.scores, STATEMENTS, dict.fromkeys(CASES, kind))
        assert not [lesson.id for lesson in STRATEGIES.values() if affected(lesson, chores)]


def test_a_strategy_claims_the_tasks_of_its_words_only() -> None:
    served = Seen(dict.fromkeys(CASES, 20.0), STATEMENTS, SERVED)
    assert affected(STRATEGIES["second-channel"], served) == ["CASE-005-text-me"]


def test_a_lesson_waits_for_the_one_that_it_builds_on() -> None:
    lesson = STRATEGIES["promise-in-time"]
    assert not Record().open(lesson)
    assert Record(in_force=frozenset({lesson.builds_on})).open(lesson)
    served = Seen(dict.fromkeys(CASES, 20.0), STATEMENTS, SERVED)
    for seed in range(20):
        first = choose(tuple(lessons()), served, Record(), rounds_left=5, seed=seed)
        assert first is not None
        assert [one.builds_on for one in first.lessons] == [""]
