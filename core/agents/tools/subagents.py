"""Sub-agents: run_subagent, input_subagent, kill_subagent (EVOLUTION 4.2).

A sub-agent is a Session of the same agent in the same Workspace, one level deep. It can be addressed until its
caller is done, however it was started; that one of them has finished in the background is told exactly once, by the
answer to a call or by a message, never by both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from core.agents.session import Session
from core.agents.spec import TurnOutcome
from core.agents.tool import ToolContext, ToolResult
from core.foundation.errors import RefusedError
from core.models.interface import ModelRef, ThinkingLevel, ToolSpec

SUBAGENT_LIMIT = 8
_MARGIN_S = 5.0
_RUN_S = 300.0
_POLL_S = 10.0
_TAIL = 4000  # characters of its text in the notice of a sub-agent that finished


@dataclass(frozen=True, slots=True)
class ChildWish:
    """What a caller wants other than its own; None is the same as the caller's."""

    agent_id: str | None = None
    model: ModelRef | None = None
    thinking_level: ThinkingLevel | None = None


@dataclass
class _Child:
    """A sub-agent. `told` says that the caller knows the outcome of `work`."""

    session: Session
    work: asyncio.Task[TurnOutcome]
    told: bool = False

    @property
    def subagent_id(self) -> str:
        return f"subagent-{self.session.spec.session_id[-8:]}"


@dataclass
class SubAgents:
    """The sub-agents of one Session. Invariant: none of them works on after `aclose`.

    `open_child` makes a Session from a wish or raises an ExuviaError that tells the model why not.
    """

    open_child: Callable[[ChildWish], Session]
    children: dict[str, _Child] = field(default_factory=dict)

    def start(self, wish: ChildWish, prompt: str, context: ToolContext) -> _Child:
        """Open a child and give it its prompt. Raises RefusedError where there are too many."""
        if len(self.children) >= SUBAGENT_LIMIT:
            known = ", ".join(self.children)
            raise RefusedError(f"Error: there are {SUBAGENT_LIMIT} sub-agents already ({known}); kill one first.")
        session = self.open_child(wish)
        context.announce_child(session.spec.session_id)
        child = _Child(session, asyncio.ensure_future(session.run(prompt, sender="parent_agent")))
        self.children[child.subagent_id] = child
        return child

    def find(self, subagent_id: str) -> _Child:
        """Return a sub-agent, or raise RefusedError."""
        try:
            return self.children[subagent_id]
        except KeyError:
            known = ", ".join(self.children) or "none"
            raise RefusedError(f"Error: there is no sub-agent {subagent_id}. Known: {known}.") from None

    async def end(self, child: _Child) -> None:
        """End a sub-agent for good."""
        self.children.pop(child.subagent_id, None)
        child.session.interrupt()
        child.work.cancel()
        await asyncio.wait({child.work})
        await child.session.aclose()

    def take_notices(self) -> list[str]:
        """Give the outcome of each child once, unless a call has given it (BackgroundWork)."""
        notices = []
        for child in self.children.values():
            if child.work.done() and not child.told:
                child.told = True
                notices.append(_notice(child))
        return notices

    def expected(self) -> bool:
        """Tell whether a child works whose outcome the caller was promised."""
        return any(not child.told for child in self.children.values())

    async def changed(self) -> None:
        """Wait until a child has finished."""
        waits = [child.work for child in self.children.values() if not child.told]
        if waits:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)

    async def aclose(self) -> None:
        """End all of them."""
        for child in list(self.children.values()):
            await self.end(child)


async def _answer(child: _Child, seconds: float) -> ToolResult:
    """Return the child's text if it finishes within `seconds`, else what to do about it."""
    await asyncio.wait({child.work}, timeout=seconds)
    name = child.subagent_id
    if not child.work.done():
        return ToolResult(
            f"[subagent running in background with subagent_id {name}; its completion will arrive as a message, there "
            "is no need to poll. Use input_subagent to interact or kill_subagent to stop it]"
        )
    child.told = True
    idle = f"[subagent idle with subagent_id {name}; send a follow-up prompt to continue]"
    text, status = _told(child)
    ended = "" if status == "completed" else f"[subagent ended: {status}]\n"
    return ToolResult(f"{text}\n{ended}{idle}" if text else f"{ended}{idle}")


def _told(child: _Child) -> tuple[str, str]:
    """Return the text of a child that has finished, and how it ended."""
    if child.work.cancelled():
        return "", "killed"
    error = child.work.exception()
    if error is not None:
        return "", f"failed, {type(error).__name__}: {error}"
    outcome = child.work.result()
    reason = f", {outcome.reason}" if outcome.reason else ""
    return outcome.text, f"{outcome.status}{reason}"


