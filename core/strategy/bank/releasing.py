"""The two decisions of a person about a version, asked in the inbox: may it leave review, may it get all traffic.

They are approvals like a freeze or a promotion: asked once, decided once, audited, shown in the same place. What was
decided is applied at once, and by `complete` where a process ended between the two (STRATEGY S105, S106).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from core.foundation.clock import now_s
from core.foundation.errors import ConflictError, ExuviaError, NotFoundError, RefusedError, UsageError
from core.state import approvals, readonly
from core.state.approvals import Approval, Decision, Verdict
from core.state.paths import ProjectPaths
from core.strategy.bank.bank import Bank, bank_of
from core.strategy.bank.states import Actor, Standing, State, Step

KIND = "strategy"
Wanted = Literal["shadow", "active"]
_FROM: Mapping[Wanted, State] = {"shadow": "review", "active": "gray"}
_QUESTION: Mapping[Wanted, str] = {
    "shadow": "Approve {name} in review? It runs in shadow then, without any effect.",
    "active": "Give {name} all traffic?",
}


def ask_review(
    project: ProjectPaths, strategy_id: str, version: int, actor: Actor, *, evidence: Sequence[str] = (), why: str = ""
) -> Approval:
    """Send a draft to review and ask the operator to approve it. Asking again finds what was asked.

    `evidence` are ids of what it rests on: its check, the benchmark's run, the cluster that it answers. A version that
    no person wrote needs some. Raises as `Bank.move`.
    """
    bank = bank_of(project)
    now = bank.standing(strategy_id, version)
    if now.state == "draft":
        now = bank.move(strategy_id, version, Step("review", actor, now_s(), why=why, evidence=tuple(evidence)))
    return _ask(project, bank, now, "shadow", tuple(evidence), why)


def ask_full(
    project: ProjectPaths, strategy_id: str, version: int, *, evidence: Sequence[str] = (), why: str = ""
) -> Approval:
    """Ask the operator whether a version in gray gets all traffic; `evidence` names the A/B test or the stages' record.

    Raises RefusedError where it isn't in gray, or where its stage still holds.
    """
    bank = bank_of(project)
    return _ask(project, bank, bank.standing(strategy_id, version), "active", tuple(evidence), why)


def decide(
    project: ProjectPaths, approval_id: str, verdict: Verdict, reason: str = "", actor: str | None = None
) -> Decision:
    """Approve or reject; what follows is done once this returns. Rejected in review, a version is a draft again.

    Raises as `approvals.decide`; RefusedError or ConflictError where the version was moved, or its text changed, since
    it was asked: then nothing is decided.
    """
    readonly.refuse(project.root)
    approval, earlier = approvals.get(project, approval_id)
    if approval.kind != KIND:
        raise UsageError(f"{approval_id} is about no strategy.", hint="Look at it: exuvia approvals show")
    if earlier is None and verdict == "approve":
        bank = bank_of(project)
        _still(bank, approval)
        strategy_id, version, wanted = _about(approval)
        refused = bank.refusal(strategy_id, version, _step(approval, wanted, Actor("operator", person=True), reason))
        if refused is not None:
            raise RefusedError(refused.reason, hint=refused.hint)
    decision = approvals.decide(project, approval_id, verdict, reason, actor)
    complete(project)
    return decision


def complete(project: ProjectPaths) -> tuple[str, ...]:
    """Apply every decision that was not applied yet; return those that can't be any more, each with the reason."""
    bank, left = bank_of(project), []
    for path in sorted(project.approvals.glob(f"{KIND}-*.decision.json")):
        approval_id = path.name.removesuffix(".decision.json")
        try:
            approval, decision = approvals.get(project, approval_id)
            if decision is not None and approval.kind == KIND:
                _apply(bank, approval, decision)
        except ExuviaError as error:
            left.append(f"{approval_id}: {error}")
    return tuple(left)


def _ask(
    project: ProjectPaths, bank: Bank, now: Standing, wanted: Wanted, evidence: tuple[str, ...], why: str
) -> Approval:
    if now.state != _FROM[wanted]:
        raise RefusedError(
            f"{now.id} version {now.version} is {now.state}, not {_FROM[wanted]}.",
            hint=f"Look at its history: exuvia strategy history {now.id}",
        )
    time = sum(1 for event in bank.journal().events if (event.id, event.version) == (now.id, now.version))
    name = f"{now.id} version {now.version}"
    strategy = bank.read(now.id, now.version)
    body: dict[str, Any] = {
        "strategy": now.id,
        "version": now.version,
        "sha256": now.sha256,
        "to": wanted,
        "purpose": strategy.purpose,
        "owner": strategy.owner,
        "origin": now.origin,
        "evidence": list(evidence),
        "why": why,
        "text": _text(name, wanted, strategy.purpose, now, evidence, why),
    }
    approval = Approval(
        id=f"{KIND}-{wanted}-{now.id.replace('.', '-')}-{now.version}-{time}",
        kind="strategy",
        agent_id="",
        title=_QUESTION[wanted].format(name=name),
        body=body,
    )
    step = _step(approval, wanted, Actor("operator", person=True), "asked")
    refused = bank.refusal(now.id, now.version, step)
    if refused is not None:
        raise RefusedError(refused.reason, hint=refused.hint)
    return approvals.ask(project, approval)


def _text(name: str, wanted: Wanted, purpose: str, now: Standing, evidence: tuple[str, ...], why: str) -> str:
    lines = [_QUESTION[wanted].format(name=name), "", purpose, f"origin: {now.origin}"]
    lines += [f"rests on: {', '.join(evidence)}"] if evidence else []
    lines += [f"approved in review by {now.reviewed_by}"] if now.reviewed_by else []
    lines += [why] if why else []
    return "\n".join(lines)


def _apply(bank: Bank, approval: Approval, decision: Decision) -> None:
    strategy_id, version, wanted = _about(approval)
    if any(event.detail.get("approval") == approval.id for event in bank.journal().events):
        return  # applied before
    actor = Actor(decision.signature or decision.actor, person=True)
    now = bank.standing(strategy_id, version)
    if decision.verdict != "approve":
        if wanted == "shadow" and now.state == "review":
            step = Step("draft", actor, now_s(), decision.reason, approval=approval.id)
            bank.move(strategy_id, version, step, expect="review")
        return
    _still(bank, approval)
    bank.move(strategy_id, version, _step(approval, wanted, actor, decision.reason), expect=_FROM[wanted])


def _still(bank: Bank, approval: Approval) -> None:
    strategy_id, version, wanted = _about(approval)
    now = bank.standing(strategy_id, version)
    if now.sha256 != approval.body.get("sha256") or now.state != _FROM[wanted]:
        raise ConflictError(
            f"{strategy_id} version {version} is not as it was when this was asked: it is {now.state} now.",
            hint=f"Look who moved it: exuvia strategy history {strategy_id}",
        )
    bank.text(strategy_id, version)


def _step(approval: Approval, wanted: Wanted, actor: Actor, why: str) -> Step:
    evidence = approval.body.get("evidence")
    held = tuple(map(str, evidence)) if isinstance(evidence, list) else ()
    return Step(wanted, actor, now_s(), why, evidence=held, approval=approval.id)


def _about(approval: Approval) -> tuple[str, int, Wanted]:
    body = approval.body
    wanted, version = body.get("to"), body.get("version")
    if wanted not in _FROM or not isinstance(version, int):
        raise NotFoundError(f"{approval.id} names no version of a strategy.", hint="Ask again.")
    return str(body.get("strategy")), version, "shadow" if wanted == "shadow" else "active"
