"""A cell to run commands in, and a short way to do so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from core.agents.isolation.environment import clean_environment
from core.agents.isolation.launch import Completed, run_confined
from core.agents.isolation.policy import IsolationPolicy
from core.agents.isolation.support import Support, judge, probe

Run = Callable[..., Awaitable[Completed]]


@pytest.fixture
def cell(tmp_path: Path) -> Path:
    """A workspace with a private tmp."""
    workspace = tmp_path / "cell"
    (workspace / "tmp").mkdir(parents=True)
    return workspace


@pytest.fixture
def run(cell: Path) -> Run:
    """Run a shell script confined to the cell."""

    async def run_script(script: str, **options: Any) -> Completed:
        settings: dict[str, Any] = {
            "policy": IsolationPolicy(write=(cell,)),
            "cwd": cell,
            "env": clean_environment({}, cell, cell / "tmp"),
            "timeout_s": 30,
        }
        return await run_confined(["bash", "-c", script], **(settings | options))

    return run_script


@pytest.fixture(params=["namespaces", "alone"])
def means(request: pytest.FixtureRequest) -> Support:
    """The two ways in which Landlock confines: with user namespaces, and without."""
    real = probe()
    if real.layer != "landlock":
        pytest.skip("no Landlock here")
    if request.param == "namespaces" and not real.user_namespaces:
        pytest.skip("no user namespaces here")
    return real if request.param == "namespaces" else without_namespaces()


def without_namespaces() -> Support:
    """This machine as if user namespaces were off."""
    return judge(probe().landlock_abi, has_seccomp=True, namespaces=False, bubblewrap=None, root=False)
