"""The system-call filter against what would slip past a table: other ABIs, newer calls, wrong numbers."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from core.agents.isolation import landlock, seccomp, syscalls
from core.agents.isolation.support import Support
from tests.agents.isolation.conftest import Run

HEADERS = [Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), Path("/usr/include/asm/unistd_64.h")]
C = "import ctypes, os, mmap\nlibc = ctypes.CDLL(None, use_errno=True)\n"


def script(code: str) -> str:
    return f"exec python3 - <<'END'\n{C}{code}\nEND"


x86 = pytest.mark.skipif(syscalls.ARCH != "x86_64", reason="an ABI of x86_64")


@x86
async def test_the_x32_abi_kills(run: Run, means: Support) -> None:
    done = await run(script("libc.syscall(0x40000000 + 39); print('LIVES')"), support=means)
    assert (done.returncode, done.output) == (-31, b"")


@x86
async def test_the_32_bit_abi_kills(run: Run, means: Support) -> None:
    """`int 0x80` reaches calls by other numbers; run unconfined it answers with the process id (or is not built in)."""
    code = """
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3]))
call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
print('SAME' if call() == os.getpid() else 'OTHER')
"""
    done = await run(script(code), support=means)
    assert done.returncode in (-31, -11)
    assert b"SAME" not in done.output


async def test_calls_newer_than_the_table_are_absent(run: Run, means: Support) -> None:
    code = f"print(libc.syscall({syscalls.LAST_REVIEWED + 1}), ctypes.get_errno())"
    assert (await run(script(code), support=means)).output == b"-1 38\n"


async def test_what_is_harmless_still_works(run: Run, means: Support) -> None:
    code = """
import socket, threading, tempfile, fcntl, signal, subprocess
a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))
t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()
f = tempfile.TemporaryFile(); fcntl.flock(f, fcntl.LOCK_EX); os.posix_fallocate(f.fileno(), 0, 10); os.memfd_create('m')
os.mkfifo('pipe'); os.symlink('pipe', 'l'); os.link('pipe', 'k'); os.umask(0o22); os.open('x', os.O_CREAT, 0o755)
os.fchmod(os.open('x', 0), 0o700); print(oct(os.stat('x').st_mode & 0o7777))
"""
    done = await run(script(code), support=means)
    assert done.output == b"b'x'\nthread\n0o700\n"


@pytest.mark.parametrize("header", [h for h in HEADERS if h.exists()] or [None])
def test_numbers_are_those_of_the_kernel_headers(header: Path | None) -> None:
    if header is None:
        pytest.skip("no kernel headers here")
    real = {m[1]: int(m[2]) for m in re.finditer(r"#define __NR_(\w+) (\d+)", header.read_text())}
    ours = {name: numbers[0] for name, numbers in syscalls.NUMBERS.items()}
    assert {name: nr for name, nr in ours.items() if name in real and real[name] != nr} == {}
    assert len(set(ours) & set(real)) > 80
    generic = Path("/usr/include/asm-generic/unistd.h")
    if generic.exists():
        named = {m[1]: int(m[2]) for m in re.finditer(r"#define __NR_(\w+) (\d+)", generic.read_text())}
        arm = {name: numbers[1] for name, numbers in syscalls.NUMBERS.items()}
        assert {name: nr for name, nr in arm.items() if name in named and named[name] != nr} == {}


def test_every_jump_of_every_program_stays_inside() -> None:
    """A jump past the end, or a program that can fall off it, would make the kernel refuse the filter at run time."""
    if not syscalls.supported():
        pytest.skip("no table for this architecture")
    for network in ("none", "tcp-connect", "full"):
        for inner in (True, False):
            for by_path in (True, False):
                raw = seccomp.program(network=network, inner=inner, by_path=by_path, ipc=by_path)
                count = len(raw) // 8
                assert count < 4096
                for i in range(count):
                    code, yes, no = int.from_bytes(raw[i * 8 : i * 8 + 2], "little"), raw[i * 8 + 2], raw[i * 8 + 3]
                    if code & 7 == 5:
                        assert i + 1 + max(yes, no) < count
                assert int.from_bytes(raw[-8:-6], "little") == 6


def test_rights_by_abi_only_grow() -> None:
    masks = [landlock.file_rights(abi) for abi in range(1, 9)]
    assert all(older & newer == older for older, newer in itertools.pairwise(masks))
    assert not masks[0] & landlock.REFER
    assert not masks[1] & landlock.TRUNCATE
    assert masks[2] & landlock.TRUNCATE
    assert masks[4] & landlock.IOCTL_DEV
