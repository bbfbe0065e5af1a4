"""The edit surface, staging and exact return, on real files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evolution.candidate import (
    ForeignChangeError,
    apply_edits,
    copy_state,
    load_staged,
    put_in_place,
    stage,
    take_back,
)
from core.evolution.edits import Edit, digest, problem, summarize, unified
from core.foundation.errors import ConflictError
from core.state.agents import create_agent, read_agent
from core.state.fingerprint import state_hash
from core.state.fresh import ensure_home
from core.state.paths import AgentPaths

STATE = {"AGENTS.md": b"# Role\n", "system_config.yaml": b"version: 1\n", "skills/own/SKILL.md": b""}
paths = st.one_of(
    st.text(max_size=40),
    st.lists(st.sampled_from(["..", ".", "skills", "own", "AGENTS.md", "", "memory", "a.md"]), max_size=5).map(
        "/".join
    ),
)


@given(paths)
def test_no_path_leads_out_of_the_surface(path: str) -> None:
    refused = problem([Edit(path, content="x\n")], STATE, frozenset())
    if refused is None or refused.code == "skill_invalid":
        assert path == "AGENTS.md" or (path.startswith("skills/") and ".." not in path.split("/") and "\0" not in path)
        assert not Path(path).is_absolute()


@given(st.lists(st.sampled_from([Edit("AGENTS.md", "a"), Edit("x", "b"), Edit("y", set={"k": 1})]), max_size=4))
def test_a_digest_ignores_order_and_reasons(edits: list[Edit]) -> None:
    told = [Edit(e.path, e.content, e.set, e.delete, why="because") for e in reversed(edits)]
    assert digest(edits) == digest(told)


def test_a_digest_tells_changes_apart() -> None:
    assert digest([Edit("AGENTS.md", "a")]) != digest([Edit("AGENTS.md", "b")])
    assert digest([Edit("a", delete=True)]) != digest([Edit("a", content="")])


def test_a_change_is_counted_by_lines_and_the_version_line_is_none() -> None:
    before = {"AGENTS.md": b"one\ntwo\n", "system_config.yaml": b"version: 1\nmax_turns: 8\n"}
    after = {
        "AGENTS.md": b"one\n2\n3\n",
        "system_config.yaml": b"version: 2\nmax_turns: 8\n",
        "skills/s/SKILL.md": b"x\n",
    }
    told = summarize(before, after, {})
    assert [(e.kind, e.path, e.added, e.removed) for e in told] == [
        ("agents_md", "AGENTS.md", 2, 1),
        ("skill", "skills/s/SKILL.md", 1, 0),
    ]
    diff = unified(before, after)
    assert "--- /dev/null\n+++ b/skills/s/SKILL.md" in diff
    assert "-version: 1\n+version: 2\n" in diff


def test_bytes_that_are_no_text_still_diff() -> None:
    assert "\\ No newline at end of file" in unified({"a": b"\xff\xfe"}, {"a": b"\xff\x00"})


@pytest.fixture
def agent(tmp_path: Path) -> AgentPaths:
    return create_agent(ensure_home(tmp_path), "clerk", name="Clerk", description="", agents_md="# Role\n")


def _staged(agent: AgentPaths, root: Path) -> None:
    edits = [Edit("AGENTS.md", "# New\n"), Edit("system_config.yaml", set={"max_turns": 40})]
    stage(agent, root, 2, lambda state: apply_edits(state, edits), {"AGENTS.md": "why"})


def test_there_and_back_is_exact_and_leaves_what_is_no_version(agent: AgentPaths, tmp_path: Path) -> None:
    agent.vault.write_text('KEY = "v"\n', encoding="utf-8")
    memory = agent.state / "memory" / "note.md"
    memory.write_text("mine\n", encoding="utf-8")
    before, config = state_hash(agent.state), agent.config.read_bytes()
    _staged(agent, tmp_path / "c")
    staged = load_staged(tmp_path / "c")
    assert not (staged.before / ".vault.toml").exists()
    assert not (staged.after / "memory").exists()
    put_in_place(agent, staged)
    assert (read_agent(agent).version, read_agent(agent).max_turns) == (2, 40)
    put_in_place(agent, staged)  # again after a crash
    take_back(agent, staged)
    take_back(agent, staged)
    assert state_hash(agent.state) == before
    assert agent.config.read_bytes() == config
    assert memory.read_text(encoding="utf-8") == "mine\n"
    assert agent.vault.exists()


def test_half_done_either_way_is_completed(agent: AgentPaths, tmp_path: Path) -> None:
    _staged(agent, tmp_path / "c")
    staged = load_staged(tmp_path / "c")
    agent.agents_md.write_bytes((staged.after / "AGENTS.md").read_bytes())  # killed after one of two files
    put_in_place(agent, staged)
    assert state_hash(agent.state) == staged.after_hash
    agent.agents_md.write_bytes((staged.before / "AGENTS.md").read_bytes())
    take_back(agent, staged)
    assert state_hash(agent.state) == staged.before_hash


@pytest.mark.parametrize("name", ["AGENTS.md", "skills/stranger/SKILL.md"])
def test_a_foreign_change_stops_before_anything_is_written(agent: AgentPaths, tmp_path: Path, name: str) -> None:
    _staged(agent, tmp_path / "c")
    staged = load_staged(tmp_path / "c")
    (agent.state / name).parent.mkdir(parents=True, exist_ok=True)
    (agent.state / name).write_text("foreign\n", encoding="utf-8")
    config = agent.config.read_bytes()
    for move in (put_in_place, take_back):
        with pytest.raises(ForeignChangeError, match=name.split("/")[0]):
            move(agent, staged)
    assert (agent.state / name).read_text(encoding="utf-8") == "foreign\n"
    assert agent.config.read_bytes() == config


def test_a_link_in_the_state_blocks_a_candidate(agent: AgentPaths, tmp_path: Path) -> None:
    (agent.state / "tools" / "x").symlink_to("/etc/passwd")
    with pytest.raises(ConflictError, match="no regular file"):
        copy_state(agent.state, tmp_path / "copy")
