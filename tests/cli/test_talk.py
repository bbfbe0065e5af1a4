"""`exuvia send` and `exuvia approvals answer`: what they print, what they refuse, and what they leave behind."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from core.state import approvals, mailbox
from core.state.approvals import Approval
from core.state.paths import ProjectPaths
from tests.cli.program import call, tree_hash

SESSION = "session-2026-01-01-00-00-00-0badcafe"


@pytest.fixture
def question(project: ProjectPaths) -> str:
    return approvals.request(
        project,
        Approval(
            id="question-0123456789ab",
            kind="question",
            agent_id="default_agent",
            session_id=SESSION,
            role="chat",
            title="Which of them?",
            created="2026-01-01T00:00:00.000Z",
            body={"text": "Which of them?\nSay \x1b[31mone.", "options": ["the first", "the second"]},
        ),
    )


def test_a_question_is_shown_and_answered_once(project: ProjectPaths, fresh: Path, question: str) -> None:
    told = call("approvals", "show", question, "--home", fresh).out
    assert "The chat (session " + SESSION + ", agent default_agent) asked 2026-01-01" in told
    assert "Which of them?\nSay \N{SYMBOL FOR ESCAPE}[31mone.\n\n  1. the first\n  2. the second\n" in told
    assert f"exuvia approvals answer {question} TEXT" in told
    assert call("approvals", "approve", question, "--home", fresh).code == 2
    for words in ((), ("text", "--option", "1"), ("--option", "3"), ("",)):
        assert call("approvals", "answer", question, *words, "--home", fresh).code == 2, words
    done = call("approvals", "answer", question, "--option", "2", "--json", "--home", fresh)
    assert (done.code, done.document["decision"]["text"], done.document["run_id"]) == (0, "the second", "")
    assert call("approvals", "answer", question, "me", "--home", fresh).code == 1
    assert "answer by" in call("approvals", "show", question, "--home", fresh).out
    assert call("approvals", "list", "--json", "--home", fresh).document["pending"] == []


def test_an_answer_may_come_from_a_pipe(
    project: ProjectPaths, fresh: Path, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("two\nlines\n"))
    assert call("approvals", "answer", question, "-", "--home", fresh).code == 0
    _, decision = approvals.get(project, question)
    assert decision is not None
    assert (decision.text, decision.actor) == ("two\nlines", "cli")


def test_a_tool_call_is_shown_argument_by_argument(project: ProjectPaths, fresh: Path) -> None:
    approvals.request(
        project,
        Approval(
            id="tool-call-0123456789ab",
            kind="tool_call",
            agent_id="default_agent",
            session_id=SESSION,
            run_id="build-1",
            role="builder",
            title="exec_command",
            body={"tool": "exec_command", "permission": "rw", "arguments": '{"cmd": "rm -r x\\nls", "n": 1}'},
        ),
    )
    told = call("approvals", "show", "tool-call-0123456789ab", "--home", fresh).out
    assert "exec_command (it may change things)\ncmd:\n  | rm -r x\n  | ls\nn: 1\n" in told
    answered = call("approvals", "answer", "tool-call-0123456789ab", "yes", "--home", fresh)
    assert answered.code == 2
    assert "exuvia approvals approve" in answered.err
    assert call("approvals", "approve", "tool-call-0123456789ab", "--home", fresh).code == 0


def test_a_word_is_sent_to_who_listens(project: ProjectPaths, fresh: Path) -> None:
    with mailbox.opened(project, SESSION, agent_id="exuvia_operator", role="builder", run_id="build-1"):
        sent = call("send", "build-1", "Keep it short.", "--home", fresh)
        assert sent.code == 0, sent.err
        assert "Sent to the builder of build-1" in sent.out
        facts = call("send", SESSION, "Keep it plain.", "--json", "--home", fresh).document
        assert (facts["word"]["text"], facts["word"]["actor"]) == ("Keep it plain.", "cli")
        assert len(mailbox.unread(project, SESSION)) == 2
        assert call("send", SESSION, "x" * 20_000, "--home", fresh).code == 2
        assert call("--read-only", "send", SESSION, "no", "--home", fresh).code == 1
    late = call("send", "build-1", "too late", "--json", "--home", fresh)
    assert late.code == 1
    assert "is not live" in late.document["error"]
    before = tree_hash(fresh)
    assert call("send", "nobody", "hello", "--home", fresh).code == 2
    assert tree_hash(fresh) == before


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("nobody",), 2),
        (("default_agent", "--json"), 2),
        (("default_agent", "--resume", "session-x"), 2),
        (("default_agent", "--resume", "session-x", "--workspace", "w"), 2),
        (("default_agent", "--model", "half"), 2),
        (("default_agent", "--approval", "maybe"), 2),
        (("default_agent", "--once"), 2),
    ],
)
def test_a_chat_that_cannot_be_says_why_and_changes_nothing(
    project: ProjectPaths, fresh: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: int
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    before = tree_hash(fresh)
    ended = call("chat", *words, "--home", fresh)
    assert ended.code == code, ended
    assert ended.err.startswith("exuvia: ")
    assert tree_hash(fresh) == before
