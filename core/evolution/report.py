"""report.md of a run, as the protocol asks (EVOLUTION 3.2 no. 39, 3.5 no. 71): numbers, decisions, limits, no rubric.

It is written from the journal alone and checked against the rubrics before it is put down: a line that shares text
with one is left out and said so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core.evolution.admissible import private_texts
from core.evolution.leaks import shared_run, texts_of
from core.evolution.run_view import RunView
from core.evolution.verdict import difference
from core.foundation.visible import visible_line
from core.state.paths import BenchmarkPaths

LEFT_OUT = "(a line was left out here: it shared text with a private rubric)"


def render(view: RunView, *, scoreboard: str = "") -> str:
    """Return the report of a run."""
    parts = [_head(view, scoreboard)]
    if view.kind == "build":
        parts += [_pilots(view), _baseline(view)]
    elif view.kind in {"optimize", "curate", "try"}:
        parts += [_reference(view), _operations(view), _rounds(view), _final(view)]
    else:
        parts += [_evaluation(view)]
    parts += [_held_out(view), _sessions(view), _limitations(view)]
    return "\n\n".join(part for part in parts if part) + "\n"


def without_leaks(report: str, benchmark: BenchmarkPaths) -> str:
    """Return the report without lines that share a run of words with a rubric (and with no statement)."""
    private: list[str] = []
    public: list[str] = []
    if benchmark.root.is_dir():
        for case_id in benchmark.case_ids():
            case = benchmark.case(case_id)
            private += private_texts(case)
            public += texts_of(case.statement).values()

    def leaks(line: str) -> bool:
        for secret in private:
            run = shared_run(line, secret)
            if run is not None and not any(shared_run(run, text) for text in public):
                return True
        return False

    return "\n".join(LEFT_OUT if leaks(line) else line for line in report.split("\n"))


def _line(text: object) -> str:
    return visible_line(" ".join(str(text).split()))


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:g}"
    return _line(value).replace("|", "\\|")


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines)


def _head(view: RunView, scoreboard: str) -> str:
    spec = view.spec
    model: Mapping[str, Any] = spec.get("model", {})
    rehearsal = model.get("provider") == "rehearsal"
    lines = [
        f"# Run {view.run_id}",
        "",
        f"- what: {view.kind} of agent {view.agent_id} on benchmark {view.benchmark_id}",
        f"- model: {_line(model.get('provider'))} / {_line(model.get('model_id'))}, seed {spec.get('seed')}"
        + (" (rehearsal: an offline stand-in, not a model)" if rehearsal else ""),
        f"- begun {view.started}, last event {view.updated}, state: {view.state}",
    ]
    if view.curator:
        instead = view.curator.get("instead_of")
        why = f" (instead of {_line(instead)}: {_line(view.curator.get('why'))})" if instead else ""
        lines.append(f"- curator: {_line(view.curator['name'])}{why}")
    if scoreboard:
        lines.append(f"- scoreboard: {_line(scoreboard)}")
    if view.reason:
        lines.append(f"- reason: {_line(view.reason)}")
    if view.contract:
        lines.append(f"- capability: {_line(view.contract.get('capability', ''))}")
    return "\n".join(lines)


def _pilots(view: RunView) -> str:
    rows = []
    for pilot in view.pilots:
        last = pilot["i"] == max(p["i"] for p in view.pilots)
        decision = "frozen" if pilot.get("frozen") else "stopped here" if last else "refined on"
        rows.append(
            (
                pilot["i"],
                pilot["score"],
                pilot["predicted"],
                pilot["observed"],
                "missed" if pilot["missed"] else "held",
                len(pilot.get("cases", ())),
                pilot.get("diagnosis"),
                pilot.get("adjustment"),
                decision,
            )
        )
    if not rows:
        return "## Pilots\n\nNo pilot was completed."
    heads = ("pilot", "score", "predicted", "observed", "prediction", "changed Cases", "diagnosed gap", "adjustment")
    note = (
        "Predicted and observed are means over the Cases that the pilot changed; the score is over all measured ones."
    )
    gone = [
        f"- Pilot {one.pilot['i']} at {_cell(one.pilot['score'])}: its freeze was rejected: {_line(one.reason)}"
        for one in view.rejected_pilots
    ]
    return "\n".join((f"## Pilots\n\n{_table((*heads, 'decision'), rows)}\n\n{note}", *(["", *gone] if gone else ())))


def _baseline(view: RunView) -> str:
    if view.baseline is None:
        return "## Formal Baseline\n\nNone was recorded."
    cells = [
        cell
        for cell in view.cells
        if cell.stage == "pilot" and cell.index == view.frozen_pilot and cell.score is not None
    ]
    newest = {cell.case_id: cell for cell in cells}
    rows = [(c.case_id, c.score, 1, c.version, c.session_id) for c in newest.values()]
    return (
        f"## Formal Baseline\n\nVersion {view.baseline['version']}, score {view.baseline['score']:g}: the one-run "
        "result of "
        f"pilot {view.frozen_pilot}, recorded without a rerun.\n\n"
        + _table(("Case", "score", "runs", "version", "Target session"), rows)
    )


def _reference(view: RunView) -> str:
    baseline = (view.result or {}).get("baseline") or view.reference
    if not baseline:
        return ""
    runs = baseline.get("runs", 1)
    return (
        f"## Baseline\n\nVersion {baseline['version']}, score {baseline['score']:g}, {runs} run(s) a Case. "
        "Candidates are "
        f"measured with {view.spec.get('runs')} run(s) a Case: the two differ in noise."
    )


def _operations(view: RunView) -> str:
    if not view.operations:
        return "## Operations\n\nThe curator changed nothing." if view.kind == "curate" else ""
    rows = [
        (
            operation["batch"],
            operation["op"],
            operation.get("new_title") or operation["title"],
            "valid" if operation["valid"] else f"invalid: {operation.get('reason')}",
            operation.get("why"),
            operation["session_id"],
        )
        for operation in view.operations
    ]
    valid = sum(bool(operation["valid"]) for operation in view.operations)
    heads = ("batch", "operation", "skill", "verdict", "drawn from", "curator's Session")
    return f"## Operations\n\n{valid} of {len(rows)} were valid.\n\n{_table(heads, rows)}"


def _rounds(view: RunView) -> str:
    if not view.rounds:
        return "## Candidates\n\nNone was proposed."
    rows = [
        (
            entry.round,
            entry.version,
            entry.proposer,
            entry.score,
            difference(entry.score, entry.reference_score)
            if entry.score is not None and entry.reference_score is not None
            else None,
            view.spec.get("runs"),
            entry.decision or "open",
            {True: "supported", False: "not supported", None: "-"}[entry.supported],
            {True: "held", False: "missed", None: "-"}[entry.prediction_held],
            ", ".join(str(edit["path"]) for edit in entry.edits),
            entry.hypothesis,
        )
        for entry in view.rounds
    ]
    heads = ("round", "version", "proposer", "score", "difference", "runs", "decision", "hypothesis says", "prediction")
    sessions = []
    for entry in view.rounds:
        cells = [c for c in view.cells if c.stage == "round" and c.version == entry.version and c.session_id]
        listed = ", ".join(f"{c.case_id}/{c.run} {c.score:g} {c.session_id}" for c in cells if c.score is not None)
        sessions.append(f"- version {entry.version}: {listed or 'no valid cell'}")
    return f"## Candidates\n\n{_table((*heads, 'files', 'hypothesis'), rows)}\n\nTarget sessions:\n" + "\n".join(
        sessions
    )


def _final(view: RunView) -> str:
    result = view.result or {}
    final = result.get("final")
    if not final:
        return ""
    return f"## Outcome\n\nFinal version {final['version']}, score {final['score']:g}. Ended because: " + _line(
        result.get("stop_reason", "")
    )


def _evaluation(view: RunView) -> str:
    rows = [(c.case_id, c.run, c.score, c.state, c.session_id) for c in view.cells if c.stage == "evaluation"]
    return "## Evaluation\n\n" + _table(("Case", "run", "score", "state", "Target session"), rows) if rows else ""


def _held_out(view: RunView) -> str:
    if not view.heldout:
        return ""
    rows = [
        (entry.stage, entry.version, entry.score, entry.runs, entry.reused_from or "measured here")
        for entry in view.heldout
    ]
    proposer = "curator" if view.kind == "curate" else "Optimizer"
    return f"## Held-out Cases\n\nNever shown to the {proposer}, and no part of the score.\n\n" + _table(
        ("stage", "version", "score", "runs", "from"), rows
    )


def _sessions(view: RunView) -> str:
    roles = [s for s in view.sessions if s.role in {"builder", "optimizer", "curator"}]
    if not roles:
        return ""
    return "## Sessions\n\n" + "\n".join(f"- {s.role}: {s.session_id} (agent {s.agent_id})" for s in roles)


def _limitations(view: RunView) -> str:
    found = []
    if view.kind == "build":
        found.append("The baseline rests on one run a Case; a rerun may differ.")
    if view.kind in {"optimize", "curate", "try"} and view.rounds:
        found.append("Decisions follow the strict rule; a small difference may lie within noise.")
    failed = [cell for cell in view.cells if cell.state == "failed"]
    found += [f"Cell {c.case_id}/{c.run} of version {c.version} has no score: {_line(c.reason)[:300]}" for c in failed]
    unknown = view.cost_unknown
    if unknown:
        found.append(f"The cost of {unknown} cell(s) is unknown; unknown is not zero.")
    if any(e.score is None for e in view.heldout):
        found.append("A held-out measurement is incomplete and has no score.")
    return "## Limitations\n\n" + "\n".join(f"- {text}" for text in found) if found else ""
