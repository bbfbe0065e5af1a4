"""The identity of a state: what counts, what doesn't, what is a finding (DECISIONS 13)."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from core.state import fingerprint


@pytest.fixture
def state(tmp_path: Path) -> Path:
    root = tmp_path / "agent_state"
    for name, text in {
        "system_config.yaml": "version: 1\n",
        "AGENTS.md": "be kind\n",
        "skills/a/SKILL.md": "a\n",
        ".vault.toml": 'K = "secret"\n',
        "memory/user/MEMORY.md": "m\n",
        "schedule/x.toml": "s\n",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_vault_memory_schedule_times_modes_and_empty_directories_do_not_count(state: Path, tmp_path: Path) -> None:
    before = fingerprint.state_hash(state)
    assert before.startswith("sha256:")
    assert len(before) == 71
    (state / ".vault.toml").write_text('K = "other"\n')
    (state / "skills/a/.vault.toml").write_text("x")
    (state / "memory/user/MEMORY.md").write_text("more")
    (state / "schedule/x.toml").unlink()
    (state / "tools").mkdir()
    (state / ".tmp-0123abcd").write_text("half a file that a kill left")
    os.utime(state / "AGENTS.md", (1, 1))
    (state / "AGENTS.md").chmod(0o600)
    assert fingerprint.state_hash(state) == before
    copy = tmp_path / "copy"
    shutil.copytree(state, copy)
    assert fingerprint.state_hash(copy) == before


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "AGENTS.md").write_text("be kind"),
        lambda root: (root / "AGENTS.md").rename(root / "agents.md"),
        lambda root: (root / "skills/a/SKILL.md").unlink(),
        lambda root: (root / "skills/memory").write_text("not the memory directory"),
        lambda root: (root / ".tmp-xyz").write_text("not one of our temporary names"),
    ],
)
def test_every_change_of_content_or_name_counts(state: Path, change: object) -> None:
    before = fingerprint.state_hash(state)
    assert callable(change)
    change(state)
    assert fingerprint.state_hash(state) != before


def test_a_name_cannot_pose_as_two_files() -> None:
    one = fingerprint.hash_of({"a": "0" * 64, "b": "1" * 64})
    assert one != fingerprint.hash_of({"a" + "0" * 64 + "\nb": "1" * 64})
    assert one == fingerprint.hash_of({"b": "1" * 64, "a": "0" * 64})


def test_symlinks_and_pipes_are_findings_and_never_followed(state: Path, tmp_path: Path) -> None:
    before = fingerprint.state_hash(state)
    (state / "skills/out").symlink_to("/etc")
    (state / "loop").symlink_to(state)
    os.mkfifo(state / "pipe")
    assert fingerprint.symlinks(state) == ["loop", "skills/out"]
    assert fingerprint.irregular(state) == ["loop", "pipe", "skills/out"]
    assert fingerprint.state_hash(state) == before
    posing = tmp_path / "posing"
    posing.symlink_to(state)
    assert fingerprint.symlinks(posing) == ["."]
    assert fingerprint.irregular(posing) == ["."]


def test_file_hashes_are_plain_sha256_of_everything_regular(state: Path) -> None:
    hashes = fingerprint.file_hashes(state)
    assert list(hashes) == sorted(hashes)
    assert hashes["AGENTS.md"] == hashlib.sha256(b"be kind\n").hexdigest()
    assert set(hashes) == {
        ".vault.toml",
        "AGENTS.md",
        "memory/user/MEMORY.md",
        "schedule/x.toml",
        "skills/a/SKILL.md",
        "system_config.yaml",
    }
    with pytest.raises(FileNotFoundError):
        fingerprint.file_hashes(state / "none")
