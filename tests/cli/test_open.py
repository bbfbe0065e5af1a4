"""`exuvia open DIR` without a screen: what DIR is taken for, and another program's run in words."""

from __future__ import annotations

from pathlib import Path

from tests.cli.program import call, tree_hash
from tests.evolution.replay import Replay


def test_another_programs_run_is_told_and_nothing_is_written(tmp_path: Path) -> None:
    home = tmp_path / "home"
    playing = Replay(home).play()
    for _ in range(346):
        next(playing)
    before = tree_hash(home)
    for place in (home, home / "default_project", home / "default_project" / "agents" / "csv_helper"):
        document = call("open", place, "--plain", "--once", "--json").document
        (live,) = document["live"]
        assert live["run_id"] == "observed-session-2026-11-30-20-19-35-12166038"
        assert (live["agent_id"], live["phase"]) == ("csv_helper", "evaluating Candidate v2")
    said = call("open", home, "--plain", "--once").out
    assert "2 cells running (observed: another program's)" in said
    listed = call("runs", "list", "--json", "--home", home).document["runs"]
    assert [(run["run_id"], run["observed"]) for run in listed][:1] == [(live["run_id"], True)]
    refused = call("runs", "stop", live["run_id"], "--home", home)
    assert refused.code == 2
    assert "another program" in refused.err
    assert tree_hash(home) == before


def test_a_directory_and_a_home_are_one_too_many(tmp_path: Path) -> None:
    ended = call("open", tmp_path, "--home", tmp_path, "--plain", "--once")
    assert ended.code == 2
    assert "Both DIR and --home" in ended.err


def test_what_is_no_state_directory_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "here"  # what lies beside a directory counts too, and tmp_path stands among other tests'
    (place / "songs").mkdir(parents=True)
    ended = call("open", place, "--plain", "--once", "--json")
    assert ended.code == 2
    assert "no agent in it" in ended.document["error"]
