"""The world `reasoning`: one question, one answer that is checked. Only models can play it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from core.curation.worlds import ContentVerdict, Episode, Game, Split, Task
from core.foundation.errors import UsageError
from core.foundation.strict_json import dumps
from core.skillrepo.skill import Skill
from trainer.worlds.reasoning import oracle
from trainer.worlds.reasoning.answers import final_answer
from trainer.worlds.reasoning.problems import Source


class ReasoningGame:
    """A problem to be answered once: the whole text of the answer is the action, its box or last line the result."""

    def __init__(self, source: Source, task: Task) -> None:
        self._source = source
        self._task = task
        self._score: float | None = None

    @property
    def intro(self) -> str:
        return self._task.text

    @property
    def admissible(self) -> Sequence[str]:
        return ()

    @property
    def done(self) -> bool:
        return self._score is not None

    @property
    def won(self) -> bool:
        return self._score is not None and self._score >= 1.0

    @property
    def score(self) -> float | None:
        return self._score or 0.0

    def step(self, action: str) -> str:
        """Take the answer. What is right isn't told: a curator must not learn answers by heart."""
        if self.done:
            return "The problem was answered already."
        self._score = self._source.check(self._task, final_answer(action)).score
        return "The answer was taken."


class Reasoning:
    """Problems of a source. It holds no state: a method gives the same for the same arguments, in any process."""

    name = "reasoning"
    executors: tuple[str, ...] = ()
    max_steps = 1

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def families(self) -> tuple[str, ...]:
        return self._source.families

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(dumps({"world": "reasoning 1", **self._source.facts}).encode()).hexdigest()

    def stream(self, split: Split, seed: int, count: int | None = None) -> tuple[Task, ...]:
        return tuple(self._source.stream(split, seed, count))

    def group(self, split: Split, seed: int, count: int, family: str | None = None) -> tuple[Task, ...]:
        return tuple(self._source.group(split, seed, count, family))

    def run(self, task: Task, skills: Sequence[Skill], executor: str) -> Episode:
        """Raise UsageError: a script that solves these problems would be no test of skills."""
        raise UsageError(
            f"The reasoning world has no executor {executor!r}: only models can solve its problems.",
            hint="Name a model as executor: PROVIDER/MODEL.",
        )

    def play(self, task: Task) -> Game:
        return ReasoningGame(self._source, task)

    def oracle(self) -> tuple[Skill, ...]:
        return oracle.skills()

    def judge(self, content: str, episode: Episode) -> ContentVerdict:
        """Nothing is measured: whether a line of reasoning is sound can't be decided by rules."""
        return ContentVerdict(None, (), "the reasoning world has no rules to judge by; use a model as judge")
