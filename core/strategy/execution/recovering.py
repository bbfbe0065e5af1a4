"""What is done about a failure, in this order: the node's own rules, the skill's failure profile, the strategy's
`on_fail`, strategies that wait for the failure (S25, S44, S53 to S56). The bank's hand-off comes last, for the turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from core.strategy.documents.plan import ANY, Node, Recovery, Retry
from core.strategy.execution.failure import OWN_CODES, NodeFailedError, Output
from core.strategy.execution.retry import may_repeat, of_profile, pause_ms
from core.strategy.execution.run import Frame, Guards, Run
from core.strategy.execution.skills import RAISED, TIMEOUT

Again = Callable[[], Awaitable[Output]]
"""Try the failed node once more, checks and all. Raises NodeFailedError."""

_OURS = {ANY: Recovery(retry=1)}
"""Around a fallback: what fails there goes on along the order of the first failure, and begins none of its own."""


async def recover(
    run: Run, frame: Frame, node: Node, key: str, failure: NodeFailedError, guards: Guards, again: Again
) -> Output:
    """Return the output that stands in for the failed node's. Raises `failure` where nothing helps."""
    if failure.final:
        raise failure
    rule = node.recover.get(failure.code) or node.recover.get(ANY)
    if rule is not None:
        found = await _apply(run, frame, rule, key, failure, guards, "recover", again)
        if found is not None:
            return found[0]
    if node.run:
        found = await _profile(run, frame, node, key, failure, again)
        if found is not None:
            return found[0]
    if any(failure.code in rules or ANY in rules for rules in guards):
        raise failure  # a node around this one has a rule for it
    if not failure.on_fail_done:
        failure.on_fail_done = True
        validation = frame.compiled.strategy.validate_ if frame.compiled else None
        for rules in (validation.on_fail if validation else {}, failure.rules):
            rule = rules.get(failure.code) or rules.get(ANY)
            if rule is not None:
                found = await _apply(run, frame, rule, key, failure, guards, "on_fail", again)
                if found is not None:
                    return found[0]
                break
        if failure.skill:
            event = f"failure:{failure.skill}/{failure.code}"
            taken = await run.fire(run, frame, event, key)
            if taken is not None:
                frame.say("recovered", key, code=failure.code, by="strategy", action=f"strategy {taken.strategy}")
                return taken.output
    raise failure


async def _apply(
    run: Run,
    frame: Frame,
    rule: Recovery,
    key: str,
    failure: NodeFailedError,
    guards: Guards,
    by: str,
    again: Again,
) -> tuple[Output] | None:
    """Follow one rule; None where it did not help. Raises the failure for good where the rule ends the plan."""
    schema = run.bank.schemas.get(failure.skill)
    for _ in range(rule.retry):
        if schema is not None and not may_repeat(schema, failure.code):
            frame.say("not repeated", key, code=failure.code, reason="it may have happened already")
            break
        try:
            output = await again()
        except NodeFailedError as error:
            frame.say("still failed", key, code=error.code, by=by)
            continue
        frame.say("recovered", key, code=failure.code, by=by, action="retry")
        return (output,)
    if rule.abort:
        frame.say("aborted", key, code=failure.code, by=by)
        failure.final = True
        raise failure
    if rule.do is None:
        return None
    action = " ".join(filter(None, (rule.do.kind, rule.do.run or rule.do.call or "")))
    frame.say("fallback", key, code=failure.code, by=by, action=action)
    try:
        output = await run.execute(run, frame, rule.do, f"{key}.{by}.{failure.code}", (*guards, _OURS))
    except NodeFailedError as error:
        if error.final:
            raise
        frame.say("fallback failed", key, code=error.code, by=by, action=action)
        return None
    if rule.estimated:
        output = {**(output or {}), "estimated": True}
    frame.say("recovered", key, code=failure.code, by=by, action=action, estimated=rule.estimated or None)
    return (output,)


async def _profile(
    run: Run, frame: Frame, node: Node, key: str, failure: NodeFailedError, again: Again
) -> tuple[Output] | None:
    """Follow the skill's failure profile (S55). A node that says how often it is retried is not retried once more."""
    schema = run.bank.schemas.get(failure.skill)
    if schema is None:
        return None
    row = schema.failure(failure.code)
    if row is None:
        if failure.code not in OWN_CODES | {TIMEOUT, RAISED}:
            frame.say("unprofiled failure", key, skill=failure.skill, code=failure.code)
        return None
    repeats = of_profile(row) if not node.retry.max else Retry()
    for attempt in range(1, repeats.max + 1):
        if not may_repeat(schema, failure.code):
            frame.say("not repeated", key, code=failure.code, reason="it may have happened already")
            break
        await run.clock.sleep(pause_ms(repeats, attempt, f"{run.session.id}/{run.turn}/{frame.key}:{key}"))
        try:
            output = await again()
        except NodeFailedError as error:
            frame.say("still failed", key, code=error.code, by="profile")
            continue
        frame.say("recovered", key, code=failure.code, by="profile", action="retry")
        return (output,)
    tried = f"{key}.profile"
    if row.fallback_skill is None or f".profile.{row.fallback_skill}" in key or row.fallback_skill == failure.skill:
        return None
    if row.fallback_skill not in run.skills:
        return None
    action = f"run {row.fallback_skill}"
    frame.say("fallback", key, code=failure.code, by="profile", action=action)
    try:
        output = await run.execute(run, frame, Node(run=row.fallback_skill), f"{tried}.{row.fallback_skill}", (_OURS,))
    except NodeFailedError as error:
        if error.final:
            raise
        frame.say("fallback failed", key, code=error.code, by="profile", action=action)
        return None
    frame.say("recovered", key, code=failure.code, by="profile", action=action)
    return (output,)
