"""A tool as a Session sees it: a description for the model, a call, and what may be assumed of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from core.models.interface import StopReason, ToolSpec


def _nobody(session_id: str) -> None:
    """Announce a child to nobody: a call outside a Session has no trace to point from."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Where a call happens.

    `announce_child` records in the caller's trace that this call started the Session named (EVOLUTION 2.6 no. 65).
    `prompt` is what the turn began with: the user's own words, which no model has retold.
    """

    session_id: str
    call_id: str
    workspace: Path
    announce_child: Callable[[str], None] = _nobody
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the model reads next. `stop_reason` is the trace's word for how the call ended."""

    output: str
    stop_reason: StopReason = "completed"


class Tool(Protocol):
    """One tool.

    `permission` r or rw decides under read-only approval; `timeout_s` bounds a call; `max_output` is the
    number of characters kept (the rest goes to the scratchpad); `repeatable` says that calling it again with the
    same arguments after a crash is safe, so a resumed Session does so instead of reporting an interruption.
    """

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def permission(self) -> Literal["r", "rw"]: ...

    @property
    def timeout_s(self) -> float: ...

    @property
    def max_output(self) -> int: ...

    @property
    def repeatable(self) -> bool: ...

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult: ...


class BackgroundWork(Protocol):
    """What goes on between the requests of a Session: sub-agents and commands in the background.

    `take_notices` gives each completion once, and not those that a call has shown to the model already;
    `expected` says that something runs whose completion the model should still be told, and `changed` waits for
    the next completion; `aclose` ends what is left when the Session is done.
    """

    def take_notices(self) -> list[str]: ...

    def expected(self) -> bool: ...

    async def changed(self) -> None: ...

    async def aclose(self) -> None: ...
