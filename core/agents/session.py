"""One Session: prompt, request, tool calls, outputs, and again, until the model answers without a call.

Everything a Session is stands in its trace: each record is written first and folded then (`conversation`), so a
Session resumed from the file is in the state of one that was never killed. Calls run only when the request that made
them is committed; a request that was cut is simply sent again. The order of records is that of EVOLUTION 2.4 no. 51.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from core.foundation.errors import ConflictError, UsageError
from core.foundation.visible import visible_line, well_formed
from core.models.interface import Sender, ToolCall, Usage
from core.traces import records

from .budgets import Spent, exceeded, wall_reason
from .conversation import STOPPED, Conversation, Turn
from .exchange import Exchange
from .execution import Execution
from .live import LiveText
from .spec import SessionSpec, TurnOutcome
from .tool import ToolResult

__all__ = ["Session", "SessionSpec", "TurnOutcome"]

INTERRUPT_REASON = "aborted by user"
_GLANCE_S = 0.05  # how often the time is looked at once it is up while a person is waited for


class Session:
    """The loop over one conversation. Invariant: `conversation` is the fold of exactly the records in the trace."""

    def __init__(self, spec: SessionSpec) -> None:
        self.spec = spec
        self.conversation = Conversation()
        self.notices: list[str] = []
        self._live = spec.live if isinstance(spec.live, LiveText) else LiveText.open(spec.live)
        self._execution = Execution(spec, announce_child=self._announce_child, notice=self._notice, prompt=self._prompt)
        self._steering: list[str] = []
        self._work: asyncio.Task[None] | None = None
        self._interrupted = False
        self._restarted: frozenset[str] = frozenset()
        self._active_s = 0.0
        self._exchange = Exchange(
            spec, self.conversation, self._execution, self._live, record=self._record, notice=self._notice
        )
        for text in spec.notices:
            self._notice(text)

    # -- what callers do -------------------------------------------------------------------------------------------

    @classmethod
    def resume(cls, spec: SessionSpec, trace_path: Path) -> Self:
        """Rebuild the Session from the records in `trace_path`; `spec.trace` appends to the same file.

        Nothing runs yet: `finish` takes up the turn that was cut, `run` begins a new one.
        """
        return cls.restored(spec, recorded(trace_path))

    @classmethod
    def restored(cls, spec: SessionSpec, past: Iterable[records.Record]) -> Self:
        """Like `resume`, from records that were read before (by a process that cannot read the file any more)."""
        session = cls(spec)
        for kind, payload in past:
            session.conversation.apply(kind, payload)
        decided = session.conversation.decisions
        session._restarted = frozenset(
            call.call_id
            for call in session.conversation.pending_calls()
            # Under always-ask a call without a decision was not begun: the operator had not answered yet.
            if spec.approval != "always-ask" or call.call_id in decided
        )
        return session

    @property
    def unfinished(self) -> bool:
        """Whether a turn was begun and has not ended: after `resume`, one that a crash cut."""
        return self.conversation.unfinished

    async def run(self, prompt: str, *, sender: Sender = "user") -> TurnOutcome:
        """Give the model a prompt and return what the turn came to; may be called again to go on.

        Raises ConflictError while a turn is unfinished. What goes wrong with the model or a tool is an outcome, not
        an exception; an OSError from the trace (a full disk) is one, for a turn without its trace is worth nothing.
        """
        if self.conversation.unfinished:
            raise ConflictError(
                f"session {self.spec.session_id} has an unfinished turn", hint="finish it before giving a new prompt"
            )
        if not self.conversation.has_meta:
            self._record(self._meta())
        self._record(records.user_text(well_formed(prompt), sender=sender))
        return await self._work_on()

    async def finish(self) -> TurnOutcome:
        """Go on with the turn that was cut, or give the last one's outcome again if it had ended.

        Tokens of a request that a crash cut after its reply stay counted: they were paid for.
        """
        if self.conversation.turn is None:
            raise UsageError(f"session {self.spec.session_id} has no turn yet", hint="give it a prompt")
        if not self.conversation.unfinished:
            return self._outcome(self.conversation.turn)
        if self.conversation.request_open:
            self._record(records.request_end("failed", error_message="interrupted: the engine was restarted"))
        return await self._work_on()

    async def run_once(self, prompt: str, *, sender: Sender = "user", turn: int | None = None) -> TurnOutcome:
        """Give the prompt unless the trace shows that it was given: then finish that turn, or repeat its outcome.

        `turn` says which turn of the Session it is meant to be, from 0, where the same text may be given again; without
        it, the last turn with this text is taken for it.
        """
        if self.conversation.unfinished:
            await self.finish()
        turns = self.conversation.turns
        if turn is None:
            known = next((past for past in reversed(turns) if past.prompt == well_formed(prompt)), None)
        else:
            known = turns[turn] if turn < len(turns) else None
        return self._outcome(known) if known is not None else await self.run(prompt, sender=sender)

    async def hear(self) -> TurnOutcome | None:
        """Take up what the operator sent while no turn ran, and work on it; None where nothing new waits."""
        if self.conversation.unfinished:
            raise ConflictError(f"session {self.spec.session_id} has an unfinished turn", hint="finish it first")
        if self.spec.mail is None or not self.spec.mail.words():
            return None
        if not self.conversation.has_meta:
            self._record(self._meta())
        self._hand_over_texts()
        return await self._work_on() if self.conversation.unfinished else None

    def steer(self, text: str) -> None:
        """Put a word in while a turn runs: the model reads it before its next request (see also `SessionSpec.mail`)."""
        self._steering.append(_steering(text))

    def interrupt(self) -> None:
        """End the running turn; what streamed so far is recorded, running calls are stopped."""
        if self._work is not None and not self._work.done():
            self._interrupted = True
            self._work.cancel()

    async def aclose(self) -> None:
        """End what still runs in the background and let go of the live file. The provider is its maker's to close."""
        for work in self.spec.background:
            await work.aclose()
        self._live.clear()
        self._live.close()

    @property
    def usage(self) -> Usage:
        """Tokens of all requests whose usage is known."""
        return self.conversation.session_usage

    # -- the turn --------------------------------------------------------------------------------------------------

    async def _work_on(self) -> TurnOutcome:
        if not self.conversation.tools_announced:
            self._record(records.tool_list_ready([tool.spec for tool in self.spec.tools]))
        self._interrupted, self._exchange.failure = False, None
        started, person = time.monotonic(), self.spec.person
        waited = person.seconds
        self._work = asyncio.ensure_future(self._loop())

        def left() -> float:
            """Seconds of work that the budget leaves; what one waits for a person is not work."""
            worked = time.monotonic() - started - (person.seconds - waited)
            return self.spec.budgets.wall_s - self._active_s - worked

        try:
            done: set[asyncio.Task[None]] = set()
            while not done and (left() > 0 or person.now):
                done, _ = await asyncio.wait({self._work}, timeout=max(left(), _GLANCE_S))
            if not self._work.done():
                await _cancelled(self._work)
                self._abort(wall_reason(self.spec.budgets))
            elif self._interrupted:
                self._abort(INTERRUPT_REASON)
            else:
                self._work.result()
        except asyncio.CancelledError:
            # The caller ends: the tail stays as it is, for a later engine to resume.
            await _cancelled(self._work)
            raise
        finally:
            self._active_s += time.monotonic() - started - (person.seconds - waited)
            self._work = None
            self._live.clear()
        turn = self.conversation.turn
        assert turn is not None
        return self._outcome(turn)

    async def _loop(self) -> None:
        """The story of a turn; each step leaves the conversation in a state that the next can be told from."""
        while True:
            await self._answer_pending()
            self._hand_over_texts()
            turn = self.conversation.turn
            assert turn is not None
            if not turn.open:
                if turn.status != "completed" or not await self._background_goes_on():
                    return
                continue
            reason = exceeded(self.spec.budgets, self._spent(turn))
            if reason is not None:
                self._abort(reason)
                return
            if not await self._exchange.send():
                return

    async def _background_goes_on(self) -> bool:
        """Wait for background work that the model was promised news of; tell whether there may be some now."""
        expected = [work for work in self.spec.background if work.expected()]
        if not expected:
            return False
        waits = [asyncio.ensure_future(work.changed()) for work in expected]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        return True

    def _hand_over_texts(self) -> None:
        for work in self.spec.background:
            for notice in work.take_notices():
                self._record(records.user_text(well_formed(notice), sender="harness"))
        while self._steering:
            self._record(records.user_text(self._steering.pop(0)))
        if (mail := self.spec.mail) is not None:
            for word in mail.words():
                if word.id not in self.conversation.words:
                    self._record(records.user_text(_steering(word.text), mail=word.id))
                mail.taken(word)

    async def _answer_pending(self) -> None:
        calls = self.conversation.pending_calls()
        if not calls:
            return
        for call in calls:
            # Ours stands beside the call, but for a person's; a trace of another engine may lack one too.
            if call.call_id not in self.conversation.decisions:
                await self._exchange.decide(call)
        await self._execution.answer_all(
            calls,
            self.conversation.decisions,
            reasons=self.conversation.reasons,
            restarted=self._restarted,
            answered=self._record_output,
        )

    def _record_output(self, call: ToolCall, result: ToolResult) -> None:
        self._record(records.tool_call_output(call.call_id, result.output, stop_reason=result.stop_reason))

    # -- records ---------------------------------------------------------------------------------------------------

    def _record(self, record: records.Record) -> None:
        self.spec.trace.append(record)
        self.conversation.apply(*record)
        if self.spec.on_record is not None:
            self.spec.on_record(record)

    def _meta(self) -> records.Record:
        spec = self.spec
        return records.session_meta(
            session_id=spec.session_id,
            provider=spec.model.provider,
            model_id=spec.model.model_id,
            model_context_window=spec.entry.context_window,
            system_prompt=spec.system_prompt,
            agent_state=spec.agent_state,
            workspace=spec.workspace,
            source=spec.source,
        )

    def _announce_child(self, session_id: str) -> None:
        self._record(records.subagent(session_id))

    def _abort(self, reason: str) -> None:
        """End the turn cleanly: what streamed, the open request, and every call get their last word."""
        if not self.conversation.unfinished:
            return
        if self.conversation.request_open:
            if self._exchange.streamed:
                self._record(records.assistant_text(well_formed(self._exchange.streamed), stop_reason="aborted"))
            self._record(records.request_end("aborted", attempt=1))
        for call in self.conversation.pending_calls():
            self._record(records.tool_call_output(call.call_id, STOPPED, stop_reason="aborted"))
        self._record(records.abort(reason))

    def _notice(self, text: str) -> None:
        """Say something aloud that concerns the operator, not the model."""
        self.notices.append(text)
        sys.stderr.write(f"{self.spec.session_id}: {visible_line(text)}\n")

    def _prompt(self) -> str:
        turn = self.conversation.turn
        return turn.prompt if turn is not None else ""

    # -- accounts --------------------------------------------------------------------------------------------------

    def _spent(self, turn: Turn) -> Spent:
        usage = self.conversation.session_usage
        price = self.spec.entry.price
        return Spent(
            turns=turn.requests,
            seconds=self._active_s,
            tokens=usage.total,
            cost_usd=price.cost(usage) if price is not None else 0.0,
            repeats=turn.repeats,
        )

    def _outcome(self, turn: Turn) -> TurnOutcome:
        assert turn.status is not None
        usage = None if turn.unknown_usage else turn.usage
        price = self.spec.entry.price
        failure = self._exchange.failure
        return TurnOutcome(
            text="\n".join(turn.texts),
            final_text=turn.final_text,
            status=turn.status,
            reason=turn.reason,
            usage=usage,
            cost=price.cost(usage) if usage is not None and price is not None else None,
            turns=turn.requests,
            failure=failure.status if failure is not None else None,
            permanent=failure is not None and failure.permanent,
        )


def recorded(trace_path: Path) -> list[records.Record]:
    """Return the records of a trace, for `Session.restored`."""
    from core.traces.reader import TraceFile  # only a resumed Session reads

    with TraceFile(trace_path) as trace:
        return [(record.type, dict(record.payload)) for record in trace.iter_records()]


def _steering(text: str) -> str:
    return f"[user_steering]\n{well_formed(text)}\n[/user_steering]"


async def _cancelled(work: asyncio.Task[None]) -> None:
    """Cancel the work and wait until it has let go of what it held."""
    work.cancel()
    await asyncio.wait({work})
