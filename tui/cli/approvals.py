"""`exuvia approvals`: what waits for the operator, and the answer to it."""

from __future__ import annotations

from typing import Any

import click

from core.foundation.strict_json import is_number
from core.state import approvals as desk
from core.state.approvals import Approval, Decision
from tui.cli.common import Place, json_option, place_options, print_json, print_table, say


@click.group(epilog="Example:  exuvia approvals list")
def approvals() -> None:
    """List, show, approve and reject what waits for you."""


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
        say("Nothing waits for you.")
    else:
        print_table(
            ("id", "kind", "agent", "benchmark", "since", "title"),
            [(item.id, item.kind, item.agent_id, item.benchmark_id, item.created, item.title) for item in waiting],
        )
    for error in damaged:
        say(f"Note: {error}")


@approvals.command("show", epilog="Example:  exuvia approvals show freeze-20260101-120000-ab12")
@click.argument("approval_id", metavar="ID")
@json_option
@place_options
def show(approval_id: str, as_json: bool, place: Place) -> None:
    """Show what approval ID would freeze: Cases, pilots predicted against observed, findings, hashes."""
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
        + ("   <- would be frozen" if pilot.get("i") == body.get("selected_pilot") else "")
        for pilot in _records(body, "pilots")
    ]
    lines += ["", "Cases:"]
    floors = body["floor"] if isinstance(body.get("floor"), dict) else {}
    lines += [
        f"  {case.get('case_id')}  {_measured(case)}"
        f"  floor {_number(floors.get(str(case.get('case_id'))))}  {case.get('title', '')}"
        for case in _records(body, "cases")
    ]
    findings = _records(body, "findings")
    lines += ["", f"Findings: {len(findings) or 'none'}"]
    lines += [
        f"  {found.get('case_id')}: {found.get('kind')}: {found.get('text')}"
        + (f" (waived: {found['waived_reason']})" if found.get("waived_reason") else "")
        for found in findings
    ]
    if decision is not None:
        lines += ["", f"{decision.verdict} by {decision.signature} at {decision.time} {decision.reason}".rstrip()]
    return lines


def _records(body: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the mappings in a list of the body; another program may have written something else there."""
    listed = body.get(name)
    return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []


def _measured(case: dict[str, Any]) -> str:
    return "held out" if case.get("held_out") is True else f"score {_number(case.get('score'))}"


def _number(value: object) -> str:
    return "-" if value is None else f"{value:g}" if is_number(value) else str(value)


def _decide(place: Place, approval_id: str, verdict: desk.Verdict, reason: str, *, resume: bool, as_json: bool) -> None:
    from core.evolution.runs import read_run
    from core.evolution.runs import resume as resume_run

    decision = desk.decide(place.project, approval_id, verdict, reason, actor="cli")
    approval, _ = desk.get(place.project, approval_id)
    resumed = False
    if resume and read_run(place.project, approval.run_id).state in {"blocked", "dead", "stopped"}:
        resume_run(place.project, approval.run_id)
        resumed = True
    if as_json:
        print_json({"decision": decision.model_dump(mode="json"), "run_id": approval.run_id, "resumed": resumed})
        return
    say(f"{approval_id}: {decision.verdict} by {decision.signature}")
    if resumed:
        say(f"Resumed run {approval.run_id}. Follow it: exuvia runs show {approval.run_id} --follow")
    elif read_run(place.project, approval.run_id).state in {"blocked", "dead", "stopped"}:
        say(f"The run waits: exuvia runs resume {approval.run_id}")


@approvals.command("approve", epilog="Example:  exuvia approvals approve ID --resume")
@click.argument("approval_id", metavar="ID")
@click.option("--reason", default="", help="A word for the record; needed to override a finding such as a high floor.")
@click.option("--resume", is_flag=True, help="Also resume the run that waits for it.")
@json_option
@place_options
def approve(approval_id: str, reason: str, resume: bool, as_json: bool, place: Place) -> None:
    """Approve ID. The first decision wins; a second one is told who decided."""
    _decide(place, approval_id, "approve", reason, resume=resume, as_json=as_json)


@approvals.command("reject", epilog="Example:  exuvia approvals reject ID --reason 'CASE-002 is a riddle' --resume")
@click.argument("approval_id", metavar="ID")
@click.option("--reason", required=True, help="What the Builder should mend; it is told this text.")
@click.option("--resume", is_flag=True, help="Also resume the run that waits for it.")
@json_option
@place_options
def reject(approval_id: str, reason: str, resume: bool, as_json: bool, place: Place) -> None:
    """Reject ID; the reason goes back to the Builder."""
    _decide(place, approval_id, "reject", reason, resume=resume, as_json=as_json)
