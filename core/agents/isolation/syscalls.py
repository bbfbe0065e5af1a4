"""The kernel calls that Python has no word for, by number, on x86_64 and aarch64.

Imported by the keeper, which starts once per command: nothing here may import more than os, sys, struct and ctypes.
"""

from __future__ import annotations

import ctypes
import os
import sys

ARCH = os.uname().machine if sys.platform == "linux" else ""
_COLUMN = {"x86_64": 0, "aarch64": 1}.get(ARCH)

# name: (x86_64, aarch64); None where the architecture never had the call. Sources: the kernel's syscall_64.tbl and
# asm-generic/unistd.h; calls since 5.1 have one number everywhere.
NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "accept": (43, 202),
    "accept4": (288, 242),
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bind": (49, 200),
    "bpf": (321, 280),
    "capset": (126, 91),
    "chmod": (90, None),
    "chown": (92, None),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "clone3": (435, 435),
    "close_range": (436, 436),
    "connect": (42, 203),
    "creat": (85, None),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "fchownat": (260, 54),
    "file_setattr": (469, 469),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "futimesat": (261, None),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "landlock_add_rule": (445, 445),
    "landlock_create_ruleset": (444, 444),
    "landlock_restrict_self": (446, 446),
    "lchown": (94, None),
    "listen": (50, 201),
    "listmount": (458, 458),
    "lookup_dcookie": (212, 18),
    "lremovexattr": (198, 15),
    "lsetxattr": (189, 6),
    "memfd_secret": (447, 447),
    "migrate_pages": (256, 238),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "name_to_handle_at": (303, 264),
    "nfsservctl": (180, 42),
    "open": (2, None),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "openat": (257, 56),
    "openat2": (437, 437),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "removexattr": (197, 14),
    "removexattrat": (466, 466),
    "request_key": (249, 218),
    "seccomp": (317, 277),
    "semget": (64, 190),
    "sendmmsg": (307, 269),
    "sendmsg": (46, 211),
    "sendto": (44, 206),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "setxattr": (188, 5),
    "setxattrat": (463, 463),
    "shmget": (29, 194),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "statmount": (457, 457),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "truncate": (76, 45),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, None),
    "userfaultfd": (323, 282),
    "utime": (132, None),
    "utimensat": (280, 88),
    "utimes": (235, None),
    "vhangup": (153, 58),
}

LAST_REVIEWED = 470
"""No call above this number was known when the filter was written; the filter answers ENOSYS to all of them."""

_libc: ctypes.CDLL | None = None


def supported() -> bool:
    """Tell whether the tables know this operating system and architecture."""
    return _COLUMN is not None


def number(name: str) -> int | None:
    """Return the number of a call here, or None where the architecture lacks it."""
    return None if _COLUMN is None else NUMBERS[name][_COLUMN]


def _call(function: object, name: str, arguments: tuple[int | bytes | None, ...]) -> int:
    converted = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    ctypes.set_errno(0)
    answer: int = function(*converted)  # type: ignore[operator]  # a ctypes foreign function
    if answer == -1:
        errno = ctypes.get_errno()
        raise OSError(errno, f"{name}: {os.strerror(errno)}")
    return answer


def libc() -> ctypes.CDLL:
    """Return the C library, loaded on first use."""
    global _libc  # one handle a process
    if _libc is None:
        _libc = ctypes.CDLL(None, use_errno=True)
        _libc.syscall.restype = ctypes.c_long
    return _libc


def call(name: str, *arguments: int | bytes | None) -> int:
    """Make a kernel call by its table name. Raises OSError, also with ENOSYS where there is no such call."""
    nr = number(name)
    if nr is None:
        raise OSError(38, f"{name}: not on {ARCH or sys.platform}")
    return _call(libc().syscall, name, (nr, *arguments))


def prctl(option: int, *arguments: int) -> int:
    """Call prctl(2)."""
    return _call(libc().prctl, "prctl", (option, *(*arguments, 0, 0, 0, 0)[:4]))


def unshare(flags: int) -> None:
    """Call unshare(2)."""
    call("unshare", flags)
