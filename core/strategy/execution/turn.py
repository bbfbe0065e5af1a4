"""A turn: what the user said and the model suggests goes in, a result, one question or a failure comes out.

(STRATEGY 1.7 and 1.8.) No model is asked anything here, and no strategy's text leaves this room (S90).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

from core.foundation.errors import ConflictError, UsageError
from core.strategy.conditions.utterance import normal
from core.strategy.documents.plan import Node
from core.strategy.execution.budget import CODE as TURN_BUDGET
from core.strategy.execution.budget import Budget, BudgetSpentError
from core.strategy.execution.calling import call
from core.strategy.execution.clock import Clock
from core.strategy.execution.compiler import CompiledBank
from core.strategy.execution.completing import complete
from core.strategy.execution.failure import (
    NOTHING_FITS,
    AskedError,
    NodeFailedError,
    Output,
    SupersededError,
    WithheldError,
)
from core.strategy.execution.firing import fire
from core.strategy.execution.inputs import bound
from core.strategy.execution.interpreter import execute
from core.strategy.execution.paths import MISSING
from core.strategy.execution.question import Question
from core.strategy.execution.records import Execution
from core.strategy.execution.run import Assignment, Deferred, Frame, Journal, Replay, Run
from core.strategy.execution.scope import Scope
from core.strategy.execution.session import SessionState
from core.strategy.execution.skills import Skills
from core.strategy.execution.strategies import run_directly
from core.strategy.execution.suggestion import Suggestion
from core.strategy.execution.trace import DecisionTrace, Recorder, fingerprint

Kind = Literal["done", "question", "failed"]


@dataclass(frozen=True, slots=True)
class TurnResult:
    """How a turn ended.

    "done": `output` is the answer, also where the bank's hand-off gave it (`handed_off`, and `code` says what had
    failed). "question": `question` goes to the user and `answer` goes on. "failed": `code` says why. `strategy` is
    the one that the turn began with, "" for none. `deferred` are checks of level 2 for `later`.
    """

    kind: Kind
    output: Mapping[str, Any] | None
    question: Question | None
    trace: DecisionTrace
    executions: tuple[Execution, ...] = ()
    code: str = ""
    message: str = ""
    handed_off: bool = False
    strategy: str = ""
    deferred: tuple[Deferred, ...] = ()
    journal: Journal | None = None


async def run_turn(
    bank: CompiledBank,
    session: SessionState,
    utterance: str,
    suggestion: Suggestion,
    skills: Skills,
    clock: Clock,
    *,
    dry_run: bool = False,
    assignment: Assignment | None = None,
    replay: Replay | None = None,
    dropped: tuple[str, ...] = (),
) -> TurnResult:
    """Decide what runs, run it, check it, and return the result or one question.

    `assignment` puts other versions in the place of the bank's for this user. `dropped` is what `suggestion.read`
    dropped, for the trace. With `dry_run` no skill that writes is called and nothing of the session changes (X1);
    `replay` then gives what a skill said elsewhere for the same inputs. Raises ConflictError where the session is in
    another turn at this moment.
    """
    if dry_run:
        session = session.scratch()
    with _alone(session, bank):
        pending = {"pending": None} if session.body.get("pending") else {}
        session.store.write(
            session.id, {"turn": session.turn + 1, **pending, **_beginning(session, utterance, suggestion)}
        )
        session.store.snapshot(session.id, session.turn, "begin", _now(clock))
        run = _run(bank, session, utterance, suggestion, skills, clock, dry_run, assignment, replay, Journal())
        return await _turn(run, dropped)


async def answer(
    bank: CompiledBank,
    session: SessionState,
    text: str,
    skills: Skills,
    clock: Clock,
    *,
    assignment: Assignment | None = None,
) -> TurnResult:
    """Take the user's answer to the question that the session waits for, and go on with the turn that asked (S94).

    What was done before the question isn't done again. An answer that is none of the options is asked for again, as
    often as the question allows. Raises UsageError where nothing was asked.
    """
    held = session.body.get("pending")
    if not held:
        raise UsageError(f"session {session.id} waits for no answer", hint="begin a turn with what the user says")
    question = Question.from_json(held["question"])
    with _alone(session, bank):
        journal = Journal(held["journal"])
        suggestion = Suggestion(
            **{**held["suggestion"], "required_context": tuple(held["suggestion"]["required_context"])}
        )
        accepted = question.accepted(text)
        if accepted is None and question.asked < question.max_asks:
            again = replace(question, asked=question.asked + 1)
            session.store.write(session.id, {"pending": {**held, "question": again.to_json()}})
            recorder = Recorder()
            recorder.say("asked", at="turn:", into=again.into, text=again.text, options=again.options, time=again.asked)
            return TurnResult("question", None, again, recorder.trace(), strategy=held["route"])
        changes: dict[str, Any] = {"pending": None}
        if accepted is None:
            journal.choices[f"unanswered:{question.into}"] = True
        else:
            changes[f"values.{question.into}"] = accepted
        session.store.write(session.id, changes)
        run = _run(bank, session, held["utterance"], suggestion, skills, clock, False, assignment, None, journal)
        run.route = held["route"]
        return await _turn(run, (), answered=question.into)


def _run(
    bank: CompiledBank,
    session: SessionState,
    utterance: str,
    suggestion: Suggestion,
    skills: Skills,
    clock: Clock,
    dry_run: bool,
    assignment: Assignment | None,
    replay: Replay | None,
    journal: Journal,
) -> Run:
    budget = Budget(bank.settings.turn, clock, clock.monotonic_ms())
    return Run(
        bank,
        session,
        skills,
        clock,
        budget,
        suggestion,
        utterance,
        journal,
        execute,
        fire,
        dry_run,
        replay,
        assignment or {},
    )


def _beginning(session: SessionState, utterance: str, suggestion: Suggestion) -> dict[str, Any]:
    """Return what the context has of a turn before anything is decided."""
    intent = {"name": suggestion.intent, "confidence": suggestion.confidence, "skill": suggestion.intended_skill}
    return {
        "values.utterance": utterance,
        "values.utterance_raw": utterance,
        "values.intent": {key: value for key, value in intent.items() if value not in ("", None)},
        "values.user": dict(session.user),
        "values.session.id": session.id,
        "values.turn.count": session.turn + 1,
    }


@contextmanager
def _alone(session: SessionState, bank: CompiledBank) -> Iterator[None]:
    owner = uuid.uuid4().hex
    if not session.store.acquire(f"turn/{session.id}", owner, 2 * bank.settings.turn.max_ms / 1000 + 10):
        raise ConflictError(
            f"session {session.id} is in a turn already", hint="wait for its result; turns of one session don't overlap"
        )
    try:
        yield
    finally:
        session.store.release(f"turn/{session.id}", owner)


async def _turn(run: Run, dropped: tuple[str, ...], answered: str = "") -> TurnResult:
    recorder = Recorder()
    frame = Frame(None, Scope(run.session), recorder, "turn")
    context = fingerprint({key: value for key, value in run.session.values().items() if key != "results"})
    suggestion = run.suggestion
    frame.say(
        "turn",
        "",
        number=run.turn,
        intent=suggestion.intent,
        confidence=suggestion.confidence,
        intended_skill=suggestion.intended_skill,
        utterance=normal(run.utterance),
        answered=answered,
        bank=run.bank.sha256[:16],
        dry_run=run.dry_run or None,
    )
    if dropped:
        frame.say("dropped", "", of="suggestion", what=list(dropped))
    try:
        async with run.clock.timeout(run.bank.settings.turn.max_ms):
            output = await _main(run, frame)
        result = TurnResult("done", output, None, recorder.trace())
    except SupersededError as error:
        result = TurnResult("done", error.output, None, recorder.trace())
    except AskedError as error:
        result = TurnResult("question", None, error.question, recorder.trace())
    except NodeFailedError as error:
        result = await _handed_off(run, frame, error.code, error.message)
    except (BudgetSpentError, TimeoutError):
        limit = run.bank.settings.turn
        frame.say("budget spent", "", max_steps=limit.max_steps, max_ms=limit.max_ms)
        result = await _handed_off(run, frame, TURN_BUDGET, "the turn used up its steps or its time")
    return _closed(run, frame, result, context)


async def _main(run: Run, frame: Frame) -> Output:
    """Use the strategy that fires for the turn, else the skill that the model intends."""
    await _required(run, frame)
    taken = await run.fire(run, frame, "turn", "")
    if taken is not None:
        return taken.output
    skill = run.suggestion.intended_skill
    if skill not in run.skills:
        frame.say("nothing fits", "", intended_skill=skill)
        raise NodeFailedError(NOTHING_FITS, f"no strategy fires, and there is no skill {skill!r}")
    direct = run.bank.settings.direct
    if direct != "all" and (direct == "none" or skill not in direct):
        frame.say("nothing fits", "", intended_skill=skill, governed=True)
        raise NodeFailedError(NOTHING_FITS, f"no strategy fires, and {skill} runs by strategies only")
    frame.say("used", "", skill=skill)
    return await run_directly(run, frame, skill, "")


async def _required(run: Run, frame: Frame) -> None:
    """Complete what the model says it needs, as far as providers can (S93); the rest is asked for by what runs."""
    for path in run.suggestion.required_context:
        if frame.scope.look(path) in (MISSING, None):
            parts = tuple(path.split("."))
            known = run.bank.registry.type_of(parts, {}) is not None and await complete(run, frame, path, "required")
            frame.say("required", "", path=path, known=known)


async def _handed_off(run: Run, frame: Frame, code: str, message: str) -> TurnResult:
    """Give the bank's last word: its hand-off skill, once, whatever the budget says."""
    hand_off = run.bank.settings.hand_off
    skill = run.skills.get(hand_off.run)
    if skill is not None:
        given = bound(run, frame, Node(run=hand_off.run), skill.schema)
        if hand_off.promise and "promise" in skill.schema.signature.inputs:
            given["promise"] = hand_off.promise
        frame.say("fallback", "", code=code, by="bank", action=f"run {hand_off.run}")
        try:
            outcome = await call(
                run,
                frame,
                "hand_off",
                hand_off.run,
                given,
                purpose="hand_off",
                timeout_ms=run.bank.settings.turn.max_ms,
            )
        except WithheldError:
            return TurnResult("done", None, None, frame.recorder.trace(), (), code, message, True)
        if outcome.ok:
            frame.say("recovered", "", code=code, by="bank", action=f"run {hand_off.run}")
            return TurnResult("done", outcome.output, None, frame.recorder.trace(), (), code, message, True)
    return TurnResult("failed", None, None, frame.recorder.trace(), (), code, message)


