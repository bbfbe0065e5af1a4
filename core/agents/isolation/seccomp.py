"""The system-call filter, assembled by hand as classic BPF.

Landlock guards files and TCP ports; this filter takes what Landlock has no word for: every other kind of socket, the
doors around both (io_uring, TCP fast open, multipath TCP), other processes' memory, namespaces and mounts, the
kernel's own switches, terminals, and set-uid files. A call newer than the table answers ENOSYS; a foreign
architecture or the x32 ABI kills the process. Imported by the keeper: nothing heavy here.
"""

from __future__ import annotations

import ctypes
import struct

from core.agents.isolation import syscalls

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000
_SET_MODE_FILTER = 1

_RET_ALLOW = 0x7FFF0000
_RET_ERRNO = 0x00050000
_RET_KILL_PROCESS = 0x80000000

_LD_WORD_ABS = 0x20
_JEQ, _JGT, _JGE, _JSET = 0x15, 0x25, 0x35, 0x45
_AND = 0x54
_RET = 0x06

EPERM, EAFNOSUPPORT, ENOSYS = 1, 97, 38

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
_STREAM, _DGRAM = 1, 2
_TYPE_MASK = 0xF  # the rest of socket(2)'s type are flags
_TCP, _UDP = 6, 17
_MSG_FASTOPEN = 0x20000000
_O_CREATING = 0o100 | 0o20000000  # O_CREAT, O_TMPFILE: the calls whose mode counts
_SET_ID_BITS = 0o6000
# CLONE_NEWTIME lies in clone's exit-signal byte, so only unshare and clone3 (which is refused whole) know it.
_CLONE_NAMESPACES = 0x02000000 | 0x00020000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
# TIOCSTI types into the terminal, TIOCLINUX pastes into a console, TIOCCONS takes the console, TIOCSETD loads a driver
_TERMINAL_IOCTLS = (0x5412, 0x541C, 0x541D, 0x5423)

_ALWAYS = (  # noqa: SIM905  # a list of words reads better so
    "acct add_key adjtimex bpf chroot clock_adjtime clock_settime delete_module fanotify_init file_setattr "
    "finit_module init_module ioperm iopl kcmp kexec_file_load kexec_load keyctl listmount lookup_dcookie memfd_secret "
    "migrate_pages modify_ldt move_pages name_to_handle_at nfsservctl open_by_handle_at perf_event_open pidfd_getfd "
    "process_madvise process_mrelease process_vm_readv process_vm_writev ptrace quotactl quotactl_fd reboot "
    "request_key setdomainname sethostname setns settimeofday statmount swapoff swapon syslog uselib userfaultfd "
    "vhangup"
).split()
_ABSENT = ("io_uring_enter", "io_uring_register", "io_uring_setup")
_MOUNTING = (  # noqa: SIM905  # a list of words reads better so
    "fsconfig fsmount fsopen fspick mount mount_setattr move_mount open_tree open_tree_attr pivot_root umount2"
).split()
_SERVING = ("accept", "accept4", "bind", "listen")
_SHARED_IPC = ("mq_open", "msgget", "semget", "shmget")
_BY_PATH = (  # noqa: SIM905  # a list of words reads better so
    "chmod chown fchmodat fchmodat2 fchownat futimesat lchown lremovexattr lsetxattr removexattr removexattrat "
    "setxattr setxattrat utime utimes"
).split()

Instruction = tuple[int, int, int, int]


def _load(argument: int, high: bool = False) -> Instruction:
    # struct seccomp_data: nr, arch, instruction pointer, six 64-bit arguments (little endian on both architectures)
    return (_LD_WORD_ABS, 0, 0, 16 + 8 * argument + (4 if high else 0))


def _errno(code: int) -> Instruction:
    return (_RET, 0, 0, _RET_ERRNO | code)


_ALLOW: Instruction = (_RET, 0, 0, _RET_ALLOW)


def _deny_if_bits(argument: int, bits: int, code: int = EPERM) -> list[Instruction]:
    return [_load(argument), (_JSET, 0, 1, bits), _errno(code), _ALLOW]


def _deny_if_equal(argument: int, values: tuple[int, ...], code: int = EPERM) -> list[Instruction]:
    # The kernel reads these arguments as 32 bits, so the high half must not be looked at.
    tests = [(_JEQ, len(values) - i, 0, value) for i, value in enumerate(values)]
    return [_load(argument), *tests, _ALLOW, _errno(code)]


def _sockets(allowed: list[tuple[int, int, tuple[int, ...]]]) -> list[Instruction]:
    """Allow (family, type, protocols) and nothing else."""
    body: list[Instruction] = []
    for family, kind, protocols in allowed:
        last = len(protocols) - 1
        check = [(_JEQ, last - i, int(i == last), protocol) for i, protocol in enumerate(protocols)]
        tail = [_load(2), *check, _ALLOW]
        body += [
            _load(0),
            (_JEQ, 0, len(tail) + 3, family),
            _load(1),
            (_AND, 0, 0, _TYPE_MASK),
            (_JEQ, 0, len(tail), kind),
        ]
        body += tail
    return [*body, _errno(EAFNOSUPPORT)]


