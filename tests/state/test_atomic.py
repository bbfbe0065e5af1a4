"""The atomic writer and the appender: full disks, read-only mounts, torn tails, kills."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from core.foundation.errors import ConflictError
from core.state import atomic


def names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def leftovers(directory: Path) -> list[str]:
    return [name for name in names(directory) if atomic.LEFTOVER.match(name)]


def test_a_new_file_gets_the_umask_and_a_replaced_one_keeps_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    before = os.umask(0o027)
    try:
        atomic.write_text(target, "één\r\n")
    finally:
        os.umask(before)
    assert target.read_bytes() == "één\r\n".encode()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    target.chmod(0o600)
    atomic.write_text(target, "two")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    atomic.write_text(target, "three", mode=0o644)
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    assert leftovers(tmp_path) == []


def test_a_symlink_is_replaced_and_never_written_through(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("keep")
    link = tmp_path / "link"
    link.symlink_to(outside)
    atomic.write_text(link, "mine")
    assert outside.read_text() == "keep"
    assert not link.is_symlink()
    assert link.read_text() == "mine"


def test_a_missing_directory_is_told_and_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "no" / "a", tmp_path / "file" / "a"):
        with pytest.raises(atomic.StorageError, match="does not exist"):
            atomic.write_text(path, "x")
        with pytest.raises(atomic.StorageError, match="does not exist"):
            atomic.append_line(path, "x")
    assert names(tmp_path) == ["file"]


def test_write_new_never_replaces(tmp_path: Path) -> None:
    target = tmp_path / "once"
    atomic.write_new(target, b"first", mode=0o600)
    with pytest.raises(ConflictError):
        atomic.write_new(target, b"second")
    assert target.read_bytes() == b"first"
    assert target.stat().st_nlink == 1
    assert leftovers(tmp_path) == []


def test_write_new_without_hard_links_still_has_one_winner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "no hard links here")

    monkeypatch.setattr(os, "link", refuse)
    target = tmp_path / "once"
    atomic.write_new(target, b"first")
    with pytest.raises(ConflictError):
        atomic.write_new(target, b"second")
    assert target.read_bytes() == b"first"
    assert leftovers(tmp_path) == []


def test_append_heals_a_torn_tail(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    atomic.append_line(log, '{"n": 1}')
    with log.open("ab") as file:
        file.write(b'{"n": 2, "te')
    atomic.append_line(log, '{"n": 3}')
    assert log.read_bytes() == b'{"n": 1}\n{"n": 2, "te\n{"n": 3}\n'
    with pytest.raises(ValueError, match="newline"):
        atomic.append_line(log, "two\nlines")


def test_append_to_a_full_device_says_so() -> None:
    with pytest.raises(atomic.StorageError, match=r"/dev.*no space left") as caught:
        atomic.append_line(Path("/dev/full"), "x", lock=False)
    assert "free space" in caught.value.hint


def test_appends_from_many_threads_stay_whole_lines(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"

    def write(who: int) -> None:
        for n in range(50):
            atomic.append_line(log, json.dumps({"who": who, "n": n, "pad": "x" * 5000}), fsync=False)

    threads = [threading.Thread(target=write, args=(who,)) for who in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(lines) == 300
    for who in range(6):
        assert [line["n"] for line in lines if line["who"] == who] == list(range(50))


def test_replace_directory_takes_the_first_rename_back(tmp_path: Path) -> None:
    target = tmp_path / "state"
    target.mkdir()
    (target / "old").write_text("old")
    with pytest.raises(atomic.StorageError):
        atomic.replace_directory(tmp_path / "missing", target, tmp_path / "aside")
    assert (target / "old").read_text() == "old"
    assert not (tmp_path / "aside").exists()


def test_file_system_of_names_the_mount(tmp_path: Path) -> None:
    assert atomic.file_system_of(Path("/proc/self/none/deeper")) == "/proc"
    assert os.path.ismount(atomic.file_system_of(tmp_path))


IN_NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]


def has_namespaces() -> bool:
    try:
        return subprocess.run([*IN_NAMESPACE, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not has_namespaces(), reason="needs user and mount namespaces")
def test_a_full_and_a_read_only_file_system_keep_the_old_file(tmp_path: Path) -> None:
    program = """
import os, sys
from pathlib import Path
from core.state import atomic
home = Path(sys.argv[1])
def attempt(call, *arguments):
    try:
        call(*arguments)
    except atomic.StorageError as error:
        print(error, "|", error.hint)
    else:
        print("no error")
board, log = home / "board", home / "log"
atomic.write_text(board, "old")
atomic.append_line(log, "one")
attempt(atomic.write_bytes, board, b"x" * 4_000_000)
attempt(atomic.append_line, log, "y" * 4_000_000)
attempt(atomic.write_new, home / "new", b"x" * 4_000_000)
print(board.read_text(), log.read_text().strip(), sorted(os.listdir(home)))
atomic.append_line(log, "two")
os.system(f"mount -o remount,ro {home}")
attempt(atomic.write_bytes, board, b"new")
attempt(atomic.append_line, log, "three")
print(board.read_text(), log.read_text().split(), sorted(os.listdir(home)))
"""
    script = 'mount -t tmpfs -o size=1m none "$1" && exec "$2" -P -c "$3" "$1"'
    done = subprocess.run(
        [*IN_NAMESPACE, "sh", "-c", script, "sh", str(tmp_path), sys.executable, program],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for line in lines[:3]:
        assert f"(file system {tmp_path}): no space left | free space there" in line
    assert lines[3] == "old one ['board', 'log']"
    for line in lines[4:6]:
        assert f"(file system {tmp_path}): mounted read-only | remount" in line
    assert lines[6] == "old ['one', 'two'] ['board', 'log']"


def test_killed_in_a_loop_old_or_new_is_always_loadable(tmp_path: Path) -> None:
    """FAULTS: non-atomic state. A writer saves a growing document and logs; it is killed at odd moments."""
    program = """
import json, sys
from pathlib import Path
from core.state import atomic
home = Path(sys.argv[1])
n = json.loads((home / "state").read_text())["n"] if (home / "state").exists() else 0
print("ready", flush=True)
while True:
    n += 1
    atomic.write_text(home / "state", json.dumps({"n": n, "pad": "x" * 200_000}))
    atomic.append_line(home / "log", json.dumps({"n": n, "pad": "x" * 20_000}), fsync=False)
"""
    seen = 0
    for turn in range(12):
        writer = subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        time.sleep(0.02 + 0.007 * turn)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        if turn == 0 and not (tmp_path / "state").exists():
            continue
        state = json.loads((tmp_path / "state").read_text())
        assert len(state["pad"]) == 200_000
        assert state["n"] >= seen
        seen = state["n"]
    assert seen > 12
    numbers = [json.loads(line)["n"] for line in (tmp_path / "log").read_text().splitlines() if line.endswith("}")]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] in (seen, seen - 1)


def test_a_file_name_that_is_no_text_does_not_cost_the_text_that_mentions_it(tmp_path: Path) -> None:
    atomic.write_text(tmp_path / "note", "caf\udce9 \ud800 \u4f60")
    assert (tmp_path / "note").read_text(encoding="utf-8") == "caf\ufffd \ufffd \u4f60"
