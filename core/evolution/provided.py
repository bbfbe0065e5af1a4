"""Benchmarks that come with the program, put to an agent as if they had been built for it."""

from __future__ import annotations

import shutil
from importlib import resources
from pathlib import Path

from core.evolution.trials import measured_cases
from core.foundation.errors import ConflictError, NotFoundError
from core.state import atomic, readonly
from core.state.paths import AgentPaths, BenchmarkPaths

SHOP_SERVICE = "shop-service"
_MATERIAL = "material"


def names() -> tuple[str, ...]:
    """Return the names of the benchmarks that come with the program."""
    return tuple(sorted(path.name for path in _root().iterdir() if (path / "benchmark_config.toml").is_file()))


def put(agent: AgentPaths, name: str) -> BenchmarkPaths:
    """Copy the benchmark `name` to the agent, with an empty scoreboard, and return its paths.

    What the Cases are made from stays behind. Raises NotFoundError for a name that isn't there, ConflictError where
    the agent has a benchmark of that name.
    """
    if name not in names():
        raise NotFoundError(f"There is no benchmark {name!r}.", hint=f"There are: {', '.join(names())}.")
    benchmark = agent.benchmark(name)
    readonly.refuse(agent.root)
    if benchmark.root.exists():
        raise ConflictError(f"Agent {agent.id} has a benchmark {name} already.", hint="It is left as it is.")
    shutil.copytree(_root() / name, benchmark.root, ignore=shutil.ignore_patterns(_MATERIAL, "__pycache__"))
    atomic.write_text(benchmark.scoreboard, "evaluations: []\n")
    assert measured_cases(benchmark)
    return benchmark


def _root() -> Path:
    return Path(str(resources.files("benchmarks")))
