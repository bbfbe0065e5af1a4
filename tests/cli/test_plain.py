"""`exuvia --plain`: where things stand and what happens, a line each, on any terminal and in any encoding."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from core.evolution.events import EventName, Journal
from core.evolution.specs import BuildSpec, OptimizeSpec, run_paths
from core.state import approvals, rollback
from core.state.approvals import Approval
from core.state.evaluation import RunScore, evaluation_of
from core.state.paths import ProjectPaths
from core.state.scoreboard import append_evaluation
from tests.cli.program import EXUVIA, call, environment, spawn, tree_hash
from tests.e2e.pty import Terminal
from tests.tui.home import AGENT, BENCHMARK, CASES, FREEZE, ask_for_freeze, cell, give_engine, make_home, start_run
from tui.cli import lines
from tui.cli.news import Told, Watcher

RUN = "optimize-20260201-100000-dddd"
ATTACK = "\x1b]0;owned\x07\x1b[2K\rALL PASSED\n\u202egnp \u4f60 \u0301 \U0001f600"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def home(tmp_path: Path) -> ProjectPaths:
    """A home with scores and one run that has ended."""
    return make_home(tmp_path / "home")


def told(watcher: Watcher) -> list[str]:
    return [f"{news.line.event}: {news.line.text.strip()}" for news in watcher.look()]


def optimize(home: ProjectPaths) -> tuple[Journal, subprocess.Popen[bytes]]:
    run = start_run(home, RUN, OptimizeSpec(agent_id=AGENT, benchmark_id=BENCHMARK, rounds=5))
    return Journal(run.journal), give_engine(run)


# -- where things stand ------------------------------------------------------------------------------------------


def test_once_says_where_things_stand(home: ProjectPaths) -> None:
    before = tree_hash(home.root.parent)
    ended = call("--plain", "--once", "--home", home.root.parent)
    assert ended.code == 0
    said = ended.out.splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d, times UTC[+-]\d{4}", said[0])
    assert said[1].startswith("Exuvia ")
    assert said[2] == f"agent {AGENT}: v2, 65 on {BENCHMARK} by v2 (rehearsal)"
    assert said[3].startswith("agent default_agent: v1, ")
    assert "(example data)" in said[3]
    assert said[4:] == ["No run is at work.", "Nothing waits for you."]
    assert tree_hash(home.root.parent) == before


def test_once_names_what_is_at_work_and_what_waits(home: ProjectPaths) -> None:
    run, _ = ask_for_freeze(home)
    engine = give_engine(run)
    try:
        ended = call("open", home.root.parent, "--once")
    finally:
        engine.kill()
        engine.wait()
    at_work, waits = ended.out.splitlines()[-2:]
    assert at_work == (f"run {run.id} of {AGENT} on {BENCHMARK}: waiting, phase freeze, 1 cell running (rehearsal)")
    where = f"--home {home.root.parent}"
    assert waits == (
        f"freeze waits for you: Freeze? ({AGENT}). Look: exuvia approvals show {FREEZE} {where}  "
        f"Yes: exuvia approvals approve {FREEZE} --resume {where}  "
        f"No: exuvia approvals reject {FREEZE} --resume {where} --reason TEXT"
    )
    words = waits.partition("Yes: exuvia ")[2].partition("  No:")[0].split()
    assert call(*[word for word in words if word != "--resume"]).code == 0  # the words are a command that works
    assert approvals.pending(home) == ()


def test_the_standing_as_json_is_one_line_of_values(home: ProjectPaths) -> None:
    ask_for_freeze(home)
    document = json.loads(call("--plain", "--once", "--json", "--home", home.root.parent).out)
    assert document["event"] == "standing"
    assert document["agents"][0] == {
        "agent_id": AGENT, "version": 2, "score": 65.0,
        "latest": {"benchmark_id": BENCHMARK, "version": 2, "score": 65.0, "provider": "rehearsal"},
    }  # fmt: skip
    assert [entry["approval_id"] for entry in document["waiting"]] == [FREEZE]
    assert document["live"] == []


def test_without_agents_it_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "home" / "default_project").mkdir(parents=True)
    said = call("--plain", "--once", "--home", tmp_path / "home").out
    assert "exuvia agent create" in said
    assert "exuvia demo" in said


# -- what happens ------------------------------------------------------------------------------------------------


def test_each_event_is_told_once_and_in_order(home: ProjectPaths) -> None:
    watcher = Watcher(home)
    assert told(watcher) == []  # what was before is the standing
    journal, engine = optimize(home)
    try:
        assert told(watcher) == [f"run_started: {RUN}: optimize of {AGENT} on {BENCHMARK} (rehearsal)"]
        journal.append(EventName.PHASE, phase="candidate", detail="round 1 of 5")
        assert told(watcher) == ["phase: optimize: candidate (round 1 of 5)"]
        edits = [{"kind": "agents_md", "path": "AGENTS.md", "added": 1, "removed": 0}]
        journal.append(
            EventName.CANDIDATE, round=1, version=4, reference_version=2, digest="d", state_hash="s", edits=edits,
            hypothesis="Reading notes first helps.", prediction={"overall": "higher", "cases": []},
        )  # fmt: skip
        assert told(watcher) == ["candidate: round 1: v4 is measured: Reading notes first helps."]
        here = {"stage": "round", "index": 1, "version": 4}
        journal.append(
            EventName.CELL, **{**cell(CASES[0], "scored", score=71.256, session_id="s", duration_ms=1), **here}
        )
        failed = cell(CASES[1], "failed", failure_code="evaluation_failed", reason="no answer", attempt=1)
        journal.append(EventName.CELL, **{**failed, **here})
        assert told(watcher) == [
            f"cell_scored: round 1 {CASES[0]} run 1: 71.26",
            f"cell_failed: round 1 {CASES[1]} run 1: failed evaluation_failed no answer",
        ]
        journal.append(
            EventName.DECISION, round=1, version=4, decision="rejected", score=None, reference_score=65.0,
            supported=False, prediction_held=False, note="",
        )  # fmt: skip
        assert told(watcher) == ["decision: round 1: v4 rejected, - against 65: Reading notes first helps."]
        assert told(watcher) == []
        journal.append(EventName.FINISHED, result={})
        assert told(watcher) == [f"run_ended: {RUN}: finished"]
        assert told(watcher) == []
    finally:
        engine.kill()
        engine.wait()


def test_an_engine_that_was_killed_is_told_though_no_file_changed(home: ProjectPaths) -> None:
    watcher = Watcher(home)
    watcher.look()
    _, engine = optimize(home)
    watcher.look()
    assert [view.run_id for view in watcher.live] == [RUN]
    engine.kill()
    engine.wait()
    (line,) = told(watcher)
    assert line.startswith(f"run_ended: {RUN}: dead: ")
    assert told(watcher) == []


def test_a_freeze_that_waits_its_decision_and_a_rollback_are_told(home: ProjectPaths) -> None:
    watcher = Watcher(home)
    watcher.look()
    ask_for_freeze(home)
    assert any(line.startswith("waits: freeze waits for you: ") for line in told(watcher))
    approvals.decide(home, FREEZE, "reject", "CASE-002 is a riddle", actor="cli")
    (line,) = told(watcher)
    assert line.startswith(f"decided: rejected {FREEZE} by ")
    assert line.endswith(": CASE-002 is a riddle")
    rollback.roll_back(home.agent(AGENT), version=1, actor="cli")
    (line,) = told(watcher)
    assert line.startswith(f"rollback: rolled back {AGENT} v2 -> v1 by ")
    rollback.undo(home.agent(AGENT), "cli")
    assert told(watcher)[0].startswith(f"rollback: undone {AGENT} v1 -> v2 by ")


def test_a_score_that_another_program_wrote_is_told(home: ProjectPaths) -> None:
    watcher = Watcher(home)
    watcher.look()
    scores = {case: [RunScore(score=71.0, cost=None, duration_ms=1, session_id="s")] for case in CASES}
    benchmark = home.agent(AGENT).benchmark(BENCHMARK)
    append_evaluation(benchmark, evaluation_of(3, ("other", "m", "high"), scores, title="t"))
    assert told(watcher) == [f"evaluation: {AGENT} on {BENCHMARK}: v3 scored 71"]
    assert told(watcher) == []


def test_a_run_that_cannot_be_read_is_told_once(home: ProjectPaths) -> None:
    watcher = Watcher(home)
    watcher.look()
    (home.runs / "build-20260101-000000-eeee").mkdir()
    assert [line.partition(":")[0] for line in told(watcher)] == ["unreadable"]
    assert told(watcher) == []


def test_a_question_is_told_with_the_way_to_answer_it() -> None:
    asked = Approval(id="question-1", kind="question", run_id="r", agent_id="a", benchmark_id="", title="Two or three?")
    line = lines.waits(asked, home=" --home /h")
    assert "question waits for you: Two or three? (a)" in line.text
    assert "exuvia approvals answer question-1 TEXT --resume --home /h" in line.text


def test_no_line_is_longer_than_its_reason(home: ProjectPaths) -> None:
    asked = Approval(id="f", kind="freeze", run_id="r", agent_id="a", benchmark_id="", title="long " * 1000)
    assert len(lines.waits(asked).text) < 2 * lines.LONGEST


# -- as a program ------------------------------------------------------------------------------------------------


class Follower:
    """A real `exuvia --plain` and the lines that it has printed."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.raw = b""

    def wait_for(self, word: str, timeout_s: float = 20.0) -> str:
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        deadline = time.monotonic() + timeout_s
        while word.encode() not in self.raw:
            assert time.monotonic() < deadline, self.raw
            self.raw += self.process.stdout.read() or b""
            time.sleep(0.02)
        return self.raw.decode("utf-8", "replace")