def program(*, network: str, inner: bool, by_path: bool, ipc: bool) -> bytes:
    """Return the filter as an array of `struct sock_filter`.

    network: "none", "tcp-connect" or "full". inner: a command (no new namespaces); else the engine process, whose
    keepers make some. by_path: refuse to change modes, owners, times and attributes by path, where no read-only
    mount guards them. ipc: allow System V and POSIX message queues (where a namespace of its own holds them).
    """
    bodies: dict[str, list[Instruction]] = {name: [_errno(EPERM)] for name in _ALWAYS}
    bodies |= {name: [_errno(ENOSYS)] for name in _ABSENT}
    bodies["ioctl"] = _deny_if_equal(1, _TERMINAL_IOCTLS)
    # 0xFFFFFFFF asks; every other value would switch randomisation off or emulate another system
    bodies["personality"] = [_load(0), (_JEQ, 1, 0, 0), (_JEQ, 0, 1, 0xFFFFFFFF), _ALLOW, _errno(EPERM)]
    bodies |= _set_id()
    bodies |= {name: [_errno(EPERM)] for name in _MOUNTING}
    if inner:
        bodies["unshare"] = [_errno(EPERM)]
        bodies["clone"] = _deny_if_bits(0, _CLONE_NAMESPACES)
        bodies["clone3"] = [_errno(ENOSYS)]  # its flags lie in memory; C libraries fall back to clone
    if not ipc:
        bodies |= {name: [_errno(EPERM)] for name in _SHARED_IPC}
    if by_path:
        bodies |= {name: [_errno(EPERM)] for name in _BY_PATH}
        # utimensat with a null path changes an open file, which Landlock has already judged
        bodies["utimensat"] = [
            _load(1), (_JEQ, 0, 2, 0), _load(1, high=True), (_JEQ, 1, 0, 0), _errno(EPERM), _ALLOW,
        ]  # fmt: skip
    bodies |= _network(network)
    return _assemble(bodies)


def _set_id() -> dict[str, list[Instruction]]:
    """A workspace must not grow a set-uid file that outlives its run."""
    create = [(_JSET, 0, 3, _O_CREATING)]
    return {
        "chmod": _deny_if_bits(1, _SET_ID_BITS),
        "fchmod": _deny_if_bits(1, _SET_ID_BITS),
        "fchmodat": _deny_if_bits(2, _SET_ID_BITS),
        "fchmodat2": _deny_if_bits(2, _SET_ID_BITS),
        "creat": _deny_if_bits(1, _SET_ID_BITS),
        "mknod": _deny_if_bits(1, _SET_ID_BITS),
        "mknodat": _deny_if_bits(2, _SET_ID_BITS),
        "open": [_load(1), *create, _load(2), (_JSET, 0, 1, _SET_ID_BITS), _errno(EPERM), _ALLOW],
        "openat": [_load(2), *create, _load(3), (_JSET, 0, 1, _SET_ID_BITS), _errno(EPERM), _ALLOW],
        "openat2": [_errno(ENOSYS)],  # its mode lies in memory; every caller knows how to do without
    }


def _network(network: str) -> dict[str, list[Instruction]]:
    # A connected stream pair can reach nobody else; a datagram pair could be aimed at any socket's path.
    bodies = {"socketpair": _sockets([(AF_UNIX, _STREAM, (0,))])}
    if network == "full":
        inet = [(f, k, p) for f in (AF_INET, AF_INET6) for k, p in ((_STREAM, (0, _TCP)), (_DGRAM, (0, _UDP)))]
        bodies["socket"] = _sockets([*inet, (AF_NETLINK, 3, (0,))])
        return bodies
    bodies |= {name: [_errno(EPERM)] for name in _SERVING}
    if network == "tcp-connect":
        # Protocol 262 (multipath TCP) would pass by Landlock's TCP rules; so would fast open, which connects by sending
        bodies["socket"] = _sockets([(AF_INET, _STREAM, (0, _TCP)), (AF_INET6, _STREAM, (0, _TCP))])
        bodies["sendto"] = _deny_if_bits(3, _MSG_FASTOPEN)
        bodies["sendmsg"] = _deny_if_bits(2, _MSG_FASTOPEN)
        bodies["sendmmsg"] = _deny_if_bits(3, _MSG_FASTOPEN)
    else:
        bodies["socket"] = [_errno(EPERM)]
        bodies["connect"] = [_errno(EPERM)]
    return bodies


def _assemble(bodies: dict[str, list[Instruction]]) -> bytes:
    arch = _AUDIT_ARCH[syscalls.ARCH]
    code: list[Instruction] = [
        (_LD_WORD_ABS, 0, 0, 4), (_JEQ, 1, 0, arch), (_RET, 0, 0, _RET_KILL_PROCESS),
        (_LD_WORD_ABS, 0, 0, 0),
    ]  # fmt: skip
    if syscalls.ARCH == "x86_64":
        code += [(_JGE, 0, 1, _X32_BIT), (_RET, 0, 0, _RET_KILL_PROCESS)]
    code += [(_JGT, 0, 1, syscalls.LAST_REVIEWED), _errno(ENOSYS)]
    for name, body in bodies.items():
        nr = syscalls.number(name)
        if nr is not None:
            code += [(_JEQ, 0, len(body), nr), *body]
    code.append(_ALLOW)
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def install(filter_program: bytes) -> None:
    """Put the calling thread and all it starts under the filter. Needs no_new_privs. Raises OSError."""
    buffer = ctypes.create_string_buffer(filter_program, len(filter_program))
    # struct sock_fprog: a 16-bit count, then an aligned pointer
    header = struct.pack("@HxxxxxxQ", len(filter_program) // 8, ctypes.addressof(buffer))
    syscalls.call("seccomp", _SET_MODE_FILTER, 0, header)


def available() -> bool:
    """Tell whether the kernel takes filters (it says EFAULT to a null one where it does)."""
    try:
        syscalls.call("seccomp", _SET_MODE_FILTER, 0, None)
    except OSError as error:
        return error.errno == 14
    return True
