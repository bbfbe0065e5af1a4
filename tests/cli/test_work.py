"""Commands that work: a Session, an evaluation, an operator's edit, by the rehearsal model in real processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.evolution.specs import run_paths
from core.state.paths import ProjectPaths
from tests.cli.program import call, spawn

pytestmark = pytest.mark.e2e
BENCH = ("default_agent", "example-benchmark")


def _told(*words: str | Path, code: int = 0) -> dict[str, Any]:
    ended = spawn(*words, "--json")
    assert ended.returncode == code, (ended.stdout, ended.stderr)
    document = json.loads(ended.stdout)
    assert isinstance(document, dict)
    return document


def test_one_session(fresh: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    told = _told("run", "default_agent", "-m", "Say what you can do.", "--workspace", workspace, "--home", fresh)
    assert told["status"] == "completed"
    assert told["text"]
    assert told["workspace"] == str(workspace)
    shown = call("trace", "show", told["session_id"], "--json", "--home", fresh).document
    assert shown["entries"][1]["payload"]["text"] == "Say what you can do."
    assert not list((tmp_path / "person").rglob("*"))  # nothing outside the home and the workspace


def test_a_session_without_a_workspace_gets_one_of_its_own(project: ProjectPaths, fresh: Path) -> None:
    ended = spawn("run", "default_agent", "-m", "Say what you can do.", "--home", fresh)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip()
    assert b"exuvia trace show session-" in ended.stderr
    (made,) = project.agent("default_agent").workspaces.iterdir()
    assert str(made).encode() in ended.stderr


def test_a_real_model_needs_a_budget_and_says_what_it_may_cost(penguin: Path) -> None:
    words = ("evaluate", "csv_helper", "csv-cleanup", "--model", "custom/mock-1", "--home", penguin)
    ended = call(*words)
    assert ended.code == 2
    assert "cost $" in ended.err
    assert "--max-cost USD" in ended.err
    assert not (penguin / "default_project/.exuvia").exists()


def test_evaluate_edit_and_try(project: ProjectPaths, fresh: Path) -> None:
    """Measure, edit, measure the edit: what does not help is taken back, and every step can be looked up."""
    agent = project.agent("default_agent")
    first = _told("evaluate", *BENCH, "--home", fresh)
    assert first["state"] == "finished"
    assert first["result"]["version"] == 1
    assert [cell["state"] for cell in first["cells"]] == ["scored", "scored"]
    board = call("scoreboard", *BENCH, "--json", "--home", fresh).document
    assert board["evaluations"][-1]["score"] == first["result"]["score"]
    assert board["evaluations"][-1]["provider"] == "rehearsal"

    state = agent.agents_md.read_text()
    agent.agents_md.write_text(state + "\nBe kind.\n")
    tried = _told("try", *BENCH, "--runs", "1", "--hypothesis", "Kindness helps.", "--home", fresh)
    (entry,) = tried["rounds"]
    assert entry["decision"] == "rejected"  # the same score is not better
    assert entry["hypothesis"] == "Kindness helps."
    assert agent.agents_md.read_text() == state
    (candidate,) = call("scoreboard", *BENCH, "--candidates", "--json", "--home", fresh).document["candidates"]
    assert (candidate["proposer"], candidate["decision"]) == ("operator", "rejected")
    assert "+Be kind." in candidate["diff"]

    runs = call("runs", "list", "--json", "--home", fresh).document["runs"]
    assert [run["kind"] for run in runs] == ["try", "evaluate"]
    told = call("runs", "show", tried["run_id"], "--home", fresh).out
    assert "rejected" in told
    assert f"# Run {tried['run_id']}" in told  # the report
    assert call("runs", "show", tried["run_id"], "--json", "--home", fresh).document["rounds"] == tried["rounds"]
    target = first["cells"][0]["session_id"]
    tree = call("trace", "tree", first["cells"][0]["evaluator_session_id"], "--json", "--home", fresh).document
    assert [child["session_id"] for child in tree["children"]] == [target]


def test_an_evaluation_for_evidence_leaves_the_scoreboard(project: ProjectPaths, fresh: Path) -> None:
    board = project.agent("default_agent").benchmark("example-benchmark").scoreboard
    before = board.read_bytes()
    told = _told("evaluate", *BENCH, "--evidence-only", "--home", fresh)
    assert told["result"]["appended"] is False
    assert board.read_bytes() == before


def test_try_without_an_edit_is_blocked(fresh: Path) -> None:
    _told("evaluate", *BENCH, "--evidence-only", "--home", fresh)
    told = _told("try", *BENCH, "--runs", "1", "--home", fresh, code=3)
    assert told["state"] == "blocked"
    assert told["reason"]


def test_a_detached_run_is_stopped_and_resumed(project: ProjectPaths, fresh: Path) -> None:
    run_id = _told("evaluate", *BENCH, "--runs", "4", "--detach", "--home", fresh)["run_id"]
    assert run_paths(project, run_id).root.is_dir()
    stopped = _told("runs", "stop", run_id, "--home", fresh)
    assert stopped["state"] == "stopped"
    refused = spawn("rollback", "default_agent", "--home", fresh)
    assert b"is at work" not in refused.stderr  # a stopped run holds nothing
    resumed = _told("runs", "resume", run_id, "--follow", "--home", fresh)
    assert resumed["state"] == "finished"
    scored = [cell["cell"] for cell in resumed["cells"] if cell["state"] == "scored"]
    assert len(scored) == len(set(scored)) == 8


def test_a_live_run_holds_its_agent(fresh: Path) -> None:
    assert call("snapshot", "create", "default_agent", "--home", fresh).code == 0
    run_id = _told("evaluate", *BENCH, "--runs", "4", "--detach", "--home", fresh)["run_id"]
    refused = call("rollback", "default_agent", "--version", "1", "--json", "--home", fresh)
    assert refused.code == 1
    assert run_id in refused.document["error"]
    assert "--stop" in refused.document["hint"]
    assert _told("runs", "stop", run_id, "--home", fresh)["state"] == "stopped"
