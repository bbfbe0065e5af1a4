"""Commands that change something: what they change, what they keep, and how it is undone."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from core.state import approvals, audit
from core.state.approvals import Approval
from core.state.paths import HomePaths, ProjectPaths
from tests.cli.program import call, tree_hash

TARGET = "session-2026-11-30-20-19-35-88a7fd51"


@pytest.fixture
def theirs(penguin: Path) -> ProjectPaths:
    """The project of the existing system's home."""
    return HomePaths(penguin).project("default_project")


def test_an_agent_is_made_with_its_home(tmp_path: Path) -> None:
    home = tmp_path / "new"
    made = call(
        "agent", "create", "helper", "--requirement", "Helps: \"well\".\nAlways.", "--name", "Helper: one",
        "--thinking", "high", "--skill", "agent-evaluation", "--json", "--home", home,
    ).document  # fmt: skip
    facts = call("agent", "show", "helper", "--json", "--home", home).document
    assert made == {"agent_id": "helper", "path": facts["path"]}
    assert facts["name"] == "Helper: one"
    assert facts["description"] == 'Helps: "well".'
    assert (facts["version"], facts["thinking_level"], facts["skills"]) == (1, "high", ["agent-evaluation"])
    listed = {row["agent_id"] for row in call("agent", "list", "--json", "--home", home).document["agents"]}
    assert listed == {"helper", "default_agent"}
    (entry,) = audit.read(HomePaths(home).project("default_project"))
    assert entry.action == "create_agent"


def test_a_requirement_from_standard_input(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("Reads mail.\n"))
    assert call("agent", "create", "reader", "--requirement", "-", "--home", fresh).code == 0
    assert "Reads mail." in (fresh / "default_project/agents/reader/agent_state/AGENTS.md").read_text()


def test_there_and_back_and_back_again(theirs: ProjectPaths, penguin: Path) -> None:
    agent = theirs.agent("csv_helper")
    vault = agent.vault.read_bytes()
    second = agent.agents_md.read_text()
    back = call("rollback", "csv_helper", "--json", "--home", penguin)
    assert back.code == 0, back
    assert (back.document["from_version"], back.document["to_version"]) == (2, 1)
    assert agent.agents_md.read_text() != second
    assert agent.vault.read_bytes() == vault
    undone = call("rollback", "csv_helper", "--undo", "--json", "--home", penguin)
    assert (undone.document["from_version"], undone.document["to_version"]) == (1, 2)
    assert agent.agents_md.read_text() == second
    told = call("rollback", "csv_helper", "--version", "1", "--home", penguin)
    assert told.out.startswith("Rolled back: csv_helper v2 -> v1\n")
    assert "exuvia rollback csv_helper --undo" in told.out


def test_an_edit_is_kept_beside_the_version_that_was_there(theirs: ProjectPaths, penguin: Path) -> None:
    agent = theirs.agent("csv_helper")
    kept = (agent.snapshots / "v2.tar.gz").read_bytes()
    assert call("snapshot", "create", "csv_helper", "--json", "--home", penguin).document["reused"] is True
    agent.agents_md.write_text("edited\n")
    assert "(edited)" in call("snapshot", "list", "csv_helper", "--home", penguin).out.splitlines()[0]
    made = call("snapshot", "create", "csv_helper", "--json", "--home", penguin).document
    assert made["reused"] is False
    assert made["warning"]
    assert (agent.snapshots / "v2.tar.gz").read_bytes() == kept
    rows = call("snapshot", "list", "csv_helper", "--json", "--home", penguin).document["snapshots"]
    assert [(row["version"], row["beside"]) for row in rows if row["version"] == 2] == [(2, False), (2, True)]


def test_a_version_travels_as_an_archive(theirs: ProjectPaths, penguin: Path, tmp_path: Path) -> None:
    archive = tmp_path / "v1.tar.gz"
    out = call("snapshot", "export", "csv_helper", archive, "--version", "1", "--json", "--home", penguin).document
    assert out == {"path": str(archive)}
    refused = call("snapshot", "import", "csv_helper", archive, "--json", "--home", penguin)
    assert refused.code == 1
    assert "--confirm" in refused.document["hint"]
    taken = call("snapshot", "import", "csv_helper", archive, "--confirm", "--json", "--home", penguin).document
    assert (taken["from_version"], taken["to_version"]) == (2, 1)
    assert call("rollback", "csv_helper", "--undo", "--home", penguin).code == 0
    assert call("agent", "show", "csv_helper", "--json", "--home", penguin).document["version"] == 2


def test_a_hostile_archive_changes_nothing(penguin: Path, tmp_path: Path) -> None:
    import tarfile

    archive = tmp_path / "bad.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        member = tarfile.TarInfo("agent_state/../../x")
        tar.addfile(member, io.BytesIO())
    before = tree_hash(penguin / "default_project" / "agents")
    ended = call("snapshot", "import", "csv_helper", archive, "--confirm", "--json", "--home", penguin)
    assert ended.code == 1
    assert ended.document["error"]
    assert tree_hash(penguin / "default_project" / "agents") == before


