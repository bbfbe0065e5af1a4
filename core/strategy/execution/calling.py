"""A skill is called: in its time, under its key, by the journal where it was called before, never to write in a dry
run (X1, X2, S23)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Literal

from core.strategy.conditions.memory import Past
from core.strategy.execution.failure import UNKNOWN_SKILL, WithheldError
from core.strategy.execution.paths import plain
from core.strategy.execution.run import Frame, Run
from core.strategy.execution.skills import RAISED, TIMEOUT, Call, Outcome

Purpose = Literal["run", "complete", "probe", "check", "merge", "hand_off"]


async def call(
    run: Run,
    frame: Frame,
    key: str,
    skill: str,
    inputs: Mapping[str, Any],
    *,
    purpose: Purpose = "run",
    timeout_ms: float | None = None,
    idempotency: str = "",
) -> Outcome:
    """Return what the skill says. It never raises for what the skill does: an exception becomes SKILL_RAISED.

    `key` is the place of this call in the turn, with the attempt; `idempotency` is the key sent to a skill that
    writes, made from the place without the attempt where it is "". Raises BudgetSpentError, and WithheldError for a
    write in a dry run of which nothing is known.
    """
    if purpose != "hand_off":
        run.budget.step()
    found = run.skills.get(skill)
    told = {"skill": skill, "inputs": dict(inputs), "purpose": None if purpose == "run" else purpose}
    if found is None:
        frame.say("called", key, **told, code=UNKNOWN_SKILL)
        return Outcome(None, UNKNOWN_SKILL, f"there is no skill {skill}")
    place = f"{frame.key}:{key}:{purpose}"
    outcome = run.journal.recall(place)
    if outcome is None and run.replay is not None:
        outcome = run.replay(skill, inputs)
    if outcome is None and run.dry_run and found.schema.writes:
        frame.say("withheld", key, **told)
        raise WithheldError(skill)
    if outcome is None:
        idempotency_key = (idempotency or _own_key(run, place)) if found.schema.writes else ""
        request = Call(run.session.id, idempotency_key, timeout_ms, run.dry_run)
        outcome = await _answer(run, skill, inputs, request)
        run.journal.keep(place, outcome)
    if purpose == "run":
        run.ran.append(Past(run.turn, skill, outcome.ok, outcome.code))
    frame.say("called", key, **told, code=outcome.code, message=outcome.message)
    return outcome


async def _answer(run: Run, skill: str, inputs: Mapping[str, Any], request: Call) -> Outcome:
    body = run.skills[skill].call
    try:
        if request.timeout_ms is None:
            return _checked(await body(inputs, request))
        try:
            async with run.clock.timeout(request.timeout_ms) as _:
                return _checked(await body(inputs, request))
        except TimeoutError:
            return Outcome(None, TIMEOUT, f"no answer in {request.timeout_ms:g} ms")
    except Exception as error:  # whatever a skill raises is its failure, told in the trace
        return Outcome(None, RAISED, f"{type(error).__name__}: {error}"[:500])


def _checked(outcome: Outcome) -> Outcome:
    if not isinstance(outcome, Outcome):
        raise TypeError(f"the skill returned {type(outcome).__name__}, not an Outcome")
    output = None if outcome.output is None else plain(outcome.output)
    return Outcome(output, outcome.code, outcome.message, outcome.raw)


def _own_key(run: Run, place: str) -> str:
    """Return a key that is the same for every attempt at a place of a turn: the attempt (~2, ~3) isn't part of it."""
    steady = ":".join(part.partition("~")[0] for part in place.split(":"))
    told = f"{run.session.id}/{run.turn}/{steady}"
    return hashlib.blake2b(told.encode(), digest_size=12).hexdigest()
