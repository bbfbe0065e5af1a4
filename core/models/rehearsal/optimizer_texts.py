"""What the rehearsal Optimizer writes: reasons, comparisons and its report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.models.rehearsal.choosing import Proposal, Seen, affected
from core.models.rehearsal.lesson_library import Lesson
from core.models.rehearsal.transcript import Step, Transcript


def hit_turn_limit(step: Step) -> bool:
    """Tell whether a trace that was read ends because the agent used up its turns."""
    for record in (step.answer or {}).get("records") or []:
        payload = record.get("payload") if isinstance(record, dict) else None
        if isinstance(payload, dict) and payload.get("type") == "abort":
            reason = str(payload.get("reason", "")).lower()
            if "turn" in reason or "budget" in reason:
                return True
    return False


def thought(proposal: Proposal, seen: Seen) -> str:
    """Say what was seen and what is tried."""
    low = sorted(seen.scores, key=lambda case: (seen.scores[case], case))[:2]
    told = ", ".join(f"{case} {seen.scores[case]:g}" for case in low)
    return f"Weakest: {told}. {proposal.hypothesis}"


def why(lesson: Lesson, seen: Seen) -> str:
    """Return why an edit is made, in general words."""
    helped = affected(lesson, seen)
    kinds = sorted({seen.kinds[case] for case in helped if case in seen.kinds})
    return f"{len(helped)} of {len(seen.scores)} tasks are of a kind that this speaks to ({', '.join(kinds)})."


def observed(expected: Mapping[str, float], measured: Mapping[str, float], before: Mapping[str, float]) -> str:
    """Compare prediction and result, Case by Case."""
    if not measured:
        return "Nothing was measured."
    return "; ".join(
        f"{case}: was {before.get(case, 0):g}, expected {expected.get(case, before.get(case, 0)):g}, got {score:g}"
        for case, score in sorted(measured.items())
    )


def summary_title(hypothesis: str) -> str:
    """Return a title of a few words."""
    return " ".join(hypothesis.split()[:9]).rstrip(".,:;") or "Candidate"


def summary(hypothesis: str, held: bool) -> str:
    """Return the summary that scoreboard and ledger keep."""
    return f"Hypothesis: {hypothesis} The prediction {'held' if held else 'did not hold'}."


def report(talk: Transcript) -> str:
    """Return the closing report: facts of the run, nothing of a rubric."""
    state = talk.state
    reference: Mapping[str, Any] = state.get("reference") or {}
    stopped = talk.done("stop_run")
    lines = ["# Report of the Optimizer", "", "| round | version | score | decision | supported | change |"]
    lines.append("|---|---|---|---|---|---|")
    for entry in state.get("history") or []:
        held = {True: "yes", False: "no"}.get(entry.get("supported"), "unknown")
        score = entry.get("score")
        shown = f"{score:g}" if isinstance(score, int | float) else "none"
        paths = ", ".join(str(edit.get("path")) for edit in entry.get("edits") or [] if isinstance(edit, dict))
        lines.append(
            f"| {entry.get('round')} | {entry.get('version')} | {shown} | {entry.get('decision')} | {held} "
            f"| {paths}: {entry.get('hypothesis')} |"
        )
    lines += ["", f"Final: version {reference.get('version')}, score {reference.get('score')}."]
    lines.append(f"Stopped because: {stopped.argument('reason')}" if stopped else "Stopped by target or round limit.")
    lines.append("")
    lines.append(f"Each Candidate ran {state.get('runs')} times a Case, the Formal Baseline once; mind that.")
    lines.append("These are rehearsal numbers: a rule stood in for a model.")
    return "\n".join(lines) + "\n"
