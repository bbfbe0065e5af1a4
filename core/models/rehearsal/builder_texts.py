"""What the rehearsal Builder writes: the agent's rules, notes, diagnoses and its report."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from core.models.rehearsal.builder_progress import Brief
from core.models.rehearsal.transcript import Transcript

_LISTED = 6  # Cases named in a sentence


def title_of(identifier: str) -> str:
    """Return an id as a title for people."""
    return identifier.replace("_", " ").replace("-", " ").strip().capitalize() or "Agent"


def first_sentence(text: str) -> str:
    """Return the first sentence of a requirement, on one line."""
    flat = " ".join(text.split())
    match = re.match(r".*?[.!?](?=\s|$)", flat)
    return (match[0] if match else flat)[:200]


def agents_md(agent_id: str, requirement: str) -> str:
    """Return AGENTS.md: the role, then rules that follow from the requirement and no others."""
    return (
        f"# {title_of(agent_id)}\n\n"
        f"{' '.join(requirement.split())}\n\n"
        "## Rules\n\n"
        "- The task in the Workspace says what is wanted; do that, completely, and nothing else.\n"
        "- Leave input files as they are unless the task says to change them.\n"
        "- Write results under the names that the task gives.\n"
        "- End with one short paragraph that says what was made.\n"
    )


def case_scores(state: Mapping[str, Any]) -> dict[str, float]:
    """Return the measured score of each Case that has one."""
    return {
        str(entry["case_id"]): float(entry["score"])
        for entry in state.get("cases") or []
        if isinstance(entry.get("score"), int | float)
    }


def _last_pilot(state: Mapping[str, Any]) -> Mapping[str, Any]:
    pilots = state.get("pilots") or [{}]
    return max(pilots, key=lambda pilot: pilot.get("i", 0))


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else "unknown"


def _yes(value: object) -> str:
    return "yes" if value else "no"


def where(state: Mapping[str, Any]) -> str:
    """Say where the calibration stands."""
    pilot = _last_pilot(state)
    wanted = _number(state.get("baseline_wanted"))
    return f"Pilot {pilot.get('i')} scored {_number(pilot.get('score'))}; wanted is {wanted} or less."


def note(pending: Mapping[str, int], sources: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the note of a revision."""
    if not any(pending.values()):
        return f"First form of {len(pending)} Cases."
    notes = [str(source.get("note", "")) for source in sources.values() if source.get("note")]
    return f"Sharper: {', '.join(pending)}. " + " ".join(dict.fromkeys(notes))[:600]


def diagnosis(state: Mapping[str, Any], sources: Mapping[str, Mapping[str, Any]]) -> str:
    """Return what the last pilot showed of the Cases that are changed."""
    scores = case_scores(state)
    seen = [f"{case} {_number(scores.get(case))}" for case in sources][:_LISTED]
    said = [str(source.get("diagnosis", "")) for source in sources.values() if source.get("diagnosis")]
    return f"{where(state)} Scores of the Cases that change: {', '.join(seen)}. " + " ".join(dict.fromkeys(said))[:600]


def adjustment(sources: Mapping[str, Mapping[str, Any]]) -> str:
    """Return what was changed because of the diagnosis."""
    said = [
        f"{case}: {source.get('adjustment') or source.get('note') or 'next form'}" for case, source in sources.items()
    ]
    return " ".join(said)[:1500]


def verdict(reviews: Sequence[Mapping[str, Any]]) -> str:
    """Say how a review came out."""
    open_ = [str(entry["case_id"]) for entry in reviews if _is_open(entry)]
    waived = sum(len(entry["waivers"]) for entry in reviews)
    words = f"Reviewed {len(reviews)} Cases: " + (
        f"findings in {', '.join(open_)}" if open_ else "no finding is left open"
    )
    return words + (f", {waived} waived." if waived else ".")


def _is_open(entry: Mapping[str, Any]) -> bool:
    asked = ("statement_coherent", "rubric_consistent", "rubric_self_contained", "items_apply")
    return entry["leak"] != "none" or any(entry[name] != "ok" for name in asked)


def failures(talk: Transcript) -> str:
    """Return which cells the last dispatch could not measure, and why."""
    step = talk.last("dispatch")
    failed = (step.answer or {}).get("failed") if step is not None else None
    if not isinstance(failed, list) or not failed:
        return str((step.answer or {}).get("reason", "no reason was given")) if step is not None else "nothing was run"
    return "; ".join(f"{f.get('case_id')} {f.get('failure_code')}" for f in failed if isinstance(f, dict))


def freeze_reason(state: Mapping[str, Any]) -> str:
    """Return why this revision should be frozen."""
    lowest = state.get("lowest_pilot")
    pilot: Mapping[str, Any] = next((p for p in state.get("pilots") or [] if p.get("i") == lowest), {})
    score, wanted = pilot.get("score"), state.get("baseline_wanted")
    met = isinstance(score, int | float) and isinstance(wanted, int | float) and score <= wanted
    rest = "" if met else ", the lowest reached"
    of = f"{lowest} of {state.get('pilot_limit')}"
    return f"Pilot {of} scored {_number(score)}{rest}; at most {_number(wanted)} is wanted. No defect is known."


def baseline(state: Mapping[str, Any], brief: Brief) -> tuple[str, str]:
    """Return title and summary of the Formal Baseline."""
    scores = case_scores(state)
    low = sorted(scores, key=lambda case: (scores[case], case))[:3]
    summary = (
        f"First measurement of {brief.agent_id} on {first_sentence(brief.capability) or brief.benchmark_id} "
        f"One run for each of {len(scores)} Cases. Most is lost on {', '.join(low) or 'no Case'}."
    )
    return "Formal Baseline", summary


def report(talk: Transcript, brief: Brief) -> str:
    """Return the closing report: facts of the run, no word of a rubric."""
    state = talk.state
    paths = state.get("paths") or {}
    stopped = talk.done("stop_run")
    lines = [f"# Report of the Builder: {brief.benchmark_id} for {brief.agent_id}", ""]
    if stopped is not None:
        lines += [f"Stopped: {stopped.argument('reason')}", ""]
    lines += [f"- Benchmark: {paths.get('benchmark', 'none')}", f"- Agent: {paths.get('agent_state', 'none')}"]
    lines += [f"- {case}: {score:g}" for case, score in case_scores(state).items()]
    lines += ["", "| pilot | score | predicted | valid |", "|---|---|---|---|"]
    lines += [
        f"| {p.get('i')} | {_number(p.get('score'))} | {_number(p.get('predicted'))} | {_yes(p.get('valid', True))} |"
        for p in state.get("pilots") or []
    ]
    if stopped is None:
        lines += ["", f"The Formal Baseline is pilot {state.get('lowest_pilot')}: its own one run a Case, not rerun."]
    lines += [
        "",
        "These are rehearsal numbers: a rule stood in for a model. One run a Case says little about its spread.",
    ]
    return "\n".join(lines) + "\n"
