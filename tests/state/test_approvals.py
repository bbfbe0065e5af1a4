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
