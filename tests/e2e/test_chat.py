"""`exuvia chat` as a person uses it: in a pseudo-terminal and in a pipe, interrupted, killed, resumed, sent to."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from core.foundation import strict_json
from core.state import approvals, audit, mailbox
from core.state.paths import ProjectPaths
from core.traces.listing import session_head
from tests.cli.program import EXUVIA, environment, spawn
from tests.e2e.loop import gone
from tests.e2e.pty import Terminal

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
AGENT = "csv_helper"
TASK = "Sort `people.csv` by name into `sorted.csv`."


@pytest.fixture
def project(tmp_path: Path) -> ProjectPaths:
    home = tmp_path / "home"
    made = spawn("agent", "create", AGENT, "--requirement", "Cleans small CSV files.", "--home", home)
    assert made.returncode == 0, made.stderr
    return ProjectPaths(home / "default_project")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "people.csv").write_text("name,age\nBob,3\nAda,4\n")
    return tmp_path / "work"


def _chat(project: ProjectPaths, *arguments: str | Path, columns: int = 100) -> Terminal:
    argv = [str(EXUVIA), "chat", AGENT, "--home", str(project.root.parent), *map(str, arguments)]
    return Terminal(argv, columns=columns, rows=50, environ=environment(TERM="xterm-256color"))


def _once(project: ProjectPaths, text: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    argv = [str(EXUVIA), "chat", AGENT, "--once", "--home", str(project.root.parent), *map(str, arguments)]
    return subprocess.run(argv, input=text, text=True, capture_output=True, env=environment(), timeout=60, check=False)


def _told(terminal: Terminal, *words: str, times: int = 1) -> None:
    """Wait until the terminal was told something, scrolled away since or not."""
    for word in words:
        terminal.wait_until(lambda _, word=word: terminal.raw.count(word.encode()) >= times, what=word)  # type: ignore[misc]  # a default in a lambda


def _say(terminal: Terminal, text: str) -> None:
    os.write(terminal.fd, text.encode() + b"\r")


def _records(project: ProjectPaths, session_id: str) -> list[dict[str, Any]]:
    head = session_head(project.agent(AGENT), session_id)
    assert head is not None
    lines = head.files[-1].path.read_bytes().splitlines()
    return [dict(strict_json.parse(line)["payload"]) for line in lines if line.strip()]


def _live(project: ProjectPaths) -> str:
    (listener,) = mailbox.listeners(project)
    assert (listener.role, listener.agent_id) == ("chat", AGENT)
    return listener.session_id


def _end(terminal: Terminal) -> str:
    """Leave at the prompt; return the session that could be resumed."""
    terminal.press("\x04")
    assert terminal.wait_for_end() == 0
    match = re.search(r"--resume (session-[0-9a-f-]+)", terminal.text.replace("\n", ""))
    assert match is not None, terminal.text
    return match[1]


def test_a_pipe_gets_the_reply_alone_and_the_trace_says_cli(project: ProjectPaths, workspace: Path) -> None:
    ended = _once(project, TASK, "--workspace", workspace, "--json")
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told["status"] == "completed"
    assert (workspace / "sorted.csv").exists()
    head = session_head(project.agent(AGENT), told["session_id"])
    assert head is not None
    assert (head.source, head.workspace) == ("cli", str(workspace))
    (workspace / "sorted.csv").unlink()
    plain = _once(project, TASK, "--workspace", workspace)
    assert plain.stdout == told["text"] + "\n"
    assert "* exec_command: " in plain.stderr
    assert "--resume session-" in plain.stderr
    assert _once(project, "  \n").returncode == 2


def test_without_a_person_at_it_a_call_waits_for_one_elsewhere(project: ProjectPaths, workspace: Path) -> None:
    argv = [str(EXUVIA), "chat", AGENT, "--once", "--approval", "always-ask", "--workspace", str(workspace)]
    with subprocess.Popen(
        [*argv, "--home", str(project.root.parent)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        assert process.stdin is not None
        process.stdin.write(TASK)
        process.stdin.close()
        process.stdin = None  # so that communicate does not write to it
        told = ""
        assert process.stderr is not None
        while "It waits for you" not in told:
            told = process.stderr.readline()
            assert told
        (asked,) = approvals.waiting(project)
        assert f"exuvia approvals approve {asked.id}" in told
        decided = spawn("approvals", "reject", asked.id, "--reason", "no", "--home", project.root.parent)
        assert decided.returncode == 0, decided.stderr
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out.endswith("so I stopped there.\n")


def test_it_is_confined_like_a_target(project: ProjectPaths, workspace: Path, tmp_path: Path) -> None:
    """What a command of the agent reads and writes beyond its places is refused by the kernel."""
    secret, outside = tmp_path / "secret.txt", tmp_path / "outside.txt"
    secret.write_text("hidden words")
    block = f"cat {secret} > stolen.txt; echo x > {outside}; echo done > tried.txt; true"
    agents_md = project.agent(AGENT).agents_md
    agents_md.write_text(agents_md.read_text() + f"\n## Before you start\n\n```sh\n{block}\n```\n")
    assert _once(project, TASK, "--workspace", workspace).returncode == 0
    assert (workspace / "tried.txt").read_text() == "done\n"
    assert "hidden" not in (workspace / "stolen.txt").read_text()
    assert not outside.exists()


def test_turns_questions_commands_and_leaving(project: ProjectPaths, workspace: Path) -> None:
    with _chat(project, "--workspace", workspace) as terminal:
        terminal.wait_for("/help tells")
        _say(terminal, "/help")
        terminal.wait_for("Ctrl-C    interrupts the agent")
        _say(terminal, "Tidy it up.")
        terminal.wait_for("Which one do you mean?", "1. people.csv", "Your answer:")
        (asked,) = approvals.waiting(project)
        assert (asked.kind, asked.role, asked.options) == ("question", "chat", ("people.csv",))
        _say(terminal, "1")
        terminal.wait_for("Done:")
        _say(terminal, TASK)
        terminal.wait_until(lambda text: text.count("Done:") == 2)
        session_id = _end(terminal)
    _, decision = approvals.get(project, asked.id)
    assert decision is not None
    assert (decision.verdict, decision.text) == ("answer", "people.csv")
    assert mailbox.listeners(project) == ()
    with _chat(project, "--resume", session_id) as again:
        again.wait_for("/help tells")
        _say(again, TASK)
        again.wait_for("Done:")
        assert _end(again) == session_id
    records = _records(project, session_id)
    assert sum(record.get("type") == "session_meta" or "agent_state" in record for record in records) == 1
    prompts = [r["text"] for r in records if r.get("type") == "text" and r.get("role") == "user"]
    assert prompts == ["Tidy it up.", TASK, TASK]


async def test_always_ask_is_decided_here_or_elsewhere(project: ProjectPaths, workspace: Path) -> None:
    with _chat(project, "--workspace", workspace, "--approval", "always-ask") as terminal:
        terminal.wait_for("/help tells")
        _say(terminal, TASK)
        terminal.wait_for("? May it run exec_command (it may change things)?", "Allow? y, n")
        _say(terminal, "y")
        _told(terminal, "Allow? y, n", times=2)
        (asked,) = approvals.waiting(project)
        assert asked.tool_name == "exec_command"
        os.write(terminal.fd, b"y")  # half typed: it must not answer the next question
        terminal.read(0.3)
        approvals.decide(project, asked.id, "reject", "Not like this.", actor="console")
        _told(terminal, "decided by", ": reject")
        _told(terminal, "Allow? y, n", times=3)
        _say(terminal, "It is enough now.")
        terminal.wait_for("Done:")
        assert not (workspace / "sorted.csv").exists()
        session_id = _end(terminal)
    outputs = [r["output"] for r in _records(project, session_id) if r.get("type") == "tool_call_output"]
    denied = "Tool call denied by user. Reason: "
    assert outputs[-2:] == [f"{denied}Not like this.", f"{denied}It is enough now."]
    decided = [(entry.action, entry.actor) for entry in audit.read(project) if entry.subject.startswith("tool-call")]
    assert decided == [("approve", "chat"), ("reject", "console"), ("reject", "chat")]
    assert await gone(project.root.parent) == {}


async def test_ctrl_c_interrupts_the_turn_and_withdraws_what_it_asked(project: ProjectPaths, workspace: Path) -> None:
    with _chat(project, "--workspace", workspace, "--approval", "always-ask") as terminal:
        terminal.wait_for("/help tells")
        _say(terminal, TASK)
        terminal.wait_for("Allow? y, n")
        terminal.press("\x03")
        terminal.wait_for("Interrupting", "[the turn ended: aborted: aborted by user]")
        assert approvals.waiting(project) == ()
        session_id = _end(terminal)
    assert any(r.get("type") == "abort" for r in _records(project, session_id))
    assert await gone(project.root.parent) == {}


async def test_ctrl_c_ends_a_running_command(project: ProjectPaths, workspace: Path) -> None:
    agents_md = project.agent(AGENT).agents_md
    agents_md.write_text(agents_md.read_text() + "\n## Before you start\n\n```sh\ntouch begun.txt; sleep 300\n```\n")
    with _chat(project, "--workspace", workspace) as terminal:
        terminal.wait_for("/help tells")
        _say(terminal, TASK)
        terminal.wait_until(lambda _: (workspace / "begun.txt").exists())
        terminal.press("\x03")
        terminal.wait_for("[the turn ended: aborted")
        _end(terminal)
    assert await gone(project.root.parent) == {}


async def test_a_killed_chat_finds_its_question_and_its_mail_again(project: ProjectPaths, workspace: Path) -> None:
    with _chat(project, "--workspace", workspace, "--approval", "always-ask") as terminal:
        terminal.wait_for("/help tells")
        _say(terminal, TASK)
        terminal.wait_for("Allow? y, n")
        session_id = _live(project)
        (asked,) = approvals.waiting(project)
        word = mailbox.send(project, session_id, "Hurry.", actor="cli")
        terminal.kill(signal.SIGKILL)
        terminal.wait_for_end()
    assert await gone(project.root.parent) == {}
    assert mailbox.address(project, session_id) is None
    assert [one.id for one in mailbox.unread(project, session_id)] == [word.id]
    with _chat(project, "--resume", session_id, "--approval", "always-ask") as again:
        again.wait_for("The last turn was cut; it goes on.", "Allow? y, n")
        assert [one.id for one in approvals.waiting(project)] == [asked.id], "the same question"
        _say(again, "y")
        _told(again, "says: Hurry.]")
        for times in (2, 3):  # the work itself, and the slip of a hurried hand
            _told(again, "Allow? y, n", times=times)
            _say(again, "y")
        again.wait_for("Done:")
        _end(again)
    assert (workspace / "sorted.csv").exists()
    records = _records(project, session_id)
    assert [r["mail"] for r in records if "mail" in r] == [word.id]
    calls = [r["tool_call_id"] for r in records if r.get("type") == "tool_call"]
    assert len(calls) == len(set(calls)), "no call was made twice"


def test_a_live_chat_is_sent_to_while_it_idles(project: ProjectPaths, workspace: Path) -> None:
    home = project.root.parent
    with _chat(project, "--workspace", workspace) as terminal:
        terminal.wait_for("/help tells")
        session_id = _live(project)
        os.write(terminal.fd, b"half typed")
        terminal.wait_for("half typed")
        sent = spawn("send", session_id, "Note: \x1b]0;owned\x07 be brief.", "--home", home)
        assert sent.returncode == 0, sent.stderr
        terminal.wait_for("be brief.", "The operator says:")
        terminal.wait_for("Which one do you mean?", "Your answer:")
        _say(terminal, "1")
        terminal.wait_until(lambda text: text.rstrip().endswith("> half typed"), what="the line as it was typed")
        assert b"\x1b]0;owned" not in terminal.raw, "nothing that was sent reaches the terminal raw"
        twice = spawn("chat", AGENT, "--resume", session_id, "--home", home)
        assert twice.returncode == 1
        assert b"is live in another process" in twice.stderr
        os.write(terminal.fd, b"\x15")
        assert _end(terminal) == session_id
    late = spawn("send", session_id, "too late", "--home", home)
    assert late.returncode == 1
    assert f"exuvia chat {AGENT} --resume {session_id}".encode() in late.stderr


def test_a_chat_whose_process_dies_says_so_and_can_be_taken_up(project: ProjectPaths, workspace: Path) -> None:
    with _chat(project, "--workspace", workspace) as terminal:
        terminal.wait_for("/help tells")
        session_id = _live(project)
        _say(terminal, "hello")
        terminal.wait_for("Your answer:")
        for path in Path(f"/proc/{terminal.pid}/task").glob("*/children"):
            for pid in path.read_text().split():
                os.kill(int(pid), signal.SIGKILL)
        assert terminal.wait_for_end() == 1
        told = terminal.text.replace("\n", "")
        assert "The agent's process has ended" in told
        assert f"--resume {session_id}" in told
    with _chat(project, "--resume", session_id) as again:
        again.wait_for("The last turn was cut; it goes on.", "Your answer:")
        again.press("\x04")
        again.wait_for("I am the rehearsal model")
        _end(again)


def test_nothing_an_agent_says_or_names_reaches_the_terminal_raw(project: ProjectPaths, workspace: Path) -> None:
    """FAULTS: escape injection; by a question's option and by what is asked to run."""
    (workspace / "a\x1b[2J\x1b]52;c;eA==\x07b.csv").write_text("name\nBob\n")
    with _chat(project, "--workspace", workspace, "--approval", "always-ask") as terminal:
        terminal.wait_for("/help tells")
        _say(terminal, "Tidy it up.")
        terminal.wait_for("Allow? y, n")
        _say(terminal, "y")
        terminal.wait_for("a\N{SYMBOL FOR ESCAPE}[2J", "Your answer:")
        _say(terminal, "1")
        _told(terminal, "Allow? y, n", times=2)
        terminal.press("\x03")
        terminal.wait_for("aborted by user")
        _end(terminal)
    assert b"\x1b[2J" not in terminal.raw
    assert b"\x1b]52" not in terminal.raw


def test_a_chat_without_a_word_leaves_nothing_to_go_on_with(project: ProjectPaths, workspace: Path) -> None:
    with _chat(project, "--workspace", workspace) as terminal:
        terminal.wait_for("/help tells")
        session_id = _live(project)
        terminal.press("\x04")
        assert terminal.wait_for_end() == 0
        assert "--resume" not in terminal.text
    assert list(project.agent(AGENT).traces.rglob("*.jsonl")) == []
    again = spawn("chat", AGENT, "--resume", session_id, "--home", project.root.parent)
    assert again.returncode == 2
    assert b"has no session" in again.stderr


def test_only_a_chat_is_resumed_as_one(project: ProjectPaths, workspace: Path) -> None:
    home = project.root.parent
    ran = spawn("run", AGENT, "-m", TASK, "--workspace", workspace, "--json", "--home", home)
    session_id = json.loads(ran.stdout)["session_id"]
    refused = spawn("chat", AGENT, "--resume", session_id, "--home", home)
    assert refused.returncode == 2
    assert b"was no chat" in refused.stderr
