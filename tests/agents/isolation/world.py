"""The world around a cell: a project with secrets, servers that listen, processes to harm, all real."""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.agents.isolation.attacks import ATTACKS, Attack

CANARY = "CANARY"


@dataclass
class World:
    """Where everything lies; `environment` is what a command is told of it."""

    project: Path
    rubrics: Path
    agent_state: Path
    workspaces: Path
    environment: dict[str, str] = field(default_factory=dict)

    def rubric(self, name: str) -> Path:
        """The private file that the attack of this name is after."""
        return self.rubrics / f"{name}.md"

    def workspace(self, name: str) -> Path:
        """Its cell."""
        return self.workspaces / name


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def build(root: Path) -> World:
    """Lay out a project as the engine does."""
    agent = root / "agents" / "agent"
    world = World(root, agent / "benchmarks/bench/CASE-001/rubric", agent / "agent_state", agent / "workspaces")
    for attack in ATTACKS:
        _write(world.rubric(attack.name), f"{CANARY} {attack.name}\n")
        world.workspace(attack.name).mkdir(parents=True)
        (world.workspace(attack.name) / "tmp").mkdir()
    for name in ("workspaces/cell-2", "scratchpad", "traces", "snapshots", "engine", "home"):
        _write(agent / name / "secret", CANARY)
    _write(agent / "engine/secret-in-engine-cwd", CANARY)
    _write(root / ".exuvia/ledger.jsonl", CANARY)
    _write(world.agent_state / "AGENTS.md", "be good\n")
    (world.agent_state / "memory").mkdir()
    repo = root / "bench-repo"
    _write(repo / "rubric.md", CANARY)
    _write(repo / "included", f"[exuvia]\n\tsecret = {CANARY}\n")
    git = ["git", "-C", str(repo), "-c", "user.name=x", "-c", "user.email=x@x", "-c", "init.defaultBranch=main"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *command], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    world.environment = {
        "PROJECT": str(root),
        "AGENT_STATE": str(world.agent_state),
        "BENCH_REPO": str(repo),
        "BENCH_COMMIT": commit,
        "REAL_HOME": str(agent / "home"),
    }
    return world


def give_to(root: Path, uid: int) -> None:
    """Make everything below `root` belong to another user."""
    for folder, _, files in os.walk(root):
        for path in (Path(folder), *(Path(folder, file) for file in files)):
            os.chown(path, uid, uid, follow_symlinks=False)


@contextlib.contextmanager
def outside(root: Path) -> Iterator[dict[str, str]]:
    """Servers and victims for as long as the block runs; yields what a command is told of them."""
    with contextlib.ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        # fast open must be asked for on the listening side
        with contextlib.suppress(OSError):
            tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 16)
        other = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        path, datagram = root / "s", root / "d"
        name = "exuvia-" + secrets.token_hex(4)
        for kind, address in ((socket.SOCK_STREAM, str(path)), (socket.SOCK_STREAM, "\0" + name)):
            server = stack.enter_context(socket.socket(socket.AF_UNIX, kind))
            server.bind(address)
            server.listen(64)
        receiver = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        receiver.bind(str(datagram))
        path.chmod(0o777)
        datagram.chmod(0o777)
        for listener in (tcp, other):
            threading.Thread(target=_accept_all, args=(listener,), daemon=True).start()
        victim = stack.enter_context(_sleeper())
        shm = Path("/dev/shm") / name
        shm.write_text(CANARY)
        stack.callback(shm.unlink)
        tmp = Path("/tmp") / name
        tmp.write_text(CANARY)
        stack.callback(tmp.unlink)
        key = stack.enter_context(_sysv_segment())
        tmux = root / "tmux"
        if shutil.which("tmux"):
            command = ["tmux", "-S", str(tmux), "-f", "/dev/null"]
            clean = {k: v for k, v in os.environ.items() if k != "TMUX"} | {"TERM": "xterm"}
            subprocess.run([*command, "new-session", "-d", "sleep 600"], check=False, env=clean)
            stack.callback(subprocess.run, [*command, "kill-server"], check=False, env=clean)
        yield {
            "TCP_PORT": str(tcp.getsockname()[1]),
            "OTHER_PORT": str(other.getsockname()[1]),
            "UDP_PORT": str(udp.getsockname()[1]),
            "UNIX_PATH": str(path),
            "UNIX_DATAGRAM": str(datagram),
            "UNIX_NAME": name,
            "VICTIM_PID": str(victim),
            "SHM_NAME": name,
            "MACHINE_TMP": str(tmp),
            "SHM_KEY": str(key),
            "TMUX_SOCKET": str(tmux),
        }


def _accept_all(listener: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            listener.accept()[0].close()


@contextlib.contextmanager
def _sleeper() -> Iterator[int]:
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def _sysv_segment() -> Iterator[int]:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    key = secrets.randbelow(1 << 30) + 1
    segment = libc.shmget(key, 64, 0o1644)  # IPC_CREAT | 0644
    assert segment >= 0
    ctypes.memmove(libc.shmat(segment, None, 0), CANARY.encode(), len(CANARY))
    try:
        yield key
    finally:
        libc.shmctl(segment, 0, None)


@dataclass(frozen=True)
class Facts:
    """What can be seen of a target file afterwards."""

    text: str
    mode: int
    owner: int
    mtime: int
    attributes: tuple[str, ...]


def facts(path: Path) -> Facts | None:
    """Look at a target file; None where it is gone."""
    try:
        status = path.stat()
        return Facts(path.read_text(), status.st_mode, status.st_uid, status.st_mtime_ns, tuple(os.listxattr(path)))
    except FileNotFoundError:
        return None


def has_won(attack: Attack, output: str, before: Facts | None, after: Facts | None) -> bool:
    """Judge an attempt. Its own text may not speak for it: nothing in a script's echo of errors holds these words."""
    return CANARY in output or "WON" in output or before != after
