"""Checks of level 2: made after the answer is out, their findings arriving as events (S42, S127).

Whoever ran the turn calls `later` when it likes, as a task of its own: nothing of it can add to an answer's latency.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from core.strategy.execution.budget import Budget, BudgetSpentError
from core.strategy.execution.checking import told, verdict_of
from core.strategy.execution.clock import Clock
from core.strategy.execution.compiler import CompiledBank
from core.strategy.execution.failure import AskedError, NodeFailedError, SupersededError
from core.strategy.execution.firing import fire
from core.strategy.execution.interpreter import execute
from core.strategy.execution.recording import execution
from core.strategy.execution.run import Assignment, Deferred, Frame, Journal, Run
from core.strategy.execution.scope import Scope
from core.strategy.execution.session import SessionState
from core.strategy.execution.skills import Skills
from core.strategy.execution.suggestion import Suggestion
from core.strategy.execution.trace import Recorder
from core.strategy.execution.turn import TurnResult


async def later(
    bank: CompiledBank,
    session: SessionState,
    deferred: Sequence[Deferred],
    skills: Skills,
    clock: Clock,
    *,
    assignment: Assignment | None = None,
) -> TurnResult:
    """Make the deferred checks of a turn and run the strategies that wait for what they find.

    A check that isn't passed is the event level2:<its name>. Each strategy whose checks these are leaves an Execution
    with the verdicts of level 2, under the event "level2". The output is that of the last strategy that an event
    brought in, None where none did. A question that would be asked here is left: nobody waits for one.
    """
    recorder = Recorder()
    run = Run(
        bank=bank,
        session=session,
        skills=skills,
        clock=clock,
        budget=Budget(bank.settings.turn, clock, clock.monotonic_ms()),
        suggestion=Suggestion(),
        utterance="",
        journal=Journal(),
        execute=execute,
        fire=fire,
        assignment=assignment or {},
    )
    output: Mapping[str, Any] | None = None
    code = ""
    events: list[tuple[str, Frame]] = []
    for strategy in dict.fromkeys(one.compiled.id for one in deferred):
        some = [one for one in deferred if one.compiled.id == strategy]
        frame = Frame(some[0].compiled, Scope(session), recorder, f"later>{strategy}")
        began = clock.monotonic_ms()
        for number, one in enumerate(some):
            events += [(event, frame) for event in await _checked(run, frame, one, f"level2.{number}")]
        failed = [found["code"] for found in recorder.events if found["event"] == "checked" and "code" in found]
        run.executions.append(
            (frame.key, execution(run, frame, "level2", None, next(iter(failed), ""), clock.monotonic_ms() - began))
        )
    for event, frame in events:
        try:
            taken = await run.fire(run, frame, event, event)
            output = taken.output if taken else output
        except SupersededError as error:
            output = error.output
        except AskedError as error:
            frame.say("question left", event, into=error.question.into)
        except (NodeFailedError, BudgetSpentError) as error:
            code = getattr(error, "code", "TURN_BUDGET")
    trace = recorder.trace()
    executions = tuple(replace(one, trace_sha256=trace.sha256) for one in run.in_order(recorder))
    return TurnResult("failed" if code else "done", output, None, trace, executions, code)


async def _checked(run: Run, frame: Frame, one: Deferred, key: str) -> list[str]:
    """Make one check; return the event that it causes, if it isn't passed."""
    scope = Scope(run.session)
    for name, value in one.held.items():
        scope.name(name, value)
    inner = Frame(one.compiled, scope, frame.recorder, frame.key)
    value = next(iter(one.held.values()), {})
    try:
        verdict = await verdict_of(run, inner, one.compiled, one.check, value, key, None)
    except BudgetSpentError:
        verdict = "unknown"
    code = one.check.code if verdict == "failed" else ""
    frame.say("checked", key, level="level2", check=told(one.check), verdict=verdict, code=code)
    return [f"level2:{one.name}"] if verdict == "failed" else []
