"""The inside of a chat: a Session in a process that confines itself like a Target's, led line by line by `chat`.

Run as `python -P -m core.agents.chat_process`. What it is told comes on stdin and what it says goes to stdout, one JSON
object a line each; the first line holds the orders. It can write neither approvals nor mail: it asks its starter, who
can. When stdin ends without a word, the starter is gone, and so is this.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from core.agents.approval import Permission, Ruling
from core.agents.live import LiveText
from core.agents.orders import Orders
from core.agents.outputs import redact
from core.agents.session import Session, SessionSpec, recorded
from core.agents.spec import TurnOutcome
from core.agents.target_process import confine, first_line, load, session_spec
from core.agents.tools.ask import AskOperator, Reply
from core.foundation import strict_json
from core.foundation.errors import ExuviaError
from core.models.interface import Provider, ToolCall
from core.traces.records import Record
from core.traces.writer import TraceWriter, open_trace

LONGEST_LINE = 64 << 20
_SHOWN = 4000  # characters of an output that a terminal might show


@dataclass(frozen=True)
class ChatOrders:
    """What a chat's process is told first: a Target's orders, and what goes beyond them."""

    orders: Orders
    resume: bool = False
    questions: bool = False  # whether somebody is there to answer ask_operator

    def to_line(self) -> bytes:
        """Return them as one line of JSON, SECRETS INCLUDED."""
        told = {"orders": self.orders.to_line().decode(), "resume": self.resume, "questions": self.questions}
        return json.dumps(told).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> ChatOrders:
        """Return what `to_line` wrote."""
        told = json.loads(line)
        return cls(Orders.from_line(told["orders"].encode()), told["resume"], told["questions"])


def main() -> int:
    """Run one chat; return the exit code."""
    told = ChatOrders.from_line(first_line(0))
    orders = told.orders
    past = recorded(orders.trace_path) if told.resume else []
    trace = TraceWriter.from_fd(open_trace(orders.trace_path))
    live = Streamed.open(orders.live_path)
    provider = orders.route.make_provider()
    load(provider, orders)
    notices = list(orders.notices)
    try:
        confine(orders, notices)
    except ExuviaError as error:
        say("failed", reason=f"{error} {error.hint}".strip())
        return 1
    return asyncio.run(_run(told, provider, trace, live, tuple(notices), past))


def say(kind: str, /, **fields: Any) -> None:
    """Say one thing to the starter."""
    sys.stdout.write(json.dumps({"say": kind, **fields}) + "\n")
    sys.stdout.flush()


class Streamed(LiveText):
    """The live file of a chat, whose text is also said while it streams."""

    def write(self, text: str) -> None:
        super().write(text)
        if text:
            say("piece", text=text)


@dataclass(frozen=True)
class _Sent:
    id: str
    text: str


@dataclass
class _Mail:
    """The operator's words as the starter passes them on; it hears of each that the trace has."""

    waiting: list[_Sent] = field(default_factory=list)

    def words(self) -> tuple[_Sent, ...]:
        return tuple(self.waiting)

    def taken(self, word: _Sent) -> None:
        self.waiting.remove(word)
        say("taken", id=word.id)


async def _run(
    told: ChatOrders,
    provider: Provider,
    trace: TraceWriter,
    live: LiveText,
    notices: tuple[str, ...],
    past: list[Record],
) -> int:
    talk = _Talk(told.orders)
    spec = session_spec(
        told.orders, provider, trace, live, notices, adapt=partial(talk.adapt, questions=told.questions)
    )
    talk.session = Session.restored(spec, past) if past else Session(spec)
    say("ready", unfinished=talk.session.unfinished, turns=len(talk.session.conversation.turns))
    try:
        await talk.listen()
    finally:
        await talk.session.aclose()
        await provider.aclose()
        trace.close()
    return 0


