"""How the command line says what happened: one line an event, the same words wherever a run is told.

Pure: a view of core in, lines out, nothing read and nothing printed. `runs show`, a command that waits for its run,
the demonstration and `exuvia --plain` all speak by this module. What stands in a line may come from an agent, so it is
printed through the sanitizer (`say`, `note`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.evolution.run_view import CellView, RoundView, RunView
from core.foundation.strict_json import is_number
from core.state.approvals import Approval
from core.state.audit import AuditEntry

OPERATIONS: Mapping[str, str] = {
    "new_skill_insert": "insert", "skill_update": "update", "skill_delete": "delete"
}  # fmt: skip
"""What a curator's operations are called where people read them."""
LONGEST = 240  # characters of a hypothesis or reason in a line; the whole stands in the run's report


@dataclass(frozen=True, slots=True)
class Line:
    """Something that happened. `key` tells it from others of its run, `event` names its kind for programs, `text` says
    it for people, `facts` holds the same as values: a score that is not there is None, never 0.
    """

    key: str
    event: str
    text: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Teller:
    """Tells what is new in each view of one run; without `end`, the caller says how it ended.

    Invariant: no fact is told twice; a phase, which may come again in the next round, not twice in a row.
    """

    told: set[str] = field(default_factory=set)
    end: bool = True
    phase: str = ""

    def news(self, view: RunView) -> Iterator[str]:
        """Yield the lines that `view` adds to what was told."""
        for line in self.lines(view):
            yield line.text

    def lines(self, view: RunView) -> Iterator[Line]:
        """Yield what `view` adds, with its values."""
        for line in (*facts(view), *(ended(view) if self.end else ())):
            if line.event == "phase":
                if line.key != self.phase:
                    self.phase = line.key
                    yield line
            elif line.key not in self.told:
                self.told.add(line.key)
                yield line


def points(score: object) -> str:
    """Return a score as it is said: `69.33`, or `-` where there is none."""
    return f"{score:.4g}" if is_number(score) else "-"


def facts(view: RunView) -> Iterator[Line]:
    """Yield what a run has come to, in the order a person would tell it: what is done, then what it does now."""
    for cell in view.cells:
        yield from _cell(cell)
    for pilot in view.pilots:
        missed = " (missed)" if pilot.get("missed") else ""
        yield Line(
            f"pilot {pilot['i']} {pilot['score']}",
            "pilot",
            f"pilot {pilot['i']}: {points(pilot['score'])}" + _against(pilot) + missed,
            {name: pilot.get(name) for name in ("i", "score", "predicted", "observed", "missed")},
        )
    if view.frozen_pilot is not None:
        yield Line("frozen", "frozen", f"frozen: pilot {view.frozen_pilot}", {"pilot": view.frozen_pilot})
    if view.baseline is not None:
        version, score = view.baseline["version"], view.baseline["score"]
        yield Line(
            "baseline", "baseline", f"baseline: v{version} {points(score)}", {"version": version, "score": score}
        )
    for number, operation in enumerate(view.operations, 1):
        title = operation.get("new_title") or operation["title"]
        verdict = "valid" if operation["valid"] else f"invalid, {_short(str(operation.get('reason')))}"
        yield Line(
            f"operation {number}",
            "operation",
            f"  {OPERATIONS.get(operation['op'], operation['op'])} {title}: {verdict}",
            {name: operation.get(name) for name in ("batch", "op", "title", "valid", "reason", "about", "session_id")},
        )
    for entry in view.rounds:
        yield from _round(entry)
    for measured in view.heldout:
        yield Line(
            f"heldout {measured.stage}",
            "heldout",
            f"held out ({measured.stage}): {points(measured.score)}",
            {"stage": measured.stage, "version": measured.version, "score": measured.score},
        )
    for word in view.told:
        yield Line(
            f"told {word['session_id']} {word['word']}",
            "told",
            f"told: {_short(word['text'])} ({word.get('signature') or word['actor']})",
            {name: word.get(name) for name in ("session_id", "word", "text", "actor", "signature")},
        )
    if view.phase:
        detail = f" ({view.phase_detail})" if view.phase_detail else ""
        yield Line(
            f"phase {view.phase} {view.phase_detail}",
            "phase",
            f"{view.kind}: {view.phase}{detail}",
            {"phase": view.phase, "detail": view.phase_detail},
        )


