"""Approvals: asked once, decided once, whoever races."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from core.foundation.errors import ConflictError, DamagedError, NotFoundError, UsageError
from core.state import approvals, audit
from core.state.approvals import Approval
from core.state.paths import ProjectPaths


@pytest.fixture
def project(tmp_path: Path) -> ProjectPaths:
    (tmp_path / "p").mkdir()
    return ProjectPaths(tmp_path / "p")


def question(approval_id: str = "freeze-1", created: str = "2026-11-30T20:00:00Z", **body: object) -> Approval:
    return Approval(
        id=approval_id,
        kind="freeze",
        run_id="build-1",
        agent_id="csv_helper",
        benchmark_id="csv",
        created=created,
        title="Freeze csv",
        body=body or {"cases": [{"case_id": "CASE-001-a"}], "floor": {"CASE-001-a": 5}},
    )


def test_a_question_is_pending_until_it_is_decided(project: ProjectPaths) -> None:
    assert approvals.pending(project) == ()
    assert not project.own.exists()
    later, earlier = question("freeze-1", "2026-11-30T21:00:00Z"), question("freeze-2", "2026-11-30T20:00:00Z")
    assert approvals.request(project, later) == "freeze-1"
    approvals.request(project, earlier)
    assert approvals.pending(project) == (earlier, later)
    assert approvals.get(project, "freeze-1") == (later, None)
    decision = approvals.decide(project, "freeze-2", "reject", "CASE-001 leaks", actor="console")
    assert approvals.pending(project) == (later,)
    assert approvals.get(project, "freeze-2") == (earlier, decision)
    (entry,) = audit.read(project)
    assert (entry.action, entry.subject, entry.actor) == ("reject", "freeze-2", "console")
    assert entry.detail["reason"] == "CASE-001 leaks"


def test_the_second_decision_is_told_who_was_first(project: ProjectPaths) -> None:
    approvals.request(project, question())
    approvals.decide(project, "freeze-1", "approve")
    with pytest.raises(ConflictError, match=r"approve by .*@"):
        approvals.decide(project, "freeze-1", "reject")
    _, decision = approvals.get(project, "freeze-1")
    assert decision is not None
    assert decision.verdict == "approve"
    assert len(audit.read(project)) == 1


def test_asking_again_after_a_crash_is_the_same_question(project: ProjectPaths) -> None:
    approvals.request(project, question())
    approvals.request(project, question())
    with pytest.raises(ConflictError):
        approvals.request(project, question(other="body"))


def test_names_that_lead_elsewhere_and_missing_ones(project: ProjectPaths) -> None:
    for name in ("../x", "a/b", "", "x.decision", "x\n"):
        with pytest.raises(UsageError):
            approvals.get(project, name)
    with pytest.raises(NotFoundError):
        approvals.decide(project, "freeze-9", "approve")
    assert not project.own.exists()


def test_a_damaged_question_is_reported_and_hides_no_other(project: ProjectPaths) -> None:
    approvals.request(project, question())
    (project.approvals / "freeze-0.json").write_text('{"id": "freeze-0", "ki')
    assert [approval.id for approval in approvals.pending(project)] == ["freeze-1"]
    (error,) = approvals.unreadable(project)
    assert "freeze-0.json" in str(error)
    with pytest.raises(DamagedError):
        approvals.get(project, "freeze-0")


RACER = """
import sys
from pathlib import Path
from core.foundation.errors import ConflictError
from core.state import approvals
from core.state.paths import ProjectPaths
project, verdict = ProjectPaths(Path(sys.argv[1])), sys.argv[2]
print("ready", flush=True)
for line in sys.stdin:
    try:
        approvals.decide(project, line.strip(), verdict, actor=verdict)
        print("won", flush=True)
    except ConflictError:
        print("lost", flush=True)