class _Talk:
    """The conversation with the starter. Invariant: at most one turn of the Session runs at a time."""

    session: Session

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._mail = _Mail()
        self._turn: asyncio.Task[None] | None = None
        self._asked: dict[tuple[str, str], asyncio.Future[Mapping[str, Any]]] = {}

    def adapt(self, spec: SessionSpec, *, questions: bool) -> SessionSpec:
        """Give the Session and its sub-agents someone to ask; the Session itself is watched and gets its mail."""
        asked = replace(spec, ask=partial(self._ask, spec))
        if spec.session_id != self._orders.session_id:
            return asked
        tools = (*spec.tools, AskOperator(partial(self._question, spec))) if questions else spec.tools
        return replace(asked, tools=tools, source="cli", mail=self._mail, on_record=_show)

    async def listen(self) -> None:
        """Do what the starter says, until it says that this is the end."""
        reader = asyncio.StreamReader(limit=LONGEST_LINE)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            order = strict_json.parse(line)
            match order["do"]:
                case "prompt":
                    self._begin(self._answer(order["text"]))
                case "finish":
                    self._begin(self.session.finish())
                case "hear":
                    self._begin(self.session.hear())
                case "word":
                    self._mail.waiting.append(_Sent(order["id"], order["text"]))
                case "interrupt":
                    self.session.interrupt()
                case "decided":
                    future = self._asked.pop((order["session_id"], order["call_id"]), None)
                    if future is not None and not future.done():
                        future.set_result(order)
                case "end":
                    if self._turn is not None:
                        self._turn.cancel()
                        await asyncio.wait({self._turn})
                    return
                case _:
                    pass
        # The starter died: as after a kill, the turn is taken up when the chat is resumed.
        os.kill(os.getpid(), signal.SIGKILL)

    async def _answer(self, text: str) -> TurnOutcome:
        """Let the Session answer a prompt; a turn that a fault left open is brought to its end first."""
        if self.session.unfinished:
            await self.session.finish()
        return await self.session.run(text)

    def _begin(self, work: Coroutine[Any, Any, TurnOutcome | None]) -> None:
        async def turn() -> None:
            try:
                outcome = await work
            except Exception as error:
                # A full disk, or a fault of our own: the person hears of it, and the turn can be taken up later.
                hint = error.hint if isinstance(error, ExuviaError) else ""
                say("turn", status="failed", reason=f"{type(error).__name__}: {error} {hint}".strip(), text="")
                return
            if outcome is None:
                say("turn", status="idle", reason="", text="")
            else:
                say("turn", status=outcome.status, reason=outcome.reason, text=outcome.final_text)

        self._turn = asyncio.ensure_future(turn())

    # Asking --------------------------------------------------------------------------------------------------

    async def _ask(self, spec: SessionSpec, call: ToolCall, permission: Permission) -> Ruling:
        arguments = redact(call.arguments, spec.secrets)
        told = await self._decision(
            spec, call.call_id, kind="tool_call", name=call.name, arguments=arguments, permission=permission
        )
        return Ruling("allow" if told["allowed"] else "deny", told["reason"])

    async def _question(self, spec: SessionSpec, call_id: str, text: str, options: tuple[str, ...]) -> Reply:
        told = await self._decision(
            spec, call_id, kind="question", text=redact(text, spec.secrets), options=list(options)
        )
        return Reply(told["text"], told["declined"])

    async def _decision(self, spec: SessionSpec, call_id: str, **what: Any) -> Mapping[str, Any]:
        key = (spec.session_id, call_id)
        future: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._asked[key] = future
        say("ask", session_id=spec.session_id, call_id=call_id, **what)
        with spec.person.waiting():
            try:
                return await future
            except asyncio.CancelledError:
                say("withdrawn", session_id=spec.session_id, call_id=call_id)
                raise
            finally:
                self._asked.pop(key, None)


def _show(record: Record) -> None:
    """Say what of a record a person who chats wants to see."""
    kind, payload = record
    match (payload.get("type"), payload.get("role")) if kind in ("model_msg", "event_msg") else (None, None):
        case "text", "assistant":
            say("text", text=payload["text"])
        case "tool_call", _:
            say("call", call_id=payload["tool_call_id"], name=payload["name"], arguments=payload["arguments"])
        case "tool_call_output", _:
            say(
                "output",
                call_id=payload["tool_call_id"],
                output=payload["output"][:_SHOWN],
                stop_reason=payload["stop_reason"],
            )
        case "request_end", _ if payload.get("status") != "completed":
            say("unanswered", reason=payload.get("error_message") or "", again="retry_in_ms" in payload)
        case _:
            pass


if __name__ == "__main__":
    sys.exit(main())
