"""Pure decisions over measured scores: means, differences, keep or not, did the prediction hold.

Invalid is never zero: a matrix with a missing cell has no score, and nothing without a score is compared
(EVOLUTION 3.5 no. 62; FAULTS: bool-as-number, empty set = zero; sign error).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from core.foundation.strict_json import is_number
from core.state.evaluation import mean_score

Decision = Literal["accepted", "rejected", "unevaluable"]
CaseScores = Mapping[str, Sequence[float]]


def _finite(values: Iterable[float]) -> list[float]:
    listed = list(values)
    if not listed:
        raise ValueError("no scores: an empty matrix has no mean")
    for value in listed:
        if not is_number(value) or not 0 <= value <= 100:
            raise ValueError(f"{value!r} is no score")
    return listed


def case_score(runs: Iterable[float]) -> float:
    """Return a Case's score: the mean of its runs, two decimals."""
    values = _finite(runs)
    return mean_score(values)


def matrix_score(cases: CaseScores) -> float:
    """Return the benchmark's score: the unweighted mean of its Cases, two decimals. Raises ValueError if empty."""
    values = _finite(case_score(runs) for runs in cases.values())
    return mean_score(values)


def complete(cases: CaseScores, *, wanted: Iterable[str], runs: int) -> bool:
    """Tell whether every wanted Case has exactly `runs` scores and nothing else is there."""
    names = list(wanted)
    return bool(names) and runs > 0 and set(cases) == set(names) and all(len(cases[name]) == runs for name in names)


def difference(candidate: float, reference: float) -> float:
    """Return how much better the first is; swapping the two changes only the sign."""
    return round(abs(candidate - reference), 2) * (1 if candidate >= reference else -1)


def decide(candidate: float | None, reference: float) -> Decision:
    """Accept iff every cell was valid (there is a score) and the score is strictly greater (no. 62)."""
    if candidate is None:
        return "unevaluable"
    return "accepted" if candidate > reference else "rejected"


def prediction_held(
    expected: Mapping[str, float], measured: Mapping[str, float], reference: Mapping[str, float]
) -> bool | None:
    """Tell whether each Case moved the way that was predicted: up, down or not at all.

    None where nothing was predicted to move or nothing was measured.
    """
    judged = [name for name in expected if name in measured and name in reference]
    moved = [name for name in judged if not math.isclose(expected[name], reference[name], abs_tol=0.005)]
    if not moved:
        return None
    return all((measured[name] - reference[name]) * (expected[name] - reference[name]) > 0 for name in moved)


@dataclass(frozen=True, slots=True)
class SeparatingPrediction:
    """What was written before a dispatch: the result of the observed strategy and that of the desired behaviour."""

    score_if_observed: float
    score_if_desired: float


TOLERANCE = 10.0
"""Points by which a result may differ from its prediction and still agree with it."""


def missed(prediction: SeparatingPrediction, observed: float) -> bool:
    """Tell whether a result contradicts its prediction.

    It does where it lies more than TOLERANCE points off, or nearer to the result of the other behaviour: then the
    Case did not meet the strategy it was built against.
    """
    off = abs(observed - prediction.score_if_observed)
    return off > TOLERANCE or off > abs(observed - prediction.score_if_desired)
