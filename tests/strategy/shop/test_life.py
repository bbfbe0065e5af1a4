"""One strategy followed through days of customers: nothing here is decided but by what was measured."""

from __future__ import annotations

from typing import Any

import pytest

from core.models.interface import ModelRef
from core.models.rehearsal.provider import RehearsalProvider
from core.strategy.bank.bank import Bank
from core.strategy.bank.executions import read
from core.strategy.shop.banks import REPLAYED, replayed_files, versions
from core.strategy.shop.life import hasty, live
from core.strategy.shop.serving import compiled

DAYS, A_DAY = 3, 16


@pytest.fixture(scope="module")
async def lived(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bank, dict[str, Any]]:
    root = tmp_path_factory.mktemp("life") / "bank"
    told = await live(root, RehearsalProvider(), ModelRef("rehearsal", "rehearsal-1"), days=DAYS, a_day=A_DAY)
    return Bank(root), told


@pytest.mark.meets("S96", "S99", "S100")
async def test_what_the_first_version_gets_stuck_at_is_the_largest_cluster(lived: tuple[Bank, dict[str, Any]]) -> None:
    _, told = lived
    assert told["bad_cases"] > 50
    assert (told["clusters"][0]["skill"], told["clusters"][0]["code"]) == ("query_logistics", "NO_TRACE")
    assert "NO_TRACE" in told["suggestions"][0]


@pytest.mark.meets("S104", "S105")
async def test_a_draft_goes_on_only_if_it_serves_more_customers_and_a_person_says_so(
    lived: tuple[Bank, dict[str, Any]],
) -> None:
    bank, told = lived
    (draft,) = told["drafts"]
    assert draft["origin"] == "synthesized"
    better = draft["gain"][0] > 0
    assert draft["outcome"] == ("shadow" if better else "archived")
    last = [event for event in bank.journal().events if event.id == draft["id"]][-1]
    assert last.detail["person"] is True


@pytest.mark.meets("S70", "S71", "S101", "S106")
async def test_a_better_version_is_shadowed_without_effect_tested_and_let_in(
    lived: tuple[Bank, dict[str, Any]],
) -> None:
    bank, told = lived
    second = told["releases"][0]
    assert (second["version"], second["against"], second["outcome"]) == (2, 1, "promoted")
    assert second["shadow"]["withheld"] > 0
    assert second["gray"]["days"] <= DAYS
    old, new = second["customers"]["old"], second["customers"]["new"]
    assert new["well"] / new["customers"] > old["well"] / old["customers"]
    assert bank.standing(REPLAYED, 2).state == "active"
    assert bank.standing(REPLAYED, 1).state == "deprecated"
    ran = {one.version for one in read(bank.records).executions if one.strategy_id == REPLAYED and not one.dry_run}
    assert ran == {1, 2, 3}


@pytest.mark.meets("S73")
async def test_a_hasty_version_is_taken_back_by_its_rule_on_the_first_day(lived: tuple[Bank, dict[str, Any]]) -> None:
    bank, told = lived
    third = told["releases"][1]
    assert (third["version"], third["against"], third["outcome"]) == (3, 2, "taken back")
    assert third["gray"]["days"] == 1
    assert third["why"].startswith("failure_rate")
    assert bank.standing(REPLAYED, 3).state == "offline"
    assert told["in_force"] == [1, 2, 2]


def test_the_hasty_version_differs_from_the_second_in_its_limit_alone() -> None:
    text = hasty(versions()[2])
    assert "timeout_ms: 300" in text
    assert text.splitlines()[2:4] == ["version: 3", "parent_version: 2"]
    one = compiled({**replayed_files(1), f"aftersale/{REPLAYED}.yaml": text}).strategies[REPLAYED]
    assert one.strategy.version == 3
