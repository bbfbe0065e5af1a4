"""A chat with an agent: a Session led by a person, in a process of its own, confined like a Target's (DECISIONS 4).

This side starts the process, writes down what it asks (the same approvals that a console decides), passes the
operator's mail on, and tells what happens as events. Whoever shows the chat only sees events and calls a few methods.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.agents.isolation import processes
from core.foundation import strict_json
from core.foundation.errors import ConflictError, ExuviaError, NotFoundError, UsageError
from core.foundation.visible import decode
from core.models.interface import ModelRef, ToolCall
from core.state import approvals, mailbox
from core.state.approvals import Approval
from core.state.mailbox import Box, Word
from core.state.paths import AgentPaths, ProjectPaths
from core.traces.listing import SessionHead, session_head

from .approval import ApprovalMode
from .asking import question_of, reply_of, ruling_of, tool_call_of
from .chat_events import (
    Asked,
    Called,
    ChatEvent,
    Decided,
    Ended,
    Notice,
    Piece,
    Returned,
    Said,
    Told,
    TurnEnded,
    Unanswered,
    WordWaits,
)
from .chat_process import LONGEST_LINE, ChatOrders
from .orders import Orders
from .run_agent import bring_home, orders_of, start_process
from .target import TargetSpec

if TYPE_CHECKING:
    from core.strategy.bank.assign import User

SOURCE = "cli"
ROLE = "chat"
_POLL_S = 0.25
_LEAVING_S = 5.0
_STDERR_KEPT = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSpec:
    """A chat as it is asked for. `resume` goes on with the Session in `trace_path`; `questions` says that somebody
    answers ask_operator. `workspace` exists. `user` is who speaks, where that is known.
    """

    project: ProjectPaths
    agent_id: str
    workspace: Path
    model: ModelRef
    session_id: str
    trace_path: Path
    resume: bool = False
    approval: ApprovalMode = "allow-all"
    questions: bool = False
    seed: int | None = None
    allow_unisolated: bool = False
    user: User | None = None


def chat_to_resume(agent: AgentPaths, session_id: str) -> SessionHead:
    """Return the head of an earlier chat. Raises NotFoundError, UsageError for a Session that was no chat."""
    head = session_head(agent, session_id)
    if head is None:
        raise NotFoundError(
            f"Agent {agent.id} has no session {session_id!r}.", hint=f"List them: exuvia trace list --agent {agent.id}"
        )
    if head.source != SOURCE:
        raise UsageError(
            f"Session {session_id} was no chat: going on with it would change what was measured or recorded.",
            hint=f"Begin a new one: exuvia chat {agent.id}",
        )
    if not head.workspace or not Path(head.workspace).is_dir():
        raise NotFoundError(
            f"The workspace of session {session_id} is gone.", hint=f"Begin anew: exuvia chat {agent.id}"
        )
    return head


@contextlib.asynccontextmanager
async def opened(spec: ChatSpec, tell: Callable[[ChatEvent], None]) -> AsyncIterator[Chat]:
    """Start the chat's process and listen for the operator's mail while the block runs; `tell` hears of each event.

    Raises ExuviaError where it cannot be started: a bad agent, model or workspace, no means to confine, or a Session
    that is live elsewhere.
    """
    orders = orders_of(
        TargetSpec(
            project=spec.project,
            agent_id=spec.agent_id,
            workspace=spec.workspace.resolve(),
            message="",
            model=spec.model,
            session_id=spec.session_id,
            trace_path=spec.trace_path,
            approval=spec.approval,
            seed=spec.seed,
            allow_unisolated=spec.allow_unisolated,
            user=spec.user,
        )
    )
    with mailbox.opened(spec.project, spec.session_id, agent_id=spec.agent_id, role=ROLE) as box:
        process = await start_process("core.agents.chat_process", orders, limit=LONGEST_LINE)
        who = processes.identity(process.pid) or f"{process.pid}:0:-"
        chat = Chat(spec, process, box, tell)
        try:
            await chat.begin(orders)
            yield chat
        finally:
            await chat.close()
            if process.returncode is None:
                await asyncio.shield(asyncio.to_thread(processes.kill_tree, who, grace_s=0.5))
                await process.wait()
            bring_home(orders)
            if spec.trace_path.exists() and not spec.trace_path.stat().st_size:
                spec.trace_path.unlink()  # not a word was said, so there is no Session


class Chat:
    """One chat that runs. Invariant: `busy` from the start of a turn to its TurnEnded, of which each turn has one."""

    def __init__(
        self, spec: ChatSpec, process: asyncio.subprocess.Process, box: Box, tell: Callable[[ChatEvent], None]
    ) -> None:
        self.spec = spec
        self.unfinished = False
        self.busy = False
        self._process = process
        self._box = box
        self._tell = tell
        self._passed: dict[str, Word] = {}
        self._asks: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._asked: dict[tuple[str, str], str] = {}
        self._errors = ""
        self._leaving = False
        self._tasks: list[asyncio.Task[None]] = []

    async def begin(self, orders: Orders) -> None:
        """Give the orders and wait until the process is confined and ready. Raises ExuviaError where it is not."""
        assert self._process.stdin is not None
        line = ChatOrders(orders, resume=self.spec.resume, questions=self.spec.questions).to_line()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._process.stdin.write(line)
            await self._process.stdin.drain()
        self._tasks.append(asyncio.ensure_future(self._errors_of()))
        first = await self._line()
        if first is None or first["say"] != "ready":
            await asyncio.sleep(0)
            reason = first["reason"] if first else f"its process ended: {await self._last_words()}"
            raise ExuviaError(f"The chat could not begin: {reason}", hint="See 'exuvia doctor'.")
        self.unfinished = first["unfinished"]
        self._tasks += [asyncio.ensure_future(self._listen()), asyncio.ensure_future(self._carry_mail())]

    def prompt(self, text: str) -> None:
        """Begin a turn with what the person says."""
        self._turn("prompt", text=text)

    def finish(self) -> None:
        """Go on with the turn that a crash cut."""
        self._turn("finish")

    def hear(self) -> None:
        """Begin a turn with the words that came meanwhile."""
        self._turn("hear")

    def interrupt(self) -> None:
        """End the running turn; its TurnEnded comes all the same."""
        self._order("interrupt")

    async def close(self) -> None:
        """Leave: the process ends, and a turn that still runs can be taken up when the chat is resumed."""
        self._leaving = True
        self._order("end")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), _LEAVING_S)
        for task in (*self._tasks, *self._asks.values()):
            task.cancel()
        await asyncio.gather(*self._tasks, *self._asks.values(), return_exceptions=True)

    def _turn(self, do: str, **fields: Any) -> None:
        if self.busy:
            raise ConflictError("The agent is still at work.", hint="Wait for it, or interrupt it.")
        self.busy = True
        self._order(do, **fields)

    def _order(self, do: str, **fields: Any) -> None:
        assert self._process.stdin is not None
        if not self._process.stdin.is_closing():
            self._process.stdin.write((strict_json.dumps({"do": do, **fields}) + "\n").encode())

    # What the process says -----------------------------------------------------------------------------------

    async def _line(self) -> Mapping[str, Any] | None:
        assert self._process.stdout is not None
        try:
            line = await self._process.stdout.readline()
            told = strict_json.parse(line) if line else None
        except ValueError:
            return None
        return told if isinstance(told, dict) and isinstance(told.get("say"), str) else None

    async def _listen(self) -> None:
        while (told := await self._line()) is not None:
            self._hear(told)
        if not self._leaving:
            self._tell(Ended(await self._last_words()))

    def _hear(self, told: Mapping[str, Any]) -> None:
        match told["say"]:
            case "piece":
                self._tell(Piece(told["text"]))
            case "text":
                self._tell(Said(told["text"]))
            case "call":
                self._tell(Called(told["name"], told["arguments"]))
            case "output":
                self._tell(Returned(told["output"], told["stop_reason"]))
            case "unanswered":
                self._tell(Unanswered(told["reason"], told["again"]))
            case "taken":
                if (word := self._passed.pop(told["id"], None)) is not None:
                    self._box.taken(word)
                    self._tell(Told(word))
            case "ask":
                key = (told["session_id"], told["call_id"])
                self._asks[key] = asyncio.ensure_future(self._ask(key, told))
            case "withdrawn":
                self._withdraw((told["session_id"], told["call_id"]))
            case "turn":
                self.busy = False
                self._tell(TurnEnded(told["status"], told["reason"], told["text"]))
                for word in self._passed.values():  # came too late for the turn that has just ended
                    self._tell(WordWaits(word))
            case _:
                pass

    async def _errors_of(self) -> None:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            text = decode(line).rstrip()
            self._errors = f"{self._errors}{text}\n"[-_STDERR_KEPT:]
            if text.startswith(f"{self.spec.session_id}: "):
                self._tell(Notice(text.partition(": ")[2]))

    async def _last_words(self) -> str:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._tasks[0]), 1.0)
        return self._errors.strip().splitlines()[-1] if self._errors.strip() else "without a word"

    # Asking and mail -----------------------------------------------------------------------------------------

    def _approval(self, told: Mapping[str, Any]) -> Approval:
        session_id, call_id = told["session_id"], told["call_id"]
        if told["kind"] == "question":
            return question_of(
                session_id, call_id, told["text"], tuple(told["options"]), agent_id=self.spec.agent_id, role=ROLE
            )
        call = ToolCall(call_id, told["name"], told["arguments"])
        return tool_call_of(session_id, call, told["permission"], agent_id=self.spec.agent_id, role=ROLE)

    async def _ask(self, key: tuple[str, str], told: Mapping[str, Any]) -> None:
        try:
            answer = await self._answer(key, told)
        except ExuviaError as error:
            self._tell(Notice(f"The agent could not ask you: {error} {error.hint}".strip()))
            answer = {"allowed": False, "reason": str(error), "text": str(error), "declined": True}
        self._order("decided", session_id=key[0], call_id=key[1], **answer)

    async def _answer(self, key: tuple[str, str], told: Mapping[str, Any]) -> dict[str, Any]:
        """Write the question down, wait for whoever decides it first, and return what the agent is told."""
        project = self.spec.project
        asked = await asyncio.to_thread(approvals.ask, project, self._approval(told))
        self._asked[key] = asked.id
        _, decision = approvals.get(project, asked.id)
        if decision is None:
            self._tell(Asked(approvals.shown(asked)))
        while decision is None:
            await asyncio.sleep(_POLL_S)
            _, decision = approvals.get(project, asked.id)
        self._asked.pop(key, None)
        self._tell(Decided(decision))
        if asked.kind == "question":
            reply = reply_of(decision)
            return {"text": reply.text, "declined": reply.declined}
        ruling = ruling_of(decision)
        return {"allowed": ruling.decision == "allow", "reason": ruling.reason}

    def _withdraw(self, key: tuple[str, str]) -> None:
        """Close a question that nobody waits for any more: its turn was interrupted."""
        if (task := self._asks.pop(key, None)) is not None:
            task.cancel()
        if (asked := self._asked.pop(key, None)) is not None:
            with contextlib.suppress(ConflictError):  # decided in the same moment
                reason = "withdrawn: the turn that asked was ended"
                self._tell(Decided(approvals.decide(self.spec.project, asked, "reject", reason, actor=ROLE)))

    async def _carry_mail(self) -> None:
        while True:
            for word in self._box.words():
                if word.id not in self._passed:
                    self._passed[word.id] = word
                    self._order("word", id=word.id, text=word.text)
                    if not self.busy:
                        self._tell(WordWaits(word))
            await asyncio.sleep(_POLL_S)
