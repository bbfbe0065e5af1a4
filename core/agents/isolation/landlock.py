"""Landlock by its three system calls: which rights a kernel knows, a ruleset, and entering it.

Rights by ABI (kernel documentation, userspace-api/landlock):

    ABI  kernel  adds                                     without it
    1    5.13    file rights                              no Landlock
    2    5.19    REFER (rename and link across folders)   always refused
    3    6.2     TRUNCATE                                 truncate(2) is not covered by Landlock
    4    6.7     TCP bind and connect by port             ports cannot be limited
    5    6.10    ioctl on devices                         not covered
    6    6.12    scopes: abstract sockets, signals        a command could signal the user's other processes
    7    6.15    audit                                    nothing

Imported by the keeper: nothing heavy here.
"""

from __future__ import annotations

import os
import struct

from core.agents.isolation import syscalls

EXECUTE = 1 << 0
WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_DIR = 1 << 3
REMOVE_DIR = 1 << 4
REMOVE_FILE = 1 << 5
MAKE_CHAR = 1 << 6
MAKE_DIR = 1 << 7
MAKE_REG = 1 << 8
MAKE_SOCK = 1 << 9
MAKE_FIFO = 1 << 10
MAKE_BLOCK = 1 << 11
MAKE_SYM = 1 << 12
REFER = 1 << 13
TRUNCATE = 1 << 14
IOCTL_DEV = 1 << 15

BIND_TCP = 1 << 0
CONNECT_TCP = 1 << 1

SCOPE_ABSTRACT_UNIX = 1 << 0
SCOPE_SIGNAL = 1 << 1

READ = EXECUTE | READ_FILE | READ_DIR
# Devices and sockets stay out: nothing that a workspace holds should be one.
WRITE = (
    READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_FIFO | MAKE_SYM | REFER | TRUNCATE
)  # fmt: skip
DEVICE = READ_FILE | WRITE_FILE
LIST = READ_DIR

_OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
_ABI_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_NEWEST_RIGHTS = (1 << 16) - 1

_VERSION_FLAG = 1
_RULE_PATH, _RULE_PORT = 1, 2


def abi() -> int | None:
    """Return the Landlock ABI of the running kernel, or None where it is missing or switched off."""
    try:
        return syscalls.call("landlock_create_ruleset", None, 0, _VERSION_FLAG)
    except OSError:
        return None


def file_rights(version: int) -> int:
    """Return the mask of all file rights that an ABI knows."""
    return _ABI_RIGHTS.get(version, _NEWEST_RIGHTS)


def restrict(version: int, rules: list[tuple[str, int]], *, net: bool, ports: list[int], scoped: bool) -> None:
    """Put the calling thread, and all it starts, under a ruleset that allows `rules` and TCP connects to `ports`.

    `net` turns the TCP rules on (nothing but `ports` may be connected, nothing may be bound). A path that does not
    exist is left out: what is not there needs no right. Raises OSError when the kernel refuses.
    """
    handled = file_rights(version)
    net_handled = BIND_TCP | CONNECT_TCP if net and version >= 4 else 0
    scopes = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL if scoped and version >= 6 else 0
    # The struct grew with the ABI; an older kernel refuses a larger one with non-zero tails, but takes zeros.
    attributes = struct.pack("=QQQ", handled, net_handled, scopes)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = syscalls.call("landlock_create_ruleset", attributes, size, 0)
    try:
        for path, rights in rules:
            _allow_path(ruleset, path, rights & handled)
        for port in ports if net_handled else ():
            syscalls.call("landlock_add_rule", ruleset, _RULE_PORT, struct.pack("=QQ", CONNECT_TCP, port), 0)
        syscalls.call("landlock_restrict_self", ruleset, 0)
    finally:
        os.close(ruleset)


def _allow_path(ruleset: int, path: str, rights: int) -> None:
    try:
        target = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    try:
        if os.fstat(target).st_mode & 0o170000 != 0o040000:
            rights &= _OF_FILES
        if rights:
            syscalls.call("landlock_add_rule", ruleset, _RULE_PATH, struct.pack("=Qi", rights, target), 0)
    finally:
        os.close(target)
