"""The pair sampler of CURATION 1.5: from a source task to one that follows it well, and so on until a group is full."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from core.foundation.errors import UsageError
from trainer.grouping.attributes import Annotated
from trainer.grouping.gates import Mode, fits_mode, refusal, score
from trainer.grouping.settings import TABLE_5, GroupingSettings
from trainer.grouping.similarity import Encoder, Overlap

INDEXED = ("concepts", "strategies", "pitfalls")  # the index is over {C, R, P}


@dataclass(frozen=True, slots=True)
class Member:
    """A task of a group and how it came in. The first is the `seed`; `fallback` ones passed no gate (tagged)."""

    task: Annotated
    how: Mode | str
    score: float | None = None

    @property
    def fallback(self) -> bool:
        return self.how == "fallback"


class Index:
    """Which tasks hold a phrase: for each task the others that share a concept, a strategy or a pitfall with it.

    Invariant: postings are in the order of the tasks, so a draw from them depends on the seed alone.
    """

    def __init__(self, tasks: Sequence[Annotated]) -> None:
        self.tasks = tuple(tasks)
        self._postings: dict[tuple[str, str], list[int]] = {}
        for at, task in enumerate(self.tasks):
            for kind in INDEXED:
                for phrase in dict.fromkeys(task.attributes.of(kind)):
                    self._postings.setdefault((kind, phrase), []).append(at)

    def pool(self, source: Annotated, excluded: frozenset[str], cap: int, draw: random.Random) -> list[Annotated]:
        """Return the tasks that share an indexed phrase with `source`: all, or `cap` of them drawn uniformly."""
        found: dict[int, None] = {}
        for kind in INDEXED:
            for phrase in source.attributes.of(kind):
                found.update(dict.fromkeys(self._postings.get((kind, phrase), ())))
        left = [self.tasks[at] for at in sorted(found) if self.tasks[at].id not in excluded]
        return left if len(left) <= cap else draw.sample(left, cap)

    def fallback(self, excluded: frozenset[str], size: int, draw: random.Random) -> list[Annotated]:
        """Return up to `size` tasks drawn from all that aren't excluded."""
        left = [task for task in self.tasks if task.id not in excluded]
        return left if len(left) <= size else draw.sample(left, size)


class PairSampler:
    """Draws partners and groups. Invariant: the same tasks, settings, encoder and seed give the same groups."""

    def __init__(self, tasks: Sequence[Annotated], encoder: Encoder, settings: GroupingSettings = TABLE_5) -> None:
        if len({task.id for task in tasks}) != len(tasks):
            raise UsageError("Two tasks to be grouped have the same id.")
        self._index = Index(tasks)
        self._encoder = encoder
        self._settings = settings

    def mode(self, draw: random.Random) -> Mode:
        """Draw the curriculum's mode of the next step."""
        chance = draw.random()
        if chance < self._settings.harder:
            return "harder"
        return "same" if chance < self._settings.harder + self._settings.same else "easier"

    def partner(self, source: Annotated, excluded: frozenset[str], draw: random.Random) -> Member | None:
        """Return the task that follows `source`, tagged "fallback" where none passes; None where none is left."""
        mode, settings = self.mode(draw), self._settings
        passed = []
        for target in self._index.pool(source, excluded | {source.id}, settings.pool, draw):
            gap = target.difficulty - source.difficulty
            if not fits_mode(gap, mode, settings):  # cheap, so before the phrases are compared
                continue
            overlap = Overlap(source.attributes, target.attributes, self._encoder, settings.tau)
            if not refusal(source, target, overlap, mode, settings):
                passed.append(Member(target, mode, score(overlap, gap, settings)))
        if passed:
            return self._chosen(passed, draw)
        pool = self._index.fallback(excluded | {source.id}, settings.fallback, draw)
        return Member(draw.choice(pool), "fallback") if pool else None

    def _chosen(self, passed: Sequence[Member], draw: random.Random) -> Member:
        if self._settings.choice == "sample":
            return draw.choices(passed, [max(member.score or 0.0, 1e-9) for member in passed])[0]
        best = max(member.score or 0.0 for member in passed)
        return draw.choice([member for member in passed if member.score == best])

    def group(self, size: int, seed: int, start: str | None = None) -> tuple[Member, ...]:
        """Return a group: a seed task, drawn where `start` names none, then partner after partner.

        The source of each step is the last task; what is in the group is excluded. Raises UsageError where `start` is
        unknown or there are fewer tasks than `size`.
        """
        tasks = self._index.tasks
        if size > len(tasks):
            raise UsageError(f"A group of {size} can't be drawn from {len(tasks)} tasks.")
        draw = random.Random(f"group {seed}")
        first = draw.choice(tasks) if start is None else next((task for task in tasks if task.id == start), None)
        if first is None:
            raise UsageError(f"There is no task {start!r} to begin a group with.")
        members = [Member(first, "seed")]
        while len(members) < size:
            excluded = frozenset(member.task.id for member in members)
            following = self.partner(members[-1].task, excluded, draw)
            assert following is not None  # there are more tasks than members
            members.append(following)
        return tuple(members)


def random_size(low: int, high: int, seed: int) -> int:
    """Return a group's size drawn from low..high, both included: Table 4's Random(5, 12) for reasoning."""
    return random.Random(f"group size {seed}").randint(low, high)
