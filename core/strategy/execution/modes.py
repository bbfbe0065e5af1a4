"""The nodes that call no skill themselves: sequence, parallel, switch, loop, call, skip, ask, emit (S21, S22)."""

from __future__ import annotations

from typing import Any

from core.strategy.conditions.condition import Condition, Judgement
from core.strategy.conditions.truth import Truth
from core.strategy.documents.plan import Ask, Loop, Node, Parallel
from core.strategy.execution.calling import call
from core.strategy.execution.completing import complete, stop_for
from core.strategy.execution.failure import CALL_CYCLE, UNKNOWN_STRATEGY, NodeFailedError, Output, WithheldError
from core.strategy.execution.parallel import together
from core.strategy.execution.paths import MISSING, filled
from core.strategy.execution.question import Question, worded
from core.strategy.execution.run import Frame, Guards, Run, judge
from core.strategy.execution.scope import Scope
from core.strategy.execution.strategies import run_strategy


async def perform(run: Run, frame: Frame, node: Node, key: str, guards: Guards) -> Output:
    """Do what the node says, once. Raises NodeFailedError and what ends a turn."""
    if node.sequence is not None:
        output: Output = None
        for number, child in enumerate(node.sequence):
            found = await run.execute(run, frame, child, f"{key}.{number}", guards)
            output = found if found is not None else output
        return output
    if node.parallel is not None:
        return await _parallel(run, frame, node.parallel, key, guards)
    if node.switch is not None:
        return await _switch(run, frame, node, key, guards)
    if node.loop is not None:
        return await _loop(run, frame, node.loop, key, guards)
    run.budget.step()
    if node.call is not None:
        return await _call(run, frame, node, key)
    if node.skip is not None:
        run.skipped[node.skip] = frame.compiled.id if frame.compiled else ""
        frame.say("skip", key, skill=node.skip)
        return None
    if node.ask is not None:
        return _ask(run, frame, node.ask, key)
    assert node.emit is not None
    return await _emit(run, frame, node, key)


async def _parallel(run: Run, frame: Frame, parallel: Parallel, key: str, guards: Guards) -> Output:
    frames = [frame.branch() for _ in parallel.branches]
    kept: list[int] = []

    async def start(number: int, branch: Frame) -> Output:
        return await run.execute(run, branch, parallel.branches[number], f"{key}.{number}", guards)

    try:
        ended = await together(parallel, frames, start)
        kept = [number for number, branch in enumerate(ended) if branch.done and branch.error is None]
    finally:
        for number, branch in enumerate(frames):
            frame.join(branch, keep=number in kept)
    outputs: dict[str, Any] = {}
    for number in kept:
        if ended[number].output is not None:
            outputs[_branch_name(parallel.branches[number], number)] = ended[number].output
    if parallel.merge is None:
        return outputs
    try:
        outcome = await call(run, frame, f"{key}.merge", parallel.merge, outputs, purpose="merge")
    except WithheldError:
        return None
    if not outcome.ok:
        raise NodeFailedError(outcome.code, outcome.message, skill=parallel.merge)
    merged = dict(outcome.output or {})
    estimated = sorted(name for name, output in outputs.items() if output.get("estimated"))
    return {"estimated": estimated, **merged} if estimated else merged  # what was only estimated stays told (S27)


def _branch_name(node: Node, number: int) -> str:
    last = node
    while not (last.alias or last.run) and last.sequence:
        last = last.sequence[-1]
    return last.alias or last.run or (last.call or "").rpartition(".")[2] or f"branch_{number}"


async def _switch(run: Run, frame: Frame, node: Node, key: str, guards: Guards) -> Output:
    assert node.switch is not None
    place = f"{frame.key}:{key}"
    taken = run.journal.choices.get(place)
    if taken is None:
        taken = -1
        for number, case in enumerate(node.switch):
            if not case.when or await _true(run, frame, case.when, f"{key}.{number}"):
                taken = number
                break
        run.journal.choices[place] = taken
    if taken < 0:
        frame.say("branch", key, taken="none")
        return None
    case = node.switch[taken]
    frame.say("branch", key, taken=case.when or "else")
    return await run.execute(run, frame, case.node, f"{key}.{taken}", guards)


async def _loop(run: Run, frame: Frame, loop: Loop, key: str, guards: Guards) -> Output:
    output: Output = None
    for number in range(1, loop.max_iterations + 1):
        run.budget.step()
        found = await run.execute(run, frame, loop.do, f"{key}[{number}]", guards)
        output = found if found is not None else output
        place = f"{frame.key}:{key}[{number}]:until"
        done = run.journal.choices.get(place)
        if done is None:
            done = run.journal.choices[place] = await _true(run, frame, loop.until, f"{key}[{number}]")
        if done:
            frame.say("loop ended", key, rounds=number, by="until")
            return output
    frame.say("loop ended", key, rounds=loop.max_iterations, by="bound")
    return output


async def _true(run: Run, frame: Frame, text: str, key: str) -> bool:
    """Judge a plan's condition. Unknown is not false (X3): what providers can tell is asked of them first, and what
    stays unknown is told in the trace."""
    if frame.compiled is None:
        return False
    condition = frame.compiled.conditions[text]
    found = judge(run, frame.scope, condition)
    if found.truth is Truth.UNKNOWN and await _completed(run, frame, condition, found, key):
        found = judge(run, frame.scope, condition)
    if found.defect:
        frame.say("defect", key, condition=text, reason=found.defect)
    elif found.truth is Truth.UNKNOWN:
        frame.say("unknown", key, condition=text, names=list(found.unknown))
    return found.truth is Truth.TRUE


async def _completed(run: Run, frame: Frame, condition: Condition, found: Judgement, key: str) -> bool:
    return any([await complete(run, frame, path, key) for path in found.unknown if not found.defect])


async def _call(run: Run, frame: Frame, node: Node, key: str) -> Output:
    assert node.call is not None
    compiled = run.strategy(node.call)
    if compiled is None:
        raise NodeFailedError(UNKNOWN_STRATEGY, f"there is no strategy {node.call} for this user")
    if node.call in frame.stack:
        raise NodeFailedError(CALL_CYCLE, f"{node.call} is under way already")
    given = filled(dict(node.with_), frame.scope.look)
    return await run_strategy(run, frame, compiled, key, event="call", given=given)


def _ask(run: Run, frame: Frame, ask: Ask, key: str) -> Output:
    value = frame.scope.look(ask.into)
    if value is MISSING or value is None:
        stop_for(run, frame, Question(worded(ask.text, run.language), ask.into, ask.options, ask.max_asks), key)
    return {"answer": value}


async def _emit(run: Run, frame: Frame, node: Node, key: str) -> Output:
    payload = filled(dict(node.with_), frame.scope.look)
    frame.say("emit", key, name=node.emit, payload=payload)
    inner = Frame(
        frame.compiled, Scope(run.session, frame.scope), frame.recorder, frame.key, frame.stack, frame.timings
    )
    inner.scope.name("payload", payload)
    await run.fire(run, inner, f"emitted:{node.emit}", key)
    return payload or None
