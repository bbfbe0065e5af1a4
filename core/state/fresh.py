"""A home where there is none yet, and the agent that operates the loop (EVOLUTION 1.6, DECISIONS 6)."""

from __future__ import annotations

import shutil
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from core.foundation.clock import short_id
from core.foundation.errors import ConflictError
from core.state import atomic, readonly
from core.state.agents import create_agent, default_config_text
from core.state.evaluation import RunScore, evaluation_of
from core.state.paths import (
    DEFAULT_AGENT,
    DEFAULT_PROJECT,
    OPERATOR_AGENT,
    AgentPaths,
    BenchmarkPaths,
    HomePaths,
    ProjectPaths,
)
from core.state.scoreboard import rendered

OPERATOR_SKILLS = ("agent-creation", "benchmark-design", "agent-evaluation", "agent-optimization")

_EXAMPLE = "example-benchmark"
_EXAMPLE_RUNTIME = ("example", "example-model", "medium")
_OPERATOR_TEXT = """\
# Role

You run the evaluation loop of this Project for its operator: you design benchmarks, evaluate one Case at a time, and
improve other agents by small, tested changes. Which of these you do is said in the first message; follow the skill it
names, to the letter.

- The engine's tools hold the protocol. When one refuses, its answer says how to go on; don't look for a way around it.
- A Target never learns what a rubric says, nor that it is being evaluated.
- An invalid result is never a zero, and a number you did not get from a tool is never a result.
"""


def ensure_home(home: Path) -> ProjectPaths:
    """Return the default Project of `home`, making it where it doesn't exist.

    A Project that exists is left exactly as it is: what was deleted from it stays deleted. A new one appears whole:
    config (mode 0600) with the rehearsal model as default, and the default agent with an example benchmark whose
    numbers are marked as made up.
    """
    project = HomePaths(home).project(DEFAULT_PROJECT)
    if project.root.exists():
        return project
    readonly.refuse(project.root)
    home.mkdir(parents=True, exist_ok=True)
    staging = ProjectPaths(home / f".new-{short_id()}")
    try:
        _fill_project(staging)
        try:
            staging.root.rename(project.root)
        except OSError as error:
            if not project.root.is_dir():
                raise atomic.storage_error(error, project.root) from error
        atomic.sync_directory(home)
    finally:
        shutil.rmtree(staging.root, ignore_errors=True)
    return project


def _fill_project(project: ProjectPaths) -> None:
    project.agents.mkdir(parents=True)
    atomic.write_text(project.config, _template("project_config.toml").read_text(encoding="utf-8"), mode=0o600)
    agent = project.agent(DEFAULT_AGENT)
    for directory in (agent.skills, agent.state / "memory" / "user", agent.state / "tools", agent.scratchpad):
        directory.mkdir(parents=True)
    (agent.state / "memory" / "user" / "MEMORY.md").touch()
    agent.agents_md.touch()
    example = agent.benchmark(_EXAMPLE)
    _copy(_template(_EXAMPLE), example.root)
    atomic.write_text(example.scoreboard, example_scoreboard(example))
    atomic.write_text(agent.config, default_config_text())


def example_scoreboard(benchmark: BenchmarkPaths) -> str:
    """Return three made-up evaluations of the example benchmark, each marked as such."""
    first, second = benchmark.case_ids()
    rounds = (
        ("a starting point", (40, 52), (58, 58)),
        ("reading the whole task before starting", (61, 66), (70, 64)),
        ("a comparison with the task before finishing", (84, 79), (88, 91)),
    )
    blocks = []
    for index, (note, *points) in enumerate(rounds):
        day = f"2026-01-{index + 5:02}"
        cases = {
            case_id: [
                RunScore(
                    score=score,
                    # One unknown cost, so that views show how unknown looks.
                    cost=None if (index, case_id, run) == (0, second, 0) else round(0.004 + 0.001 * (index + run), 6),
                    duration_ms=31_000 + 4_000 * index + 2_500 * run + (9_000 if case_id == second else 0),
                    session_id=f"session-{day}-10-0{index}-0{run}-{'e1' if case_id == first else 'e2'}0000{index}{run}",
                )
                for run, score in enumerate(scores)
            ]
            for case_id, scores in zip((first, second), points, strict=True)
        }
        evaluation = evaluation_of(
            index + 1,
            _EXAMPLE_RUNTIME,
            cases,
            time=f"{day}T10:30:00Z",
            title=f"Example data: {note}",
            summary=f"Example data, nothing was measured. Version {index + 1} stands for {note}.",
        )
        blocks.append(rendered(evaluation))
    return "# Example data: these numbers are made up, no agent was evaluated.\nevaluations:\n" + "".join(blocks)


def ensure_operator(project: ProjectPaths, *, library: Path | None = None) -> AgentPaths:
    """Return the Project's operator agent, making it with its four skills where it doesn't exist.

    `library` is a directory of skills; by default those that come with the program. One that exists stays as it is.
    """
    operator = project.agent(OPERATOR_AGENT)
    if operator.config.is_file():
        return operator
    try:
        return create_agent(
            project,
            OPERATOR_AGENT,
            name="Exuvia operator",
            description="Runs the evaluation loop: Builder, Evaluator and Optimizer.",
            agents_md=_OPERATOR_TEXT,
            skills=OPERATOR_SKILLS,
            library=library,
        )
    except ConflictError:
        if operator.config.is_file():  # another process made it meanwhile
            return operator
        raise


def _template(name: str) -> Traversable:
    return resources.files("core.state") / "template" / name


def _copy(source: Traversable, target: Path) -> None:
    target.mkdir(parents=True)
    for entry in source.iterdir():
        if entry.is_dir():
            _copy(entry, target / entry.name)
        else:
            atomic.write_bytes(target / entry.name, entry.read_bytes())
