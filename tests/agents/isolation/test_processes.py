"""Recorded processes: found again, ended with all below them, and never mistaken for another."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from core.agents.isolation import processes


@pytest.fixture
def sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "600"], start_new_session=True)


def test_a_record_finds_the_living_only(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    path = tmp_path / "runs" / "engine.pid"
    who = processes.record(path, sleeper.pid)
    assert processes.recorded(path) == who
    assert processes.kill_tree(who)
    sleeper.wait()
    assert processes.recorded(path) is None
    with pytest.raises(ProcessLookupError):
        processes.record(path, sleeper.pid)


def test_a_reused_number_is_left_alone(sleeper: subprocess.Popen[bytes]) -> None:
    """The same pid with another start time, or from before a reboot, is somebody else."""
    pid, start, boot = str(processes.identity(sleeper.pid)).split(":")
    for other in (f"{pid}:{int(start) - 1}:{boot}", f"{pid}:{start}:another-boot", f"{pid}", "", "x:y:z"):
        assert not processes.is_alive(other)
        assert processes.kill_tree(other)
    assert sleeper.poll() is None
    sleeper.kill()
    sleeper.wait()


def test_the_whole_tree_ends_even_when_deaf_to_term() -> None:
    script = "trap '' TERM; setsid bash -c 'trap \"\" TERM; sleep 600; :' & sleep 600; :"
    root = subprocess.Popen(["bash", "-c", script], start_new_session=True)
    while len(processes.descendants(root.pid)) < 3:
        time.sleep(0.01)
    below = processes.descendants(root.pid)
    who = processes.identity(root.pid)
    assert who is not None
    assert processes.kill_tree(who, grace_s=0.2)
    root.wait()
    assert not [pid for pid in below if processes.start_time(pid) is not None]


def test_a_zombie_does_not_live(sleeper: subprocess.Popen[bytes]) -> None:
    who = processes.identity(sleeper.pid)
    assert who is not None
    os.kill(sleeper.pid, 9)
    end = time.monotonic() + 5
    while processes.is_alive(who) and time.monotonic() < end:
        time.sleep(0.01)
    assert not processes.is_alive(who)
    sleeper.wait()


def test_nonsense_in_a_record(tmp_path: Path) -> None:
    path = tmp_path / "x.pid"
    path.write_bytes(b"\xff\xfe")
    assert processes.recorded(path) is None
    assert processes.recorded(tmp_path / "missing") is None
