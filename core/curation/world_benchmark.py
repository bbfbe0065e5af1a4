"""World `benchmark:AGENT/ID`: a benchmark as a task stream (K6). Cases are the tasks, the agent is the executor.

Each attempt is a real cell: the Target works confined on the Case, an Evaluator scores it against the rubric. The
agent's own skills are set aside, so that a repository begins empty, and those that a memory gives are installed in a
scratch copy; the agent itself is never touched. Points of Cases that are not held out are the task reward, and the
curator may know them; held-out Cases are the split `test`, for evaluation only, and what came of them no curator hears.
A cell that its harness lost is masked, never a zero.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.curation import benchmark_judge
from core.curation.agent_episodes import Told
from core.curation.scratch_cells import Bench, Cell, Filled, fill
from core.curation.worlds import ContentVerdict, Episode, Game, Split, Task
from core.evolution.cells import CellResult
from core.evolution.freeze import frozen_files, read_freeze
from core.evolution.trials import held_out_cases, measured_cases
from core.foundation import strict_json
from core.foundation.errors import NotFoundError, UsageError
from core.foundation.visible import decode
from core.models.registry import resolve
from core.models.rehearsal.options import RehearsalOptions
from core.skillrepo.skill import Skill
from core.state import readonly
from core.state.agents import read_agent
from core.state.fingerprint import hash_of, state_hash
from core.state.paths import BenchmarkPaths, ProjectPaths
from core.state.project import read_project

TARGET = "target"
"""The only executor: the agent itself."""
DEFAULT_TURNS = 60  # what max_turns -1 of a configuration means (DECISIONS 19)
_REHEARSAL = ("rehearsal", "rehearsal-1")


@dataclass
class BenchmarkWorld:
    """A World over real cells. `success_at` (0 to 100 points) is where a Case counts as a success; `places` cells run
    at a time. Invariant: `other_tokens` is what judging has taken so far (Evaluators, Targets that were lost), beside
    the tokens of the Episodes.
    """

    bench: Bench
    success_at: float
    places: int
    other_tokens: int = 0

    @property
    def name(self) -> str:
        return f"benchmark:{self.bench.agent.id}/{self.bench.benchmark.id}"

    @property
    def model(self) -> str:
        """The model that works on the Cases, as PROVIDER/MODEL: a run over them has a budget if it is a real one."""
        ref = self.bench.entry.ref
        return f"{ref.provider}/{ref.model_id}"

    @property
    def families(self) -> tuple[str, ...]:
        """The Cases: runs of one Case are what belongs together here."""
        return self.bench.benchmark.case_ids()

    @property
    def executors(self) -> tuple[str, ...]:
        return (TARGET,)

    @property
    def max_steps(self) -> int:
        turns = read_agent(self.bench.agent).max_turns
        return turns if turns > 0 else DEFAULT_TURNS

    @property
    def fingerprint(self) -> str:
        """sha256 over the agent's state, the benchmark's frozen bytes, the model, the seed and what is a success."""
        ref, bench = self.bench.entry.ref, self.bench
        facts = {
            "state": state_hash(bench.agent.state),
            "benchmark": hash_of(frozen_files(bench.benchmark)),
            "model": [ref.provider, ref.model_id, read_agent(bench.agent).thinking_level],
            "seed": bench.seed,
            "success_at": self.success_at,
            "own_skills": bench.own_skills,
        }
        return hash_of({"facts": strict_json.dumps(facts)})

    def stream(self, split: Split, seed: int, count: int | None = None) -> tuple[Task, ...]:
        """Return Cases of a split in an order drawn by `seed`: each once, then each once more, as `count` asks.

        Every run of a Case has a number of its own, so luck differs between runs and between streams.
        """
        cases = self._cases(split)
        wanted = len(cases) if count is None else count
        draws, tasks = random.Random(f"benchmark stream {split} {seed}"), list[Task]()  # noqa: S311 -- no secret
        while len(tasks) < wanted:
            order = list(cases)
            draws.shuffle(order)
            turn = len(tasks) // len(cases)
            tasks += [self._task(case_id, split, _run(seed, turn)) for case_id in order]
        return tuple(tasks[:wanted])

    def group(self, split: Split, seed: int, count: int, family: str | None = None) -> tuple[Task, ...]:
        """Return `count` runs of one Case."""
        cases = self._cases(split)
        if family is not None and family not in cases:
            raise UsageError(f"{family!r} is no Case of the split {split}.", hint=f"Cases: {', '.join(cases)}.")
        draws = random.Random(f"benchmark group {split} {seed}")  # noqa: S311 -- no secret
        case_id = family if family is not None else draws.choice(cases)
        return tuple(self._task(case_id, split, _run(seed, turn)) for turn in range(count))

    def run(self, task: Task, skills: Sequence[Skill], executor: str) -> Episode:
        """Run one cell. Raises BlockedError where none can be run any more."""
        (episode,) = self.run_many([(task, tuple(skills))], executor)
        return episode

    def run_many(self, attempts: Sequence[tuple[Task, tuple[Skill, ...]]], executor: str) -> list[Episode]:
        """Run a cell for each attempt, several at a time."""
        if executor != TARGET:
            raise UsageError(f"World {self.name} has no executor {executor!r}.", hint=f"Executors: {TARGET}.")
        readonly.refuse(self.bench.agent.project.root)
        freeze = read_freeze(self.bench.agent.project, self.bench.agent.id, self.bench.benchmark)
        if freeze.status == "void":
            raise UsageError(
                f"Benchmark {self.bench.benchmark.id} changed after its freeze: {', '.join(freeze.changed[:3])}.",
                hint="Put the files back; nothing is measured on a void one.",
            )
        cells = [Cell(str(task.data["case"]), int(task.data["run"]), skills) for task, skills in attempts]
        done: list[Filled] = _waited_for(self._filled(cells))
        self.other_tokens += sum(cell.other_tokens for cell in done)
        return [self._episode(task, cell.result, cell.told) for (task, _), cell in zip(attempts, done, strict=True)]

    def play(self, task: Task) -> Game:
        """There is nothing to play step by step: an agent works on a Case in its own way."""
        raise UsageError(
            f"The tasks of {self.name} are no games.", hint=f"Use --executor {TARGET}: the agent itself works on them."
        )

    def oracle(self) -> tuple[Skill, ...]:
        """Nobody wrote skills by hand for a benchmark of one's own: the arm is not run."""
        return ()

    def judge(self, content: str, episode: Episode) -> ContentVerdict:
        """Judge by rules (`benchmark_judge`)."""
        return benchmark_judge.judge(content, episode, self.bench.benchmark)

    # Parts -----------------------------------------------------------------------------------------------

    def _cases(self, split: Split) -> tuple[str, ...]:
        cases = held_out_cases(self.bench.benchmark) if split == "test" else measured_cases(self.bench.benchmark)
        if not cases:
            other = "train" if split == "test" else "test"
            raise UsageError(
                f"Benchmark {self.bench.benchmark.id} has no Case for the split {split}"
                + (": it holds none out." if split == "test" else ": all are held out."),
                hint=f"Say --split {other}.",
            )
        return cases

    def _task(self, case_id: str, split: Split, run: int) -> Task:
        text = decode(self.bench.benchmark.case(case_id).statement_readme.read_bytes())
        return Task(f"{case_id}/{run}", case_id, text, split, run, data={"case": case_id, "run": run})

    async def _filled(self, cells: Sequence[Cell]) -> list[Filled]:
        bench = self.bench
        ref = bench.entry.ref
        provider, _ = resolve(
            bench.agent.project, ref.provider, ref.model_id, seed=bench.seed, rehearsal=bench.rehearsal
        )
        try:
            return await fill(bench, provider, cells, self.places)
        finally:
            await provider.aclose()

    def _episode(self, task: Task, result: CellResult, told: Told | None) -> Episode:
        if result.score is None or told is None:
            reason = f"{result.failure_code or 'no result'}: {result.reason}"
            return Episode(task, None, 0, (), failure=reason)
        success = result.score >= self.success_at
        return Episode(
            task=task,
            success=success,
            steps=told.actions,
            trajectory=told.steps,
            score=result.score / 100,
            judged=success if task.split == "train" else None,
            tokens=told.tokens,
            used=told.skills,
        )


