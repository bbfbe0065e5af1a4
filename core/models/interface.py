"""What every model provider speaks: one request in, one stream of events out.

A model is always the pair (provider, model_id) (EVOLUTION 1.7 no. 24). A provider keeps no conversation: the
whole of it stands in the request, so any reply can be asked for again after a crash.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from core.foundation.errors import ExuviaError

ThinkingLevel = Literal["none", "low", "medium", "high", "xhigh", "max"]
StopReason = Literal["completed", "failed", "aborted", "timeout", "malformed", "auth"]
Sender = Literal["user", "parent_agent", "harness", "server"]


@dataclass(frozen=True, slots=True)
class ModelRef:
    """A model: the pair, never joined, never half."""

    provider: str
    model_id: str


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Text:
    """A text by `role`; `sender` says who stands behind a user text."""

    role: Literal["user", "assistant"]
    text: str
    sender: Sender = "user"


@dataclass(frozen=True, slots=True)
class Thinking:
    """An assistant's thinking. `fidelity` is what its provider wants back with it."""

    text: str
    fidelity: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call; `arguments` is the JSON text as the model wrote it, possibly invalid."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The answer to a call."""

    call_id: str
    output: str


Message = Text | Thinking | ToolCall | ToolOutput


@dataclass(frozen=True, slots=True)
class Request:
    """Everything a provider needs for one reply."""

    model: ModelRef
    system_prompt: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int = 32_000
    thinking_level: ThinkingLevel = "medium"
    timeout_s: float = 120.0
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request (EVOLUTION 2.5 no. 59): cache_write is uncached input, output includes thinking."""

    cache_read: int = 0
    cache_write: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        return self.cache_read + self.cache_write + self.output

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.output + other.output,
        )


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of text as it streams; shown live, never recorded."""

    text: str


@dataclass(frozen=True, slots=True)
class Item:
    """A complete message of the reply: assistant Text, Thinking or ToolCall, in order."""

    message: Text | Thinking | ToolCall


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a reply. `usage` is None where the provider did not say: unknown is not zero."""

    usage: Usage | None


StreamEvent = TextDelta | Item | Finished


class ProviderError(ExuviaError):
    """A request that brought no reply.

    `status` is the trace's word for it; `permanent` errors (auth, a model that is gone) are never retried;
    `retry_after_s` is the provider's own floor for the next attempt; `usage` what the failed reply cost all the same.
    """

    def __init__(
        self,
        message: str,
        *,
        status: StopReason = "failed",
        permanent: bool = False,
        retry_after_s: float | None = None,
        usage: Usage | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.permanent = permanent
        self.retry_after_s = retry_after_s
        self.usage = usage


class Provider(Protocol):
    """One way to reach models. `stream` yields Items in order and exactly one Finished, or raises ProviderError."""

    def stream(self, request: Request) -> AsyncIterator[StreamEvent]: ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Price:
    """USD for a million tokens."""

    cache_read: float
    cache_write: float
    output: float

    def cost(self, usage: Usage) -> float:
        """Return USD for `usage` (EVOLUTION 4.6 no. 20)."""
        return (
            usage.cache_read * self.cache_read + usage.cache_write * self.cache_write + usage.output * self.output
        ) / 1e6


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A configured model: what the project file says of it, without its key."""

    ref: ModelRef
    context_window: int | None = None
    max_tokens: int | None = None
    base_url: str | None = None
    client_type: str | None = None
    price: Price | None = None
    vision: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
