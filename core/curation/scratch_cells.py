"""Real cells on a scratch copy of an agent: other skills in it, and nothing of it is the agent's own.

A cell is evaluated exactly as a run's is (confined Target, Evaluator, rubric checks), in a project of its own that is
thrown away afterwards: the agent's state, traces, scoreboard, versions and ledger never hear of it. Keys stay where
they are: the scratch project's configuration and vault are links to the real ones.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.agents.isolation import processes
from core.curation.agent_episodes import Told, told_by
from core.curation.skill_edits import edits_of
from core.evolution.candidate import apply_edits, copy_state
from core.evolution.cell_context import MatrixContext
from core.evolution.cells import CellRequest, CellResult
from core.evolution.matrix import run_cells
from core.evolution.proposing import library_skills
from core.models.interface import ModelEntry, Provider
from core.models.rehearsal.options import RehearsalOptions
from core.skillrepo.skill import Skill
from core.state.agents import read_agent
from core.state.fresh import ensure_operator
from core.state.paths import AgentPaths, BenchmarkPaths, HomePaths
from core.traces.shards import all_shards


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What the cells of a world share: the agent as it stands, a benchmark of it, and who works and judges.

    `seed` is that of Targets and Evaluators. With `own_skills` the agent keeps the skills that are its own; without
    it has those of a library only, so that a repository begins empty.
    """

    agent: AgentPaths
    benchmark: BenchmarkPaths
    entry: ModelEntry
    seed: int
    rehearsal: RehearsalOptions
    own_skills: bool = False
    allow_unisolated: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """A Case to be run with skills; `run` is its number, by which a Target's luck is drawn."""

    case_id: str
    run: int
    skills: tuple[Skill, ...]


@dataclass(frozen=True, slots=True)
class Filled:
    """What came of a cell: its result, what its Target's trace tells (None where there is none to score), and the
    tokens of every other Session that it took, Evaluators and lost Targets, as far as they are known.
    """

    result: CellResult
    told: Told | None
    other_tokens: int


@dataclass(slots=True)
class _Events:
    """Where a cell's events go: kept as long as the cell lives."""

    seen: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, event: str, **fields: Any) -> None:
        self.seen.append({"event": event, **fields})


async def fill(bench: Bench, provider: Provider, cells: Sequence[Cell], places: int) -> list[Filled]:
    """Run cells, at most `places` at a time; return what came of each, in order.

    Raises BlockedError where no cell can be run any more: a model that refuses, a disk that is full.
    """
    free = asyncio.Semaphore(places)

    async def one(cell: Cell) -> Filled:
        async with free:
            with scratch(bench, cell.skills) as agent:
                (result,) = await run_cells([_request(agent, cell)], _context(bench, provider, agent))
                told = told_by(agent, result.session_id) if result.session_id is not None else None
                return Filled(result, told, _other_tokens(agent, result.session_id))

    tasks = [asyncio.ensure_future(one(cell)) for cell in cells]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _other_tokens(agent: AgentPaths, counted: str | None) -> int:
    sessions = [(owner, session) for owner in (agent, ensure_operator(agent.project)) for session in all_shards(owner)]
    return sum(told_by(owner, session).tokens or 0 for owner, session in sessions if session != counted)


@contextlib.contextmanager
def scratch(bench: Bench, skills: Sequence[Skill]) -> Iterator[AgentPaths]:
    """Give a copy of the agent with `skills` installed, in a project of its own, and throw it away afterwards."""
    real = bench.agent.project
    root = _scratch_root(real.own)
    with tempfile.TemporaryDirectory(prefix=_mine(), dir=root, ignore_cleanup_errors=True) as home:
        project = HomePaths(Path(home)).project(real.id)
        agent = project.agent(bench.agent.id)
        agent.root.mkdir(parents=True)
        if real.config.exists():
            project.config.symlink_to(real.config)
        copy_state(bench.agent.state, agent.state)
        if bench.agent.vault.exists():
            agent.vault.symlink_to(bench.agent.vault)
        if not bench.own_skills:
            _drop_own_skills(agent)
        apply_edits(agent.state, edits_of((), skills, {}, {}))
        yield agent


def _drop_own_skills(agent: AgentPaths) -> None:
    library = library_skills(agent)
    for folder in sorted(agent.skills.iterdir()) if agent.skills.is_dir() else ():
        if folder.is_dir() and folder.name not in library:
            shutil.rmtree(folder)


def _request(agent: AgentPaths, cell: Cell) -> CellRequest:
    version = read_agent(agent).version
    return CellRequest(f"stream-{cell.case_id}-{cell.run}", cell.case_id, cell.run, version, "evaluation", 0)


def _context(bench: Bench, provider: Provider, agent: AgentPaths) -> MatrixContext:
    return MatrixContext(
        project=agent.project,
        agent=agent,
        benchmark=bench.benchmark,
        operator=ensure_operator(agent.project),
        provider=provider,
        model=bench.entry.ref,
        entry=bench.entry,
        emit=_Events(),
        items=agent.project.root / "items.jsonl",
        seed=bench.seed,
        concurrency=1,
        rehearsal=bench.rehearsal,
        allow_unisolated=bench.allow_unisolated,
    )


# Left-overs -----------------------------------------------------------------------------------------------


def _scratch_root(own: Path) -> Path:
    """Return the directory of scratch projects, without those of processes that were killed."""
    root = own / "scratch"
    root.mkdir(parents=True, exist_ok=True)
    for left in root.iterdir():
        who = left.name.rpartition("-")[0].replace("_", ":")
        if who.count(":") == 2 and not processes.is_alive(who):
            shutil.rmtree(left, ignore_errors=True)
    return root


def _mine() -> str:
    return (processes.identity(os.getpid()) or f"{os.getpid()}:0:-").replace(":", "_") + "-"
