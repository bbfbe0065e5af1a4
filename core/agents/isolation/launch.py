"""Running a command under a policy: to its end with a bounded output, or in the background."""

from __future__ import annotations

import asyncio
import contextlib
import marshal
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.agents.isolation import bubblewrap, confine, system_paths
from core.agents.isolation.plan import Plan, plan
from core.agents.isolation.policy import IsolationPolicy
from core.agents.isolation.running import GRACE_S, KEEPER_SLACK_S, ConfinedProcess
from core.agents.isolation.support import Layer, Support, probe
from core.foundation.errors import IsolationError

__all__ = ["Completed", "ConfinedProcess", "run_confined", "spawn_confined"]

DEFAULT_OUTPUT = 1 << 20


@dataclass(frozen=True, slots=True)
class Completed:
    """How a command ended.

    returncode: its exit code, negative for the signal that ended it, 126 or 127 where the program could not be
    executed. output: standard output and error as they came, at most the bytes asked for; `dropped` counts the rest.
    layer: what it was confined by.
    """

    returncode: int
    output: bytes
    dropped: int
    timed_out: bool
    duration_s: float
    layer: Layer

    @property
    def truncated(self) -> bool:
        """Tell whether the output is not whole."""
        return self.dropped > 0


async def run_confined(
    argv: Sequence[str],
    *,
    policy: IsolationPolicy,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes | None = None,
    timeout_s: float | None,
    max_output_bytes: int = DEFAULT_OUTPUT,
    allow_unisolated: bool = False,
    support: Support | None = None,
) -> Completed:
    """Run a command to its end under `policy` and return how it went; nothing it started outlives it.

    env is the whole environment (see `environment.clean_environment`). stdin None is /dev/null. After `timeout_s` the
    whole tree gets TERM, two seconds later KILL. When the call is cancelled, the tree is killed. Raises
    IsolationError where the command cannot be confined, in which case it has not run; `support` is for tests.
    """
    process = await spawn_confined(
        argv, policy=policy, cwd=cwd, env=env, stdin=stdin, timeout_s=timeout_s, max_output_bytes=max_output_bytes,
        allow_unisolated=allow_unisolated, support=support,
    )  # fmt: skip
    try:
        if timeout_s is None:
            code = await process.wait()
        else:
            code = await asyncio.wait_for(process.wait(), timeout_s + GRACE_S + KEEPER_SLACK_S)
    except TimeoutError:
        code = await process.kill(grace_s=0)
        process.timed_out = True
    except asyncio.CancelledError:
        process.kill_now()
        await asyncio.shield(process.kill(grace_s=0))
        raise
    return Completed(
        code, process.read(), process.dropped, process.timed_out, process.duration_s, process.layer
    )  # fmt: skip


async def spawn_confined(
    argv: Sequence[str],
    *,
    policy: IsolationPolicy,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes | None = None,
    timeout_s: float | None = None,
    max_output_bytes: int = DEFAULT_OUTPUT,
    allow_unisolated: bool = False,
    support: Support | None = None,
) -> ConfinedProcess:
    """Start a command under `policy` in the background. Arguments and errors as `run_confined`.

    It ends when it is killed, when its time is over, or when this process ends in whatever way.
    """
    if not argv:
        raise IsolationError("there is no command to run")
    inside = confine.in_force() is not None
    means = support or confine.in_force() or probe()
    layer: Layer = means.layer
    made: Plan | None = None
    command = list(argv)
    carried: list[int] = []
    if not any(cwd.resolve().is_relative_to(root) for root in (*policy.read, *policy.write)):
        raise IsolationError(f"the policy does not reach the working directory {cwd}", hint="Add it to the policy.")
    if layer == "landlock" or (layer == "bubblewrap" and inside):
        made = plan(policy, means, inside=inside)
        layer = "landlock" if means.landlock_abi else "namespaces"
    elif layer == "bubblewrap":
        command, carried = bubblewrap.wrap(command, policy=policy, cwd=cwd, means=means)
    elif not allow_unisolated:
        raise IsolationError(
            "this machine cannot confine a command: " + "; ".join(f.what for f in means.findings),
            hint=" ".join(f.fix for f in means.findings[:1]) + " Or pass --allow-unisolated.",
        )
    try:
        process = _start(command, made, cwd, env, stdin, timeout_s, max_output_bytes, policy, layer, carried)
    finally:
        for fd in carried:
            os.close(fd)
    try:
        await process.started()
    except asyncio.CancelledError:
        process.kill_now()
        raise
    return process


# A confined engine may read the package but not list the folder it lies in, where benchmarks may lie too
_PROGRAM = (
    "import sys; package = sys.modules['core'] = type(sys)('core'); package.__path__ = [{package!r}]; "
    "from core.agents.isolation.keeper import main; main()"
)


def _start(
    argv: list[str],
    made: Plan | None,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes | None,
    timeout_s: float | None,
    max_output_bytes: int,
    policy: IsolationPolicy,
    layer: Layer,
    carried: list[int],
) -> ConfinedProcess:
    limits = policy.limits
    own_count = bool(made and made["unshare"])
    spare = 0 if own_count else _processes_of_user()
    orders = _memory_file(
        marshal.dumps(
            {
                "plan": made,
                "argv": [str(a) for a in argv],
                "env": dict(env),
                "cwd": str(cwd),
                "timeout_s": timeout_s,
                "grace_s": GRACE_S,
                "limits": (limits.memory_bytes, limits.file_bytes, limits.processes + spare, limits.open_files),
                "pass_fds": carried,
            }
        )
    )
    input_fd = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC) if stdin is None else _memory_file(stdin)
    output, output_write = os.pipe()
    control_read, control = os.pipe()
    status, status_write = os.pipe()
    inherited = (orders, control_read, status_write)
    try:
        keeper = subprocess.Popen(
            [system_paths.interpreter(), "-I", "-S", "-c",
             _PROGRAM.format(package=str(system_paths.CODE_ROOT / "core")), *map(str, inherited)],
            stdin=input_fd, stdout=output_write, stderr=output_write, cwd="/", env={"LANG": "C.UTF-8"},
            pass_fds=(*inherited, *carried), start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        for fd in (output, control, status):
            os.close(fd)
        raise IsolationError(f"the command's keeper could not be started: {error}") from error
    finally:
        for fd in (*inherited, input_fd, output_write):
            os.close(fd)
    return ConfinedProcess(keeper, output, control, status, layer, max_output_bytes)


def _memory_file(content: bytes) -> int:
    """Return a descriptor to an anonymous file with `content`, at its start."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("exuvia", os.MFD_CLOEXEC)
    else:
        fd, name = tempfile.mkstemp()
        Path(name).unlink()
    with open(fd, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _processes_of_user() -> int:
    """Count the user's processes: outside a user namespace, the limit counts them all."""
    me = os.getuid()
    count = 0
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            count += entry.stat().st_uid == me
    return count
