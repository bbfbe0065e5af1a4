"""The console over a real SSH server on loopback: the link is cut in mid-approval, and nothing is lost."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.evolution.specs import RunPaths
from core.state import approvals
from core.state.paths import ProjectPaths
from tests.e2e.ssh import log_in, serve
from tests.tui.home import ask_for_freeze, give_engine, make_home

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

EXUVIA = [sys.executable, "-P", "-c", "from tui.cli.main import main; main()"]


@contextmanager
def engine_of(run: RunPaths) -> Iterator[None]:
    engine = give_engine(run)
    try:
        yield
        assert engine.poll() is None, "the run must not end with the operator's link"
    finally:
        engine.kill()
        engine.wait()


@pytest.fixture
def project(tmp_path: Path) -> ProjectPaths:
    return make_home(tmp_path / "home")


async def test_a_link_cut_in_mid_approval_loses_nothing(project: ProjectPaths, tmp_path: Path) -> None:
    run, approval_id = ask_for_freeze(project)
    environ = {"HOME": str(tmp_path)}
    with engine_of(run):
        async with serve([*EXUVIA, "open", str(project.root)], environ) as server:
            async with log_in(server) as operator:
                await operator.wait_for("freeze chores for helper?", "6 Inbox(1)")
                await operator.press("a")
                await operator.wait_for("Freeze chores as it stands")
                operator.cut()
            assert await server.wait_for_end(0) != 0
            assert approvals.get(project, approval_id)[1] is None, "an unanswered question was answered"

            async with log_in(server) as operator:
                await operator.wait_for("freeze chores for helper?", "6 Inbox(1)")
                await operator.press("a")
                await operator.wait_for("Freeze chores as it stands")
                await _after_guard()
                await operator.press("y")
                operator.cut()  # the answer is on its way, and nobody will see what came of it
            await server.wait_for_end(1)

            async with log_in(server) as operator:
                decision = approvals.get(project, approval_id)[1]
                if decision is None:
                    await operator.wait_for("freeze chores for helper?")
                    await operator.press("a")
                    await operator.wait_for("Freeze chores as it stands")
                    await _after_guard()
                    await operator.press("y")
                    await operator.wait_for("Approved: freeze of chores")
                    decision = approvals.get(project, approval_id)[1]
                assert decision is not None
                assert decision.verdict == "approve"
                await operator.press("6")
                await operator.wait_until(lambda text: "6 Inbox(1)" not in text, "an empty inbox")
                await operator.press("q")
                assert await server.wait_for_end(2) == 0
    assert len(list(project.approvals.glob("*.decision.json"))) == 1


async def _after_guard() -> None:
    await asyncio.sleep(0.4)  # keys right after a question are no answer to it
