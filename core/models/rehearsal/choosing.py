"""Which lesson the rehearsal Optimizer tries next, and what it expects of it: pure functions over what was seen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from core.models.rehearsal.lesson_library import Lesson
from core.models.rehearsal.target_statement import recognise, words
from core.models.rehearsal.transcript import draw

_FILE = re.compile(r"`([\w./-]+(?:\.\w+|/))`")
_CHANCE = 12.0  # points of average by which a seed may move a lesson up
_NEW_KIND = 8.0  # what a kind of edit that was not tried yet is worth
_SYMPTOM = 4.0
_NOISE = 5.0  # a Case that moves by less has stayed where it was


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of the Reference: scores, public statements and kinds of chore by Case, symptoms of its runs."""

    scores: Mapping[str, float]
    statements: Mapping[str, str]
    kinds: Mapping[str, str]
    symptoms: frozenset[str]

    def lost(self, cases: Sequence[str]) -> float:
        """Return how many points of the average these Cases lose."""
        return sum(100 - self.scores[case] for case in cases) / max(1, len(self.scores))


def kind_of(statement: str) -> str:
    """Return the kind of chore that a public statement asks for."""
    return recognise(statement, _FILE.findall(statement))


def affected(lesson: Lesson, seen: Seen) -> list[str]:
    """Return the Cases that a lesson claims to help: by their kind, or by words of their statements."""
    return [
        case
        for case in sorted(seen.scores)
        if seen.scores[case] < 100
        and (
            seen.kinds.get(case) in lesson.kinds
            or bool(set(lesson.words) & set(words(seen.statements.get(case, ""))))
            or not (lesson.kinds or lesson.words)
        )
    ]


def appeal(lesson: Lesson, seen: Seen, kinds_tried: Set[str], seed: int) -> float:
    """Return how much a lesson promises: never more than is lost where it claims to help, and a chance by seed."""
    promised = min(lesson.expected_gain, seen.lost(affected(lesson, seen)))
    symptoms = _SYMPTOM * len(set(lesson.symptoms) & seen.symptoms)
    new = 0.0 if lesson.edit in kinds_tried else _NEW_KIND
    return promised + symptoms + new + _CHANCE * draw(seed, "lesson", lesson.id)


def choose(
    candidates: Sequence[Lesson], seen: Seen, *, kinds_tried: Set[str], rounds_left: int, seed: int
) -> Lesson | None:
    """Return the lesson to try next, or None where none claims to help.

    While kinds of edit are untried and no more rounds are left than it takes to try them, only those are looked at.
    """
    claiming = [lesson for lesson in candidates if affected(lesson, seen)]
    untried = {lesson.edit for lesson in claiming} - set(kinds_tried)
    if untried and rounds_left <= len(untried):
        claiming = [lesson for lesson in claiming if lesson.edit in untried]
    return max(claiming, key=lambda lesson: (appeal(lesson, seen, kinds_tried, seed), lesson.id), default=None)


def expectations(lesson: Lesson, seen: Seen) -> list[dict[str, Any]]:
    """Return the score expected of each Case: higher where the lesson claims to help, unchanged elsewhere."""
    helped = affected(lesson, seen)
    share = max(1.0, lesson.expected_gain) * len(seen.scores) / max(1, len(helped))
    return [
        {
            "case_id": case,
            "expected_score": round(min(100.0, score + share) if case in helped else score, 1),
        }
        for case, score in sorted(seen.scores.items())
    ]


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
