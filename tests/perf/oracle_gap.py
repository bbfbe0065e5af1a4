"""How much of the way to a hand-written oracle does the demonstration go?

Runs `exuvia demo --headless` in a temporary home, then measures the oracle state of tests/fixtures/oracle_state on the
very benchmark that was frozen there, by the same engine, and prints baseline, final and oracle.

    python -P -m tests.perf.oracle_gap [SEED]
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from core.state.agents import edit_config
from core.state.paths import AgentPaths, HomePaths
from core.state.yaml12 import load

ORACLE = Path(__file__).parents[1] / "fixtures" / "oracle_state"
EXUVIA = (sys.executable, "-P", "-c", "from tui.cli.main import main; main()")


def exuvia(*arguments: str) -> dict[str, Any]:
    """Run a command that prints one JSON document and return it."""
    done = subprocess.run([*EXUVIA, *arguments, "--json"], stdout=subprocess.PIPE, check=True)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def become_oracle(agent: AgentPaths) -> None:
    """Put the hand-written state in the place of what the agent has learned."""
    shutil.copyfile(ORACLE / "AGENTS.md", agent.agents_md)
    shutil.rmtree(agent.skills, ignore_errors=True)
    shutil.copytree(ORACLE / "skills", agent.skills)
    edit_config(agent, load((ORACLE / "settings.yaml").read_text(encoding="utf-8")))


def main() -> None:
    """Print the three scores and the share of the gap that was closed."""
    seed = sys.argv[1] if len(sys.argv) > 1 else "7"
    with tempfile.TemporaryDirectory(prefix="exuvia-") as directory:
        home = Path(directory) / "home"
        outcome = exuvia("demo", "--headless", "--approve", "auto", "--seed", seed, "--home", str(home))
        agent_id, benchmark_id = outcome["agent"], outcome["benchmark"]
        become_oracle(HomePaths(home).project("default_project").agent(agent_id))
        oracle = exuvia("evaluate", agent_id, benchmark_id, "--evidence-only", "--runs", "2", "--home", str(home))
        baseline, final = outcome["baseline"]["score"], outcome["final"]["score"]
        best = oracle["result"]["score"]
    print(f"seed {seed}: baseline {baseline:g}, final {final:g}, oracle {best:g}")
    print(f"gain {final - baseline:g} points, {(final - baseline) / (best - baseline):.0%} of the gap to the oracle")
    print(f"held out: {outcome['baseline']['heldout']:g} to {outcome['final']['heldout']:g}")


if __name__ == "__main__":
    main()
