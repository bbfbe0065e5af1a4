"""What a key does to strategies: one call of core each, the same that the command line makes. They run in threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.state.paths import ProjectPaths
from tui.messages import Outcome

if TYPE_CHECKING:
    from core.strategy.bank.bank import Bank
    from core.strategy.bank.states import Actor, State, Step
    from core.strategy.feedback.bad_cases import BadCase
    from tui.stores.strategies_ways import Way

ACTOR = "console"
_HISTORY = "exuvia strategy history tells who did what."


def operator() -> Actor:
    """Return the person at this terminal."""
    from core.state import audit
    from core.strategy.bank.states import Actor

    return Actor(audit.signature(), person=True)


def publish(project: ProjectPaths, strategy_id: str, why: str) -> Outcome:
    """Publish the newest text of a strategy as a version; it gets no traffic by that."""
    from core.strategy.bank.bank import bank_of

    one = bank_of(project).publish(strategy_id, operator(), why)
    return Outcome(f"{one.id} version {one.version} is published, a {one.state}.", "a sends it to review.")


def advance(project: ProjectPaths, way: Way, why: str, evidence: tuple[str, ...] = ()) -> Outcome:
    """Let a version take the step that the operator was asked about, where it still stands as it did then.

    One that gets all users comes into force in the agents that have the strategy; what that came to is said.
    """
    from core.foundation.clock import now_s
    from core.strategy.bank.bank import bank_of

    bank = bank_of(project)
    step = way.step(operator(), now_s(), why, evidence)
    if way.to == "gray":
        return _entered(bank, way, step)
    one = bank.move(way.id, way.version, step, expect=way.state)
    told = f"{one.id} version {one.version}: {one.state}, {way.what}."
    if one.state == "active":
        return Outcome(told, " ".join(_in_force(bank, one.id, why)) or _HISTORY)
    return Outcome(told, _HISTORY)


def _entered(bank: Bank, way: Way, step: Step) -> Outcome:
    """Let a version into a stage of gray, and say how the users who are drawn compare with all."""
    from datetime import UTC, datetime

    from core.foundation.errors import ConflictError
    from core.strategy.bank.drawing import enter_stage

    if bank.standing(way.id, way.version).state != way.state:
        raise ConflictError(f"{way.id} version {way.version} is not in {way.state} any more.", hint=_HISTORY)
    entered = enter_stage(
        bank, way.id, way.version, step.actor, datetime.now(UTC), stage=step.stage, why=step.why, force=step.force,
        evidence=step.evidence,
    )  # fmt: skip
    drawn = entered.representation
    hint = drawn.lines(1)[0] if drawn.population else _HISTORY
    return Outcome(f"{way.id} version {way.version}: gray, {way.what}.", hint)


def roll_back(project: ProjectPaths, strategy_id: str, version: int, why: str) -> Outcome:
    """Take the version that was released last off-line; the one before answers again, in the agents too."""
    from core.strategy.bank.bank import bank_of
    from core.strategy.bank.states import newest

    bank = bank_of(project)
    one = bank.take_back(strategy_id, operator(), why, version=version)
    back = newest(bank.entry(strategy_id).versions, "active")
    hints = _in_force(bank, strategy_id, why)
    answers = "none of it answers" if back is None else f"version {back.version} answers"
    return Outcome(f"{one.id} version {one.version} is off-line; {answers}.", " ".join(hints) or _HISTORY)


def _in_force(bank: Bank, strategy_id: str, why: str) -> tuple[str, ...]:
    from core.evolution.strategy_release import follow_bank

    return follow_bank(bank, strategy_id, ACTOR, why)


def put_away(project: ProjectPaths, strategy_id: str, version: int, state: State, why: str) -> Outcome:
    """Archive a version; its text stays."""
    from core.foundation.clock import now_s
    from core.strategy.bank.bank import bank_of
    from core.strategy.bank.states import Step

    step = Step("archived", operator(), now_s(), why)
    one = bank_of(project).move(strategy_id, version, step, expect=state)
    return Outcome(f"{one.id} version {one.version} is archived. Its text stays.", _HISTORY)


def draft_case(project: ProjectPaths, agent_id: str, benchmark_id: str, case: BadCase) -> Outcome:
    """Draft a Case from a bad case into a benchmark; into a new one beside it where that was frozen or measured."""
    from core.evolution.case_from_traffic import case_from_traffic

    found = case_from_traffic(project.agent(agent_id), benchmark_id, case)
    hint = "Complete it by hand." if not found.copied_from else "Complete it; what was measured stays."
    return Outcome(f"{found.case_id} lies in {found.benchmark_id}.", hint)


def review_domain(project: ProjectPaths, domain: str, why: str) -> Outcome:
    """Write down that the operator has looked through a domain."""
    from core.strategy.bank.bank import bank_of

    bank_of(project).review_domain(domain, operator(), why)
    return Outcome(f"{domain} is reviewed.", _HISTORY)
