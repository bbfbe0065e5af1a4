"""The human review pool: what waits for a person, with its evidence, and what the person decides (STRATEGY S105, S106).

The pool is no list of its own: a draft is a version of the bank in the state "review", and the bank's rule lets no
version past it without a person. Approval leads to shadow, never straight to users.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.foundation.clock import now_s
from core.foundation.errors import ConflictError, NotFoundError, RefusedError, UsageError
from core.state.atomic import write_new
from core.strategy.bank.bank import Bank
from core.strategy.bank.states import Actor, Standing, Step
from core.strategy.documents.strategy import Strategy
from core.strategy.feedback.bad_cases import BadCase
from core.strategy.feedback.synthesis import Draft

ENGINE = Actor("nightly", person=False)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A version in review. `evidence` is what it names: a cluster and cases; `cases` are those of them that are still
    in the queue. `since` is when it came.
    """

    id: str
    version: int
    strategy: Strategy
    text: str
    since: str
    evidence: tuple[str, ...]
    cases: tuple[BadCase, ...]


def submit(bank: Bank, draft: Draft, *, actor: Actor = ENGINE) -> Standing:
    """Write a draft into the bank and let it wait for a person. The same draft again changes nothing.

    Raises ConflictError where another text has its id.
    """
    strategy = draft.strategy
    path = bank.root / strategy.domain / f"{strategy.id}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_new(path, draft.text.encode("utf-8"))
    except ConflictError:
        if path.read_text("utf-8") != draft.text:
            raise ConflictError(
                f"{strategy.id} is there already, with another text.", hint="Decide about that one first."
            ) from None
    standing = bank.publish(strategy.id, actor, f"drafted from {draft.cluster}")
    if standing.state != "draft":
        return standing
    step = Step("review", actor, now_s(), why=f"drafted by {draft.model}", evidence=strategy.origin.evidence)
    return bank.move(strategy.id, strategy.version, step, expect="draft")


def pool(bank: Bank, cases: Mapping[str, BadCase] | None = None) -> tuple[Waiting, ...]:
    """Return all versions in review, the one that waits longest first. `cases` is the queue by id."""
    found = []
    for entry in bank.entries():
        for standing in entry.versions:
            if standing.state == "review":
                strategy = bank.read(entry.id, standing.version)
                evidence = tuple(strategy.origin.evidence)
                known = tuple(cases[name] for name in evidence if cases and name in cases)
                text = bank.text(entry.id, standing.version)
                found.append(Waiting(entry.id, standing.version, strategy, text, standing.since, evidence, known))
    return tuple(sorted(found, key=lambda one: (one.since, one.id, one.version)))


def approve(bank: Bank, name: str, version: int, person: str, why: str, evidence: tuple[str, ...] = ()) -> Standing:
    """Let a version into shadow, in a person's name. `evidence` are ids of the check and the benchmark run.

    Raises UsageError without a name or a reason, NotFoundError, and what the bank's rule refuses.
    """
    return _decide(bank, name, version, Step("shadow", _person(person, why), now_s(), why=why, evidence=evidence))


def reject(bank: Bank, name: str, version: int, person: str, why: str) -> Standing:
    """Put a version away, in a person's name. Errors as `approve`."""
    return _decide(bank, name, version, Step("archived", _person(person, why), now_s(), why=why))


def _person(name: str, why: str) -> Actor:
    if not name.strip() or not why.strip():
        raise UsageError("A decision needs who decided and why.", hint="Give a name and a reason (--reason).")
    return Actor(name.strip(), person=True)


def _decide(bank: Bank, name: str, version: int, step: Step) -> Standing:
    standing = next((one for one in bank.entry(name).versions if one.version == version), None)
    if standing is None:
        raise NotFoundError(f"{name} has no version {version}.", hint="List what waits: exuvia strategy review")
    if standing.state != "review":
        raise RefusedError(f"{name} version {version} is {standing.state}: nothing waits for a decision there.")
    return bank.move(name, version, step, expect="review")
