"""`exuvia approvals`: what waits for the operator, and the answer to it."""

from __future__ import annotations

import sys
from typing import Any

import click

from core.foundation.errors import NotFoundError, UsageError
from core.foundation.strict_json import is_number
from core.state import approvals as desk
from core.state.approvals import Approval, Decision, Verdict
from tui.cli.common import Place, group_options, here, json_option, note, place_options, print_json, print_table, say

_TITLE = 80  # characters of a title in the list
_RESUMABLE = frozenset({"blocked", "dead", "stopped"})


@click.group(epilog="Example:  exuvia approvals list")
@group_options
def approvals() -> None:
    """List, show, approve, reject and answer what waits for you."""


@approvals.command("list", epilog="Example:  exuvia approvals list --json")
@json_option
@place_options
def list_pending(as_json: bool, place: Place) -> None:
    """List what waits for a decision."""
    waiting = desk.pending(place.project)
    damaged = desk.unreadable(place.project)
    if as_json:
        print_json(
            {
                "pending": [item.model_dump(mode="json") for item in waiting],
                "damaged": [str(error) for error in damaged],
            }
        )
        return
    if not waiting:
        say(here("Nothing waits for you. What is at work: exuvia runs list, or live: exuvia --plain"))
    else:
        print_table(
            ("id", "kind", "agent", "benchmark", "since", "title"),
            [
                (item.id, item.kind, item.agent_id, item.benchmark_id or None, item.created, _short(item.title))
                for item in waiting
            ],
        )
    for error in damaged:
        say(f"Note: {error}")


@approvals.command("show", epilog="Example:  exuvia approvals show freeze-20260101-120000-ab12")
@click.argument("approval_id", metavar="ID")
@json_option
@place_options
def show(approval_id: str, as_json: bool, place: Place) -> None:
    """Show what ID asks: the whole question or tool call; of a freeze Cases, pilots, findings, hashes."""
    approval, decision = desk.get(place.project, approval_id)
    if as_json:
        print_json(
            {
                "approval": approval.model_dump(mode="json"),
                "decision": None if decision is None else decision.model_dump(mode="json"),
            }
        )
        return
    for line in describe(approval, decision):
        say(line)


def describe(approval: Approval, decision: Decision | None) -> list[str]:
    """Return an approval as lines for people; the console shows the same facts."""
    verdict = "" if decision is None else decision.verdict
    makers = {"freeze": lambda: _freeze_lines(approval, verdict), "promotion": lambda: _promotion_lines(approval)}
    lines = makers.get(approval.kind, lambda: _session_lines(approval))()
    if decision is not None:
        said = decision.text if decision.verdict == "answer" else decision.reason
        lines += ["", f"{decision.verdict} by {decision.signature} at {decision.time} {said}".rstrip()]
    return lines


def _short(text: str) -> str:
    return text if len(text) <= _TITLE else text[: _TITLE - 3] + "..."


def _session_lines(approval: Approval) -> list[str]:
    """Return a question, a strategy's release, or a tool call that asks to run, as lines."""
    asked = desk.shown(approval)
    if asked.kind == "strategy":
        return [f"Asked {asked.asked}:", "", *asked.text.splitlines()]
    who = f"The {asked.role} " if asked.role else ""
    of_run = f" of run {asked.run_id}" if asked.run_id else ""
    lines = [f"{who}(session {asked.session_id}{of_run}, agent {asked.agent_id}) asked {asked.asked}:", ""]
    if asked.kind == "question":
        lines += asked.text.splitlines()
        lines += ["", *(f"  {number}. {option}" for number, option in enumerate(asked.options, 1))]
        return [*lines, here(f"exuvia approvals answer {asked.id} TEXT" + " (or --option N)" * bool(asked.options))]
    may = "it may change things" if asked.permission == "rw" else "it only reads"
    return [*lines, f"{asked.tool_name} ({may})", *asked.arguments.splitlines()]


def _promotion_lines(approval: Approval) -> list[str]:
    """Return a trained checkpoint that may become the curator in use, as lines."""
    body: dict[str, Any] = approval.body
    arms = body["arms"] if isinstance(body.get("arms"), dict) else {}
    lines = [approval.title, f"trained by {body.get('preset')} on {body.get('world')}, asked {approval.created}", ""]
    lines.append("On held-out tasks of the mixed stream (solved, actions a task):")
    lines += [
        f"  {name:<8} {_share(arm.get('success'))}  {_number(arm.get('steps'))}  at step {_number(arm.get('step'))}"
        for name, arm in arms.items()
        if isinstance(arm, dict)
    ]
    return [*lines, "", f"sha256 {body.get('sha256')}", here(f"exuvia approvals approve {approval.id}")]


def _share(value: object) -> str:
    return f"{100 * value:.1f} %" if is_number(value) else "-"


_CHOSEN = {"": "would be frozen", "approve": "frozen", "reject": "was rejected"}


def _freeze_lines(approval: Approval, verdict: str) -> list[str]:
    body: dict[str, Any] = approval.body
    lines = [
        approval.title,
        f"{approval.kind} of {approval.benchmark_id} for agent {approval.agent_id}, asked {approval.created}",
        f"run {approval.run_id}",
        "",
        "Pilots (predicted / observed):",
    ]
    lines += [
        f"  {pilot.get('i')}: {_number(pilot.get('predicted'))} / {_number(pilot.get('observed', pilot.get('score')))}"
        + (f"   <- {_CHOSEN.get(verdict, verdict)}" if pilot.get("i") == body.get("selected_pilot") else "")
        for pilot in _records(body, "pilots")
    ]
    lines += ["", "Cases (idle: what an agent scores that does nothing):"]
    floors = body["floor"] if isinstance(body.get("floor"), dict) else {}
    lines += [
        f"  {case.get('case_id')}  {_measured(case)}"
        f"  idle {_number(floors.get(str(case.get('case_id'))))}  {case.get('title', '')}"
        for case in _records(body, "cases")
    ]
    findings = _records(body, "findings")
    lines += ["", f"Findings: {len(findings) or 'none'}"]
    lines += [
        f"  {found.get('case_id')}: {found.get('kind')}: {found.get('text')}"
        + (f" (waived: {found['waived_reason']})" if found.get("waived_reason") else "")
        for found in findings
    ]
    return lines