def test_a_trace_travels(penguin: Path, fresh: Path, tmp_path: Path) -> None:
    files = call("trace", "export", TARGET, tmp_path / "out", "--json", "--home", penguin).document["files"]
    original = next(penguin.rglob(f"{TARGET}_001.jsonl"))
    assert [Path(name).read_bytes() for name in files] == [original.read_bytes()]
    taken = call("trace", "import", files[0], "--agent", "default_agent", "--json", "--home", fresh)
    assert taken.code == 0, taken
    assert Path(taken.document["path"]).read_bytes() == original.read_bytes()
    assert TARGET in call("trace", "list", "--home", fresh).out
    again = call("trace", "import", files[0], "--agent", "default_agent", "--json", "--home", fresh)
    assert again.code != 0
    assert TARGET in again.document["error"]


def test_a_trace_that_does_not_parse_is_refused_whole(fresh: Path, tmp_path: Path) -> None:
    bad = tmp_path / "session-2026-01-01-00-00-00-00000000_001.jsonl"
    bad.write_text('{"timestamp": "x"\n')
    ended = call("trace", "import", bad, "--agent", "default_agent", "--json", "--home", fresh)
    assert ended.code != 0
    assert "1" in ended.document["error"]
    assert not (fresh / "default_project/agents/default_agent/traces").exists()


def test_a_skill_goes_in_and_out(project: ProjectPaths, fresh: Path, tmp_path: Path) -> None:
    own = tmp_path / "tidy-rows"
    own.mkdir()
    (own / "SKILL.md").write_text("---\nname: tidy-rows\ndescription: Tidies rows.\n---\n\nOnce.\n")
    place = ("--agent", "default_agent", "--home", str(fresh))
    assert call("skill", "install", own, *place).code == 0
    assert call("skill", "install", "agent-evaluation", *place).code == 0
    there = call("skill", "list", "--json", *place).document["skills"]
    assert [row["name"] for row in there] == ["agent-evaluation", "tidy-rows"]
    (own / "SKILL.md").write_text("---\nname: tidy-rows\ndescription: Tidies rows.\n---\n\nTwice.\n")
    before = tree_hash(project.root)
    refused = call("skill", "install", own, "--json", *place)
    assert refused.code == 1
    assert "--replace" in refused.document["hint"]
    assert tree_hash(project.root) == before
    assert call("skill", "install", own, "--replace", *place).code == 0
    assert "Twice." in call("skill", "show", "tidy-rows", *place).out
    removed = call("skill", "remove", "tidy-rows", "--json", *place).document
    assert Path(removed["snapshot"]).is_file()  # what was removed can be had again
    assert not (project.agent("default_agent").skills / "tidy-rows").exists()
    assert [entry.action for entry in audit.read(project)][-1] == "remove_skill"


def _asked(project: ProjectPaths) -> str:
    return approvals.request(
        project,
        Approval(
            id="freeze-20260101-000000-0000", kind="freeze", run_id="build-20260101-000000-0000", agent_id="a",
            benchmark_id="b", created="2026-01-01T00:00:00.000Z", title="Freeze b",
            body={"cases": [{"case_id": "CASE-001-a", "title": "A"}], "floor": {"CASE-001-a": 4.0},
                  "pilots": [{"i": 1, "predicted": 40, "observed": 55.5}], "selected_pilot": 1,
                  "findings": [{"case_id": "CASE-001-a", "kind": "leak", "text": "shared words",
                                "waived_reason": "the name of the file"}]},
        ),
    )  # fmt: skip


def test_an_approval_is_listed_shown_and_decided_once(project: ProjectPaths, fresh: Path) -> None:
    approval = _asked(project)
    assert approval in call("approvals", "list", "--home", fresh).out
    told = call("approvals", "show", approval, "--home", fresh).out
    assert "1: 40 / 55.5   <- would be frozen" in told
    assert "CASE-001-a  score -  idle 4  A" in told
    assert "idle: what an agent scores that does nothing" in told
    assert "leak: shared words (waived: the name of the file)" in told
    facts = call("approvals", "show", approval, "--json", "--home", fresh).document
    assert facts["decision"] is None
    decided = call("approvals", "reject", approval, "--reason", "a riddle", "--json", "--home", fresh)
    assert decided.code == 0, decided
    assert decided.document["decision"]["verdict"] == "reject"
    assert "@" in decided.document["decision"]["signature"]
    second = call("approvals", "approve", approval, "--json", "--home", fresh)
    assert second.code == 1
    assert decided.document["decision"]["signature"] in second.document["error"]
    assert call("approvals", "list", "--json", "--home", fresh).document["pending"] == []
    after = call("approvals", "show", approval, "--home", fresh).out
    assert "a riddle" in after
    assert "1: 40 / 55.5   <- was rejected" in after
    assert json.loads(project.audit.read_text().splitlines()[-1])["action"]


def test_a_rejection_needs_a_reason(project: ProjectPaths, fresh: Path) -> None:
    ended = call("approvals", "reject", _asked(project), "--json", "--home", fresh)
    assert ended.code == 2
    assert "--reason" in ended.document["error"]