@contextmanager
def following(
    home: ProjectPaths, *words: str, stdin: int = subprocess.DEVNULL, env: dict[str, str] | None = None
) -> Iterator[Follower]:
    process = subprocess.Popen(
        [str(EXUVIA), "--plain", "--home", str(home.root.parent), *words], stdin=stdin, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=environment(**(env or {})),
    )  # fmt: skip
    try:
        yield Follower(process)
    finally:
        process.kill()
        process.communicate()


def decide(home: ProjectPaths, name: str = "one") -> None:
    asked = Approval(id=name, kind="freeze", run_id="r", agent_id=AGENT, benchmark_id=BENCHMARK, title=ATTACK)
    approvals.request(home, asked)


def test_it_follows_until_ctrl_c(home: ProjectPaths) -> None:
    before = tree_hash(home.agents)
    with following(home) as follower:
        follower.wait_for("Ctrl-C ends this; runs go on.\n")
        decide(home)
        follower.wait_for("ALL PASSED")
        said = follower.wait_for("--reason TEXT")
        last = said.splitlines()[-1]
        assert re.match(r"\d\d:\d\d:\d\d ", last)
        assert not RAW.search(said.replace("\n", ""))
        assert follower.process.poll() is None  # the end of /dev/null is no end
        follower.process.send_signal(signal.SIGINT)
        assert follower.process.wait(10) == 130
    assert tree_hash(home.agents) == before