"""


def test_two_processes_race_and_one_wins_each_time(project: ProjectPaths) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(project.root), verdict],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        for verdict in ("approve", "reject")
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    ids = [approvals.request(project, question(f"freeze-{n}")) for n in range(40)]
    for approval_id in ids:
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write(approval_id + "\n")
            racer.stdin.flush()
        answers = [racer.stdout.readline().strip() for racer in racers if racer.stdout is not None]
        assert sorted(answers) == ["lost", "won"]
        _, decision = approvals.get(project, approval_id)
        assert decision is not None
        assert decision.verdict == ("approve", "reject")[answers.index("won")]
    for racer in racers:
        racer.communicate(timeout=10)
        assert racer.returncode == 0
    assert len(audit.read(project)) == 40


def asked(approval_id: str = "question-1", created: str = "2026-11-30T20:00:00Z", **body: object) -> Approval:
    return Approval(
        id=approval_id,
        kind="question",
        agent_id="csv_helper",
        session_id="session-1",
        role="chat",
        created=created,
        title="Which?",
        body=body or {"text": "Which one?", "options": ["a", "b"]},
    )


def test_a_question_is_answered_with_words_once(project: ProjectPaths) -> None:
    approvals.request(project, asked())
    decision = approvals.answer(project, "question-1", " the second \n", actor="console")
    assert (decision.verdict, decision.text, decision.reason) == ("answer", "the second", "")
    with pytest.raises(ConflictError, match="answer by"):
        approvals.answer(project, "question-1", "another")
    with pytest.raises(ConflictError, match="answer by"):
        approvals.decide(project, "question-1", "reject", "no")
    (entry,) = audit.read(project)
    assert (entry.action, entry.detail["text"], entry.detail["session_id"]) == ("answer", "the second", "session-1")
    assert approvals.waiting(project) == ()


def test_a_verdict_fits_its_kind(project: ProjectPaths) -> None:
    approvals.request(project, asked())
    approvals.request(project, question())
    with pytest.raises(UsageError, match="question") as approved:
        approvals.decide(project, "question-1", "approve")
    assert "exuvia approvals answer question-1" in approved.value.hint
    with pytest.raises(UsageError, match="no question"):
        approvals.answer(project, "freeze-1", "yes")
    for text in ("", " ", "x" * (approvals.ANSWER_BYTES + 1)):
        with pytest.raises(UsageError):
            approvals.answer(project, "question-1", text)
    assert len(approvals.pending(project)) == 2
    assert [one.id for one in approvals.pending(project, "question")] == ["question-1"]
    approvals.decide(project, "question-1", "reject", "not now")


def test_asking_again_finds_what_was_asked_whenever(project: ProjectPaths) -> None:
    first = approvals.ask(project, asked())
    again = approvals.ask(project, asked(created="2026-12-01T00:00:00Z"))
    assert again == first == approvals.get(project, "question-1")[0]
    approvals.answer(project, "question-1", "a")
    assert approvals.ask(project, asked(created="2026-12-02T00:00:00Z")) == first
    with pytest.raises(ConflictError):
        approvals.ask(project, asked(text="Something else?"))


def test_what_waits_is_shown_without_trusting_its_body(project: ProjectPaths) -> None:
    approvals.request(project, asked(text=5, options=["fine", 3, None], tool={}, arguments=[]))
    (shown,) = approvals.waiting(project)
    assert (shown.text, shown.options, shown.tool_name, shown.arguments) == ("Which?", ("fine",), "", "")


def test_arguments_are_shown_whole_safe_and_apart() -> None:
    forged = '{"cmd": "ls\\npermission: r", "\\u001b[2J": true, "n": 3}'
    assert approvals.safe_arguments(forged).splitlines() == [
        "cmd:",
        "  | ls",
        "  | permission: r",
        "\N{SYMBOL FOR ESCAPE}[2J: true",
        "n: 3",
    ]
    assert approvals.safe_arguments("{not json \x1b[0m") == "{not json \N{SYMBOL FOR ESCAPE}[0m"
    long = approvals.safe_arguments('{"text": "' + "x" * 40_000 + '"}')
    assert len(long) < 17_000
    assert "more characters; the trace has the whole call" in long
    assert approvals.safe_arguments("[" * 100_000)


def test_an_approval_of_an_older_home_is_read(project: ProjectPaths) -> None:
    project.approvals.mkdir(parents=True)
    (project.approvals / "freeze-9.json").write_text(
        '{"id": "freeze-9", "kind": "freeze", "run_id": "r", "agent_id": "a", "benchmark_id": "b", "title": "t",'
        ' "created": "2026-01-01T00:00:00Z", "body": {}}'
    )
    (project.approvals / "freeze-9.decision.json").write_text(
        '{"id": "freeze-9", "verdict": "approve", "reason": "", "actor": "cli", "signature": "x", "time": "t"}'
    )
    approval, decision = approvals.get(project, "freeze-9")
    assert (approval.session_id, approval.role) == ("", "")
    assert decision is not None
    assert decision.text == ""
