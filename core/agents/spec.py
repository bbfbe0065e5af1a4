"""What a Session is made of, and what a turn of it comes to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from core.models.interface import ModelEntry, ModelRef, Provider, StopReason, ThinkingLevel, Usage
from core.state.command_policy import CommandPolicy
from core.state.paths import ProjectPaths
from core.traces.records import Record
from core.traces.writer import TraceWriter

from .approval import ApprovalMode, Ask
from .budgets import Budgets
from .conversation import TurnStatus
from .live import LiveText
from .tool import BackgroundWork, Tool, ToolResult
from .waiting import PersonWait


class Word(Protocol):
    """A text that the operator sent to the Session, under an id that is its own within the Session."""

    @property
    def id(self) -> str: ...

    @property
    def text(self) -> str: ...


class Mail(Protocol):
    """Where the operator's words wait. The Session records each under its id first, and tells `taken` then.

    A word whose id the trace has already is not read again, only taken: so a kill between the two neither loses nor
    doubles it.
    """

    def words(self) -> Sequence[Word]: ...

    def taken(self, word: Any) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSpec:
    """Everything a Session needs; it looks nothing up by itself.

    `recall` may give the result of a call that an outside journal holds already, `remember` tells that journal of a
    new one before the trace gets it: so a call whose effect is journalled is never made twice, kill or no kill.
    `secrets` are values that no output may show. `archive` is where overlong outputs are kept whole; `wait` is
    how the Session sleeps between attempts. Beyond `context_limit` tokens of context it warns, once: it does not
    compact. `live` is a path, or a file opened before confinement. `mail` is looked at before each request; `person`
    is the clock of waits for a person, which no budget of time counts; `on_record` hears of each record once it is
    in the trace.
    """

    project: ProjectPaths
    agent_id: str
    session_id: str
    workspace: Path
    agent_state: Path
    provider: Provider
    model: ModelRef
    entry: ModelEntry
    system_prompt: str
    trace: TraceWriter
    tools: tuple[Tool, ...] = ()
    background: tuple[BackgroundWork, ...] = ()
    thinking_level: ThinkingLevel = "medium"
    approval: ApprovalMode = "allow-all"
    ask: Ask | None = None
    command_policy: CommandPolicy = field(default_factory=CommandPolicy)
    budgets: Budgets = field(default_factory=Budgets)
    seed: int | None = None
    source: str | None = None
    live: Path | LiveText | None = None
    archive: Path | None = None
    max_tokens: int = 32_000
    request_timeout_s: float = 120.0
    context_limit: int | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)
    notices: tuple[str, ...] = ()
    recall: Callable[[str], ToolResult | None] | None = None
    remember: Callable[[str, ToolResult], None] | None = None
    wait: Callable[[float], Awaitable[None]] = asyncio.sleep
    mail: Mail | None = None
    person: PersonWait = field(default_factory=PersonWait)
    on_record: Callable[[Record], None] | None = None


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """What one prompt came to.

    `text` is all assistant text of the turn, narration included, joined by newlines; `final_text` that of the last
    request alone. `usage` and `cost` (USD) are None where a part of them is unknown. `failure` is the trace's word
    for a request that failed for good, `permanent` says that no later attempt can succeed (a bad key, a model that
    is gone): the run it belongs to should stop and ask.
    """

    text: str
    final_text: str
    status: TurnStatus
    reason: str
    usage: Usage | None
    cost: float | None
    turns: int
    failure: StopReason | None = None
    permanent: bool = False
