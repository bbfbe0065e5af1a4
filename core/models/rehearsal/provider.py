"""The provider "rehearsal": picks a role by the tools of the request and streams that role's reply."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Literal

from core.models.interface import (
    Finished,
    Item,
    Message,
    Request,
    StreamEvent,
    Text,
    TextDelta,
    Thinking,
    ToolCall,
    ToolOutput,
    Usage,
)
from core.models.rehearsal.faults import Faults
from core.models.rehearsal.options import RehearsalOptions
from core.models.rehearsal.transcript import Reply

Role = Literal["builder", "optimizer", "curator", "evaluator", "strategist", "clerk", "target"]
MODEL_IDS = ("rehearsal-1", "rehearsal-clumsy")
# The tool that only one role has.
_MARKS: tuple[tuple[str, Role], ...] = (
    ("request_freeze", "builder"),
    ("propose_candidate", "optimizer"),
    ("new_skill_insert", "curator"),
    ("launch_target", "evaluator"),
    ("draft_strategy", "strategist"),
    ("suggest", "clerk"),
)
_CHARACTERS_PER_TOKEN = 4
_DELTAS = 4  # pieces a text is streamed in


def role_of(request: Request) -> Role:
    """Return the role that a request's tools ask for."""
    names = {tool.name for tool in request.tools}
    return next((role for mark, role in _MARKS if mark in names), "target")


def reply_of(role: Role) -> Callable[[Request, int], Reply]:
    """Return the pure function that plays `role`. Imported late: a Target's process needs its own role only."""
    if role == "builder":
        from core.models.rehearsal import builder

        return builder.reply
    if role == "optimizer":
        from core.models.rehearsal import optimizer

        return optimizer.reply
    if role == "curator":
        from core.models.rehearsal import curator

        return curator.reply
    if role == "evaluator":
        from core.models.rehearsal import evaluator

        return evaluator.reply
    if role == "strategist":
        from core.models.rehearsal import strategist

        return strategist.reply
    if role == "clerk":
        from core.models.rehearsal import clerk

        return clerk.reply
    from core.models.rehearsal import target

    return target.reply


def estimate_usage(request: Request, reply: Reply) -> Usage:
    """Estimate tokens at four characters each.

    What an earlier request of the conversation held already (everything before the newest reply in it) counts as
    cache_read, the rest of the input as cache_write.
    """
    spoken = [number for number, message in enumerate(request.messages) if _is_spoken(message)]
    start = spoken[-1] if spoken else 0
    while start > 0 and _is_spoken(request.messages[start - 1]):
        start -= 1
    head = len(request.system_prompt) + sum(
        len(tool.name) + len(tool.description) + len(str(tool.parameters)) for tool in request.tools
    )
    known = _tokens(head + sum(_length(message) for message in request.messages[:start])) if spoken else 0
    whole = _tokens(head + sum(_length(message) for message in request.messages))
    return Usage(known, whole - known, _tokens(sum(_length(message) for message in reply)))


def _tokens(characters: int) -> int:
    return -(-characters // _CHARACTERS_PER_TOKEN)


def _is_spoken(message: Message) -> bool:
    return isinstance(message, Thinking | ToolCall) or (isinstance(message, Text) and message.role == "assistant")


def _length(message: Message) -> int:
    if isinstance(message, ToolCall):
        return len(message.name) + len(message.arguments)
    if isinstance(message, ToolOutput):
        return len(message.output)
    return len(message.text)


class RehearsalProvider:
    """A Provider that needs no network. Invariant: it keeps nothing between requests but the counters of faults."""

    def __init__(self, options: RehearsalOptions | None = None) -> None:
        self.options = options or RehearsalOptions()
        self._faults = Faults(self.options)

    def reply(self, request: Request) -> Reply:
        """Return the reply to `request` without faults: a pure function of it and the seed."""
        seed = self.options.seed if request.seed is None else request.seed
        role = role_of(request)
        play = reply_of(role)
        if role == "evaluator":  # its whole text is one document, and nobody talks with it
            return self._played(request, seed, role, play)
        from core.models.rehearsal.asking import acknowledged, asked_first

        reply = self._played(request, seed, role, play)
        if role == "builder" and self.options.asks:
            reply = asked_first(request, reply)
        return acknowledged(request, reply)

    def _played(self, request: Request, seed: int, role: Role, play: Callable[[Request, int], Reply]) -> Reply:
        clumsy = self.options.clumsy or request.model.model_id == "rehearsal-clumsy"
        if clumsy and role != "target":
            from core.models.rehearsal.clumsy import stumble

            return stumble(request, seed, play)
        return play(request, seed)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Yield the reply in Items, texts preceded by a few deltas, then its estimated usage.

        Raises ProviderError where a fault is due.
        """
        seed = self.options.seed if request.seed is None else request.seed
        role = role_of(request)
        await self._faults.before(role, request, seed)
        reply = self._faults.spoil(role, request, seed, self.reply(request))
        for message in reply:
            if isinstance(message, Text):
                step = max(1, -(-len(message.text) // _DELTAS))
                for start in range(0, len(message.text), step):
                    yield TextDelta(message.text[start : start + step])
            yield Item(message)
        yield Finished(estimate_usage(request, reply))

    async def aclose(self) -> None:
        """There is nothing to close."""
