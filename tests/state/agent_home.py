"""A small agent to keep, exchange and compare."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from core.state import fingerprint
from core.state.paths import AgentPaths, ProjectPaths

FILES = {
    "system_config.yaml": 'system_prompt: "x"\nversion: 1\n',
    "AGENTS.md": "one\n",
    "skills/a/SKILL.md": "skill\n",
    "memory/user/MEMORY.md": "learned 1\n",
    "schedule/daily.toml": "enabled = false\n",
}


def make_agent(home: Path, files: Mapping[str, str] = FILES) -> AgentPaths:
    """Make an agent with a vault at version 1."""
    agent = ProjectPaths(home / "p").agent("csv_helper")
    for name, text in files.items():
        (agent.state / name).parent.mkdir(parents=True, exist_ok=True)
        (agent.state / name).write_text(text)
    (agent.state / "tools").mkdir(parents=True)
    agent.vault.write_text('K = "keep"\n')
    agent.vault.chmod(0o600)
    return agent


def set_version(agent: AgentPaths, version: int, text: str) -> None:
    """Make the state another version with another AGENTS.md."""
    agent.config.write_text(f'system_prompt: "x"\nversion: {version}\n')
    agent.agents_md.write_text(text)


def write_scoreboard(agent: AgentPaths, *versions: int | str, benchmark: str = "csv") -> None:
    """Write a scoreboard with an evaluation of each version."""
    board = agent.benchmark(benchmark)
    board.root.mkdir(parents=True, exist_ok=True)
    run = "{score: 50, cost: null, duration_ms: 1, session_id: s}"
    case = f"{{case: CASE-1, score: 50, cost: null, duration_ms: 1, runs: [{run}]}}"
    lines = [
        f"  - time: t\n    version: {version}\n    provider: p\n    model_id: m\n    thinking_level: medium\n"
        f"    score: 50\n    cost: null\n    duration_ms: 1\n    cases: [{case}]\n"
        for version in versions
    ]
    board.scoreboard.write_text("evaluations:\n" + "".join(lines))


def everything(agent: AgentPaths) -> dict[str, tuple[bytes, int]]:
    """Return content and executable mark of every file of the state, the vault included."""
    return {
        name: ((agent.state / name).read_bytes(), (agent.state / name).stat().st_mode & 0o100)
        for name in fingerprint.file_hashes(agent.state)
    }
