"""What a key does to strategies: one call of core each, the same that the command line makes. They run in threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.state.paths import ProjectPaths
from tui.messages import Outcome

if TYPE_CHECKING:
    from core.strategy.bank.states import Actor, State
    from tui.stores.strategies_ways import Way

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
    """Let a version take the step that the operator was asked about, where it still stands as it did then."""
    from core.foundation.clock import now_s
    from core.strategy.bank.bank import bank_of

    bank = bank_of(project)
    one = bank.move(way.id, way.version, way.step(operator(), now_s(), why, evidence), expect=way.state)
    return Outcome(f"{one.id} version {one.version}: {one.state}, {way.what}.", _HISTORY)


def roll_back(project: ProjectPaths, strategy_id: str, version: int, why: str) -> Outcome:
    """Take the version that was released last off-line; the one before answers again."""
    from core.strategy.bank.bank import bank_of

    one = bank_of(project).take_back(strategy_id, operator(), why, version=version)
    return Outcome(f"{one.id} version {one.version} is off-line; the one before answers.", _HISTORY)


def put_away(project: ProjectPaths, strategy_id: str, version: int, state: State, why: str) -> Outcome:
    """Archive a version; its text stays."""
    from core.foundation.clock import now_s
    from core.strategy.bank.bank import bank_of
    from core.strategy.bank.states import Step

    step = Step("archived", operator(), now_s(), why)
    one = bank_of(project).move(strategy_id, version, step, expect=state)
    return Outcome(f"{one.id} version {one.version} is archived. Its text stays.", _HISTORY)


def review_domain(project: ProjectPaths, domain: str, why: str) -> Outcome:
    """Write down that the operator has looked through a domain."""
    from core.strategy.bank.bank import bank_of

    bank_of(project).review_domain(domain, operator(), why)
    return Outcome(f"{domain} is reviewed.", _HISTORY)