def test_it_ends_well_when_whoever_feeds_it_is_done(home: ProjectPaths) -> None:
    with following(home, stdin=subprocess.PIPE) as follower:
        follower.wait_for("Ctrl-C")
        assert follower.process.stdin is not None
        follower.process.stdin.write(b"words that mean nothing\n")
        follower.process.stdin.flush()
        time.sleep(0.3)
        assert follower.process.poll() is None
        follower.process.stdin.close()
        follower.process.stdin = None
        assert follower.process.wait(10) == 0


def test_it_ends_when_nobody_reads_it_any_more(home: ProjectPaths) -> None:
    with following(home) as follower:
        follower.wait_for("Ctrl-C")
        assert follower.process.stdout is not None
        follower.process.stdout.close()
        assert follower.process.wait(10) == 0
        follower.process.stdout = None


def test_json_lines_are_documents_with_times(home: ProjectPaths) -> None:
    with following(home, "--json") as follower:
        follower.wait_for("standing")
        decide(home)
        said = follower.wait_for('"waits"')
    documents: list[dict[str, Any]] = [json.loads(line) for line in said.splitlines()]
    assert [document["event"] for document in documents] == ["standing", "waits"]
    assert documents[1]["title"] == ATTACK  # values are whole; JSON itself holds no raw control byte
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", documents[1]["time"])
    assert said.isascii()


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_no_encoding_stops_it(encoding: str, home: ProjectPaths) -> None:
    decide(home)
    env = environment(PYTHONIOENCODING=encoding) | {"LANG": "C", "LC_ALL": "C"}
    ended = spawn("--plain", "--once", "--home", home.root.parent, env=env)
    assert ended.returncode == 0, ended.stderr
    said = ended.stdout.decode(encoding)
    assert "ALL PASSED" in said
    assert not RAW.search(said.replace("\n", ""))
    assert b"Traceback" not in ended.stderr


