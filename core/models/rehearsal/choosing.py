"""What the rehearsal Optimizer tries next, and what it expects of it: pure functions over what was seen.

Nothing here knows which lessons are good. A lesson is judged by its claim (the kind of chore it speaks to and the
gain its author hoped for), by how much is lost there, by chance, and, once it was measured, by what it did.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from core.models.rehearsal.lesson_library import Lesson
from core.models.rehearsal.target_statement import recognise, words
from core.models.rehearsal.transcript import draw

EDITS_LIMIT = 3  # related edits of one Candidate
SERVICE = "service"
"""The kind of chore that is a customer at the shop's desk."""
_DESK = "shop.json"
_FILE = re.compile(r"`([\w./-]+(?:\.\w+|/))`")
_CHANCE = 12.0  # points of average by which a seed may move a lesson up
_NEW_KIND = 8.0  # what a kind of edit that was not tried yet is worth
_SYMPTOM = 4.0
_WORDS = 3.0  # what it is worth that a lesson speaks in the words of the tasks
_NOISE = 5.0  # a Case that moves by less has stayed where it was
_EFFECT = 0.5  # points; less is no effect


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of the Reference: scores, public statements and kinds of chore by Case, symptoms of its runs."""

    scores: Mapping[str, float]
    statements: Mapping[str, str]
    kinds: Mapping[str, str]
    symptoms: frozenset[str] = frozenset()

    def lost(self, cases: Sequence[str]) -> float:
        """Return how many points of the average these Cases lose."""
        return sum(100 - self.scores[case] for case in cases) / max(1, len(self.scores))


@dataclass(frozen=True, slots=True)
class Proposal:
    """One Candidate in the making: lessons to put in, all for different tasks, and lessons to take out again."""

    lessons: tuple[Lesson, ...]
    removed: tuple[Lesson, ...] = ()

    @property
    def hypothesis(self) -> str:
        """The lessons' own hypotheses, one after the other: each speaks of tasks of its own and can fail by itself."""
        undone = [f"Taking {lesson.path} out again undoes the loss that it brought." for lesson in self.removed]
        return " ".join([*(lesson.hypothesis for lesson in self.lessons), *undone])


@dataclass(frozen=True, slots=True)
class Record:
    """What became of the library's lessons so far, by lesson id.

    `in_force` stand in the agent's state; `effect` is the mean gain that a lesson brought on the Cases it speaks to,
    where it was measured; `refused` may not be tried; `kinds` are the kinds of edit that were tried.
    """

    in_force: frozenset[str] = frozenset()
    effect: Mapping[str, float] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()

    def open(self, lesson: Lesson) -> bool:
        """Tell whether a lesson may be tried: not there, not refused, and not refuted by what it did."""
        if lesson.id in self.in_force or lesson.id in self.refused:
            return False
        if lesson.builds_on and lesson.builds_on not in self.in_force:
            return False
        return lesson.id not in self.effect or self.effect[lesson.id] > _EFFECT


def kind_of(statement: str) -> str:
    """Return the kind of chore that a public statement asks for."""
    named = _FILE.findall(statement)
    return SERVICE if _DESK in named else recognise(statement, named)


def affected(lesson: Lesson, seen: Seen) -> list[str]:
    """Return the Cases that a lesson claims to help: those of its kinds, or, where it names none, of its words.

    A strategy is for one problem among the many of its kind: it claims those that are of its words too.
    """

    def speaks_to(case: str) -> bool:
        worded = not lesson.words or bool(set(lesson.words) & set(words(seen.statements.get(case, ""))))
        if lesson.kinds:
            return seen.kinds.get(case) in lesson.kinds and (worded or lesson.edit != "strategy")
        return worded

    return [case for case in sorted(seen.scores) if seen.scores[case] < 100 and speaks_to(case)]


