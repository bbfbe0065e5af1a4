"""Curation of an agent, whole: sessions become skills, skills Candidates, and measuring decides (CURATION 1.1, 1.2).

The rehearsal curator does not know which lesson is good. With this seed it draws two that are and then spoils one.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from core.evolution import runs
from core.evolution.run_view import RunView
from core.skillrepo.document import read_skill
from core.state import approvals, audit, ledger, snapshots
from core.state.agents import read_agent
from core.state.fingerprint import state_hash
from core.state.fresh import ensure_home
from core.state.scoreboard import read_scoreboard
from core.traces.session_trace import SessionTrace
from tests.e2e.conftest import Undisturbed
from tests.e2e.loop import AGENT, Loop, belonging, gone, outcome, reruns
from tests.e2e.timeline import Timeline, kill_at
from tests.once import once

EXUVIA = [sys.executable, "-P", "-c", "from tui.cli.main import main; main()"]
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


@dataclass(frozen=True)
class Curated:
    """A curation that nothing disturbed."""

    loop: Loop
    view: RunView
    result: Mapping[str, Any]
    timeline: Timeline


@pytest.fixture(scope="session")
def curated(undisturbed: Undisturbed, tmp_path_factory: pytest.TempPathFactory) -> Curated:
    async def go(root: Path) -> Curated:
        loop = undisturbed.home_after_build(root / "home")
        view = await loop.curate()
        assert view.state == "finished", loop.told(view.run_id)
        return Curated(loop, view, outcome(loop, view.run_id), Timeline.of(loop.events(view.run_id)))

    return once(tmp_path_factory, "curated", lambda root: asyncio.run(go(root)))


@pytest.mark.meets("K2")
def test_one_candidate_is_accepted_and_one_rejected(curated: Curated) -> None:
    loop, view = curated.loop, curated.view
    assert [(r.version, r.proposer, r.decision) for r in view.rounds] == [
        (2, "curator", "accepted"),
        (3, "curator", "rejected"),
    ]
    accepted, rejected = view.rounds
    assert accepted.score is not None
    assert accepted.reference_score is not None
    assert accepted.score > accepted.reference_score
    assert rejected.score is not None
    assert rejected.score <= accepted.score
    records = ledger.read(loop.project, AGENT)
    assert [(r.proposer, r.decision, r.version) for r in records] == [
        ("curator", "accepted", 2),
        ("curator", "rejected", 3),
    ]
    assert all(edit.path.startswith("skills/") for record in records for edit in record.edits)
    assert read_agent(loop.agent).version == 2, "a rejected Candidate leaves nothing"
    assert [e.version for e in read_scoreboard(loop.benchmark.scoreboard).evaluations] == [1, 2]
    kept = {snapshot.version: snapshot.content_hash for snapshot in snapshots.list_snapshots(loop.agent)}
    assert kept[2] == state_hash(loop.agent.state)


def test_skills_that_were_kept_are_curated_documents(curated: Curated) -> None:
    written = [read_skill(path) for path in sorted(curated.loop.agent.skills.iterdir())]
    touched = {op["title"] for op in curated.view.operations if op["valid"] and op["batch"] == 1}
    found = {document.name: document for document in written}
    assert touched <= set(found)
    for title in touched:
        assert found[title].dialect == "curated"
        assert found[title].valid


def test_each_operation_is_told_with_its_session_and_verdict(curated: Curated) -> None:
    view, loop = curated.view, curated.loop
    assert view.operations
    curators = {session.session_id for session in view.sessions_of("curator")}
    learnt_from = set(loop.of(view.run_id, "chosen")[0]["sessions"])
    for operation in view.operations:
        assert operation["session_id"] in curators
        assert operation["valid"] is True
        assert operation["about"] in operation["why"]
    assert {operation["about"] for operation in view.operations if operation["batch"] == 1} <= learnt_from
    report = loop.run(view.run_id).report.read_text(encoding="utf-8")
    assert "## Operations" in report
    assert "| 1 | 2 | curator |" in report
    decided = [entry for entry in audit.read(loop.project) if entry.action == "curate"]
    assert [(entry.actor, entry.detail["decision"]) for entry in decided] == [
        ("curator", "accepted"),
        ("curator", "rejected"),
    ]


def test_a_curator_reads_the_four_blocks_and_nothing_of_a_rubric(curated: Curated) -> None:
    loop, view = curated.loop, curated.view
    secrets = [
        line.strip()
        for case_id in loop.benchmark.case_ids()
        for line in loop.benchmark.case(case_id).rubric_readme.read_text(encoding="utf-8").splitlines()
        if len(line.split()) >= 6
    ]
    assert secrets
    for session in view.sessions_of("curator"):
        with SessionTrace(loop.project.agent(session.agent_id), session.session_id) as trace:
            records = list(trace.iter_records())
        prompt = next(r.text("text") for r in records if r.kind == "text" and r.payload.get("role") == "user")
        for heading in ("# Task Description", "# Past Skills", "# Agent Trajectory", "# Result"):
            assert heading in prompt
        whole = "\n".join(str(record.payload) for record in records)
        assert not [secret for secret in secrets if secret in whole]


def test_second_batch_shows_what_the_accepted_candidate_did(curated: Curated) -> None:
    """Curation and optimization are one loop: the next batch learns from the new Reference."""
    loop, view = curated.loop, curated.view
    first, second = loop.of(view.run_id, "chosen")
    cells = {c.session_id for c in view.cells if c.version == 2 and c.stage == "round"}
    assert set(second["sessions"]) <= cells
    assert not set(second["sessions"]) & set(first["sessions"])


async def test_held_out_sessions_are_never_shown(tmp_path: Path, undisturbed: Undisturbed) -> None:
    loop = Loop.at(tmp_path / "home")
    build = await loop.build(cases=None)
    assert build.state == "finished", loop.told(build.run_id)
    view = await loop.curate(sessions=20, rounds=1)
    assert view.state == "finished", loop.told(view.run_id)
    held = {c.session_id for run in loop.runs() for c in runs.read_run(loop.project, run).cells if c.stage == "heldout"}
    assert held
    shown = {session for event in loop.of(view.run_id, "chosen") for session in event["sessions"]}
    assert shown
    assert not shown & held
    assert [measured.stage for measured in view.heldout] == ["baseline", "final"]


async def test_a_dry_run_shows_what_would_be_tried_and_changes_nothing(
    tmp_path: Path, undisturbed: Undisturbed, curated: Curated
) -> None:
    loop = undisturbed.home_after_build(tmp_path / "home")
    before = state_hash(loop.agent.state)
    view = await loop.curate(dry_run=True)
    assert view.state == "finished", loop.told(view.run_id)
    assert view.rounds == ()
    assert view.result is not None
    proposed = [(op["op"], op["title"], op["arguments"]) for op in view.result["operations"]]
    tried = [(op["op"], op["title"], op["arguments"]) for op in curated.view.operations if op["batch"] == 1]
    assert proposed == tried
    diff = Path(view.result["paths"]["diff"]).read_text(encoding="utf-8")
    assert all(f"b/skills/{title}/SKILL.md" in diff for _, title, _ in proposed)
    assert state_hash(loop.agent.state) == before
    assert ledger.read(loop.project, AGENT) == ()


async def test_operations_wait_in_the_inbox_where_they_are_asked_about(
    tmp_path: Path, undisturbed: Undisturbed
) -> None:
    """One is allowed, the other denied: the denied one is an operation that was made and is not valid."""
    loop = undisturbed.home_after_build(tmp_path / "home")
    run_id = loop.start(loop.curate_spec(dry_run=True, tool_approval="always-ask"))
    verdicts: list[str] = []
    async for view in runs.follow(loop.project, run_id):
        for approval_id in view.waiting_for:
            verdict = "approve" if not verdicts else "reject"
            verdicts.append(verdict)
            approvals.decide(loop.project, approval_id, verdict, "not this one" if verdict == "reject" else "")  # type: ignore[arg-type]  # a literal of two
    view = runs.read_run(loop.project, run_id)
    assert view.state == "finished", loop.told(run_id)
    assert verdicts == ["approve", "reject"]
    assert [operation["valid"] for operation in view.operations] == [True, False]
    assert "not this one" in view.operations[1]["reason"]


AFTER = (
    "operation",
    "intent propose_candidate",
    "cell scored",
    "intent decide",
    *(
        pytest.param(name, marks=pytest.mark.soak)
        for name in (
            "chosen",
            "session",
            "curated",
            "candidate",
            "target_finished",
            "evaluated",
            "decision",
            "restored",
        )
    ),
)


@pytest.mark.parametrize("event", AFTER)
async def test_killed_right_after(event: str, tmp_path: Path, undisturbed: Undisturbed, curated: Curated) -> None:
    """kill -9 of the engine, then resume: the same operations, versions, decisions and scores; nothing twice."""
    loop = undisturbed.home_after_build(tmp_path / "home")
    run_id = loop.start(loop.curate_spec())
    await kill_at(loop.run(run_id), curated.timeline.after(event))
    if runs.read_run(loop.project, run_id).state != "finished":
        runs.resume(loop.project, run_id)
    view = await loop.end_of(run_id)
    assert view.state == "finished", loop.told(run_id)
    assert outcome(loop, run_id) == curated.result
    told = ("batch", "op", "title", "valid")
    assert [[op[key] for key in told] for op in view.operations] == [
        [op[key] for key in told] for op in curated.view.operations
    ]
    assert reruns(loop.events(run_id)) == []
    assert len([entry for entry in audit.read(loop.project) if entry.action == "curate"]) == 2
    assert await gone(loop.home) == {}


def test_the_command_tells_what_came_of_it(tmp_path: Path, undisturbed: Undisturbed) -> None:
    loop = undisturbed.home_after_build(tmp_path / "home")
    done = subprocess.run(
        [*EXUVIA, "curate", AGENT, "--dry-run", "--sessions", "2", "--seed", "5", "--home", str(loop.home)],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "NO_COLOR": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Curated by rehearsal/rehearsal-1" in done.stdout
    assert "insert" in done.stdout
    assert "Nothing was measured; the agent is as it was." in done.stdout
    assert "  insert tidy-records: valid" in done.stderr.splitlines()
    assert belonging(loop.home) == {}


@pytest.mark.soak
def test_the_demonstrations_agent_gains_by_curation(tmp_path: Path) -> None:
    """As a new user would: the demonstration, then one command. One Candidate accepted, one rejected."""
    home = tmp_path / "demo"
    demo = ["demo", "--headless", "--approve", "auto", "--seed", "7", "--json", "--home", str(home)]
    shown = subprocess.run([*EXUVIA, *demo], capture_output=True, text=True, timeout=900, check=False)
    assert shown.returncode == 0, shown.stderr
    curate = [*EXUVIA, "curate", "data_helper", "--home", str(home), "--json"]
    done = subprocess.run(curate, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)["result"]
    assert sorted(entry["decision"] for entry in result["rounds"]) == ["accepted", "rejected"]
    assert result["final"]["score"] > result["baseline"]["score"]
    records = [record for record in ledger.read(ensure_home(home), "data_helper") if record.proposer == "curator"]
    assert [record.decision for record in records] == [entry["decision"] for entry in result["rounds"]]
