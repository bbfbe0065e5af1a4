"""`exuvia strategy demo`: the ablation, and an Optimizer that keeps one edit of a strategy and takes another back."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.agents.builtin import SHOP_CLERK
from core.agents.isolation.support import probe
from core.state.agents import read_agent
from core.state.paths import DEFAULT_PROJECT, HomePaths
from tests.cli.program import call

pytestmark = pytest.mark.skipif(probe().layer == "none", reason="this kernel confines nothing")


@pytest.mark.long
@pytest.mark.meets("S3", "S14", "S31", "S39")
def test_one_edit_of_a_strategy_is_kept_another_taken_back_and_a_second_call_runs_nothing_anew(tmp_path: Path) -> None:
    home = tmp_path / "home"
    arguments = ("strategy", "demo", "--headless", "--home", home, "--seeds", "2", "--rounds", "3", "--json")
    ended = call(*arguments)
    assert ended.code == 0, ended.err
    told = ended.document
    assert [row["layers"] for row in told["ablation"]] == ["flat", 1, 2, 3]
    assert told["mistriggers"]
    assert [one["outcome"] for one in told["life"]["releases"]] == ["promoted", "taken back"]
    found = told["optimize"]
    assert (found["agent"], found["benchmark"], found["state"]) == (SHOP_CLERK, "shop-service", "finished")
    for decision in ("accepted", "rejected"):
        assert found[decision]
        for one in found[decision]:
            assert [edit["kind"] for edit in one["edits"]] == ["strategy"]
    assert all(one["supported"] for one in found["accepted"])
    best = max(one["score"] for one in found["accepted"])
    assert all(one["score"] < best for one in found["rejected"])
    assert found["final"]["score"] == best
    assert found["heldout"]["baseline"] is not None
    assert Path(found["paths"]["report"]).is_file()
    agent = HomePaths(home).project(DEFAULT_PROJECT).agent(SHOP_CLERK)
    assert read_agent(agent).version >= found["final"]["version"]
    kept = {edit["path"] for one in found["accepted"] for edit in one["edits"]}
    undone = {edit["path"] for one in found["rejected"] for edit in one["edits"]} - kept
    assert all("created_by: optimizer" in (agent.state / path).read_text() for path in kept)
    assert undone
    assert all("created_by: optimizer" not in (agent.state / path).read_text() for path in undone)
    again = call(*arguments)
    assert (again.code, again.document["optimize"]) == (0, found)
    plain = call(*arguments[:-1])
    assert f"v{found['final']['version']} accepted" in plain.out
    assert "flat" in plain.out
