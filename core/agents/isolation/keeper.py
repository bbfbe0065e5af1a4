"""The keeper: a small process between an engine and one command, started anew for each.

It confines the command, watches the clock, passes on TERM and KILL, and leaves nothing behind: in a process
namespace of its own it is process 1, with whose end the kernel ends all others; without one it adopts every orphan
and searches for descendants. It ends the command too when its control pipe closes, which is what happens when the
engine dies in whatever way.

It speaks on the status pipe, one line each: `failed REASON` (not confined, so not run), `missing ERRNO`
(confined, but the program could not be executed), `running`, `exit CODE TIMED_OUT`. It hears on the control pipe:
`t` (TERM all), `k` (KILL all); closing it means `k`. It does not heed a TERM of its own: who ends the engine ends the
command too, by the control pipe, and a keeper that went first would leave the command's orphans to nobody.

Starting costs what importing costs: nothing but built-in modules, resource and ctypes.
"""

from __future__ import annotations

import _signal as signals  # type: ignore[import-not-found]  # no stub; the public module imports enum, which is slow
import marshal
import os
import select
import sys
import time

from core.agents.isolation import capabilities, confine, mounts, processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.agents.isolation.plan import Plan

_KILL, _TERM = 9, 15
_CLEAN_UP_S = 2.0
_POLL_S = 0.02  # how long a reaped tree may lag behind; the main command's end wakes the loop at once


class Orders:
    """What the engine hands over (a dictionary in a memory file): the plan, the command, and its clock."""

    def __init__(self, raw: bytes) -> None:
        order = marshal.loads(raw)  # noqa: S302  # written by our own engine, in a file nobody else has
        self.plan: Plan | None = order["plan"]
        self.argv: list[str] = order["argv"]
        self.env: dict[str, str] = order["env"]
        self.cwd: str = order["cwd"]
        self.timeout_s: float | None = order["timeout_s"]
        self.grace_s: float = order["grace_s"]
        self.limits: tuple[int, int, int, int] = order["limits"]
        self.pass_fds: list[int] = order["pass_fds"]


def main() -> None:
    """Run one command. argv: the descriptors of the orders, the control pipe and the status pipe."""
    order_fd, control, status = (int(n) for n in sys.argv[1:4])
    try:
        signals.signal(_TERM, signals.SIG_IGN)
        orders = Orders(_read_all(order_fd))
        os.close(order_fd)
        for fd in (control, status):
            os.set_inheritable(fd, False)
        plan = orders.plan
        if plan and plan["unshare"]:
            mounts.enter_user_namespace(plan["unshare"], mapped=plan["mapped"])
        if plan and plan["unshare"] & mounts.NEW_PID:
            _be_parent_of_first(orders, control, status)
        else:
            if sys.platform == "linux":
                capabilities.adopt_orphans()
            _supervise(orders, control, status, first=False)
    except BaseException as error:  # the last place where a reason can still be told
        _say(status, f"failed {error}")
        os._exit(1)
    os._exit(0)


def _be_parent_of_first(orders: Orders, control: int, status: int) -> None:
    first = os.fork()
    if first == 0:
        try:
            capabilities.die_with_parent(_KILL)
            plan = orders.plan
            assert plan is not None
            confine.enforce(plan)
            capabilities.die_with_parent(_KILL)  # again: giving up privileges resets it
            orders.plan = None
            _supervise(orders, control, status, first=True)
        except BaseException as error:  # as above
            _say(status, f"failed {error}")
        os._exit(0)
    for fd in (0, 1, 2, control, status):
        os.close(fd)
    os.waitpid(first, 0)


def _supervise(orders: Orders, control: int, status: int, *, first: bool) -> None:
    """Start the command and stay until nothing of it is left."""
    wake, woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC) if sys.platform == "linux" else os.pipe()
    signals.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signals.signal(signals.SIGCHLD, _nothing)
    executed, executing = os.pipe()  # closes by itself when the child turns into the command
    main_pid = os.fork()
    if main_pid == 0:
        _become_command(orders, status, executing)
    for fd in (0, 1, 2, executing):  # the output pipe must close when the command's last process does
        os.close(fd)
    tree = _Tree(main_pid, first=first)
    clock = time.monotonic
    deadline = None if orders.timeout_s is None else clock() + orders.timeout_s
    kill_at: float | None = None
    timed_out = False
    listening = [wake, control, executed]
    while tree.code is None:
        wait = [t - clock() for t in (deadline, kill_at) if t is not None]
        ready = select.select(listening, [], [], max(0.0, min(wait)) if wait else None)[0]
        if wake in ready:
            os.read(wake, 4096)
            tree.reap()
        if executed in ready:
            listening.remove(executed)
            _say(status, "running")
        if control in ready:
            word = os.read(control, 1)
            if word == b"t":
                tree.signal(_TERM)
                kill_at = clock() + orders.grace_s
            else:
                tree.signal(_KILL)
                if not word:
                    listening.remove(control)
        now = clock()
        if deadline is not None and now >= deadline:
            timed_out, deadline = True, None
            tree.signal(_TERM)
            kill_at = now + orders.grace_s
        if kill_at is not None and now >= kill_at:
            kill_at = None
            tree.signal(_KILL)
    tree.clear()
    _say(status, f"exit {tree.code} {int(timed_out)}")


