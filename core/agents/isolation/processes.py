"""Finding and ending processes by what cannot be reused: their id together with their start time.

Imported by the keeper: nothing heavy at the top.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

_KILL, _TERM = 9, 15


def _stat(pid: int) -> list[str] | None:
    try:
        file = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        text = os.read(file, 4096).decode("ascii", "replace")
    except OSError:
        return None
    finally:
        os.close(file)
    # The name may hold spaces and brackets; what follows the last bracket is regular (proc(5): state is field 3)
    return text[text.rfind(")") + 2 :].split()


def start_time(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot, or None where there is no such (living) process."""
    fields = _stat(pid)
    return None if fields is None or fields[0] in "ZX" else int(fields[19])


def identity(pid: int) -> str | None:
    """Return `pid:start:boot` of a living process, which no later process will ever share; None where there is none."""
    start = start_time(pid)
    return None if start is None else f"{pid}:{start}:{_boot()}"


def _boot() -> str:
    try:
        file = os.open("/proc/sys/kernel/random/boot_id", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return "-"
    try:
        return os.read(file, 36).decode("ascii", "replace")
    finally:
        os.close(file)


def is_alive(who: str) -> bool:
    """Tell whether the process named by `identity` still lives (not merely its number)."""
    pid = who.partition(":")[0]
    return pid.isdigit() and identity(int(pid)) == who


def descendants(pid: int) -> list[int]:
    """Return the living descendants of a process, as far as their parents still live or a subreaper adopted them."""
    children: dict[int, list[int]] = {}
    try:
        names = os.listdir("/proc")  # noqa: PTH208  # names alone
    except OSError:
        return []
    for name in names:
        if name.isdigit():
            fields = _stat(int(name))
            if fields is not None and fields[0] not in "ZX":
                children.setdefault(int(fields[1]), []).append(int(name))
    found: list[int] = []
    queue = [pid]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def kill_tree(who: str, *, grace_s: float = 2.0) -> bool:
    """End a recorded process with everything below it: TERM, then KILL. Return whether nothing of it is left.

    Blocks for `grace_s` plus two seconds at most. Does nothing to a later process that carries the same number.
    The root is killed a second before the rest, for its end makes the keepers below it (which don't heed TERM) end
    what they keep, also what was started while we looked and what was orphaned, which nobody else can find.
    """
    if not is_alive(who):
        return True
    root = int(who.partition(":")[0])
    known = {pid: start_time(pid) for pid in (root, *descendants(root))}
    for number, whom, patience in ((_TERM, None, grace_s), (_KILL, root, 1.0), (_KILL, None, 1.0)):
        for pid in list(known):
            known |= {child: start_time(child) for child in descendants(pid) if child not in known}
        for pid, start in known.items():
            if whom in {None, pid} and start is not None and start_time(pid) == start:
                try:
                    os.kill(pid, number)
                except (ProcessLookupError, PermissionError):
                    continue
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if not any(start is not None and start_time(pid) == start for pid, start in known.items()):
                return True
            time.sleep(0.01)
    return False


def record(path: Path, pid: int) -> str:
    """Write a process's identity to a file of its own and return it. Raises ProcessLookupError if it is gone.

    The file is what a later start reads to clean up after a run whose engine was killed (FAULTS: cleanup by GC).
    """
    who = identity(pid)
    if who is None:
        raise ProcessLookupError(pid)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(who + "\n", encoding="ascii")
    return who


def recorded(path: Path) -> str | None:
    """Return the identity in a file that `record` wrote, if that very process still lives."""
    try:
        who = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return who if is_alive(who) else None
