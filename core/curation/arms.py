"""Arms: ways of having skills, compared on the same tasks (K6). Each is measured, or not run with a reason.

`none` has no skills and is measured again with every run (lesson 9). `oracle` is the ceiling: skills written by hand.
`verbatim` stores every success as it is and `shuffled` gives the oracle's skills to the wrong tasks: both must lose to
the oracle, or it isn't the skills that help. `base`, `trained`, `prompted` curate a repository from empty;
`reasoningbank` and `memp` are other people's memories (modules of their own).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

from core.curation.curators import CurationInput, Curator
from core.curation.memories import (
    FixedMemory,
    Memory,
    RepositoryMemory,
    Retrieval,
    ShuffledMemory,
    calls_change,
)
from core.curation.worlds import Task
from core.skillrepo.skill import Skill

NAMES = ("none", "reasoningbank", "memp", "base", "prompted", "trained", "verbatim", "oracle", "shuffled")
"""Every arm, in the order in which reports show them."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Tasks in their order, drawn by `seed`."""

    seed: int
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class Learned:
    """What came of one attempt. `change` is None where there is nothing to change; `failure` says why nothing came.

    Tokens are None where nobody counted.
    """

    change: Mapping[str, Any] | None
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    failure: str = ""


class Arm(Protocol):
    """A way of having skills."""

    @property
    def name(self) -> str: ...

    @property
    def static(self) -> bool:
        """Whether its memories never change, so that the tasks of a stream don't wait for each other."""
        ...

    def working(self) -> AbstractContextManager[None]:
        """Hold what the arm needs while it works: a process, say. Raises ExuviaError where it can't begin."""
        ...

    def refuses(self, world: str) -> str:
        """Return why it can't work on a world, in one sentence; empty where it can. Asked while it works."""
        ...

    def memory(self, stream: Stream) -> Memory:
        """Return the memory that a stream begins with."""
        ...

    def learn(self, attempts: Sequence[tuple[Memory, CurationInput]]) -> Sequence[Learned]:
        """Return what each attempt teaches, in order; nothing is changed yet."""
        ...


@dataclass(frozen=True, slots=True)
class NotRun:
    """An arm that isn't measured, and why: never a stand-in's number."""

    name: str
    reason: str


class Unconditional:
    """What an arm answers that holds nothing while it works and works on every world."""

    __slots__ = ()

    def working(self) -> AbstractContextManager[None]:
        return nullcontext()

    def refuses(self, world: str) -> str:
        del world
        return ""


@dataclass(frozen=True, slots=True)
class FixedArm(Unconditional):
    """`none` and `oracle`: skills that nobody changes; `shuffled`: the same for the wrong tasks, drawn by a seed."""

    name: str
    skills: tuple[Skill, ...]
    retrieval: Retrieval
    shuffled: bool = False
    static: bool = True

    def memory(self, stream: Stream) -> Memory:
        if self.shuffled:
            return ShuffledMemory(self.skills, self.retrieval, wrong_tasks(stream))
        return FixedMemory(self.skills, self.retrieval)

    def learn(self, attempts: Sequence[tuple[Memory, CurationInput]]) -> Sequence[Learned]:
        return [Learned(None) for _ in attempts]


@dataclass(slots=True)
class CuratedArm:
    """A repository from empty that a curator changes. `open` gives the curator for as long as the arm works."""

    name: str
    open: Callable[[], AbstractContextManager[Curator]]
    retrieval: Retrieval
    extra: bool = False
    static: bool = False
    _curator: Curator | None = field(default=None, init=False)

    @contextmanager
    def working(self) -> Iterator[None]:
        with self.open() as curator:
            self._curator = curator
            try:
                yield
            finally:
                self._curator = None

    def refuses(self, world: str) -> str:
        return self._at_work.refuses(world)

    def memory(self, stream: Stream) -> Memory:
        del stream
        return RepositoryMemory(self.retrieval, extra=self.extra)

    def learn(self, attempts: Sequence[tuple[Memory, CurationInput]]) -> Sequence[Learned]:
        answers = self._at_work.curate([given for _, given in attempts])
        return [
            Learned(
                None if answer.failure else calls_change(answer.calls),
                answer.prompt_tokens,
                answer.answer_tokens,
                answer.failure,
            )
            for answer in answers
        ]

    @property
    def _at_work(self) -> Curator:
        assert self._curator is not None, "an arm answers while it works"
        return self._curator


def wrong_tasks(stream: Stream) -> tuple[Task, ...]:
    """Return, for each task, another one whose skills it is given: of another family wherever that can be.

    Tasks are laid out family by family, in an order drawn by the stream's seed, and moved on by the size of the largest
    family; no task then meets its own family unless that family is more than half of the stream.
    """
    count = len(stream.tasks)
    if count < 2:
        return stream.tasks
    draw = random.Random(stream.seed)  # noqa: S311  # an order, not a secret
    drawn = list(range(count))
    draw.shuffle(drawn)
    laid_out = sorted(drawn, key=lambda at: stream.tasks[at].family)
    sizes: dict[str, int] = {}
    for task in stream.tasks:
        sizes[task.family] = sizes.get(task.family, 0) + 1
    move = max(sizes.values()) % count or 1
    stands_for = {at: laid_out[(place + move) % count] for place, at in enumerate(laid_out)}
    return tuple(stream.tasks[stands_for[at]] for at in range(count))