class _Tree:
    """A command and all that ever came of it. `code` is the command's exit code once it has ended."""

    def __init__(self, main_pid: int, *, first: bool) -> None:
        assert not first or os.getpid() == 1
        self._main = main_pid
        self._first = first
        self.code: int | None = None

    def signal(self, number: int) -> None:
        """Send a signal to every process of the tree."""
        if self._first:
            # From process 1 of a process namespace, -1 is exactly the namespace without ourselves
            try:  # noqa: SIM105  # contextlib is an import more
                os.kill(-1, number)
            except ProcessLookupError:
                pass
            return
        targets = processes.descendants(os.getpid()) or [self._main]
        for pid in targets:
            try:
                os.kill(pid, number)
            except (ProcessLookupError, PermissionError):
                continue
        if sys.platform != "linux":
            try:
                os.killpg(self._main, number)
            except (ProcessLookupError, PermissionError):
                return

    def reap(self) -> bool:
        """Collect the ended; return whether any child is left."""
        while True:
            try:
                pid, raw = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._main:
                self.code = os.waitstatus_to_exitcode(raw)

    def clear(self) -> None:
        """End what outlives the command. As process 1, going away does the same at once."""
        end = time.monotonic() + _CLEAN_UP_S
        while time.monotonic() < end:
            self.signal(_KILL)
            if not self.reap():
                return
            time.sleep(_POLL_S / 10)


def _become_command(orders: Orders, status: int, executing: int) -> None:
    """In the child: shed what is ours, take on what confines, and turn into the command."""
    stage = "confine"
    try:
        signals.set_wakeup_fd(-1)
        for number in (signals.SIGCHLD, signals.SIGINT, signals.SIGTERM, signals.SIGPIPE):
            signals.signal(number, signals.SIG_DFL)
        os.setsid()
        if orders.plan:
            confine.enforce(orders.plan)
        capabilities.set_limits(*orders.limits)
        stage = "chdir"
        os.chdir(orders.cwd)
        stage = "exec"
        for fd in orders.pass_fds:
            os.set_inheritable(fd, True)
        _close_others({0, 1, 2, status, executing, *orders.pass_fds})
        os.execvpe(orders.argv[0], orders.argv, orders.env)  # noqa: S606  # no shell is meant
    except BaseException as error:  # whatever it is, the command must not run
        if stage == "exec" and isinstance(error, OSError):
            _say(status, f"missing {error.errno}")
            os._exit(127 if error.errno == 2 else 126)
        _say(status, f"failed {stage}: {error}")
        os._exit(125)


def _close_others(keep: set[int]) -> None:
    low = 0
    for fd in sorted(keep):
        if fd > low:  # an empty range that ends at 0 would close everything
            os.closerange(low, fd)
        low = fd + 1
    os.closerange(low, os.sysconf("SC_OPEN_MAX"))


def _nothing(_number: int, _frame: object) -> None:
    """A handler that only wakes the loop."""


def _say(status: int, line: str) -> None:
    try:  # noqa: SIM105  # as above
        os.write(status, line.replace("\n", " ")[:2000].encode() + b"\n")
    except OSError:
        pass  # the engine is gone; the control pipe says so too


def _read_all(fd: int) -> bytes:
    os.lseek(fd, 0, os.SEEK_SET)
    pieces = []
    while piece := os.read(fd, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def probe() -> None:
    """Try namespaces and a root of one's own; fail with the reason on standard error (`support.try_namespaces`)."""
    try:
        flags = mounts.NEW_NS | mounts.NEW_PID | mounts.NEW_NET | mounts.NEW_IPC
        mounts.enter_user_namespace(flags, mapped=True)
        child = os.fork()
        if child == 0:
            mounts.enter_root([("ro", "/usr", "/usr"), ("tmp", "/dev/shm", "4k")])  # noqa: S108  # inside the new root
            os._exit(0 if os.path.isdir("/usr") else 1)  # noqa: PTH112  # pathlib is an import more
        if os.waitpid(child, 0)[1]:
            raise OSError("a root of its own could not be built")
    except OSError as error:
        os.write(2, str(error).encode())
        os._exit(1)
    os._exit(0)