def _cell(cell: CellView) -> Iterator[Line]:
    where = f"{cell.stage} {cell.index} {cell.case_id} run {cell.run}"
    place = {"stage": cell.stage, "index": cell.index, "case_id": cell.case_id, "run": cell.run}
    if cell.state == "scored":
        scored = {**place, "score": cell.score, "session_id": cell.session_id}
        yield Line(f"{cell.cell} scored", "cell_scored", f"  {where}: {points(cell.score)}", scored)
    elif cell.state in {"failed", "interrupted"}:
        code = f" {cell.failure_code}" if cell.failure_code else ""
        reason = f" {_short(cell.reason)}" if cell.reason else ""
        yield Line(
            f"{cell.cell} {cell.state} {cell.attempt}",
            f"cell_{cell.state}",
            f"  {where}: {cell.state}{code}{reason}",
            {**place, "code": cell.failure_code, "reason": cell.reason, "session_id": cell.session_id},
        )


def _round(entry: RoundView) -> Iterator[Line]:
    if entry.decision is None:
        yield Line(
            f"candidate {entry.round} {entry.version}",
            "candidate",
            f"round {entry.round}: v{entry.version} is measured{_why(entry)}",
            {"round": entry.round, "version": entry.version, "hypothesis": entry.hypothesis},
        )
        return
    yield Line(
        f"round {entry.round} {entry.version}",
        "decision",
        f"round {entry.round}: v{entry.version} {entry.decision}, {points(entry.score)} "
        f"against {points(entry.reference_score)}{_why(entry)}",
        {
            "round": entry.round,
            "version": entry.version,
            "decision": entry.decision,
            "score": entry.score,
            "reference_score": entry.reference_score,
            "hypothesis": entry.hypothesis,
            "prediction_held": entry.prediction_held,
        },
    )


def _against(pilot: Mapping[str, Any]) -> str:
    """Return what a pilot was predicted to come to; nothing where nobody said, as in another program's run."""
    if not is_number(pilot.get("predicted")):
        return ""
    observed = points(pilot.get("observed", pilot["score"]))
    return f"; what changed was predicted {points(pilot['predicted'])}, observed {observed}"


def _why(entry: RoundView) -> str:
    said = _short(entry.hypothesis or entry.note)
    return f": {said}" if said else ""


def ended(view: RunView) -> Iterator[Line]:
    """Yield how a run ended where it did not finish by itself; a caller who wants the good end too says `closed`."""
    if view.state in {"blocked", "failed", "dead", "stopped"}:
        yield Line(
            f"{view.state} {view.reason}",
            "run_ended",
            f"{view.run_id}: {view.state}: {view.reason}",
            {"state": view.state, "reason": view.reason},
        )


def closed(view: RunView) -> Iterator[Line]:
    """Yield how a run ended, well or not."""
    if view.state == "finished":
        yield Line("finished", "run_ended", f"{view.run_id}: finished", {"state": "finished", "reason": ""})
    yield from ended(view)


def begun(view: RunView) -> Line:
    """Return that a run works now: for the first time, or again."""
    on = f" on {view.benchmark_id}" if view.benchmark_id else ""
    return Line(
        f"began {view.pid}",
        "run_started",
        f"{view.run_id}: {view.kind} of {view.agent_id}{on}{rehearsed(view)}{_observed(view)}",
        {"agent_id": view.agent_id, "benchmark_id": view.benchmark_id, "kind": view.kind},
    )


