"""An event: the strategies that it brings in are run, the modifiers first (S15, S17)."""

from __future__ import annotations

from core.strategy.execution.completing import ask_for
from core.strategy.execution.deciding import Decision, decide
from core.strategy.execution.failure import NodeFailedError
from core.strategy.execution.run import Frame, Run, Taken
from core.strategy.execution.scope import Scope
from core.strategy.execution.strategies import run_strategy


async def fire(run: Run, frame: Frame, event: str, key: str) -> Taken | None:
    """Use the strategies that wait for `event`; return the one that takes over and its output, None where none does.

    Each strategy is used once a turn at most upon events. One that fails here is as if it had not fired, unless the
    turn itself begins with it: then its failure is the turn's.
    """
    if event not in run.bank.by_event and not any(one and one.event == event for one in run.assignment.values()):
        return None
    kind, _, about = event.partition(":")
    skill, _, code = about.partition("/")
    scope = Scope(run.session, frame.scope)
    scope.name("event", {"name": event, **({"skill": skill} if skill else {}), **({"code": code} if code else {})})
    inner = Frame(frame.compiled, scope, frame.recorder, frame.key, frame.stack, frame.timings)
    decision = await _decided(run, inner, event, key)
    for one in decision.modifiers:
        run.used.add(one.id)
        frame.say("used", key, strategy=one.id, by=event)
        await _run_guarded(run, inner, Decision(one), event, f"{key}!{about or kind}", kind)
    main = decision.main
    if main is None:
        return None
    for path in decision.ask:
        ask_for(run, Frame(main, scope, frame.recorder, frame.key, frame.stack, frame.timings), path, key)
    run.used.add(main.id)
    if kind == "turn":
        run.route = main.id
    frame.say("used", key, strategy=main.id, by=event)
    return await _run_guarded(run, inner, Decision(main), event, f"{key}!{about or kind}", kind)


async def _run_guarded(run: Run, frame: Frame, decision: Decision, event: str, key: str, kind: str) -> Taken | None:
    one = decision.main
    assert one is not None
    try:
        return Taken(one.id, await run_strategy(run, frame, one, key, event=event, fired=True))
    except NodeFailedError as error:
        if kind == "turn":
            raise
        frame.say("event unanswered", key, strategy=one.id, code=error.code)
        return None


async def _decided(run: Run, frame: Frame, event: str, key: str) -> Decision:
    """Decide, or recall what was decided before the turn stopped for a question (S94)."""
    place = f"{frame.key}:{key}!{event}"
    held = run.journal.choices.get(place)
    if held is not None:
        main, modifiers = run.strategy(held[0] or ""), tuple(filter(None, map(run.strategy, held[1])))
        if main is not None or not held[0]:
            frame.say("resumed", key, strategy=held[0], on=event)
            return Decision(main, modifiers)
    decision = await decide(run, frame, event, key)
    if not decision.ask:
        run.journal.choices[place] = [decision.main.id if decision.main else "", [o.id for o in decision.modifiers]]
    return decision
