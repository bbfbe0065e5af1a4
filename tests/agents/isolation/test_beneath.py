"""File tools inside our own process: the policy is asked about the real place, and nothing is swapped in between."""

from __future__ import annotations

import os
import threading
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


def test_a_folder_swapped_for_a_link_meanwhile(policy: IsolationPolicy, cell: Path, secret: Path) -> None:
    """A command keeps exchanging a folder and a link while the tool reads: what comes out is never the secret."""
    (cell / "d").mkdir()
    (cell / "d/rubric.md").write_text("mine")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (cell / "d").rename(cell / "aside")
            (cell / "d").symlink_to(secret.parent)
            (cell / "d").unlink()
            (cell / "aside").rename(cell / "d")

    thread = threading.Thread(target=swap)
    thread.start()
    seen = set()
    try:
        for _ in range(1500):
            try:
                seen.add(read(policy, cell / "d/rubric.md"))
            except (RefusedError, FileNotFoundError) as error:
                seen.add(type(error).__name__)
    finally:
        stop.set()
        thread.join()
    assert "CANARY" not in seen
    assert "mine" in seen
