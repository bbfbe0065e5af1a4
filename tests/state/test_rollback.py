"""Rollback and undo: whole, verified, audited, and safe at every step (DECISIONS 13, 14)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from core.foundation.errors import BlockedError, ConflictError, DamagedError, NotFoundError, RefusedError
from core.state import audit, fingerprint, snapshots
from core.state.atomic import StorageError, replace_directory
from core.state.paths import AgentPaths
from core.state.rollback import history, pending, recover, roll_back, undo, undoable
from tests.state.agent_home import everything, make_agent, set_version


@pytest.fixture
def agent(tmp_path: Path) -> AgentPaths:
    """An agent at version 2, with version 1 kept; its memory has gone on since."""
    made = make_agent(tmp_path)
    (made.state / "run.sh").write_text("#!/bin/sh\n")
    (made.state / "run.sh").chmod(0o755)
    snapshots.create(made)
    set_version(made, 2, "two\n")
    (made.state / "skills/b").mkdir()
    (made.state / "skills/b/SKILL.md").write_text("skill b\n")
    (made.state / "skills/a/.vault.toml").write_text("NESTED = 1\n")
    (made.state / "memory/user/MEMORY.md").write_text("learned 2\n")
    (made.state / "schedule/daily.toml").unlink()
    snapshots.create(made)
    return made


def staging(agent: AgentPaths) -> list[str]:
    return [path.name for path in agent.root.iterdir() if path.name.startswith(".import-")]


def test_back_to_one_keeps_vault_memory_and_schedule(agent: AgentPaths) -> None:
    done = roll_back(agent, version=1, actor="console")
    assert (done.from_version, done.to_version, done.warnings) == (2, 1, ())
    assert snapshots.find(agent, 2).content_hash == done.snapshot_of_before.content_hash
    now = everything(agent)
    assert now["AGENTS.md"][0] == b"one\n"
    assert "skills/b/SKILL.md" not in now
    assert now["run.sh"][1]
    assert now["memory/user/MEMORY.md"][0] == b"learned 2\n"
    assert "schedule/daily.toml" not in now
    assert now[".vault.toml"][0] == b'K = "keep"\n'
    assert now["skills/a/.vault.toml"][0] == b"NESTED = 1\n"
    assert agent.vault.stat().st_mode & 0o777 == 0o600
    assert (agent.state / "tools").is_dir()
    assert fingerprint.state_hash(agent.state) == snapshots.find(agent, 1).content_hash
    assert snapshots.drift(agent).state == "same"
    assert snapshots.next_version(agent) == 3  # versions only increase
    (entry,) = audit.read(agent.project)
    assert (entry.action, entry.subject, entry.actor) == ("roll_back", "csv_helper", "console")
    assert (entry.detail["from_version"], entry.detail["to_version"]) == (2, 1)
    assert entry.detail["token"] == done.token
    assert staging(agent) == []


def test_with_memory_brings_memory_and_schedule_back_too(agent: AgentPaths) -> None:
    before = everything(agent)
    roll_back(agent, version=1, actor="cli", with_memory=True)
    now = everything(agent)
    assert now["memory/user/MEMORY.md"][0] == b"learned 1\n"
    assert "schedule/daily.toml" in now
    assert now[".vault.toml"] == before[".vault.toml"]
    undo(agent, "cli")
    assert everything(agent) == before


def test_undo_gives_exactly_what_was_before_and_keeps_what_was_learned(agent: AgentPaths) -> None:
    before = everything(agent)
    roll_back(agent, version=1, actor="console")
    (agent.state / "memory/user/MEMORY.md").write_text("learned 3\n")
    agent.vault.write_text('K = "changed"\n')
    done = undo(agent, "console")
    assert (done.from_version, done.to_version) == (1, 2)
    changed = {name for name, found in everything(agent).items() if before.get(name) != found}
    assert changed == {"memory/user/MEMORY.md", ".vault.toml"}
    assert set(before) == set(everything(agent))
    assert [entry.action for entry in audit.read(agent.project)] == ["roll_back", "undo"]
    with pytest.raises(NotFoundError, match="nothing to undo"):
        undo(agent, "console")


def test_undo_brings_back_edits_that_were_no_version_of_their_own(agent: AgentPaths) -> None:
    agent.agents_md.write_text("two, edited by hand\n")
    (agent.state / "run.sh").chmod(0o644)
    before = everything(agent)
    done = roll_back(agent, version=2, actor="console")
    assert agent.agents_md.read_text() == "two\n"
    assert done.snapshot_of_before.beside
    assert "v2.tar.gz holds another state" in done.warnings[0]
    assert [swap.words for swap in history(agent)] == ["back to v2 as it was kept"]
    undo(agent, "console")
    assert history(agent)[-1].words == "undo of a change within v2"
    assert everything(agent) == before


def test_undo_steps_back_through_several_rollbacks(agent: AgentPaths) -> None:
    two = everything(agent)
    set_version(agent, 3, "three\n")
    three = everything(agent)
    roll_back(agent, version=2, actor="a")
    roll_back(agent, version=1, actor="b")
    undo(agent, "c")
    assert everything(agent) == two
    undo(agent, "d")
    assert everything(agent) == three
    assert undoable(agent) is None
    assert [(s.action, s.from_version, s.to_version) for s in history(agent)] == [
        ("roll_back", 3, 2),
        ("roll_back", 2, 1),
        ("undo", 1, 2),
        ("undo", 2, 3),
    ]


def test_undo_refuses_where_someone_went_on_from_there(agent: AgentPaths) -> None:
    roll_back(agent, version=1, actor="console")
    set_version(agent, 3, "three\n")
    with pytest.raises(ConflictError, match="changed since"):
        undo(agent, "console")
    assert agent.agents_md.read_text() == "three\n"


def test_without_a_version_it_is_the_one_before(agent: AgentPaths) -> None:
    assert roll_back(agent, actor="console").to_version == 1
    with pytest.raises(NotFoundError):
        roll_back(agent, actor="console")


def test_what_is_there_already_a_live_run_and_unknown_versions_are_refused(agent: AgentPaths) -> None:
    before = everything(agent)
    with pytest.raises(RefusedError, match="already"):
        roll_back(agent, version=2, actor="console")
    with pytest.raises(RefusedError, match="run optimize-1 holds"):
        roll_back(agent, version=1, actor="console", live_run=lambda _: "optimize-1")
    with pytest.raises(NotFoundError, match="no snapshot of version 9") as caught:
        roll_back(agent, version=9, actor="console")
    assert "versions 1, 2" in caught.value.hint
    assert everything(agent) == before
    assert history(agent) == ()
    assert staging(agent) == []
    assert roll_back(agent, version=1, actor="console", live_run=lambda _: None).to_version == 1


def test_a_symlink_blocks_since_it_could_not_be_kept(agent: AgentPaths) -> None:
    (agent.state / "memory/link").symlink_to("/etc/passwd")
    with pytest.raises(BlockedError, match="memory/link"):
        roll_back(agent, version=1, actor="console")
    assert agent.agents_md.read_text() == "two\n"
    assert pending(agent) is None


def test_a_hostile_or_damaged_snapshot_changes_nothing(agent: AgentPaths) -> None:
    snapshots.find(agent, 1).path.write_bytes(b"rubbish")
    with pytest.raises(DamagedError):
        roll_back(agent, version=1, actor="console")
    assert agent.agents_md.read_text() == "two\n"


def test_a_broken_state_can_be_left_and_is_kept(agent: AgentPaths) -> None:
    agent.config.write_text("rubbish: [")
    before = everything(agent)
    done = roll_back(agent, version=1, actor="console")
    assert (done.from_version, done.snapshot_of_before.version) == (0, 0)
    undo(agent, "console")
    assert everything(agent) == before


def test_scoreboards_traces_and_ledger_stay(agent: AgentPaths) -> None:
    for name in ("benchmarks/csv/scoreboard.yaml", "traces/2026-11-30/s_001.jsonl", "workspaces/w/f"):
        (agent.root / name).parent.mkdir(parents=True, exist_ok=True)
        (agent.root / name).write_text(name)
    outside = {p: p.read_bytes() for p in agent.root.rglob("*") if p.is_file() and agent.state not in p.parents}
    roll_back(agent, version=1, actor="console")
    assert {p: p.read_bytes() for p in outside} == outside


def test_an_edit_during_the_exchange_is_kept(agent: AgentPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    real = replace_directory

    def edited_late(incoming: Path, target: Path, aside: Path) -> None:
        agent.agents_md.write_text("written at the last moment\n")
        agent.vault.write_text('K = "late"\n')
        real(incoming, target, aside)

    monkeypatch.setattr("core.state.swap.replace_directory", edited_late)
    done = roll_back(agent, version=1, actor="console")
    (warning,) = done.warnings
    assert "edited while it was exchanged" in warning
    kept = [s for s in snapshots.list_snapshots(agent) if s.beside]
    assert snapshots.opened(kept[0]).read("AGENTS.md") == b"written at the last moment\n"
    assert agent.vault.read_text() == 'K = "late"\n'


def test_a_link_planted_during_the_exchange_is_set_aside_not_followed(
    agent: AgentPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = replace_directory

    def planted(incoming: Path, target: Path, aside: Path) -> None:
        (agent.state / "link").symlink_to("/etc/passwd")
        real(incoming, target, aside)

    monkeypatch.setattr("core.state.swap.replace_directory", planted)
    done = roll_back(agent, version=1, actor="console")
    (place,) = (agent.project.own / "snapshots" / agent.id).glob("late*")
    assert str(place) in done.warnings[0]
    assert (place / "AGENTS.md").read_text() == "two\n"
    assert (place / "link").is_symlink()
    assert not (agent.state / "link").exists()


def test_a_failure_of_the_second_rename_restores(agent: AgentPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = os.rename, []

    def failing(old: Any, new: Any, **more: Any) -> None:
        if str(old).endswith("/incoming"):
            calls.append(old)
            raise OSError(28, "No space left on device")
        real(old, new, **more)

    before = everything(agent)
    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(StorageError, match="no space left"):
        roll_back(agent, version=1, actor="console")
    assert calls
    assert everything(agent) == before
    assert staging(agent) == []
    assert pending(agent) is None
    assert history(agent) == ()


def test_a_state_that_is_not_what_was_unpacked_is_put_back(agent: AgentPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    real = replace_directory
    before = everything(agent)

    def spoiled(incoming: Path, target: Path, aside: Path) -> None:
        real(incoming, target, aside)
        if target == agent.state and aside.name == "outgoing":
            (target / "AGENTS.md").write_text("spoiled")

    monkeypatch.setattr("core.state.swap.replace_directory", spoiled)
    with pytest.raises(DamagedError, match="the old one is back"):
        roll_back(agent, version=1, actor="console")
    assert everything(agent) == before
    assert staging(agent) == []


def killed_at(step: int, work: Callable[[], object]) -> bool:
    """Run `work` in a forked child that dies, as by SIGKILL, right before its `step`-th change of the disk.

    Return whether it died; False means that the work has fewer steps.
    """
    child = os.fork()
    if child == 0:
        left = step

        def count(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal left
            writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
            if writes or event in ("os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"):
                left -= 1
                if left < 0:
                    os._exit(9)

        sys.addaudithook(count)
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) in (0, 9)
    return os.waitstatus_to_exitcode(status) == 9


@pytest.mark.parametrize("with_memory", [False, True])
def test_a_kill_at_any_step_is_repaired_by_the_next_call(tmp_path: Path, with_memory: bool) -> None:
    outcomes: list[str] = []
    for step in range(1000):
        home = tmp_path / str(step)
        agent = make_agent(home)
        snapshots.create(agent)
        set_version(agent, 2, "two, never kept before\n")
        (agent.state / "memory/user/MEMORY.md").write_text("learned 2\n")
        old = everything(agent)
        died = killed_at(step, partial(roll_back, agent, version=1, actor="a", with_memory=with_memory))
        new_memory = b"learned 1\n" if with_memory else b"learned 2\n"
        said = recover(agent)
        now = everything(agent)
        if now == old:
            outcomes.append("old")
            assert history(agent) == ()
            assert audit.read(agent.project) == ()
        else:
            outcomes.append("new")
            assert now["AGENTS.md"][0] == b"one\n"
            assert now["memory/user/MEMORY.md"][0] == new_memory
            assert now[".vault.toml"] == old[".vault.toml"]
            assert len(history(agent)) == len(audit.read(agent.project)) == 1
        assert staging(agent) == []
        assert pending(agent) is None
        assert recover(agent) is None
        # And the agent goes on: to the other version and back.
        if now == old:
            roll_back(agent, version=1, actor="a", with_memory=with_memory)
        undo(agent, "a")
        assert everything(agent) == old
        if not died:
            assert said is None
            break
    assert not died
    turn = outcomes.index("new")
    assert 20 < turn < len(outcomes) - 5
    assert set(outcomes[:turn]) == {"old"}
    assert set(outcomes[turn:]) == {"new"}


def killed_between_the_renames(agent: AgentPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.rename

    def die(old: Any, new: Any, **more: Any) -> None:
        if str(old).endswith("/incoming"):
            os._exit(9)
        real(old, new, **more)

    child = os.fork()
    if child == 0:
        monkeypatch.setattr(os, "rename", die)
        roll_back(agent, version=1, actor="a")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def test_between_the_renames_the_old_state_is_whole_and_comes_back(
    agent: AgentPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(agent)
    killed_between_the_renames(agent, monkeypatch)
    assert not agent.state.exists()
    interrupted = pending(agent)
    assert interrupted is not None
    assert (interrupted.from_version, interrupted.to_version) == (2, 1)
    assert snapshots.create(agent).reused  # any call that takes the lock repairs first
    assert everything(agent) == before


def test_a_state_that_someone_made_in_the_gap_is_set_aside(agent: AgentPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    before = everything(agent)
    killed_between_the_renames(agent, monkeypatch)
    agent.state.mkdir()
    agent.agents_md.write_text("fresh\n")
    said = recover(agent)
    assert said is not None
    (found,) = (agent.project.own / "snapshots" / agent.id).glob("found-*")
    assert str(found) in said
    assert (found / "AGENTS.md").read_text() == "fresh\n"
    assert everything(agent) == before


def test_where_both_states_are_gone_it_says_so(agent: AgentPaths) -> None:
    intent = agent.project.own / "snapshots" / agent.id / "swap.json"
    roll_back(agent, version=1, actor="a")
    intent.write_text(
        '{"token": "00ff00ff00ff", "time": "t", "action": "roll_back", "actor": "a", "from_version": 2,'
        ' "to_version": 1, "before": "x", "after": "y", "with_memory": false, "undoes": ""}'
    )
    agent.state.rename(agent.root / "elsewhere")
    with pytest.raises(DamagedError, match="no state") as caught:
        recover(agent)
    assert "version 2" in caught.value.hint
    for rubbish in (b'{"token": "../x"}', b"[]", b'{"token": "../../x", "time": "t"}', b"", b"\xff", b"[" * 100_000):
        intent.write_bytes(rubbish)
        with pytest.raises(DamagedError, match="no note of ours"):
            pending(agent)
