"""Locks between real processes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.state.locks import LockedError, held, is_held

HOLDER = """
import sys, time
from pathlib import Path
from core.state.locks import held
with held(Path(sys.argv[1]), shared=sys.argv[2] == "shared"):
    print("held", flush=True)
    time.sleep(60)
"""


def hold(path: Path, kind: str = "alone") -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path), kind], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    process.stdout.close()
    return process


def test_a_second_process_waits_names_the_holder_and_gets_it_after_a_kill(tmp_path: Path) -> None:
    lock = tmp_path / "deep" / "lock"
    process = hold(lock)
    try:
        started = time.monotonic()
        with pytest.raises(LockedError, match=f"process {process.pid}"), held(lock, timeout_s=0.2):
            pass
        assert time.monotonic() - started >= 0.2
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    with held(lock, timeout_s=0):
        assert lock.read_text() == f"process {os.getpid()}\n"


def test_readers_share_and_a_writer_does_not(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    process = hold(lock, "shared")
    try:
        with held(lock, timeout_s=0, shared=True):
            pass
        with pytest.raises(LockedError), held(lock, timeout_s=0):
            pass
    finally:
        process.kill()
        process.wait()


def test_a_lock_whose_directory_was_deleted_is_taken_anew(tmp_path: Path) -> None:
    lock = tmp_path / "home" / "lock"
    with held(lock):
        shutil.rmtree(lock.parent)
        with held(lock, timeout_s=0):
            assert lock.exists()


def test_an_error_inside_lets_go_and_children_do_not_hold(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    children: list[subprocess.Popen[bytes]] = []

    def fail_while_holding() -> None:
        with held(lock):
            children.append(subprocess.Popen(["sleep", "60"]))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_while_holding()
    try:
        with held(lock, timeout_s=0):
            pass
    finally:
        children[0].kill()
        children[0].wait()


def test_whether_a_lock_is_held_is_told_without_taking_or_making_it(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    assert not is_held(lock)
    assert not lock.exists()
    for kind in ("alone", "shared"):
        process = hold(lock, kind)
        try:
            assert is_held(lock)
        finally:
            process.kill()
            process.wait()
        assert not is_held(lock)
    with held(lock, timeout_s=0):
        assert is_held(lock)
