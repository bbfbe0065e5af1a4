"""The samples of a run as pages: which step, which rollout, which position, and what changed since another. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from core.curation.training_samples import Position, SampleRollout, StepSamples

Tone = Literal["plain", "added", "removed", "dim"]
DiffLines = tuple[tuple[str, Tone], ...]
_LONGEST = 2000  # lines of one skill that are compared; a diff of more takes seconds


@dataclass(frozen=True, slots=True)
class SkillChange:
    """A skill of two repositories: `how` it came or went, and its lines with what changed."""

    title: str
    how: Literal["new", "changed", "same", "gone"]
    lines: DiffLines


@dataclass(frozen=True)
class SampleBook:
    """Invariant: `step` is one of `steps`, or 0 where there are none; `rollout` is a place in that step's rollouts."""

    run_id: str
    steps: tuple[int, ...] = ()
    step: int = 0
    rollout: int = 0
    read: Mapping[int, StepSamples] = field(default_factory=dict)
    faults: Mapping[int, str] = field(default_factory=dict)

    @property
    def samples(self) -> StepSamples | None:
        """What was read of the step at hand, None while it is not read."""
        return self.read.get(self.step)

    @property
    def chosen(self) -> SampleRollout | None:
        rollouts = self.samples.rollouts if self.samples else ()
        return rollouts[min(self.rollout, len(rollouts) - 1)] if rollouts else None

    @property
    def before(self) -> int:
        """The step sampled before this one, 0 where there is none."""
        return max((step for step in self.steps if step < self.step), default=0)

    @property
    def wanted(self) -> tuple[int, ...]:
        """The steps that have to be read for what is shown."""
        return tuple(s for s in (self.step, self.before) if s and s not in self.read and s not in self.faults)

    def at(self, steps: tuple[int, ...]) -> SampleBook:
        """Return the book with newer steps; a book that showed the newest one goes on to the newest."""
        if not steps:
            return replace(self, steps=(), step=0)
        follows = not self.steps or self.step == self.steps[-1] or self.step not in steps
        return replace(self, steps=steps, step=steps[-1] if follows else self.step)

    def turned(self, by: int) -> SampleBook:
        """Return the book some sampled steps on."""
        if not self.steps:
            return self
        place = self.steps.index(self.step) + by
        return replace(self, step=self.steps[max(0, min(len(self.steps) - 1, place))])

    def other_rollout(self, by: int) -> SampleBook:
        """Return the book at another rollout of the step."""
        count = len(self.samples.rollouts) if self.samples else 0
        return replace(self, rollout=(self.rollout + by) % count) if count else self

    def with_samples(self, step: int, found: StepSamples | str) -> SampleBook:
        """Return the book with what was read of a step, or why it could not be."""
        if isinstance(found, str):
            return replace(self, faults={**self.faults, step: found})
        kept = {known: self.read[known] for known in sorted(self.read)[-_KEPT:]}
        return replace(self, read={**kept, step: found})

    def counterpart(self, position: Position) -> Position | None:
        """Return what a position may be set beside in the step sampled before: the same task, else one of its family.

        Of several the one of the same rollout is taken, then the one nearest in the stream. Every step draws its tasks
        anew, so there may be none.
        """
        earlier, chosen = self.read.get(self.before), self.chosen
        if earlier is None or chosen is None:
            return None
        alike = [(r, one) for r in earlier.rollouts for one in r.positions if one.family == position.family]

        def far(pair: tuple[SampleRollout, Position]) -> tuple[bool, bool, int]:
            rollout, one = pair
            other = (rollout.group, rollout.rollout) != (chosen.group, chosen.rollout)
            return one.task != position.task, other, abs(one.position - position.position)

        return min(alike, key=far)[1] if alike else None


_KEPT = 8  # samples that are kept in memory


def previous(rollout: SampleRollout, position: Position) -> Position | None:
    """Return the position before one."""
    place = rollout.positions.index(position)
    return rollout.positions[place - 1] if place else None


def changes(before: Position | None, after: Position) -> tuple[SkillChange, ...]:
    """Return the skills of two repositories: those of the later one in its order, then those that are gone."""
    old = {skill.title: skill.content for skill in before.repository} if before else {}
    found: list[SkillChange] = []
    for skill in after.repository:
        if skill.title not in old:
            found.append(SkillChange(skill.title, "new", _all(skill.content, "added")))
        elif old[skill.title] != skill.content:
            found.append(SkillChange(skill.title, "changed", diff(old[skill.title], skill.content)))
        else:
            found.append(SkillChange(skill.title, "same", _all(skill.content, "plain")))
    now = {skill.title for skill in after.repository}
    found += [SkillChange(t, "gone", _all(content, "removed")) for t, content in old.items() if t not in now]
    return tuple(found)


def diff(before: str, after: str) -> DiffLines:
    """Return the lines of `after` with what went and came, each marked and toned."""
    old, new = before.splitlines()[:_LONGEST], after.splitlines()[:_LONGEST]
    lines: list[tuple[str, Tone]] = []
    for tag, a0, a1, b0, b1 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            lines += [(f"  {line}", "plain") for line in new[b0:b1]]
        else:
            lines += [(f"- {line}", "removed") for line in old[a0:a1]]
            lines += [(f"+ {line}", "added") for line in new[b0:b1]]
    return tuple(lines)


def _all(content: str, tone: Tone) -> DiffLines:
    sign = {"added": "+ ", "removed": "- "}.get(tone, "  ")
    return tuple((f"{sign}{line}", tone) for line in content.splitlines()[:_LONGEST])
