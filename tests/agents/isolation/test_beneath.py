"""File tools inside our own process: the policy is asked about the real place, and nothing is swapped in between."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.agents.isolation.beneath import open_beneath
from core.agents.isolation.policy import IsolationPolicy
from core.foundation.errors import RefusedError


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "private" / "rubric.md"
    path.parent.mkdir()
    path.write_text("CANARY")
    return path


@pytest.fixture
def policy(tmp_path: Path, cell: Path) -> IsolationPolicy:
    state = tmp_path / "state"
    state.mkdir()
    (state / "AGENTS.md").write_text("be good")
    return IsolationPolicy(read=(state,), write=(cell,))


def read(policy: IsolationPolicy, path: Path) -> str:
    with os.fdopen(open_beneath(policy, path)) as file:
        return file.read()


def test_reading_and_writing_inside(policy: IsolationPolicy, cell: Path) -> None:
    assert read(policy, policy.read[0] / "AGENTS.md") == "be good"
    with os.fdopen(open_beneath(policy, cell / "a/b/c.txt", write=True, make_parents=True), "w") as file:
        file.write("long text")
    with os.fdopen(open_beneath(policy, cell / "a/../a/b/c.txt", write=True), "w") as file:
        file.write("short")
    assert (cell / "a/b/c.txt").read_text() == "short"
    (cell / "link").symlink_to("a/b")
    assert read(policy, cell / "link/c.txt") == "short"


def test_a_file_can_be_a_root(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("1")
    assert read(IsolationPolicy(read=(tmp_path / "one",)), tmp_path / "one") == "1"


def test_outside_is_refused(policy: IsolationPolicy, cell: Path, secret: Path) -> None:
    (cell / "link").symlink_to(secret)
    (cell / "folder").symlink_to(secret.parent)
    for path in (secret, cell / "../private/rubric.md", cell / "link", cell / "folder/rubric.md", Path("/etc/passwd")):
        with pytest.raises(RefusedError):
            read(policy, path)
        with pytest.raises(RefusedError):
            open_beneath(policy, path, write=True)
    with pytest.raises(RefusedError):
        open_beneath(policy, policy.read[0] / "AGENTS.md", write=True)
    with pytest.raises(RefusedError):
        open_beneath(policy, cell / "folder/new.md", write=True, make_parents=True)
    assert secret.read_text() == "CANARY"


def test_what_is_no_regular_file(policy: IsolationPolicy, cell: Path) -> None:
    """A pipe would hang the engine."""
    os.mkfifo(cell / "pipe")
    for write in (False, True):
        with pytest.raises(RefusedError):
            open_beneath(policy, cell / "pipe", write=write)
    with pytest.raises(IsADirectoryError):
        open_beneath(policy, cell)
    with pytest.raises(FileNotFoundError):
        open_beneath(policy, cell / "missing")
    (cell / "file").write_text("x")
    with pytest.raises((RefusedError, NotADirectoryError)):
        open_beneath(policy, cell / "file/below")


SWAP = """
import os, sys, time
while True:
    time.sleep(0.0005)
    os.rename('d', 'aside')
    os.symlink(sys.argv[1], 'd')
    time.sleep(0.0005)
    os.unlink('d')
    os.rename('aside', 'd')
"""


def test_a_folder_swapped_for_a_link_meanwhile(policy: IsolationPolicy, cell: Path, secret: Path) -> None:
    """A command keeps exchanging a folder and a link while the tool reads: what comes out is never the secret."""
    (cell / "d").mkdir()
    (cell / "d/rubric.md").write_text("mine")
    swapper = subprocess.Popen([sys.executable, "-c", SWAP, str(secret.parent)], cwd=cell)
    seen = set()
    end = time.monotonic() + 20
    try:
        for turn in itertools.count():
            try:
                seen.add(read(policy, cell / "d/rubric.md"))
            except (RefusedError, FileNotFoundError) as error:
                seen.add(type(error).__name__)
            # It must have met both states, or the race was not run
            if (turn > 2000 and {"mine", "RefusedError"} <= seen) or time.monotonic() > end:
                break
    finally:
        swapper.kill()
        swapper.wait()
    assert "CANARY" not in seen
    assert {"mine", "RefusedError"} <= seen