def at_work(view: RunView) -> str:
    """Return what a live run does now, and how far it has come."""
    on = f" on {view.benchmark_id}" if view.benchmark_id else ""
    done = [f"phase {view.phase}" if view.phase else "", _far(view)]
    cells = [cell for cell in view.cells if cell.state == "running"]
    if cells:
        done.append(f"{len(cells)} {'cell' if len(cells) == 1 else 'cells'} running")
    said = ", ".join(part for part in done if part) or "starting"
    return f"run {view.run_id} of {view.agent_id}{on}: {view.state}, {said}{rehearsed(view)}{_observed(view)}"


def _far(view: RunView) -> str:
    if view.rounds:
        last = view.rounds[-1]
        decided = f"{last.decision}, {points(last.score)}" if last.decision else "open"
        limit = f" of {view.spec['rounds']}" if is_number(view.spec.get("rounds")) else ""
        return f"round {last.round}{limit} {decided}"
    if view.pilots:
        limit = f" of {view.spec['pilots']}" if is_number(view.spec.get("pilots")) else ""
        return f"pilot {view.pilots[-1]['i']}{limit}, {points(view.pilots[-1]['score'])}"
    return ""


def _observed(view: RunView) -> str:
    """Return the mark of a run that another program makes, else nothing."""
    return " (observed: another program's)" if view.observed else ""


def rehearsed(view: RunView) -> str:
    """Return the mark of a run whose numbers come from the rehearsal model, else nothing."""
    model = view.spec.get("model")
    return " (rehearsal)" if isinstance(model, Mapping) and model.get("provider") == "rehearsal" else ""


def waits(approval: Approval, *, home: str = "") -> Line:
    """Return what waits for a person, and the commands that decide it; `home` is what they need beside the id.

    A run that waits in a process of its own needs no --resume, and isn't disturbed by it.
    """
    at = f"{approval.id}{' --resume' if approval.run_id else ''}{home}"
    if approval.kind == "question":
        ways = f"Answer: exuvia approvals answer {approval.id} TEXT{at.removeprefix(approval.id)}"
    else:
        ways = f"Yes: exuvia approvals approve {at}  No: exuvia approvals reject {at} --reason TEXT"
    asked = _short(f"{approval.title} ({approval.agent_id})").rstrip(".")
    return Line(
        f"waits {approval.id}",
        "waits",
        f"{approval.kind.replace('_', ' ')} waits for you: {asked}. "
        f"Look: exuvia approvals show {approval.id}{home}  {ways}",
        {
            "approval_id": approval.id,
            "kind": approval.kind,
            "run_id": approval.run_id,
            "agent_id": approval.agent_id,
            "title": approval.title,
        },
    )


_ACTS = {
    "approve": "approved",
    "reject": "rejected",
    "answer": "answered",
    "tell": "word sent to",
    "roll_back": "rolled back",
    "undo": "undone",
    "import": "imported into",
    "create_agent": "agent created:",
    "install_skill": "skill installed:",
    "remove_skill": "skill removed:",
}


def decided(entry: AuditEntry) -> Line:
    """Return an entry of the audit: what a person did, to what, and who it was."""
    word = _ACTS.get(entry.action, entry.action.replace("_", " "))
    moved = ""
    if is_number(entry.detail.get("from_version")) and is_number(entry.detail.get("to_version")):
        moved = f" v{entry.detail['from_version']} -> v{entry.detail['to_version']}"
    reason = entry.detail.get("reason")
    why = f": {_short(reason)}" if isinstance(reason, str) and reason else ""
    return Line(
        f"{entry.time} {entry.action} {entry.subject}",
        "rollback" if entry.action in {"roll_back", "undo"} else "decided",
        f"{word} {entry.subject}{moved} by {entry.signature or entry.actor}{why}",
        {"action": entry.action, "subject": entry.subject, "actor": entry.actor, "signature": entry.signature}
        | {name: entry.detail[name] for name in ("from_version", "to_version", "reason") if name in entry.detail},
    )


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= LONGEST else words[: LONGEST - 3] + "..."
