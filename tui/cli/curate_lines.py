"""What became of a curation's Candidates, in lines: by Case, by prediction, on held-out Cases."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from core.evolution.run_view import RoundView, RunView
from tui.cli.lines import points


def silent_line(view: RunView) -> str:
    """Return how many sessions the curator read without asking for an operation; "" where it answered all."""
    sessions = {session.session_id for session in view.sessions_of("curator")}
    silent = len(sessions - {operation["session_id"] for operation in view.operations})
    if not view.operations or not silent:
        return ""
    return f"{silent} of {len(sessions)} sessions that the curator read led to no operation."


def candidate_lines(view: RunView) -> Iterator[str]:
    """Yield what each Candidate scored and why, and what the held-out Cases say."""
    before: dict[str, float] = {}  # of the Reference, by Case, as far as this run measured it
    for tried in view.rounds:
        scores = " against ".join(
            "-" if score is None else f"{score:g}" for score in (tried.score, tried.reference_score)
        )
        yield f"Candidate v{tried.version} is {tried.decision or 'open'}: {scores}."
        cases = case_scores(view, tried.version)
        if cases:
            listed = (f"{case} {points(score)}{_moved(score, before.get(case))}" for case, score in cases.items())
            yield f"  by Case: {', '.join(listed)}"
        if tried.prediction_held is False:
            yield f"  {_missed(tried, cases)}"
        if tried.decision == "accepted":
            before = cases
    if len(view.heldout) > 1:
        first, last = view.heldout[0], view.heldout[-1]
        yield f"Held-out Cases, which no curator saw: {points(first.score)} -> {points(last.score)} (v{last.version})."


def case_scores(view: RunView, version: int) -> dict[str, float]:
    """Return the mean score of each Case that a Candidate was measured on."""
    found: dict[str, list[float]] = {}
    for cell in view.cells:
        if cell.stage == "round" and cell.version == version and cell.score is not None:
            found.setdefault(cell.case_id, []).append(cell.score)
    return {case: fmean(scores) for case, scores in sorted(found.items())}


def _moved(score: float, before: float | None) -> str:
    return "" if before is None or before == score else f" (before {points(before)})"


def _missed(tried: RoundView, cases: dict[str, float]) -> str:
    """Say what was predicted and what came: the prediction holds where every Case moved the way it named."""
    expected = [one for one in tried.prediction.get("cases") or () if isinstance(one, dict)]
    named = []
    for one in expected:
        case = str(one.get("case_id"))
        named.append(f"{case} {points(one.get('expected_score'))}, came to {points(cases.get(case))}")
    told = f": expected {'; '.join(named)}" if named else ""
    return f"prediction missed{told} (it holds where every named Case moves the way it says, whatever the whole does)"