@pytest.mark.parametrize("words", [["--plain"], ["open", "--plain"], []], ids=" ".join)
def test_a_dumb_terminal_gets_plain_lines_and_no_escape(words: Sequence[str], home: ProjectPaths) -> None:
    environ = {"TERM": "dumb", "EXUVIA_HOME": str(home.root.parent), "COLORTERM": "truecolor"}
    if not words:
        environ["EXUVIA_PLAIN"] = "1"
    with Terminal([str(EXUVIA), *words], columns=300, environ=environ) as terminal:
        terminal.wait_for("Ctrl-C ends this")
        decide(home)
        terminal.wait_for("freeze waits for you")
        assert b"\x1b" not in terminal.raw
        terminal.press("\x04")  # Ctrl-D: the input ends
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            pid, status = os.waitpid(terminal.pid, os.WNOHANG)
            if pid:
                terminal.status = status
                break
            terminal.read(0.1)
        assert terminal.status is not None
        assert os.waitstatus_to_exitcode(terminal.status) == 0


def test_a_terminal_that_cannot_show_the_console_is_pointed_to_plain(home: ProjectPaths) -> None:
    for env in (environment(TERM="dumb"), environment(TERM="xterm-256color")):  # the second has no terminal at all
        ended = spawn("--home", home.root.parent, env=env)
        assert ended.returncode == 2
        assert b"exuvia --plain" in ended.stderr


def test_json_before_a_command_is_no_silent_nothing(home: ProjectPaths) -> None:
    ended = call("--json", "runs", "list", "--home", home.root.parent)
    assert ended.code == 2
    assert "after runs" in ended.err + ended.out


def test_times_that_no_clock_has_do_not_stop_it(home: ProjectPaths, capsys: pytest.CaptureFixture[str]) -> None:
    from tui.cli.plain import Printer

    for moment in ("", "yesterday", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"):
        Printer().event(Told(moment, "r", lines.Line("k", "e", "text")))
    assert capsys.readouterr().out.count("r: text") == 4


def test_builds_tell_pilots_predicted_against_observed(home: ProjectPaths) -> None:
    watcher = Watcher(home)
    watcher.look()
    spec = BuildSpec(agent_id=AGENT, benchmark_id=BENCHMARK, capability="tidy", requirement="tidy", pilots=4)
    run = start_run(home, "build-20260202-100000-ffff", spec)
    engine = give_engine(run)
    try:
        pilot = {"i": 1, "revision": 1, "score": 34.0, "predicted": 60.0, "observed": 34.0, "missed": True, "cases": []}
        Journal(run_paths(home, run.id).journal).append(EventName.PILOT, **pilot)
        assert told(watcher)[-1] == "pilot: pilot 1: 34; what changed was predicted 60, observed 34 (missed)"
        said, values = watcher.standing()
        assert any("pilot 1 of 4, 34" in line for line in said)
        assert values["live"][0]["run_id"] == run.id
    finally:
        engine.kill()
        engine.wait()
