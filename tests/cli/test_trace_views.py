"""The console's views of traces as commands: Sessions by filter, a Session over time, the Sessions of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.program import call


def test_sessions_are_listed_by_a_filter_with_what_they_were_for(penguin: Path) -> None:
    facts = call("trace", "list", "--filter", "role:target", "--json", "--home", penguin).document["sessions"]
    assert len(facts) == 4
    assert {(one["role"], one["case_id"], one["run"], one["version"]) for one in facts} == {
        ("target", "CASE-001-dedupe", run, version) for run in (1, 2) for version in (1, 2)
    }
    assert all(one["cost_known_usd"] > 0 and one["requests_of_unknown_cost"] == 0 for one in facts)
    assert all(one["started_by"] and one["took_ms"] and one["score"] for one in facts)
    told = call("trace", "list", "--filter", "role:target case:dedupe", "--home", penguin).out
    assert "CASE-001-dedupe run 2 v1" in told
    only = call("trace", "list", "--filter", "status:failed", "--agent", "csv_helper", "--json", "--home", penguin)
    assert all(one["agent_id"] == "csv_helper" for one in only.document["sessions"])
    assert "No session is like" in call("trace", "list", "--filter", "nothing of it", "--home", penguin).out


def test_a_run_is_shown_as_its_sessions(penguin: Path) -> None:
    sessions = call("trace", "list", "--filter", "role:optimizer", "--json", "--home", penguin).document["sessions"]
    run_id = sessions[0]["run_id"]
    facts = call("trace", "tree", run_id, "--json", "--home", penguin).document
    assert [one["role"] for one in facts["sessions"]] == ["optimizer", *["evaluator", "target"] * 2]
    told = call("trace", "tree", run_id, "--home", penguin).out.splitlines()
    assert told[1].startswith("optimizer")
    assert told[2].startswith("  evaluator")
    assert told[3].startswith("    target")


def test_a_session_over_time_is_the_analysis_in_lanes(penguin: Path) -> None:
    target = call("trace", "list", "--filter", "role:target", "--json", "--home", penguin).document["sessions"][0]
    facts = call("trace", "times", target["session_id"], "--json", "--home", penguin).document
    analysis = call("trace", "analyze", target["session_id"], "--json", "--home", penguin).document
    assert facts["lanes_ms"]["model"] == sum(task["llmMs"] for task in analysis["tasks"])
    assert [one["took_ms"] for one in facts["requests"]] == [one["activeMs"] for one in analysis["requests"]]
    assert facts["cost_known_usd"] == pytest.approx(target["cost_known_usd"])
    told = call("trace", "times", target["session_id"], "--home", penguin).out
    assert told.startswith("model ")
    assert "REQUEST" in told
    assert call("trace", "times", "nothing", "--home", penguin).code == 2


def test_a_search_keeps_to_the_sessions_of_a_filter(penguin: Path) -> None:
    everywhere = call("trace", "search", "dedupe", "--json", "--home", penguin).document
    targets = call("trace", "search", "dedupe", "--filter", "role:target", "--json", "--home", penguin).document
    assert targets["sessions"] == 4 < everywhere["sessions"]
    assert {one["session_id"] for one in targets["hits"]} < {one["session_id"] for one in everywhere["hits"]}
