"""Snapshots: nothing that was ever a version is lost (EVOLUTION 2.7, 5.4 no. 20, Appendix C no. 5)."""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path

import pytest

from core.foundation.errors import BlockedError, DamagedError, NotFoundError
from core.state import fingerprint, ledger, snapshots
from core.state.locks import LockedError, held
from core.state.paths import AgentPaths, ProjectPaths
from core.state.rollback import default_target, roll_back
from tests.state.agent_home import make_agent, set_version, write_scoreboard
from tests.state.test_records import candidate

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.fixture
def agent(tmp_path: Path) -> AgentPaths:
    return make_agent(tmp_path)


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_version_is_kept_once_under_its_shared_name(agent: AgentPaths) -> None:
    first = snapshots.create(agent)
    assert first.path == agent.snapshots / "v1.tar.gz"
    assert (first.version, first.beside, first.reused, first.warning) == (1, False, False, "")
    assert first.content_hash == fingerprint.state_hash(agent.state)
    raw = first.path.read_bytes()
    (agent.state / "memory/user/MEMORY.md").write_text("learned more\n")  # a session's own life is no edit
    agent.vault.write_text("K = 2\n")
    again = snapshots.create(agent)
    assert again.reused
    assert again.path == first.path
    assert first.path.read_bytes() == raw
    assert names(agent.snapshots) == ["v1.tar.gz"]


def test_other_content_under_the_same_number_is_kept_beside_with_a_warning(agent: AgentPaths) -> None:
    first = snapshots.create(agent)
    raw = first.path.read_bytes()
    agent.agents_md.write_text("edited without a new number\n")
    beside = snapshots.create(agent)
    assert first.path.read_bytes() == raw
    assert beside.beside
    assert beside.version == 1
    assert beside.path.parent == agent.project.own / "snapshots" / agent.id
    assert "v1.tar.gz holds another state" in beside.warning
    assert snapshots.create(agent).path == beside.path
    assert snapshots.opened(beside).read("AGENTS.md") == b"edited without a new number\n"
    assert [(s.version, s.beside) for s in snapshots.list_snapshots(agent)] == [(1, False), (1, True)]
    assert snapshots.find(agent, 1).path == first.path
    assert snapshots.find(agent, 1, beside.content_hash).path == beside.path
    agent.agents_md.write_text("one\n")
    assert snapshots.create(agent).path == first.path


def test_drift_is_seen_and_says_whether_the_edit_is_kept(agent: AgentPaths) -> None:
    assert snapshots.drift(agent).state == "no snapshot"
    assert not agent.project.own.exists()  # looking writes nothing
    snapshots.create(agent)
    assert snapshots.drift(agent).state == "same"
    agent.agents_md.write_text("edited\n")
    (agent.state / "skills/a/SKILL.md").unlink()
    (agent.state / "skills/b").write_text("new\n")
    drift = snapshots.drift(agent)
    assert (drift.state, drift.version, drift.preserved) == ("edited", 1, False)
    assert drift.names == ("AGENTS.md", "skills/a/SKILL.md", "skills/b")
    snapshots.create(agent)
    assert snapshots.drift(agent).preserved
    (agent.state / "link").symlink_to("AGENTS.md")
    assert snapshots.drift(agent).state == "blocked"
    assert snapshots.drift(agent).names == ("link",)
    shutil.rmtree(agent.state)
    with pytest.raises(NotFoundError):
        snapshots.drift(agent)


def test_a_symlink_blocks_and_leaves_no_trace(agent: AgentPaths) -> None:
    (agent.state / "skills/out").symlink_to("/etc")
    with pytest.raises(BlockedError, match="skills/out"):
        snapshots.create(agent)
    assert not agent.snapshots.exists()
    assert snapshots.list_snapshots(agent) == ()


def test_a_state_without_a_readable_config_has_no_version(agent: AgentPaths) -> None:
    agent.config.write_text("version: [1\n")
    with pytest.raises(DamagedError, match=r"system_config\.yaml"):
        snapshots.create(agent)
    assert not agent.snapshots.exists()


