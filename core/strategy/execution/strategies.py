"""One strategy from its beginning to its end, and the line that it leaves in the log (S74)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from core.strategy.documents.plan import Node
from core.strategy.execution.budget import CODE as TURN_BUDGET
from core.strategy.execution.budget import BudgetSpentError
from core.strategy.execution.compiled import Compiled
from core.strategy.execution.completing import ask_for, ensure
from core.strategy.execution.failure import (
    NOTHING_FITS,
    UNBOUND_ROLE,
    AskedError,
    NodeFailedError,
    Output,
    SupersededError,
)
from core.strategy.execution.inputs import look_argument
from core.strategy.execution.paths import MISSING
from core.strategy.execution.recording import execution
from core.strategy.execution.run import Frame, Run
from core.strategy.execution.scope import Scope


async def run_strategy(
    run: Run,
    outer: Frame,
    compiled: Compiled,
    key: str,
    *,
    event: str,
    given: Mapping[str, Any] | None = None,
    fired: bool | None = None,
) -> Output:
    """Run a strategy's plan, or its target, and return the output. Each ending leaves one Execution in the run.

    `given` are inputs that the caller hands over, known under their names; `fired` is what its condition was found to
    be, None where it was called. A question leaves none: the turn isn't over. Raises NodeFailedError and what ends a
    turn.
    """
    strategy = compiled.strategy
    scope = Scope(run.session, outer.scope, sees=strategy.context.inherit)
    for name, value in (given or {}).items():
        scope.name(name, value)
    frame = Frame(compiled, scope, outer.recorder, f"{outer.key}:{key}>{compiled.id}", (*outer.stack, compiled.id))
    return await _ending(run, frame, event, fired)


async def run_directly(run: Run, outer: Frame, skill: str, key: str) -> Output:
    """Run the skill that the model intends where no strategy fired."""
    frame = Frame(None, Scope(run.session, outer.scope), outer.recorder, f"{outer.key}:{key}>", outer.stack, {}, skill)
    return await _ending(run, frame, "turn", None)


async def _ending(run: Run, frame: Frame, event: str, fired: bool | None) -> Output:
    began, code = run.clock.monotonic_ms(), ""
    compiled = frame.compiled
    frame.say("began", "", strategy=compiled and compiled.id, version=compiled and compiled.strategy.version, by=event)
    logged = True
    try:
        return await _work(run, frame)
    except SupersededError as error:
        frame.say("superseded", "", by=error.by)
        raise
    except AskedError:
        logged = False
        raise
    except NodeFailedError as error:
        code = error.code
        taken = await run.fire(run, frame, f"strategy_failed:{compiled.id}", "") if compiled else None
        if taken is None:
            raise
        frame.say("recovered", "", code=code, by="strategy", action=f"strategy {taken.strategy}")
        return taken.output
    except BudgetSpentError:
        code = TURN_BUDGET
        raise
    except asyncio.CancelledError:
        code = "CANCELLED"
        raise
    finally:
        if logged:
            frame.say("ended", "", strategy=compiled and compiled.id, code=code)
            took = run.clock.monotonic_ms() - began
            run.executions.append((frame.key, execution(run, frame, event, fired, code, took)))


async def _work(run: Run, frame: Frame) -> Output:
    compiled = frame.compiled
    plan = compiled.plan if compiled else None
    if plan is None:
        frame.target = frame.target or (compiled.target if compiled else "") or run.suggestion.intended_skill
    elif compiled and compiled.target:
        frame.target = compiled.target
    if compiled is not None:
        run.budget.step()
        strategy = compiled.strategy
        for role, path in (strategy.trigger.bind if strategy.trigger else {}).items():
            if look_argument(run, frame, path) in (MISSING, None):
                frame.say("unbound", "", role=role, path=path)
                ask_for(run, frame, path, "")
            if look_argument(run, frame, path) in (MISSING, None):
                raise NodeFailedError(UNBOUND_ROLE, f"no phrase for the role {role} at {path}")
        await ensure(run, frame, strategy.context.needs, "")
        if compiled.modifies:
            run.injected |= strategy.context.inject
            if plan is None:
                return None
    if plan is None:
        if not frame.target:
            raise NodeFailedError(NOTHING_FITS, "the strategy has no plan, and the model intends no skill")
        plan = Node(run=frame.target)
    return await run.execute(run, frame, plan, "plan")