def appeal(lesson: Lesson, seen: Seen, kinds_tried: Set[str], seed: int) -> float:
    """Return how much a lesson promises: never more than is lost where it claims to help, and a chance by seed."""
    helped = affected(lesson, seen)
    spoken = {word for case in helped for word in words(seen.statements.get(case, ""))}
    fitting = len(spoken & set(lesson.words)) / max(1, len(lesson.words))
    symptoms = 1 if set(lesson.symptoms) & seen.symptoms else -1 if lesson.symptoms else 0
    return (
        min(lesson.expected_gain, seen.lost(helped))
        + _WORDS * fitting
        + _SYMPTOM * symptoms
        + (0.0 if lesson.edit in kinds_tried else _NEW_KIND)
        + _CHANCE * draw(seed, "lesson", lesson.id)
    )


def choose(library: Sequence[Lesson], seen: Seen, record: Record, *, rounds_left: int, seed: int) -> Proposal | None:
    """Return what to try next, or None where nothing that may be tried claims to help.

    The lesson of most appeal leads. While kinds of edit are untried and no more rounds are left than it takes to try
    them, only those may lead. A skill is joined by skills for other tasks, so that each Case still tells of one change
    alone, and by the removal of one that did harm.
    """
    claiming = [lesson for lesson in library if record.open(lesson) and affected(lesson, seen)]
    untried = {lesson.edit for lesson in claiming} - record.kinds
    leading = claiming
    if untried and rounds_left <= len(untried):
        leading = [lesson for lesson in claiming if lesson.edit in untried]

    def order(lesson: Lesson) -> tuple[float, str]:
        return -appeal(lesson, seen, record.kinds, seed), lesson.id

    lead = min(leading, key=order, default=None)
    if lead is None:
        return None
    if lead.edit != "skill":
        return Proposal((lead,))
    harmful = [other for other in library if other.edit == "skill" and _harms(other, record)][:1]
    chosen, taken = [lead], set(affected(lead, seen))
    for lesson in sorted((lesson for lesson in claiming if lesson.edit == "skill"), key=order):
        cases = set(affected(lesson, seen))
        if len(chosen) + len(harmful) < EDITS_LIMIT and not cases & taken:
            chosen.append(lesson)
            taken |= cases
    return Proposal(tuple(chosen), tuple(harmful))


def _harms(lesson: Lesson, record: Record) -> bool:
    return lesson.id in record.in_force and record.effect.get(lesson.id, 0.0) < -_EFFECT


def expectations(proposal: Proposal, seen: Seen, record: Record) -> list[dict[str, Any]]:
    """Return the score expected of each Case: higher where a lesson claims to help, unchanged elsewhere."""
    expected = dict(seen.scores)
    for lesson in proposal.lessons:
        helped = affected(lesson, seen)
        share = max(1.0, lesson.expected_gain) * len(seen.scores) / max(1, len(helped))
        for case in helped:
            expected[case] = min(100.0, expected[case] + share)
    for lesson in proposal.removed:
        for case in affected(lesson, seen):
            if expected[case] <= seen.scores[case]:
                expected[case] = min(100.0, seen.scores[case] - record.effect.get(lesson.id, 0.0))
    return [{"case_id": case, "expected_score": round(score, 1)} for case, score in sorted(expected.items())]


def effects(
    lessons: Sequence[Lesson], seen: Seen, measured: Mapping[str, float], before: Mapping[str, float]
) -> dict[str, float]:
    """Return the mean gain that each lesson of a measured Candidate brought on the Cases it speaks to."""
    found: dict[str, float] = {}
    for lesson in lessons:
        cases = [case for case in affected(lesson, seen) if case in measured and case in before]
        if cases:
            found[lesson.id] = sum(measured[case] - before[case] for case in cases) / len(cases)
    return found


def supported(expected: Mapping[str, float], measured: Mapping[str, float], before: Mapping[str, float]) -> bool:
    """Tell whether what was predicted happened where it was predicted.

    The Cases said to move gained at least half of what was said, taken together, and no other Case fell by more than
    noise. Nothing measured supports nothing.
    """
    known = [case for case in expected if case in measured and case in before]
    moving = [case for case in known if expected[case] - before[case] > 0.05]
    if not moving:
        return False
    gained = sum(measured[case] - before[case] for case in moving)
    promised = sum(expected[case] - before[case] for case in moving)
    steady = all(measured[case] >= before[case] - _NOISE for case in known if case not in moving)
    return gained >= promised / 2 and steady