def open_benchmark(
    project: ProjectPaths,
    agent_id: str,
    benchmark_id: str,
    *,
    model: str | None = None,
    seed: int = 7,
    success_at: float = 90.0,
    own_skills: bool = False,
    places: int = 2,
    allow_unisolated: bool = False,
    **unknown: Any,
) -> BenchmarkWorld:
    """Return the world of a benchmark.

    `model` is PROVIDER/MODEL, the project's default where None; `own_skills` lets the agent keep its own skills.
    Raises NotFoundError where agent, benchmark or model is not there, UsageError for an option that it does not have.
    """
    if unknown:
        raise UsageError(f"A benchmark world has no option {next(iter(unknown))!r}.")
    agent = project.agent(agent_id)
    if not agent.config.is_file():
        raise NotFoundError(f"There is no agent {agent_id!r}.", hint="List them: exuvia agent list")
    benchmark: BenchmarkPaths = agent.benchmark(benchmark_id)
    if not benchmark.root.is_dir():
        raise NotFoundError(f"Agent {agent_id} has no benchmark {benchmark_id!r}.", hint="Build one: exuvia build")
    if not 0 <= success_at <= 100 or places < 1:
        raise UsageError("success_at is 0 to 100 points, places 1 or more.")
    options = RehearsalOptions(seed=seed)
    provider, model_id = _pair(project, model)
    entry = resolve(project, provider, model_id, seed=seed, rehearsal=options)[1]
    bench = Bench(
        agent=agent,
        benchmark=benchmark,
        entry=entry,
        seed=seed,
        rehearsal=options,
        own_skills=own_skills,
        allow_unisolated=allow_unisolated,
    )
    return BenchmarkWorld(bench, success_at, places)


def _pair(project: ProjectPaths, model: str | None) -> tuple[str, str]:
    if model is None:
        default = read_project(project).default_model
        return _REHEARSAL if default is None else (default.provider, default.model_id)
    provider, slash, model_id = model.partition("/")
    if not slash or not provider or not model_id:
        raise UsageError(f"{model!r} names no model.", hint="Write PROVIDER/MODEL.")
    return provider, model_id


def _run(seed: int, turn: int) -> int:
    """Return the number of a run: its own for each stream and each turn of it, from 1."""
    return seed * 1000 + turn + 1


def _waited_for(work: Any) -> Any:
    """Run a coroutine to its end, from inside a running loop too (in a thread of its own)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    found: list[Any] = []

    def go() -> None:
        try:
            found.append((asyncio.run(work), None))
        except BaseException as error:
            found.append((None, error))

    thread = threading.Thread(target=go, name="benchmark-cells")
    thread.start()
    thread.join()
    value, error = found[0]
    if error is not None:
        raise error
    return value
