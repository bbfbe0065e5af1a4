"""What a world of tasks is to the stream and to the trainer (CURATION 2a, K4 to K6).

A world gives tasks, runs its own scripted executors on them with the skills that were retrieved, or lets a model play
them step by step. Everything random in it comes from seeds that the caller names: the same task with the same skills
and the same executor gives the same Episode, in any process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from core.skillrepo.skill import Skill

Split = Literal["train", "test"]


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a stream. `text` is what the executor is asked, and the text that skills are retrieved by.

    `family` is the world's own kind of task, the group of CURATION 1.5. `difficulty` is None where the world has no
    measure of it. `data` is the world's own description, plain JSON.
    """

    id: str
    family: str
    text: str
    split: Split
    seed: int
    difficulty: float | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """What the executor did and what it saw then. `coerced`: its answer held no legal action and another was taken."""

    action: str
    observation: str
    coerced: bool = False


@dataclass(frozen=True, slots=True)
class Episode:
    """One attempt at a task.

    `success` is the world's own verdict, None where the attempt was lost to infrastructure (`failure` says how): such
    an Episode is masked, never a zero. `score` is 0 to 1 where the world grades, else None. `judged` is the
    executor's or a judge's own opinion of the outcome, which a curator sees instead of `success` (K5); None where
    nobody judged. `steps` counts actions. `tokens` is what the executor spent, None where unknown. `used` names the
    retrieved skills that a scripted executor really followed.
    """

    task: Task
    success: bool | None
    steps: int
    trajectory: tuple[Step, ...]
    intro: str = ""
    score: float | None = None
    judged: bool | None = None
    tokens: int | None = None
    used: tuple[str, ...] = ()
    failure: str = ""

    @property
    def coerced(self) -> int:
        """How many actions were not the executor's own (K4)."""
        return sum(step.coerced for step in self.trajectory)


@dataclass(frozen=True, slots=True)
class ContentVerdict:
    """A judgement of what a curator wrote (K9). `valid` is None where it was not measured: a mask, never a zero."""

    valid: bool | None
    issues: tuple[str, ...] = ()
    explanation: str = ""


class Game(Protocol):
    """A task that is played step by step, by a model."""

    @property
    def intro(self) -> str:
        """The first observation; the task's line is in it."""
        ...

    @property
    def admissible(self) -> Sequence[str]:
        """Actions that are legal now, in a fixed order; empty where any text is."""
        ...

    @property
    def done(self) -> bool: ...

    @property
    def won(self) -> bool: ...

    @property
    def score(self) -> float | None:
        """0 to 1 where the world grades, else None."""
        ...

    def step(self, action: str) -> str:
        """Act and return the observation. An illegal action changes nothing and costs a step."""
        ...


class World(Protocol):
    """A source of tasks with what belongs to them."""

    @property
    def name(self) -> str: ...

    @property
    def families(self) -> tuple[str, ...]: ...

    @property
    def executors(self) -> tuple[str, ...]:
        """The world's own frozen executors, weakest first; empty where only models can play it."""
        ...

    @property
    def max_steps(self) -> int: ...

    @property
    def fingerprint(self) -> str:
        """sha256 over every constant that an Episode depends on: written down before training (honest constants)."""
        ...

    def stream(self, split: Split, seed: int, count: int | None = None) -> tuple[Task, ...]:
        """Return a mixed stream; `count` None means the world's own number of evaluation tasks, in its own mix."""
        ...

    def group(self, split: Split, seed: int, count: int, family: str | None = None) -> tuple[Task, ...]:
        """Return `count` tasks of one family (drawn by the seed where None): CURATION 1.5, grouping by task type."""
        ...

    def run(self, task: Task, skills: Sequence[Skill], executor: str) -> Episode:
        """Let a scripted executor try. Raises UsageError naming the known ones where there is no such executor."""
        ...

    def play(self, task: Task) -> Game:
        """Open a task to be played by a model. Raises UsageError where the world's tasks are not games."""
        ...

    def oracle(self) -> tuple[Skill, ...]:
        """Return skills written by hand by someone who knows the world: the ceiling that an arm is compared to."""
        ...

    def judge(self, content: str, episode: Episode) -> ContentVerdict:
        """Judge a skill's text by rules: ABSTRACTION, REUSABILITY, ACTIONABILITY, FAITHFULNESS (K9)."""
        ...
