"""The built-in shop clerk at a Case of shop-service: a real Target, real skills, the rubric's own checks."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.agents.builtin import SHOP_CLERK, make
from core.agents.isolation.environment import search_path
from core.agents.run_agent import launch_target
from core.agents.target import TargetOutcome, TargetSpec
from core.evolution.rubric import read_rubric
from core.foundation.clock import new_session_id
from core.models.interface import ModelRef
from core.state.fresh import ensure_home
from core.state.paths import AgentPaths, CasePaths
from core.traces.writer import new_trace_path

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "shop-service"
MESSAGE = "Read README.md in the current Workspace and complete the task exactly as specified there."
CASES = tuple(sorted(path.name for path in BENCHMARK.glob("CASE-*")))


def clerk(home: Path) -> AgentPaths:
    return make(ensure_home(home), SHOP_CLERK)


@dataclass(frozen=True)
class Served:
    outcome: TargetOutcome
    workspace: Path

    @property
    def desk(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.workspace / "shop.json").read_text())
        return found

    @property
    def answer(self) -> str:
        return (self.workspace / "answer.txt").read_text()


async def serve(agent: AgentPaths, case: str) -> Served:
    workspace = agent.workspaces / new_session_id()
    shutil.copytree(BENCHMARK / case / "statement", workspace)
    session_id = new_session_id()
    spec = TargetSpec(
        project=agent.project,
        agent_id=agent.id,
        workspace=workspace,
        message=MESSAGE,
        model=ModelRef("rehearsal", "rehearsal-1"),
        session_id=session_id,
        trace_path=new_trace_path(agent, session_id),
    )
    return Served(await launch_target(spec), workspace)


def points(workspace: Path, case: str) -> dict[str, float]:
    """Return what each check of the Case's rubric gives, by its id."""
    place = BENCHMARK / case
    env = {"PATH": search_path(), "CASE_RUBRIC": str(place / "rubric"), "PYTHONDONTWRITEBYTECODE": "1"}
    found: dict[str, float] = {}
    for check in read_rubric(CasePaths(place)).checks:
        done = subprocess.run(
            ["/bin/sh", "-c", check.command], cwd=workspace, env=env, capture_output=True, check=False
        )
        assert done.returncode in (0, 1), done.stderr
        found[check.id] = check.points if done.returncode == 0 else 0.0
    return found


def call(skill: Path, workspace: Path, inputs: dict[str, Any], **told: Any) -> dict[str, Any]:
    """Call a skill's script as the executor does, and return its answer."""
    done = subprocess.run(
        [sys.executable, str(skill / "scripts" / "call.py")],
        cwd=workspace,
        input=json.dumps({"inputs": inputs, "call": told}),
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer
