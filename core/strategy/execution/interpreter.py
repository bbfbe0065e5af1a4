"""A plan at work: every node with its time limit, tries, breaker, transaction, checks and recovery (S21 to S33)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping

from core.foundation.errors import ConflictError
from core.strategy.documents.plan import Node
from core.strategy.execution import modes
from core.strategy.execution.calling import call
from core.strategy.execution.checking import Checked, validate
from core.strategy.execution.compiled import name_of
from core.strategy.execution.completing import ensure, ensure_inputs, publish
from core.strategy.execution.failure import (
    CIRCUIT_OPEN,
    CONFLICT,
    INPUT_REFUSED,
    UNKNOWN_SKILL,
    NodeFailedError,
    Output,
    SupersededError,
    WithheldError,
)
from core.strategy.execution.inputs import refused
from core.strategy.execution.paths import filled
from core.strategy.execution.recovering import recover
from core.strategy.execution.reservations import Reservation
from core.strategy.execution.retry import in_doubt, may_repeat, pause_ms
from core.strategy.execution.run import Frame, Guards, Run
from core.strategy.execution.skills import TIMEOUT

_Perform = Callable[[Run, Frame, Node, str, Guards], Awaitable[Output]]


async def execute(run: Run, frame: Frame, node: Node, key: str, guards: Guards = ()) -> Output:
    """Run a node and return its output, visible from now on under its name; None where it has none.

    Raises NodeFailedError where it failed past its recovery, and what ends the turn (`failure`, `budget`).
    """
    if node.run and node.run in run.skipped:
        frame.say("skipped", key, skill=node.run, by=run.skipped[node.run])
        return None
    attempt = _Attempts(run, frame, node, key, guards)
    try:
        output = await attempt.all()
    except NodeFailedError as failure:
        try:
            output = await recover(run, frame, node, key, failure, guards, attempt.once)
        except NodeFailedError:
            if not node.optional:
                raise
            frame.say("left out", key, code=failure.code)
            return None
    except WithheldError:
        return None
    if name_of(node) and output is not None:
        frame.scope.name(name_of(node), output)
    if attempt.succeeded and node.run:
        taken = await run.fire(run, frame, f"skill_result:{node.run}", key)
        if taken is not None:
            raise SupersededError(taken.strategy, taken.output)
    return output


class _Attempts:
    """The tries at one node. Each has a key of its own, `<key>~2` for the second."""

    def __init__(self, run: Run, frame: Frame, node: Node, key: str, guards: Guards) -> None:
        self.run = run
        self.frame = frame
        self.node = node
        self.key = key
        self.guards = (*guards, node.recover) if node.recover else guards
        self.count = 0
        self.succeeded = False

    async def all(self) -> Output:
        """Try as often as the node's `retry` says."""
        retry = self.node.retry
        seed = f"{self.run.session.id}/{self.run.turn}/{self.frame.key}:{self.key}"
        for attempt in range(1, retry.max + 2):
            try:
                return await self.once()
            except NodeFailedError as failure:
                schema = self.run.bank.schemas.get(failure.skill)
                if attempt > retry.max or failure.final or failure.code == CIRCUIT_OPEN:
                    raise
                if schema is not None and not may_repeat(schema, failure.code):
                    self.frame.say("not repeated", self.key, code=failure.code, reason="it may have happened already")
                    raise
                pause = pause_ms(retry, attempt, seed)
                self.frame.say("retry", self.key, code=failure.code, attempt=attempt, pause_ms=pause)
                await self.run.clock.sleep(pause)
        raise AssertionError("unreachable")

    async def once(self) -> Output:
        """Try once: breaker, transaction, the work, its checks. Raises NodeFailedError."""
        self.count += 1
        key = self.key if self.count == 1 else f"{self.key}~{self.count}"
        run, node, circuit = self.run, self.node, self.node.circuit
        breakers = run.session.store.breakers
        strategy = self.frame.compiled.id if self.frame.compiled else ""
        breaker = f"{strategy}/{_steady(self.key)}/{node.run or node.kind}"
        if circuit and breakers.admit(breaker, circuit, run.clock.monotonic_ms()) == "open":
            self.frame.say("circuit open", key, skill=node.run)
            raise NodeFailedError(CIRCUIT_OPEN, f"{node.run or node.kind} failed too often", skill=node.run or "")
        ended = False
        try:
            output = await self._held(key)
            ended = True
            if circuit:
                breakers.note(breaker, circuit, run.clock.monotonic_ms(), ok=True)
        except NodeFailedError:
            ended = True
            if circuit and breakers.note(breaker, circuit, run.clock.monotonic_ms(), ok=False):
                self.frame.say("circuit opened", key, skill=node.run)
            raise
        finally:
            if circuit and not ended:
                breakers.forget_probe(breaker)
        self.succeeded = True
        return output

    async def _held(self, key: str) -> Output:
        """Work with the id that the node reserves; it is settled by how the work ends (S86)."""
        tx = self.node.tx
        if tx is None or not tx.reserve:
            return await self._limited(key)
        run, frame = self.run, self.frame
        name = str(filled(tx.reserve, frame.scope.look))
        place = f"{frame.key}:{key}:reserved"
        before = run.journal.choices.get(place)
        held = (
            Reservation(before[0], before[1], run.session.id)
            if before
            else run.session.store.reserve(name, run.session.id)
        )
        run.journal.choices[place] = [held.name, held.number]
        frame.scope.name(tx.reserve, held.id)
        frame.say("reserved", key, name=name, id=held.id)
        try:
            output = await self._limited(key)
        except NodeFailedError as failure:
            state = "in_doubt" if in_doubt(failure.code) or failure.code == CONFLICT else "released"
            self._settle(held, state, place, key)
            raise
        except BaseException:
            self._settle(held, "in_doubt", place, key, keep=True)
            raise
        self._settle(held, "committed", place, key, keep=True)
        return output

    def _settle(self, held: Reservation, state: str, place: str, key: str, *, keep: bool = False) -> None:
        self.run.session.store.settle(held, state)  # type: ignore[arg-type]
        self.frame.say("reservation", key, id=held.id, state=state)
        if not keep:
            del self.run.journal.choices[place]

    async def _limited(self, key: str) -> Output:
        """Work within the node's time; a skill's own limit is for its call alone."""
        node = self.node
        if node.run:
            return await _run_skill(self.run, self.frame, node, key)
        try:
            if node.timeout_ms is None:
                output = await modes.perform(self.run, self.frame, node, key, self.guards)
            else:
                async with self.run.clock.timeout(node.timeout_ms):
                    output = await modes.perform(self.run, self.frame, node, key, self.guards)
        except TimeoutError:
            raise NodeFailedError(TIMEOUT, f"{node.kind} was not done in {node.timeout_ms} ms") from None
        if node.alias and output is not None:
            await validate(self.run, self.frame, Checked(frozenset({node.alias}), None, output, key))
        return output


def _steady(key: str) -> str:
    """Return a node's place without the rounds of loops and the tries: its breaker is one for all of them."""
    return re.sub(r"\[\d+\]|~\d+", "", key)


async def _run_skill(run: Run, frame: Frame, node: Node, key: str) -> Output:
    """Complete what the skill needs, call it, check what it said, and make that known."""
    assert node.run is not None
    found = run.skills.get(node.run)
    if found is None:
        raise NodeFailedError(UNKNOWN_SKILL, f"there is no skill {node.run}")
    schema = found.schema
    await ensure(run, frame, schema.context.needs, key, schema)
    inputs = await ensure_inputs(run, frame, node, schema, key)
    wrong = refused(schema, inputs)
    if wrong:
        frame.say("refused", key, skill=node.run, reason=wrong)
        raise NodeFailedError(INPUT_REFUSED, wrong, skill=node.run)
    expected = run.session.store.read(run.session.id).version if node.tx and not frame.scope.waits else None
    idempotency = str(filled(node.tx.idempotency_key, frame.scope.look)) if node.tx else ""
    outcome = await call(run, frame, key, node.run, inputs, timeout_ms=node.timeout_ms, idempotency=idempotency)
    if not outcome.ok:
        raise NodeFailedError(outcome.code, outcome.message, skill=node.run)
    output: Mapping[str, object] = outcome.output or {}
    names = frozenset({name_of(node), node.run})
    await validate(run, frame, Checked(names, schema, output, key))
    try:
        publish(frame, schema, output, expected=expected)
    except ConflictError as error:
        raise NodeFailedError(CONFLICT, str(error), skill=node.run) from error
    return dict(output)
