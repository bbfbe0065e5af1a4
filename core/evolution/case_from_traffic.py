"""A bad case becomes a Case: in the benchmark where nothing was measured on it yet, else in a new one beside it (S96).

What was frozen or measured never changes: a byte more would void it. The next version of such a benchmark is a copy
under the next free name, with its Cases and without its scores.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass

from core.evolution.freeze import read_freeze
from core.foundation.errors import NotFoundError
from core.state import readonly
from core.state.locks import held
from core.state.paths import AgentPaths, BenchmarkPaths
from core.strategy.feedback.bad_cases import BadCase
from core.strategy.feedback.case_draft import draft_case, write_case

_NUMBER = re.compile(r"^CASE-([0-9]+)")
_COUNTED = re.compile(r"^(.*)-([0-9]+)$")
_STAGED = ".import-"
_LEFT = ("scoreboard.yaml",)


@dataclass(frozen=True, slots=True)
class Drafted:
    """Where the draft is: `copied_from` is the benchmark that it was copied from, "" where it lies in that itself."""

    benchmark_id: str
    case_id: str
    copied_from: str


def case_from_traffic(agent: AgentPaths, benchmark_id: str, case: BadCase) -> Drafted:
    """Draft a Case from a bad case into a benchmark that nobody was measured on: a person completes it.

    Raises NotFoundError for a benchmark that isn't there, LockedError while another writes there.
    """
    source = agent.benchmark(benchmark_id)
    if not source.root.is_dir():
        raise NotFoundError(f"{agent.id} has no benchmark {benchmark_id}.", hint="o in the console lists them")
    readonly.refuse(source.root)
    with held(source.lock):
        measured = source.scoreboard.is_file() or read_freeze(agent.project, agent.id, source).status != "unfrozen"
        target = _next(agent, source) if measured else source
        draft = draft_case(case, _number(source))
        root = target.root.with_name(f"{_STAGED}{target.id}") if measured else target.root
        if measured:
            shutil.rmtree(root, ignore_errors=True)  # of one that was killed half-way
            shutil.copytree(source.root, root, ignore=shutil.ignore_patterns(*_LEFT))
        write_case(draft, root)
        if measured:
            root.rename(target.root)
    return Drafted(target.id, draft.name, source.id if measured else "")


def _next(agent: AgentPaths, source: BenchmarkPaths) -> BenchmarkPaths:
    """Return the next free name: chores, chores-2, chores-3."""
    found = _COUNTED.match(source.id)
    name, number = (found[1], int(found[2])) if found else (source.id, 1)
    while (target := agent.benchmark(f"{name}-{(number := number + 1)}")).root.exists():
        continue
    return target


def _number(source: BenchmarkPaths) -> int:
    return 1 + max((int(found[1]) for name in source.case_ids() if (found := _NUMBER.match(name))), default=0)
