"""A root of its own: namespaces, and a file tree that holds only what the policy names.

Landlock says nothing about looking at a path (stat), nor about modes, owners, times and attributes. In this tree a
path that is not named does not exist, and what may only be read is mounted read-only, so chmod answers EROFS.
Imported by the keeper: nothing heavy here.

A tree is a list of entries (kind, path, argument), parents before children:

    ("ro", path, source)   the source, read-only        ("rw", path, source)  the source, writable
    ("dev", path, source)  a device node                ("link", path, text)  a symbolic link
    ("tmp", path, size)    an empty writable tmpfs      ("mask", path, "")    an empty folder over what is there
"""

from __future__ import annotations

import os

from core.agents.isolation import syscalls

NEW_NS, NEW_UTS, NEW_IPC, NEW_USER, NEW_PID, NEW_NET = (
    0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip

_AT_FDCWD = -100
_AT_EMPTY_PATH = 0x1000
_AT_RECURSIVE = 0x8000
_OPEN_TREE_CLONE = 1
_CLOEXEC = 0o2000000
_MOVE_FROM_EMPTY = 0x4
_RDONLY, _NOSUID, _NODEV, _NOEXEC = 0x1, 0x2, 0x4, 0x8
_MS_REC_PRIVATE = 0x4000 | (1 << 18)
_MNT_DETACH = 2

INSIDE_ID = 1000
"""What uid and gid 0 are called inside: tools that think they are root try to change owners, and fail."""

Entry = tuple[str, str, str]


def enter_user_namespace(flags: int, *, mapped: bool) -> None:
    """Leave for new namespaces (`flags`, with a user namespace to own them). Raises OSError.

    Where /proc is out of sight (inside another confinement) the ids stay unmapped: the process keeps its rights on
    files and is shown as nobody.
    """
    uid, gid = os.geteuid(), os.getegid()
    syscalls.unshare(flags | NEW_USER)
    if not mapped:
        return
    for name, line in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid or INSIDE_ID} {uid} 1"),
        ("gid_map", f"{gid or INSIDE_ID} {gid} 1"),
    ):
        file = os.open(f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)


def enter_root(entries: list[Entry]) -> None:
    """Build the tree of `entries` and make it the root. Needs the mount namespace entered before. Raises OSError."""
    syscalls.call("mount", b"none", b"/", None, _MS_REC_PRIVATE, None)
    trees = {path: _clone(source) for kind, path, source in entries if kind in ("ro", "rw", "dev")}
    stage = next(folder for folder in ("/tmp", "/mnt", "/usr") if os.path.isdir(folder))  # noqa: S108, PTH112
    syscalls.call("mount", b"tmpfs", stage.encode(), b"tmpfs", _NOSUID | _NODEV, b"mode=755,size=1m")
    os.chdir(stage)
    for kind, path, argument in entries:
        _place(kind, path, argument, trees)
    syscalls.call("pivot_root", b".", b".")
    syscalls.call("umount2", b".", _MNT_DETACH)
    os.chdir("/")
    _set_attributes(_AT_FDCWD, b"/", _RDONLY, 0)


def _clone(source: str) -> int:
    return syscalls.call(
        "open_tree", _AT_FDCWD, os.fsencode(source), _OPEN_TREE_CLONE | _CLOEXEC | _AT_RECURSIVE
    )  # fmt: skip


def _set_attributes(place: int, path: bytes, attributes: int, flags: int) -> None:
    wanted = b"".join(n.to_bytes(8, "little") for n in (attributes, 0, 0, 0))
    syscalls.call("mount_setattr", place, path, flags, wanted, len(wanted))


def _place(kind: str, path: str, argument: str, trees: dict[str, int]) -> None:
    here = "." + path
    os.makedirs(os.path.dirname(here), exist_ok=True)  # noqa: PTH103, PTH120  # pathlib is an import more
    if kind == "link":
        if not os.path.lexists(here):
            os.symlink(argument, here)  # noqa: PTH211  # pathlib is an import more
        return
    if kind in ("tmp", "mask"):
        os.makedirs(here, exist_ok=True)  # noqa: PTH103  # pathlib is an import more
        flags = _NOSUID | _NODEV | (_RDONLY if kind == "mask" else 0)
        options = f"mode=700,size={argument}" if kind == "tmp" else "mode=755,size=4k"
        syscalls.call("mount", b"tmpfs", os.fsencode(here), b"tmpfs", flags, options.encode())
        return
    tree = trees[path]
    try:
        if not os.path.lexists(here):
            if os.fstat(tree).st_mode & 0o170000 == 0o040000:
                os.makedirs(here)  # noqa: PTH103  # pathlib is an import more
            else:
                os.close(os.open(here, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))
        attributes = {"ro": _RDONLY | _NOSUID | _NODEV, "rw": _NOSUID | _NODEV, "dev": _NOSUID | _NOEXEC}[kind]
        _set_attributes(tree, b"", attributes, _AT_EMPTY_PATH | _AT_RECURSIVE)
        syscalls.call("move_mount", tree, b"", _AT_FDCWD, os.fsencode(here), _MOVE_FROM_EMPTY)
    finally:
        os.close(tree)
