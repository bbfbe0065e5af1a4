"""A real SSH server on loopback for tests: each login gets a program in a pseudo-terminal, as sshd gives a shell.

When the link is cut, the server closes its end of the pseudo-terminal, so the program gets the kernel's SIGHUP.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import signal
import struct
import termios
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import asyncssh
import pyte

from tests.e2e.pty import KEYS, UNKNOWN


@dataclass
class Server:
    """What the tests see of the server: the programs it started, oldest first, and their exit statuses to come."""

    port: int
    key: asyncssh.SSHKey
    programs: list[int] = field(default_factory=list)
    exits: list[asyncio.Future[int]] = field(default_factory=list)

    async def wait_for_end(self, program: int, timeout_s: float = 15.0) -> int:
        """Return the exit status of the n-th program, once it has ended."""
        async with asyncio.timeout(timeout_s):
            return await asyncio.shield(self.exits[program])


@asynccontextmanager
async def serve(argv: Sequence[str], environ: Mapping[str, str]) -> AsyncIterator[Server]:
    """Serve `argv` to whoever holds the one key, on a free port of 127.0.0.1."""
    host_key, user_key = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
    server = Server(0, user_key)
    own: set[asyncio.Task[None]] = set()

    async def login(process: asyncssh.SSHServerProcess[bytes]) -> None:
        task = asyncio.current_task()
        assert task is not None
        own.add(task)
        await _give_program(server, process, argv, environ)

    listener = await asyncssh.listen(
        "127.0.0.1",
        0,
        server_host_keys=[host_key],
        authorized_client_keys=asyncssh.import_authorized_keys(user_key.export_public_key().decode()),
        process_factory=login,
        encoding=None,
    )
    server.port = listener.get_port()
    try:
        yield server
    finally:
        listener.close()
        await listener.wait_closed()
        for pid, status in zip(server.programs, server.exits, strict=True):
            if not status.done():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


async def _give_program(
    server: Server, process: asyncssh.SSHServerProcess[bytes], argv: Sequence[str], environ: Mapping[str, str]
) -> None:
    columns, rows, _, _ = process.get_terminal_size()
    pid, master = pty.fork()
    if not pid:
        try:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            env = {
                **os.environ,
                **environ,
                "TERM": process.get_terminal_type() or "dumb",
                "SSH_CONNECTION": "127.0.0.1",
            }
            os.execvpe(argv[0], list(argv), env)
        finally:
            os._exit(127)
    loop = asyncio.get_running_loop()
    server.programs.append(pid)
    status: asyncio.Future[int] = loop.create_future()
    server.exits.append(status)
    os.set_blocking(master, False)
    gone = asyncio.Event()

    def from_program() -> None:
        try:
            piece = os.read(master, 1 << 16)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        if piece:
            process.stdout.write(piece)
        else:
            loop.remove_reader(master)
            gone.set()

    async def to_program() -> None:
        with suppress(asyncssh.BreakReceived, asyncssh.TerminalSizeChanged, OSError):
            while piece := await process.stdin.read(1 << 12):
                os.write(master, piece)

    loop.add_reader(master, from_program)
    hearing = asyncio.ensure_future(to_program())
    leaving = asyncio.ensure_future(gone.wait())
    await asyncio.wait({hearing, leaving}, return_when=asyncio.FIRST_COMPLETED)
    for task in (hearing, leaving):
        task.cancel()
    loop.remove_reader(master)
    os.close(master)  # the program hears of it as a hang-up
    status.set_result(os.waitstatus_to_exitcode((await asyncio.to_thread(os.waitpid, pid, 0))[1]))
    with suppress(OSError, asyncssh.Error):
        process.exit(max(0, status.result()))


class Login:
    """One operator's SSH session: what the screen shows, and keys."""

    def __init__(self, connection: asyncssh.SSHClientConnection, process: asyncssh.SSHClientProcess[bytes]) -> None:
        self._connection, self._process = connection, process
        self.screen = pyte.Screen(120, 40)
        self._stream = pyte.ByteStream(self.screen)
        self.received = 0

    @property
    def text(self) -> str:
        """What the operator sees."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    async def wait_until(self, met: Callable[[str], bool], what: str, timeout_s: float = 30.0) -> str:
        """Wait until the screen meets a condition; fail with the screen where it never does."""
        deadline = asyncio.get_running_loop().time() + timeout_s
        while not met(self.text):
            if asyncio.get_running_loop().time() > deadline:
                raise AssertionError(f"never on screen: {what}\n{self.text}")
            with suppress(TimeoutError):
                async with asyncio.timeout(0.1):
                    piece = await self._process.stdout.read(1 << 16)
                    self.received += len(piece)
                    self._stream.feed(UNKNOWN.sub(b"", piece))
        return self.text

    async def wait_for(self, *words: str) -> str:
        """Wait until all `words` are on screen."""
        return await self.wait_until(lambda text: all(word in text for word in words), f"{words}")

    async def press(self, *keys: str) -> None:
        """Send keys by name, or a character itself."""
        for key in keys:
            self._process.stdin.write(KEYS.get(key, key.encode()))
            await asyncio.sleep(0.05)

    def cut(self) -> None:
        """Cut the link as a dead network does: no goodbye."""
        self._connection.abort()


@asynccontextmanager
async def log_in(server: Server) -> AsyncIterator[Login]:
    """Log in with a 120x40 terminal."""
    connection = await asyncssh.connect(
        "127.0.0.1", server.port, client_keys=[server.key], known_hosts=None, username="operator", config=None
    )
    async with connection:
        process = await connection.create_process(
            term_type="xterm-256color", term_size=(120, 40), encoding=None, stderr=asyncssh.STDOUT
        )
        yield Login(connection, process)
