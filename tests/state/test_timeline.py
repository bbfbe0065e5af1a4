"""Every change of an agent in order, with who and when, from what is on record."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.state import audit, ledger, rollback, snapshots
from core.state.paths import AgentPaths
from core.state.timeline import notes, timeline
from tests.state.agent_home import make_agent, set_version


@pytest.fixture
def agent(tmp_path: Path) -> AgentPaths:
    return make_agent(tmp_path)


def test_nothing_on_record_is_no_change(agent: AgentPaths) -> None:
    assert timeline(agent) == ()
    assert notes(agent) == {}


def test_changes_come_in_order_with_who_and_signature(agent: AgentPaths) -> None:
    snapshots.create(agent, note="first", actor="console")
    set_version(agent, 2, "two\n")
    snapshots.create(agent)
    ledger.append(agent.project, _record(agent, 2, "accepted", "2000-01-01T00:00:00Z"))
    ledger.append(agent.project, _record(agent, 3, "rejected", "2000-01-01T00:00:01Z"))
    ledger.append(
        agent.project, _record(agent, 9, "accepted", "2000-01-01T00:00:02Z").model_copy(update={"agent_id": "b"})
    )
    rollback.roll_back(agent, version=1, actor="console")
    rollback.undo(agent, "cli")
    audit.record(agent.project, "install_skill", f"{agent.id}/notes", {"snapshot": "x"}, "cli")
    audit.record(agent.project, "install_skill", f"{agent.id}_other/notes", {"snapshot": "x"}, "cli")
    found = timeline(agent)
    assert [(change.what, change.version, change.before, change.who) for change in found] == [
        ("accepted", 2, 1, "optimizer"),
        ("kept", 1, 1, "console"),
        ("rolled back", 1, 2, "console"),
        ("undone", 2, 1, "cli"),
        ("skill added", 0, 0, "cli"),
    ]
    assert [change.text for change in found] == ["why 2", "first", "", "", "notes"]
    assert all(change.signature == audit.signature() for change in found[1:])
    assert found[0].signature == ""


def test_the_latest_note_of_a_content_counts(agent: AgentPaths) -> None:
    kept = snapshots.create(agent, note="one", actor="cli")
    again = snapshots.create(agent, note="two", actor="cli")
    snapshots.create(agent, actor="cli")
    assert again.reused
    assert notes(agent) == {kept.content_hash: "two"}


def test_without_an_actor_nothing_is_told(agent: AgentPaths) -> None:
    snapshots.create(agent)
    assert audit.read(agent.project) == ()


def _record(agent: AgentPaths, version: int, decision: str, time: str) -> ledger.CandidateRecord:
    return ledger.CandidateRecord.model_validate(
        {
            "agent_id": agent.id, "benchmark_id": "b", "run_id": "optimize-1", "round": 1, "version": version,
            "reference_version": 1, "proposer": "optimizer", "hypothesis": f"why {version}", "decision": decision,
            "time": time,
        }
    )  # fmt: skip
