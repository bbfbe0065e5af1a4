"""A tool as a Session sees it: a description for the model, a call, and what may be assumed of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from core.models.interface import StopReason, ToolSpec


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Where a call happens."""

    session_id: str
    call_id: str
    workspace: Path


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

    spec: ToolSpec
    permission: Literal["r", "rw"]
    timeout_s: float
    max_output: int
    repeatable: bool

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult: ...
