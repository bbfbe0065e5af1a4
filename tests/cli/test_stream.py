"""`exuvia stream` as a person and a script use it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from core.curation.memories import Retrieval
from core.state.paths import HomePaths
from tests.cli.program import EXUVIA, call, environment
from tui.cli import stream_asked

pytestmark = pytest.mark.meets("K6")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home in which two runs of the household have ended."""
    home = tmp_path_factory.mktemp("home")
    for executor in ("weak", "strong"):
        ended = call(
            "stream", "run", "--world", "household", "--executor", executor, "--tasks", "12", "--seeds", "2",
            "--min-overlap", "0.51", "--home", home, "--json",
        )  # fmt: skip
        assert ended.code == 0, ended.err
        assert ended.document["state"] == "finished"
    return home


def runs(home: Path) -> list[dict[str, Any]]:
    listed = call("stream", "list", "--home", home, "--json")
    assert listed.code == 0, listed.err
    found: list[dict[str, Any]] = listed.document["streams"]
    return found


def test_runs_are_listed_newest_first_with_what_came_out(home: Path) -> None:
    found = runs(home)
    assert [one["spec"]["executor"] for one in found] == ["strong", "weak"]
    assert all(list(one["success"]) == ["none", "verbatim", "oracle", "shuffled"] for one in found)
    text = call("stream", "list", "--home", home)
    assert found[0]["run_id"] in text.out
    assert "oracle" in text.out


def test_a_report_says_what_separates_and_what_was_not_run(home: Path) -> None:
    run_id = runs(home)[1]["run_id"]
    text = call("stream", "report", run_id, "--home", home)
    assert text.code == 0
    assert "| oracle" in text.out
    assert "points against none" in text.out
    document = call("stream", "report", run_id, "--home", home, "--json").document
    arms = document["report"]["arms"]
    assert arms["oracle"]["success_micro"] > arms["none"]["success_micro"]
    paired = arms["oracle"]["against"]["paired"]
    assert sum(paired[name] for name in ("both", "gained", "lost", "neither")) == 24
    assert document["report"]["facts"]["lengths"] == [12, 12]


def test_two_runs_are_compared_task_by_task(home: Path) -> None:
    strong, weak = (one["run_id"] for one in runs(home))
    text = call("stream", "compare", weak, strong, "--home", home)
    assert text.code == 0
    assert "GAINED" in text.out
    assert "They also differ in: executor (weak and strong)." in text.out
    assert "separate" in text.out
    document = call("stream", "compare", weak, strong, "--home", home, "--json").document
    none = document["arms"]["none"]
    assert none["difference"] == pytest.approx(none["second"] - none["first"])
    assert document["unpaired"] == ""


def test_a_repository_of_a_run_opens_like_any_other(home: Path) -> None:
    run_id = runs(home)[1]["run_id"]
    kept = HomePaths(home).project("default_project").streams / run_id / "repositories" / "verbatim-1"
    shown = call("skill", "list", "--repo", kept, "--json")
    assert shown.code == 0, shown.err
    assert shown.document["skills"]


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (["run", "--world", "household", "--arms", "magic"], "no arm 'magic'", 2),
        (["run", "--world", "household", "--curator", "nowhere"], "no policy 'nowhere'", 2),
        (["run", "--world", "household", "--option", "size"], "no KEY=VALUE", 2),
        (["run", "--world", "household", "--executor", "acme/one"], "has no budget", 2),
        (["run", "--world", "household", "--curator", "in-use"], "No trained curator is in use", 2),
        (["report", "nothing"], "no stream run 'nothing'", 2),
        (["compare", "nothing", "nothing"], "no stream run 'nothing'", 2),
        (["stop", "nothing"], "no stream run 'nothing'", 2),
        (["resume", "../x"], "is no id", 2),
    ],
)
def test_what_cannot_be_is_said_with_the_way_out(home: Path, arguments: list[str], words: str, code: int) -> None:
    ended = call("stream", *arguments, "--home", home)
    assert ended.code == code
    assert words in ended.err
    assert len(ended.err.splitlines()) >= 2  # what is wrong, and what to do
    as_json = call("stream", *arguments, "--home", home, "--json")
    assert words in as_json.document["error"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--world", "nowhere"], "no world 'nowhere'"),
        (["--world", "benchmark:x"], "benchmark:AGENT/ID"),
        (["--world", "household", "--arms", "none,trained"], "'trained' can't run: no policy is named"),
        (["--world", "household", "--option", "size=3"], "can't be opened with size"),
    ],
)
def test_a_run_that_cannot_begin_says_why(tmp_path: Path, arguments: list[str], words: str) -> None:
    ended = call("stream", "run", *arguments, "--home", tmp_path)
    assert ended.code == 2
    assert words in ended.err
    assert ended.out == ""
    assert not (tmp_path / "default_project" / ".exuvia" / "streams").exists()  # nothing was made for it


