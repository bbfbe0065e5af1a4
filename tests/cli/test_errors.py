"""Errors name the thing and the way out, leave with the code of their kind, and are JSON when asked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.program import EXUVIA, call, environment, spawn

MISTAKES: list[tuple[list[str], str, str]] = [
    (["agent", "show", "nobody"], "nobody", "default_agent"),
    (["agent", "create", "no spaces", "--requirement", "x"], "no spaces", "letters"),
    (["agent", "create", "../up", "--requirement", "x"], "../up", "letters"),
    (["agent", "create", "a1", "--requirement", "  "], "empty", "what the agent is for"),
    (["agent", "create", "a1", "--requirement", "x", "--skill", "nothing"], "nothing", "SKILL.md"),
    (["agent", "create", "a1", "--requirement", "x", "--thinking", "much"], "much", "medium"),
    (["scoreboard", "default_agent", "nothing"], "nothing", "example-benchmark"),
    (["evaluate", "default_agent", "nothing"], "nothing", "example-benchmark"),
    (["optimize", "nobody", "nothing"], "nobody", "default_agent"),
    (["try", "default_agent", "nothing"], "nothing", "example-benchmark"),
    (["build", "no spaces", "--capability", "x"], "no spaces", "letters"),
    (["evaluate", "default_agent", "example-benchmark", "--model", "half"], "half", "PROVIDER/ID"),
    (["evaluate", "default_agent", "example-benchmark", "--model", "no/model"], "no", "rehearsal"),
    (["run", "nobody", "-m", "x"], "nobody", "default_agent"),
    (["run", "default_agent", "-m", " "], "empty", "-m TEXT"),
    (["runs", "show", "nothing"], "nothing", "exuvia runs list"),
    (["runs", "show", "../../x"], "../../x", "exuvia runs list"),
    (["runs", "stop", "nothing"], "nothing", "exuvia runs list"),
    (["runs", "resume", "nothing"], "nothing", "exuvia runs list"),
    (["approvals", "show", "nothing"], "nothing", "exuvia approvals list"),
    (["approvals", "approve", "nothing"], "nothing", "exuvia approvals list"),
    (["approvals", "reject", "nothing", "--reason", "x"], "nothing", "exuvia approvals list"),
    (["snapshot", "diff", "default_agent", "v9"], "9", ""),
    (["snapshot", "diff", "default_agent", "old"], "old", "current"),
    (["rollback", "default_agent"], "default_agent", "--version"),
    (["rollback", "default_agent", "--undo"], "default_agent", ""),
    (["rollback", "default_agent", "--undo", "--version", "1"], "--undo", "one of them"),
    (["trace", "show", "nothing"], "nothing", "exuvia trace list"),
    (["trace", "tree", "nothing"], "nothing", "exuvia trace list"),
    (["skill", "show", "nothing"], "nothing", "agent-creation"),
    (["skill", "remove", "nothing", "--agent", "default_agent"], "nothing", "Skills"),
    (["agnt"], "agnt", "--help"),
    (["agent", "lst"], "lst", "--help"),
    (["agent", "show"], "AGENT", "--help"),
    (["agent", "list", "--nonsense"], "--nonsense", "--help"),
    (["snapshot", "import", "default_agent", "/no/such/file"], "/no/such/file", "--help"),
    (["demo", "--headless", "--fault", "fenced=often"], "fenced=often", "NAME=RATE"),
]  # fmt: skip
_NO_HOME = {"agnt"}


def _placed(words: list[str], home: Path) -> list[str]:
    return words if words[0] in _NO_HOME else [*words, "--home", str(home)]


@pytest.mark.parametrize(("words", "named", "way_out"), MISTAKES, ids=[" ".join(m[0]) for m in MISTAKES])
def test_a_mistake_is_named_with_the_way_out(words: list[str], named: str, way_out: str, fresh: Path) -> None:
    ended = call(*_placed(words, fresh))
    assert ended.code == 2, ended
    assert ended.out == ""
    told = [line for line in ended.err.splitlines() if not line.startswith("Estimate:")]
    assert told[0].startswith("exuvia: ")
    assert named in told[0]
    assert way_out in "\n".join(told[1:])


@pytest.mark.parametrize("words", [mistake[0] for mistake in MISTAKES], ids=" ".join)
def test_a_mistake_is_one_json_document_when_asked(words: list[str], fresh: Path) -> None:
    ended = call(*_placed([*words, "--json"], fresh))
    assert ended.code == 2
    document = ended.document
    assert set(document) == {"error", "hint", "exit_code"}
    assert document["error"]
    assert document["exit_code"] == 2


def test_the_screen_prints_no_document(fresh: Path) -> None:
    ended = call("demo", "--json", "--home", fresh)
    assert ended.code == 2
    assert "--headless" in ended.document["error"]


def test_what_is_there_already_is_a_failure_not_a_misuse(fresh: Path) -> None:
    ended = call("agent", "create", "default_agent", "--requirement", "x", "--home", fresh)
    assert ended.code == 1
    assert "default_agent" in ended.err
    assert "never overwritten" in ended.err


def test_a_home_that_is_not_there(tmp_path: Path) -> None:
    ended = call("agent", "list", "--home", tmp_path / "none")
    assert ended.code == 2
    assert str(tmp_path / "none") in ended.err
    assert "exuvia demo" in ended.err
    assert not (tmp_path / "none").exists()


def test_the_system_s_refusal_names_the_file(fresh: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = call("agent", "create", "a1", "--requirement", "x", "--home", tmp_path / "file" / "below", "--json")
    assert ended.code == 1
    assert str(tmp_path / "file") in ended.document["error"]
    assert "directory" in ended.document["hint"]
    assert "Traceback" not in ended.err


def test_a_damaged_agent_says_where(fresh: Path) -> None:
    config = fresh / "default_project/agents/default_agent/agent_state/system_config.yaml"
    config.write_text("name: a\nname: b\n")
    ended = call("agent", "show", "default_agent", "--home", fresh, "--json")
    assert ended.code == 1
    assert "system_config.yaml" in ended.document["error"]
    listed = call("agent", "list", "--home", fresh, "--json")
    assert listed.code == 0
    (row,) = listed.document["agents"]
    assert row["problem"]


def test_home_may_stand_before_or_after_the_command(fresh: Path, penguin: Path) -> None:
    before = call("--home", fresh, "agent", "list", "--json")
    after = call("agent", "list", "--home", fresh, "--json")
    assert before == after
    nearer = call("--home", fresh, "agent", "list", "--home", penguin, "--json")
    assert "csv_helper" in nearer.out


def test_home_comes_from_the_flag_then_our_variable_then_theirs(
    fresh: Path, penguin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENGUIN_HOME", str(penguin))
    assert "csv_helper" in call("agent", "list").out
    monkeypatch.setenv("EXUVIA_HOME", str(fresh))
    assert "csv_helper" not in call("agent", "list").out
    assert "csv_helper" in call("agent", "list", "--home", penguin).out


def test_a_reader_that_has_seen_enough_is_no_fault(penguin: Path) -> None:
    for words in (["trace", "list"], ["trace", "list", "--json"], ["skill", "list"]):
        with subprocess.Popen(
            [str(EXUVIA), *words, "--home", str(penguin)],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.close()
            told = process.stderr.read()
            assert process.wait(60) == 0
        assert told == b""


@pytest.mark.parametrize("words", [["skill", "list"], ["skill", "list", "--json"], ["skill", "show", "no", "--json"]])
def test_output_that_cannot_be_written_is_a_failure(words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [str(EXUVIA), *words], env=environment(), stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert ended.returncode in {1, 2}
    assert b"Traceback" not in ended.stderr
    assert b"file system is full" in ended.stderr or b"no skill" in ended.stderr


@pytest.mark.e2e
def test_ctrl_c_leaves_with_130_and_the_run_goes_on(fresh: Path) -> None:
    with subprocess.Popen(
        [str(EXUVIA), "evaluate", "default_agent", "example-benchmark", "--runs", "6", "--home", str(fresh)],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith(b"Started "):
                run_id = line.split()[1].rstrip(b".").decode()
                break
        time.sleep(0.3)
        os.kill(process.pid, signal.SIGINT)
        told = process.stderr.read()
        assert process.wait(60) == 130
    assert run_id.encode() in told
    assert b"Traceback" not in told
    followed = spawn("runs", "show", run_id, "--follow", "--json", "--home", fresh)
    assert followed.returncode == 0, followed.stderr
    assert json.loads(followed.stdout)["state"] == "finished"
