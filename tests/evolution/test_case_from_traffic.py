"""A bad case becomes a Case without touching what was measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.evolution.case_from_traffic import case_from_traffic
from core.foundation.errors import NotFoundError
from core.state.paths import AgentPaths, ProjectPaths
from tests.strategy.feedback.making import case


@pytest.fixture
def agent(tmp_path: Path) -> AgentPaths:
    made = ProjectPaths(tmp_path / "project").agent("clerk")
    readme = made.benchmark("chores").case("CASE-007-sort").statement_readme
    readme.parent.mkdir(parents=True)
    readme.write_text("# Sort\n")
    return made


@pytest.mark.meets("S96")
def test_a_benchmark_that_nobody_was_measured_on_gets_the_case_itself(agent: AgentPaths) -> None:
    found = case_from_traffic(agent, "chores", case("the price is missing"))
    assert (found.benchmark_id, found.copied_from) == ("chores", "")
    assert found.case_id == "CASE-008-price-query-timeout"
    assert agent.benchmark("chores").case_ids() == ("CASE-007-sort", found.case_id)
    assert "the price is missing" in agent.benchmark("chores").case(found.case_id).statement_readme.read_text()


def test_a_measured_one_stays_and_each_draft_has_a_copy_of_its_own(agent: AgentPaths) -> None:
    agent.benchmark("chores").scoreboard.write_text("evaluations: []\n")
    first = case_from_traffic(agent, "chores", case("the price is missing"))
    second = case_from_traffic(agent, "chores", case("no price here"))
    assert (first.benchmark_id, second.benchmark_id) == ("chores-2", "chores-3")
    assert agent.benchmark("chores").case_ids() == ("CASE-007-sort",)
    third = case_from_traffic(agent, "chores-2", case("and no price there"))
    assert (third.benchmark_id, third.case_id) == ("chores-2", "CASE-009-price-query-timeout")
    assert not agent.benchmark("chores-2").scoreboard.exists()


def test_a_benchmark_that_is_not_there_is_named(agent: AgentPaths) -> None:
    with pytest.raises(NotFoundError, match="no benchmark none"):
        case_from_traffic(agent, "none", case("x"))
