"""Which Cases the rehearsal Builder sharpens next: pure decisions over observed and promised scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rung:
    """The next sharpening of a Case. `expected` is the score it promises if the agent goes on as observed."""

    case_id: str
    level: int
    separates: bool
    held_out: bool
    score: float | None
    expected: float


def choose(
    rungs: Mapping[str, Rung], measured: Mapping[str, float], *, wanted: float, first: bool, last: bool = False
) -> dict[str, int]:
    """Return the levels to put Cases on, by Case, or nothing where no sharpening is left.

    The first refinement tries what only makes a Case longer, as a Builder does that has not yet seen that this
    changes nothing; later ones separate. The highest scores go first, until the mean that the sharpenings promise is
    at or below `wanted` (EVOLUTION 3.2 no. 31); the `last` pilot takes every Case above it, since promises may miss.
    Held-out Cases move along, so that they stay of a kind with the rest.
    """
    live = [rung for rung in rungs.values() if not rung.held_out]
    kind = [rung for rung in live if rung.separates is not first]
    candidates = sorted(kind or live, key=lambda rung: (-(rung.score or 0.0), rung.case_id))
    scores = {case: score for case, score in measured.items() if not (case in rungs and rungs[case].held_out)}
    chosen: dict[str, int] = {}
    for rung in candidates:
        reached = bool(scores) and sum(scores.values()) / len(scores) <= wanted
        if chosen and reached and not (last and (rung.score or 0.0) > wanted):
            break
        chosen[rung.case_id] = rung.level
        scores[rung.case_id] = min(scores.get(rung.case_id, rung.expected), rung.expected)
    if chosen:
        moved = {rungs[case].separates for case in chosen}
        chosen.update({r.case_id: r.level for r in rungs.values() if r.held_out and r.separates in moved})
    return chosen


def named_cases(text: str, cases: Sequence[str]) -> list[str]:
    """Return the Cases that a text names, by their whole id or by its first two parts (`CASE-007`)."""
    lowered = text.lower()
    return [case for case in cases if "-".join(case.lower().split("-")[:2]) in lowered]