def test_snapshots_of_others_are_listed_and_damage_is_told(agent: AgentPaths, tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "penguin-state/default_project/agents/csv_helper/snapshots", agent.snapshots)
    (agent.snapshots / "v3.tar.gz").write_bytes(b"rubbish")
    shutil.copy(agent.snapshots / "v1.tar.gz", agent.snapshots / "v5.tar.gz")
    (agent.snapshots / "notes.txt").write_text("")
    (agent.snapshots / ".tmp-0123abcd").write_text("")
    (agent.snapshots / "v007.tar.gz").write_text("")
    found = {snapshot.version: snapshot for snapshot in snapshots.list_snapshots(agent)}
    assert sorted(found) == [1, 2, 3, 5]
    assert "not a tar archive" in found[3].damage
    assert "states version 1" in found[5].damage
    with tarfile.open(found[2].path) as archive:
        archive.extractall(tmp_path / "plain", filter="data")
    assert found[2].content_hash == fingerprint.state_hash(tmp_path / "plain/agent_state")
    assert found[2].whole_hash == fingerprint.whole_hash(tmp_path / "plain/agent_state")
    with pytest.raises(DamagedError):
        snapshots.opened(found[5])
    assert not agent.project.own.exists()


def test_a_damaged_snapshot_of_the_present_version_is_not_trusted_and_not_replaced(agent: AgentPaths) -> None:
    agent.snapshots.mkdir()
    (agent.snapshots / "v1.tar.gz").write_bytes(b"rubbish")
    made = snapshots.create(agent)
    assert made.beside
    assert (agent.snapshots / "v1.tar.gz").read_bytes() == b"rubbish"
    assert snapshots.drift(agent).state == "same"


def test_an_archive_that_was_replaced_under_its_name_is_read_anew(agent: AgentPaths) -> None:
    first = snapshots.create(agent)
    set_version(agent, 2, "two\n")
    second = snapshots.create(agent)
    first.path.write_bytes(second.path.read_bytes())
    assert "states version 2" in snapshots.find(agent, 1).damage
    with pytest.raises(DamagedError):
        snapshots.opened(first)


def test_the_index_is_only_a_cache(agent: AgentPaths) -> None:
    snapshots.create(agent)
    agent.agents_md.write_text("edited\n")
    snapshots.create(agent)
    before = [(s.version, s.path, s.content_hash, s.whole_hash) for s in snapshots.list_snapshots(agent)]
    index = agent.project.own / "snapshots" / agent.id / "index.jsonl"
    index.write_text('{"time": 3}\nrubbish\n')
    assert [(s.version, s.path, s.content_hash, s.whole_hash) for s in snapshots.list_snapshots(agent)] == before


