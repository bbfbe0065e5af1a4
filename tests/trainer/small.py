"""A run small enough for a test: real world, real policy, real loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from core.curation.executors import Attempt, ScriptedExecutor
from core.curation.worlds import Episode, World
from core.foundation import strict_json
from trainer.demonstrations import demonstrations
from trainer.imitation import imitate
from trainer.policies.tiny import TinyPolicy, make
from trainer.settings import ImitationOptions, RetrievalOptions
from trainer.worlds import open_world

SMALL: Mapping[str, Any] = {
    "policy.options.width": 32,
    "policy.options.layers": 1,
    "policy.options.heads": 2,
    "imitation.steps": 40,
    "imitation.demonstrations": 200,
    "imitation.batch": 16,
    "imitation.lr": 0.01,
    "group.batch": 8,
    "group.rollouts": 4,
    "group.smallest": 4,
    "group.largest": 4,
    "steps": 4,
    "evaluate_every": 2,
    "checkpoint_every": 2,
    "sample_every": 2,
    "evaluation.streams": 2,
    "evaluation.tasks": 12,
    "evaluation.groups": 2,
    "evaluation.validation": 2,
    "evaluation.validation_tasks": 8,
    "threads": 1,
}
"""Settings over cpu-demo: a second or two."""


def ask(root: Path, *, seed: int = 0, **more: Any) -> None:
    """Write a run's request as the console does."""
    root.mkdir(parents=True, exist_ok=True)
    settings = {**SMALL, **{key.replace("__", "."): value for key, value in more.items()}}
    request = {"time": "", "preset": "cpu-demo", "seed": seed, "settings": settings}
    (root / "request.json").write_text(strict_json.dumps(request))


def events(root: Path, name: str = "") -> list[dict[str, Any]]:
    """Return the records of a run, those of one event where named."""
    lines = [strict_json.parse(line) for line in (root / "events.jsonl").read_text().splitlines()]
    return [line for line in lines if not name or line["event"] == name]


def policy(seed: int = 1) -> TinyPolicy:
    """Return an untrained household policy."""
    return make("household", seed=seed, max_prompt=100, max_answer=20, width=32, layers=1, heads=2)


@cache
def taught() -> TinyPolicy:
    """Return a policy that imitated for a moment: it makes calls, good and bad ones. Nobody may train it further."""
    made = policy()
    world, retrieval = open_world("household"), RetrievalOptions(min_overlap=0.51)
    shown = demonstrations(world, made.book, "weak", retrieval, count=200, longest=20, seed=1)
    pairs = [(made.prompt(one.given), made.target(one)) for one in shown]
    imitate(made, pairs, ImitationOptions(steps=40, batch=16, lr=1e-2), seed=1)
    return made


class Losing:
    """The weak executor, some of whose attempts are lost to infrastructure: those that `lost` names by position."""

    name = "weak"

    def __init__(self, lost: Sequence[str]) -> None:
        self._lost = frozenset(lost)

    def run(self, world: World, attempts: Sequence[Attempt]) -> list[Episode]:
        return [
            Episode(one.task, None, 0, (), failure="the server went away") if one.task.id in self._lost else one
            for one in ScriptedExecutor(self.name).run(world, attempts)
        ]
