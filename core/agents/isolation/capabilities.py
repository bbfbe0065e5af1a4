"""No privilege, now or later: no_new_privs, every capability dropped, limits set. Imported by the keeper."""

from __future__ import annotations

import os
import resource
import struct

from core.agents.isolation import syscalls

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_SECUREBITS = 28
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION_3 = 0x20080522
# NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE, each with its lock: uid 0 means nothing after this.
_SECURE = 0x1 | 0x2 | 0x4 | 0x8 | 0x40 | 0x80


def drop_all() -> None:
    """Give up every capability of the calling thread and the way back to any. Raises OSError if one stays."""
    syscalls.prctl(_PR_SET_NO_NEW_PRIVS, 1)
    syscalls.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    try:
        syscalls.prctl(_PR_SET_SECUREBITS, _SECURE)
        for capability in range(64):
            try:
                syscalls.prctl(_PR_CAPBSET_DROP, capability)
            except OSError as error:
                if error.errno == 22:  # past the last one this kernel knows
                    break
                raise
    except PermissionError:
        # Without CAP_SETPCAP there is nothing to drop from: no_new_privs already bars every gain through exec.
        pass
    syscalls.call("capset", struct.pack("=Ii", _CAPABILITY_VERSION_3, 0), b"\0" * 24)


def die_with_parent(signal: int) -> None:
    """Have the kernel send `signal` when the thread that started this process ends (call after credentials changed)."""
    syscalls.prctl(_PR_SET_PDEATHSIG, signal)


def hide_memory() -> None:
    """Bar other processes of the same user from this one's memory and environment; no core dumps."""
    syscalls.prctl(_PR_SET_DUMPABLE, 0)


def adopt_orphans() -> None:
    """Make this process the new parent of every descendant whose parent ends."""
    syscalls.prctl(_PR_SET_CHILD_SUBREAPER, 1)


def set_limits(memory: int, file: int, processes: int, open_files: int) -> None:
    """Set the limits of the calling process and what it starts.

    Memory in bytes of private data per process (address space: four times that, since runtimes reserve more than they
    use); file size in bytes; processes per user namespace or user (the kernel exempts real uid 0); no core dumps.
    """
    wanted = {
        resource.RLIMIT_DATA: memory,
        resource.RLIMIT_AS: memory * 4,
        resource.RLIMIT_FSIZE: file,
        resource.RLIMIT_NPROC: processes,
        resource.RLIMIT_NOFILE: open_files,
        resource.RLIMIT_CORE: 0,
    }
    if os.uname().sysname != "Linux":
        wanted.pop(resource.RLIMIT_AS)
    for kind, value in wanted.items():
        _, hard = resource.getrlimit(kind)
        limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (limit, limit))