def test_create_waits_for_whoever_changes_the_state(agent: AgentPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    def at_once(path: Path, **_: object) -> object:
        return held(path, timeout_s=0)

    monkeypatch.setattr(snapshots, "held", at_once)
    with held(snapshots.state_lock(agent)), pytest.raises(LockedError):
        snapshots.create(agent)


def test_the_next_version_is_above_every_number_ever_used(agent: AgentPaths) -> None:
    assert snapshots.next_version(agent) == 2
    assert not agent.project.own.exists()
    snapshots.create(agent)
    set_version(agent, 3, "three\n")
    snapshots.create(agent)
    set_version(agent, 1, "one again\n")
    assert snapshots.next_version(agent) == 4  # a snapshot has 3
    write_scoreboard(agent, 1, 6)
    assert snapshots.next_version(agent) == 7
    write_scoreboard(agent, "8\n    note: {score: .nan}\n    duration_ms: broken", benchmark="damaged")
    assert snapshots.next_version(agent) == 9  # an evaluation too damaged to be shown
    ledger.append(agent.project, candidate(version=11, decision="rejected"))
    ledger.append(agent.project, candidate(version=40, agent_id="other"))
    assert snapshots.next_version(agent) == 12
    agent.config.write_text("system_prompt: x\nversion: 20.0\n")
    assert snapshots.next_version(agent) == 21
    agent.config.write_text("rubbish: [")
    assert snapshots.next_version(agent) == 12


def test_the_default_target_is_the_reference_before(agent: AgentPaths) -> None:
    with pytest.raises(NotFoundError):
        default_target(agent)
    for version in (1, 2, 3, 4):
        set_version(agent, version, f"{version}\n")
        snapshots.create(agent)
    assert default_target(agent) == 3
    write_scoreboard(agent, 1, 2, 4, 5)
    assert default_target(agent) == 2


def test_a_diff_shows_text_by_line_and_binary_by_hash(agent: AgentPaths, tmp_path: Path) -> None:
    (agent.state / "logo.png").write_bytes(b"\x89PNG\0one")
    before = snapshots.create(agent)
    set_version(agent, 2, "one\ntwo without an end")
    (agent.state / "logo.png").write_bytes(b"\x89PNG\0two")
    (agent.state / "skills/a/SKILL.md").unlink()
    (agent.state / "skills/b.md").write_text("only\x0bone line\u2028here\n")
    (agent.state / "big.txt").write_text("x\n" * 20_000)
    (agent.state / "empty").write_text("")
    (agent.state / "memory/user/MEMORY.md").write_text("learned 2\n")
    agent.vault.write_text("K = 2\n")
    found = {change.path: change for change in snapshots.diff(before.path, agent.state)}
    assert {path: change.status for path, change in found.items()} == {
        "AGENTS.md": "changed",
        "big.txt": "added",
        "empty": "added",
        "logo.png": "changed",
        "skills/a/SKILL.md": "removed",
        "skills/b.md": "added",
        "system_config.yaml": "changed",
    }
    assert found["AGENTS.md"].text == (
        "--- a/AGENTS.md\n+++ b/AGENTS.md\n@@ -1 +1,2 @@\n one\n+two without an end\n\\ No newline at end of file\n"
    )
    assert (found["AGENTS.md"].added, found["AGENTS.md"].removed) == (1, 0)
    assert found["skills/b.md"].text.startswith("--- /dev/null\n+++ b/skills/b.md\n@@ -0,0 +1 @@\n+only")
    assert found["skills/b.md"].added == 1
    assert found["skills/a/SKILL.md"].text.endswith("\n-skill\n")
    assert found["logo.png"].binary
    assert found["big.txt"].binary
    assert found["logo.png"].before_hash != found["logo.png"].after_hash
    assert found["empty"].text == ""
    with_memory = snapshots.diff(before.path, agent.state, with_memory=True)
    assert {change.path for change in with_memory} - set(found) == {"memory/user/MEMORY.md"}
    back = {change.path: change for change in snapshots.diff(agent.state, before.path)}
    assert (back["AGENTS.md"].added, back["AGENTS.md"].removed) == (0, 1)
    assert snapshots.diff(agent.state, agent.state) == ()
    with pytest.raises(NotFoundError):
        snapshots.diff(before.path, tmp_path / "none")


def test_export_never_gives_a_stale_snapshot(agent: AgentPaths, tmp_path: Path) -> None:
    snapshots.create(agent)
    agent.agents_md.write_text("edited\n")
    out = tmp_path / "out"
    out.mkdir()
    written = snapshots.export(agent, None, out)
    assert written == out / "csv_helper-v1.tar.gz"
    assert snapshots.diff(written, agent.state) == ()
    old = snapshots.export(agent, 1, tmp_path / "old.tar.gz")
    assert [change.path for change in snapshots.diff(old, agent.state)] == ["AGENTS.md"]
    with pytest.raises(NotFoundError, match="has no snapshot of version 7"):
        snapshots.export(agent, 7, tmp_path / "x")


def test_export_leaves_out_a_vault_that_someone_packed(agent: AgentPaths, tmp_path: Path) -> None:
    agent.snapshots.mkdir()
    with tarfile.open(agent.snapshots / "v1.tar.gz", "w:gz") as archive:
        archive.add(agent.state, "agent_state")
    written = snapshots.export(agent, 1, tmp_path / "out.tar.gz")
    with tarfile.open(written) as archive:
        assert "agent_state/.vault.toml" not in archive.getnames()
    assert snapshots.diff(written, agent.state, with_memory=True) == ()


def test_what_a_kill_left_half_packed_is_cleared_away_in_time(agent: AgentPaths) -> None:
    agent.snapshots.mkdir()
    old, young = agent.snapshots / ".tmp-0123abcd", agent.snapshots / ".tmp-89abcdef"
    for path in (old, young):
        path.write_text("half")
    os.utime(old, (1, 1))
    snapshots.create(agent)
    assert names(agent.snapshots) == [".tmp-89abcdef", "v1.tar.gz"]


def test_snapshots_of_the_existing_system_count_and_come_back(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "penguin-state/default_project", tmp_path / "p")
    agent = ProjectPaths(tmp_path / "p").agent("csv_helper")
    assert [s.version for s in snapshots.list_snapshots(agent) if not s.damage] == [1, 2]
    assert snapshots.next_version(agent) == 3
    for version in (1, 2):
        if snapshots.drift(agent).state != "same" or snapshots.current_version(agent) != version:
            roll_back(agent, version=version, actor="test")
        assert snapshots.drift(agent).state == "same"
        assert snapshots.create(agent).path == agent.snapshots / f"v{version}.tar.gz"
