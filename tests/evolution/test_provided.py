"""Benchmarks that come with the program; those of shop-service are well formed and worth nothing to who does little."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.agents.builtin import SHOP_CLERK, make
from core.evolution import provided
from core.evolution.case_files import problems
from core.evolution.leaks import scan, texts_of
from core.evolution.rubric import read_rubric
from core.foundation.errors import ConflictError, NotFoundError
from core.state.fresh import ensure_home
from core.state.paths import CasePaths
from tests.agents.shop import BENCHMARK, CASES, points

FORGED = {
    "refunds": [{"order_id": "A-2207", "amount": 86.0}],
    "messages": [{"by": "sms", "text": "x"}],
    "tickets": [{"ticket_id": "H1", "promise_minutes": 30}],
}


def test_a_benchmark_is_put_to_an_agent_once_without_its_material(tmp_path: Path) -> None:
    assert provided.names() == ("data-chores", provided.SHOP_SERVICE)
    agent = make(ensure_home(tmp_path / "home"), SHOP_CLERK)
    benchmark = provided.put(agent, provided.SHOP_SERVICE)
    assert benchmark.case_ids() == CASES
    assert not (benchmark.root / "material").exists()
    with pytest.raises(ConflictError):
        provided.put(agent, provided.SHOP_SERVICE)
    with pytest.raises(NotFoundError):
        provided.put(agent, "nothing")


@pytest.mark.parametrize("case", CASES)
def test_a_rubric_totals_100_its_checks_decide_all_and_the_statement_gives_nothing_away(case: str) -> None:
    place = CasePaths(BENCHMARK / case)
    assert problems(place) == ()
    rubric = read_rubric(place)
    assert all(rubric.checked_points(item.number) == item.points for item in rubric.items)
    assert scan(texts_of(place.statement), texts_of(place.rubric)) == ()


@pytest.mark.parametrize("case", CASES)
def test_doing_nothing_or_only_talking_is_worth_nothing(case: str, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    shutil.copytree(BENCHMARK / case / "statement", workspace)
    assert sum(points(workspace, case).values()) == 0
    words = "Refunded 86, 96, 60; wechat tmall 27.8; 30 minutes; five working days; 2026-06-04.\n"
    (workspace / "answer.txt").write_text(words)
    assert sum(points(workspace, case).values()) == 0


@pytest.mark.parametrize("case", CASES)
def test_what_the_desk_has_no_log_of_was_not_done(case: str, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    shutil.copytree(BENCHMARK / case / "statement", workspace)
    (workspace / "answer.txt").write_text("86 96 60 30\n")
    desk = json.loads((workspace / "shop.json").read_text())
    (workspace / "shop.json").write_text(json.dumps({**desk, **FORGED, "log": [{"skill": "find_order"}]}))
    assert sum(points(workspace, case).values()) == 0


def test_an_orders_number_is_no_amount_that_was_told(tmp_path: Path) -> None:
    case = "CASE-008-says-done"
    shutil.copytree(BENCHMARK / case / "statement", tmp_path / "workspace")
    desk = json.loads((tmp_path / "workspace" / "shop.json").read_text())
    (tmp_path / "workspace" / "shop.json").write_text(json.dumps({**desk, "log": [{"skill": "find_order"}]}))
    for answer, worth in (("About A-60.", 0), ("60.00 dollars", 20)):
        (tmp_path / "workspace" / "answer.txt").write_text(answer)
        assert points(tmp_path / "workspace", case)["told"] == worth


def test_the_cases_are_made_by_their_script(tmp_path: Path) -> None:
    place = tmp_path / "benchmark"
    shutil.copytree(BENCHMARK / "material", place / "material")
    subprocess.run([sys.executable, str(place / "material" / "generate.py")], check=True, timeout=60)
    made, kept = (
        {
            path.relative_to(root).as_posix(): path.read_bytes()
            for path in sorted(root.glob("CASE-*/**/*"))
            if path.is_file() and "__pycache__" not in path.parts
        }
        for root in (place, BENCHMARK)
    )
    assert made == kept