def _notice(child: _Child) -> str:
    text, status = _told(child)
    return (
        "[background_task_done]\nThis comes from the harness, not from the user: work in the background has ended.\n"
        f"kind: subagent\nid: {child.subagent_id}\nstatus: {status}\n[/background_task_done]\n\n{text[-_TAIL:]}"
    ).rstrip()


_DESCRIPTION = {"type": "string", "description": "What it is for, in a few words, for whoever watches."}
_SUBAGENT_ID = {"type": "string", "description": "The subagent_id that run_subagent gave."}
RUN_SUBAGENT = ToolSpec(
    "run_subagent",
    "Give a piece of work to a sub-agent that starts with an empty conversation in the same Workspace, and return what "
    "it wrote. One that takes long goes on in the background.",
    {
        "type": "object",
        "properties": {
            "description": _DESCRIPTION,
            "prompt": {"type": "string", "description": "All it needs to know."},
            "agent_id": {"type": "string", "description": "Another agent; the same one if not given."},
            "provider": {"type": "string", "description": "Together with model_id: another model."},
            "model_id": {"type": "string", "description": "Together with provider: another model."},
            "thinking_level": {"type": "string", "enum": ["low", "medium", "high", "xhigh", "max"]},
            "yield_time_ms": {"type": "number", "description": "How long to wait for it; 300000 if not given."},
            "run_in_background": {"type": "boolean", "description": "Do not wait for it at all."},
        },
        "required": ["prompt"],
    },
)
INPUT_SUBAGENT = ToolSpec(
    "input_subagent",
    "Go on with a sub-agent that is idle (prompt), or wait for one that works (no prompt).",
    {
        "type": "object",
        "properties": {
            "description": _DESCRIPTION,
            "subagent_id": _SUBAGENT_ID,
            "prompt": {"type": "string", "description": "What to tell it."},
            "yield_time_ms": {"type": "number", "description": "How long to wait for it."},
        },
        "required": ["subagent_id"],
    },
)
KILL_SUBAGENT = ToolSpec(
    "kill_subagent",
    "End a sub-agent for good.",
    {
        "type": "object",
        "properties": {"description": _DESCRIPTION, "subagent_id": _SUBAGENT_ID},
        "required": ["subagent_id"],
    },
)


@dataclass(frozen=True)
class RunSubagent:
    """run_subagent."""

    subagents: SubAgents
    spec: ToolSpec = RUN_SUBAGENT
    permission: Literal["r", "rw"] = "rw"
    timeout_s: float = 600.0
    max_output: int = 16_000
    repeatable: bool = False

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Start one; wait for it unless it is to run in the background."""
        provider, model_id = arguments.get("provider"), arguments.get("model_id")
        if (provider is None) != (model_id is None):
            return ToolResult("Error: provider and model_id belong together; give both or none.", "malformed")
        model = ModelRef(provider, model_id) if provider and model_id else None
        wish = ChildWish(arguments.get("agent_id"), model, arguments.get("thinking_level"))
        child = self.subagents.start(wish, arguments["prompt"], context)
        background = bool(arguments.get("run_in_background"))
        window = 0.0 if background else _window(arguments, _RUN_S, self.timeout_s)
        try:
            return await _answer(child, window)
        except asyncio.CancelledError:
            await asyncio.shield(self.subagents.end(child))
            raise


@dataclass(frozen=True)
class InputSubagent:
    """input_subagent."""

    subagents: SubAgents
    spec: ToolSpec = INPUT_SUBAGENT
    permission: Literal["r", "rw"] = "rw"
    timeout_s: float = 600.0
    max_output: int = 16_000
    repeatable: bool = False

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Go on with it, or wait for it."""
        child = self.subagents.find(arguments["subagent_id"])
        prompt = arguments.get("prompt")
        if not prompt:
            return await _answer(child, _window(arguments, _POLL_S, self.timeout_s))
        if not child.work.done():
            raise RefusedError(f"Error: {child.subagent_id} is still at work; wait for it or kill it.")
        child.work = asyncio.ensure_future(child.session.run(prompt, sender="parent_agent"))
        child.told = False
        return await _answer(child, _window(arguments, _RUN_S, self.timeout_s))


@dataclass(frozen=True)
class KillSubagent:
    """kill_subagent."""

    subagents: SubAgents
    spec: ToolSpec = KILL_SUBAGENT
    permission: Literal["r", "rw"] = "rw"
    timeout_s: float = 30.0
    max_output: int = 16_000
    repeatable: bool = True

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """End it."""
        child = self.subagents.find(arguments["subagent_id"])
        await self.subagents.end(child)
        return ToolResult(f"[subagent {child.subagent_id} ended]")


def _window(arguments: Mapping[str, Any], default: float, timeout_s: float) -> float:
    given = arguments.get("yield_time_ms")
    seconds = float(given) / 1000 if isinstance(given, int | float) and given >= 0 else default
    return max(min(seconds, timeout_s - _MARGIN_S), 0.0)