def _closed(run: Run, frame: Frame, result: TurnResult, context: str) -> TurnResult:
    """Keep what the session remembers, and complete the result."""
    session = run.session
    frame.say("end", "", kind=result.kind, code=result.code, output=result.output)
    if result.question is not None:
        session.store.write(session.id, {"pending": _pending(run, result.question)})
    else:
        session.remember(run.ran, (normal(run.utterance), run.route) if run.route else None)
    session.store.snapshot(session.id, session.turn, "end", _now(run.clock))
    trace = frame.recorder.trace()
    executions = tuple(
        replace(
            one,
            context_sha256=context,
            trace_sha256=trace.sha256,
            code=(result.code or one.code) if one.code == "CANCELLED" else one.code,
        )
        for one in (
            run.in_order(frame.recorder) if result.question is None else ()
        )  # what goes on leaves its lines at its end
    )
    deferred = tuple(run.deferred) if result.kind == "done" else ()
    return replace(
        result, trace=trace, executions=executions, strategy=run.route, deferred=deferred, journal=run.journal
    )


def _pending(run: Run, question: Question) -> dict[str, Any]:
    said = run.suggestion
    return {
        "question": question.to_json(),
        "utterance": run.utterance,
        "suggestion": {
            "intent": said.intent,
            "confidence": said.confidence,
            "intended_skill": said.intended_skill,
            "required_context": list(said.required_context),
            "arguments": dict(said.arguments),
        },
        "journal": run.journal.to_json(),
        "route": run.route,
    }


def _now(clock: Clock) -> str:
    return clock.now().isoformat(timespec="milliseconds")
