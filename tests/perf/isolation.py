"""What confining a command costs, beside the same command run plainly, in one run (rounds interleaved).

python -m tests.perf.isolation [ROUNDS]
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from core.agents.isolation import system_paths
from core.agents.isolation.confine import confine_self
from core.agents.isolation.environment import clean_environment
from core.agents.isolation.launch import run_confined
from core.agents.isolation.policy import IsolationPolicy
from core.agents.isolation.support import Support, judge, probe

Way = Callable[[], Awaitable[object]]


async def plainly(*argv: str) -> None:
    """Run a command with nothing in its way."""
    process = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)
    await process.communicate()


def ways(cell: Path) -> dict[str, Way]:
    """Return what is compared: each runs /bin/true once (or, as a yardstick, the bare interpreter)."""
    policy = IsolationPolicy(write=(cell,))
    env = clean_environment({}, cell, cell)

    def by(support: Support | None) -> Way:
        async def once() -> None:
            await run_confined(
                ["/bin/true"], policy=policy, cwd=cell, env=env, timeout_s=30, support=support, allow_unisolated=True
            )

        return once

    real = probe()
    nothing = judge(None, has_seccomp=False, namespaces=False, bubblewrap=None, root=False)
    compared: dict[str, Way] = {
        "plain": lambda: plainly("/bin/true"),
        "interpreter": lambda: plainly(system_paths.interpreter(), "-I", "-S", "-c", "pass"),
        "keeper without walls": by(nothing),
    }
    if real.layer == "landlock":
        alone = judge(real.landlock_abi, has_seccomp=True, namespaces=False, bubblewrap=None, root=False)
        compared["Landlock and filter"] = by(alone)
    if real.user_namespaces:
        compared["and namespaces"] = by(None)
    if real.bubblewrap:
        compared["bubblewrap"] = by(
            judge(None, has_seccomp=True, namespaces=True, bubblewrap=real.bubblewrap, root=False)
        )
    return compared


async def measure(compared: dict[str, Way], rounds: int) -> dict[str, float]:
    """Return the median milliseconds of each way."""
    times: dict[str, list[float]] = {name: [] for name in compared}
    for _ in range(rounds):
        for name, once in compared.items():
            begun = time.perf_counter()
            await once()
            times[name].append((time.perf_counter() - begun) * 1000)
    return {name: statistics.median(values) for name, values in times.items()}


def measure_nested(rounds: int) -> dict[str, float]:
    """Return what confining oneself costs, and a command within, from a forked process."""
    readable, writable = os.pipe()
    if os.fork() == 0:
        cell = Path(tempfile.mkdtemp())
        probe()
        begun = time.perf_counter()
        confine_self(IsolationPolicy(write=(cell,)))
        own = (time.perf_counter() - begun) * 1000
        policy = IsolationPolicy(write=(cell,))
        env = clean_environment({}, cell, cell)

        async def once() -> None:
            await run_confined(["/bin/true"], policy=policy, cwd=cell, env=env, timeout_s=30)

        found = asyncio.run(measure({"in a confined engine": once}, rounds)) | {"confine_self (once an engine)": own}
        os.write(writable, json.dumps(found).encode())
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable) as answers:
        heard: dict[str, float] = json.load(answers)
    os.wait()
    return heard


def main() -> None:
    """Measure and print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    compared = ways(Path(tempfile.mkdtemp()))
    found = asyncio.run(measure(compared, rounds))
    if probe().layer == "landlock":
        found |= measure_nested(rounds)
    base = found["interpreter"]
    print(f"{'way':<32}{'median ms':>10}{'x interpreter':>15}")
    for name, value in found.items():
        print(f"{name:<32}{value:>10.1f}{value / base:>15.2f}")


if __name__ == "__main__":
    main()