def test_an_empty_project_says_how_to_begin(tmp_path: Path) -> None:
    (tmp_path / "default_project").mkdir()
    listed = call("stream", "list", "--home", tmp_path)
    assert listed.code == 0
    assert "exuvia stream run --world household" in listed.out


def test_a_finished_run_is_not_resumed(home: Path) -> None:
    ended = call("stream", "resume", runs(home)[0]["run_id"], "--home", home)
    assert ended.code == 2
    assert "finished" in ended.err


def test_read_only_starts_nothing(home: Path) -> None:
    before = len(runs(home))
    ended = call("--read-only", "stream", "run", "--world", "household", "--home", home)
    assert ended.code != 0
    assert len(runs(home)) == before


def test_ctrl_c_stops_a_run_which_then_goes_on(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [EXUVIA, "stream", "run", "--world", "household", "--arms", "verbatim", "--seeds", "2", "--home", tmp_path],
        env=environment(PYTHONPATH=os.environ.get("PYTHONPATH", "")),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    streams = HomePaths(tmp_path).project("default_project").streams
    deadline = time.monotonic() + 120
    while not list(streams.glob("*/events.jsonl")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode in (0, 130), err  # it may have been quicker
    if process.returncode == 130:
        assert b"Go on: exuvia stream resume" in out
        (run,) = runs(tmp_path)
        assert run["state"] == "stopped"
        resumed = call("stream", "resume", run["run_id"], "--home", tmp_path, "--json")
        assert resumed.document["state"] == "finished"
        assert resumed.document["report"]["arms"]["verbatim"]["attempts"] == 2 * 140


def test_a_detached_run_is_left_to_itself(tmp_path: Path) -> None:
    words = ("--world", "household", "--tasks", "5", "--seeds", "1", "--detach", "--json")
    started = call("stream", "run", *words, "--home", tmp_path)
    assert started.code == 0
    deadline = time.monotonic() + 120
    while runs(tmp_path)[0]["state"] in ("starting", "running"):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    (run,) = runs(tmp_path)
    assert (run["run_id"], run["state"]) == (started.document["run_id"], "finished")


def test_a_curator_is_measured_as_it_was_trained_unless_one_says_otherwise(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "checkpoints" / "step-00020").mkdir(parents=True)
    settings = '{"settings": {"retrieval.top_k": 4, "retrieval.min_overlap": 0.51}}'
    (run / "spec.json").write_text(settings)
    for policy in (run, run / "checkpoints" / "step-00020"):
        assert stream_asked.retrieval_of(str(policy), None, None) == Retrieval(4, 0.51)
    assert stream_asked.retrieval_of(str(run), None, 0.0) == Retrieval(4, 0.0)
    assert stream_asked.retrieval_of(str(tmp_path), None, None) == Retrieval(5, 0.0)  # an export tells nothing
    (run / "spec.json").write_text("{")
    assert stream_asked.retrieval_of(str(run), 3, None) == Retrieval(3, 0.0)


def test_an_arm_that_was_named_and_not_run_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()  # only the policy's own process can tell that there is none
    words = (
        "--world",
        "household",
        "--arms",
        "trained",
        "--curator",
        tmp_path / "empty",
        "--tasks",
        "2",
        "--seeds",
        "1",
    )
    ended = call("stream", "run", *words, "--home", tmp_path / "home")
    assert ended.code == 1
    assert "The arm trained was not run" in ended.err
    assert "| none" in ended.out
