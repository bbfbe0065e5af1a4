"""An engine process as the attacks meet it: with a key in its environment, a secret open, and a way to run commands.

Orders come as JSON on standard input: mode, policy, jobs [{name, script, cwd}], environment. Answers go to standard
output as JSON: {name: {output, code, layer, ...}}. Modes: plain (nothing confines), confined (this process is free, its
commands are not), nested (this process is confined too), alone (no namespaces), bubblewrap (no Landlock),
both also with -nested.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.agents.isolation.confine import confine_self
from core.agents.isolation.environment import clean_environment
from core.agents.isolation.launch import run_confined
from core.agents.isolation.policy import IsolationPolicy
from core.agents.isolation.support import Support, judge, probe


def means(mode: str) -> Support:
    """What this machine has, or what the mode makes believe it has."""
    real = probe()
    if mode.startswith("alone"):
        return judge(real.landlock_abi, has_seccomp=True, namespaces=False, bubblewrap=None, root=False)
    if mode.startswith("bubblewrap"):
        return judge(None, has_seccomp=True, namespaces=True, bubblewrap=real.bubblewrap, root=False)
    return replace(real)


def plain(job: dict[str, Any], environment: dict[str, str]) -> dict[str, Any]:
    """Run a job with nothing in its way."""
    inherited = {**os.environ, **environment}
    done = subprocess.run(
        ["sh", "-c", job["script"]], cwd=job["cwd"], env=inherited, capture_output=True, close_fds=False, check=False,
        stdin=subprocess.DEVNULL, timeout=60,
    )  # fmt: skip
    return {"output": (done.stdout + done.stderr).decode("utf-8", "replace"), "code": done.returncode, "layer": "none"}


async def confined(job: dict[str, Any], environment: dict[str, str], support: Support, read: Path) -> dict[str, Any]:
    """Run a job as a Target's command is run."""
    cell = Path(job["cwd"])
    policy = IsolationPolicy(read=(read,), write=(cell,))
    done = await run_confined(
        ["sh", "-c", job["script"]], policy=policy, cwd=cell, timeout_s=job.get("timeout_s", 20), support=support,
        env=clean_environment(environment, cell, cell / "tmp"),
    )  # fmt: skip
    return {
        "output": done.output.decode("utf-8", "replace"),
        "code": done.returncode,
        "layer": done.layer,
        "timed_out": done.timed_out,
        "duration_s": done.duration_s,
    }


def main() -> None:
    """Take orders, do them, report."""
    orders = json.load(sys.stdin)
    mode = orders["mode"]
    for path in orders["leak"]:
        os.set_inheritable(os.open(path, os.O_RDONLY), True)
    environment = {**orders["environment"], "ENGINE_PID": str(os.getpid())}
    read = Path(orders["agent_state"])
    support = means(mode)
    os.chdir(orders["cwd"])
    if mode.endswith("nested"):
        cells = tuple(Path(job["cwd"]) for job in orders["jobs"])
        confine_self(IsolationPolicy(read=(read,), write=cells), support=support)

    async def all_jobs() -> dict[str, Any]:
        at_once = asyncio.Semaphore(3)

        async def one(job: dict[str, Any]) -> dict[str, Any]:
            own = environment | job.get("environment", {})
            async with at_once:
                if mode == "plain":
                    return await asyncio.to_thread(plain, job, own)
                return await confined(job, own, support, read)

        answers = await asyncio.gather(*map(one, orders["jobs"]))
        return {job["name"]: answer for job, answer in zip(orders["jobs"], answers, strict=True)}

    sys.stdout.write(json.dumps(asyncio.run(all_jobs())))


if __name__ == "__main__":
    main()