def _records(body: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the mappings in a list of the body; another program may have written something else there."""
    listed = body.get(name)
    return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []


def _measured(case: dict[str, Any]) -> str:
    return "held out" if case.get("held_out") is True else f"score {_number(case.get('score'))}"


def _number(value: object) -> str:
    return "-" if value is None else f"{value:g}" if is_number(value) else str(value)


def _tell(place: Place, decision: Decision, *, resume: bool, as_json: bool) -> None:
    """Say what was decided, and let the run that waits for it go on where that is wanted."""
    from core.evolution.runs import BesideError, read_run
    from core.evolution.runs import resume as resume_run

    run_id = desk.get(place.project, decision.id)[0].run_id  # a chat's question belongs to no run
    try:
        waits = bool(run_id) and read_run(place.project, run_id).state in _RESUMABLE
    except NotFoundError:
        waits = False  # the decision stands; the run that asked has been taken away
    if waits and resume:
        try:
            resume_run(place.project, run_id)
        except BesideError as error:
            error.hint = here(f"Your decision stands. To go on all the same: exuvia runs resume {run_id} --beside")
            raise
    if as_json:
        print_json({"decision": decision.model_dump(mode="json"), "run_id": run_id, "resumed": waits and resume})
        return
    say(f"{decision.id}: {decision.verdict} by {decision.signature}")
    if waits and resume:
        say(here(f"Resumed run {run_id}. Follow it: exuvia runs show {run_id} --follow"))
    elif waits:
        say(here(f"The run waits: exuvia runs resume {run_id}"))


def _decide(place: Place, approval_id: str, verdict: Verdict, reason: str) -> Decision:
    """Decide it, with what follows of it: an approved checkpoint is the curator in use."""
    if desk.get(place.project, approval_id)[0].kind == "promotion":
        from core.curation import promotion

        return promotion.decide(place.project, approval_id, verdict, reason, actor="cli")
    if desk.get(place.project, approval_id)[0].kind == "strategy":
        from core.strategy.bank import releasing

        decision = releasing.decide(place.project, approval_id, verdict, reason, actor="cli")
        body = desk.get(place.project, approval_id)[0].body
        if verdict == "approve" and body.get("to") == "active":
            from core.evolution.strategy_release import follow_bank
            from core.strategy.bank.bank import bank_of

            bank = bank_of(place.project)
            for line in follow_bank(bank, body["strategy"], "cli", reason):
                note(line)
        return decision
    return desk.decide(place.project, approval_id, verdict, reason, actor="cli")


@approvals.command("approve", epilog="Example:  exuvia approvals approve ID --resume")
@click.argument("approval_id", metavar="ID")
@click.option(
    "--reason", default="", help="A word for the record; needed to override a finding such as a high idle score."
)
@click.option("--resume", is_flag=True, help="Also resume the run that waits for it.")
@json_option
@place_options
def approve(approval_id: str, reason: str, resume: bool, as_json: bool, place: Place) -> None:
    """Approve ID, whatever it is about. The first decision wins; a second one is told who decided."""
    decision = _decide(place, approval_id, "approve", reason)
    _tell(place, decision, resume=resume, as_json=as_json)


@approvals.command("reject", epilog="Example:  exuvia approvals reject ID --reason 'CASE-002 is a riddle' --resume")
@click.argument("approval_id", metavar="ID")
@click.option("--reason", required=True, help="What should be mended, or why not; the asker is told this text.")
@click.option("--resume", is_flag=True, help="Also resume the run that waits for it.")
@json_option
@place_options
def reject(approval_id: str, reason: str, resume: bool, as_json: bool, place: Place) -> None:
    """Reject ID; the reason goes back to who asked: the Builder, or the session of a tool call or question."""
    decision = _decide(place, approval_id, "reject", reason)
    _tell(place, decision, resume=resume, as_json=as_json)


@approvals.command("answer", epilog="Example:  exuvia approvals answer question-0123456789ab 'Hold two out.' --resume")
@click.argument("approval_id", metavar="ID")
@click.argument("text", required=False)
@click.option("--option", "number", type=click.IntRange(min=1), metavar="N", help="Answer with its N-th option.")
@click.option("--resume", is_flag=True, help="Also resume the run that waits for it.")
@json_option
@place_options
def answer(approval_id: str, text: str | None, number: int | None, resume: bool, as_json: bool, place: Place) -> None:
    """Answer question ID with TEXT ('-' reads standard input). The first answer stands."""
    if (text is None) == (number is None):
        raise UsageError("Say the answer, or --option N.", hint=f"exuvia approvals show {approval_id}")
    if number is not None:
        options = desk.shown(desk.get(place.project, approval_id)[0]).options
        if number > len(options):
            raise UsageError(f"{approval_id} has {len(options)} options.", hint=f"exuvia approvals show {approval_id}")
        text = options[number - 1]
    assert text is not None
    said = sys.stdin.read() if text == "-" else text
    _tell(place, desk.answer(place.project, approval_id, said, actor="cli"), resume=resume, as_json=as_json)
