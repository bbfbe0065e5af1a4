"""A model whose answers a test gives: a function from request to answer, or an error that it raises."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from core.curation.asking import Model
from core.models.interface import (
    Finished,
    Item,
    ModelRef,
    ProviderError,
    Request,
    StreamEvent,
    Text,
    ToolCall,
    Usage,
)

Reply = str | ProviderError | tuple[str, tuple[ToolCall, ...]]
USAGE = Usage(10, 20, 5)


@dataclass
class Script:
    """Answers by `of`; keeps what was asked in `seen`. `usage` None: the provider doesn't say."""

    of: Callable[[Request], Reply]
    usage: Usage | None = USAGE
    seen: list[Request] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    open: int = 0

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        self.seen.append(request)
        reply = self.of(request)
        if isinstance(reply, ProviderError):
            raise reply
        text, calls = reply if isinstance(reply, tuple) else (reply, ())
        if text:
            yield Item(Text("assistant", text))
        for call in calls:
            yield Item(call)
        yield Finished(self.usage)

    async def aclose(self) -> None:
        self.open -= 1

    def make(self) -> Script:
        self.open += 1
        return self

    async def wait(self, seconds: float) -> None:
        self.waits.append(seconds)

    @property
    def model(self) -> Model:
        return Model(ModelRef("test", "model-1"), self.make, wait=self.wait)


def text_of(request: Request) -> str:
    """Return the one message of a request."""
    (message,) = request.messages
    assert isinstance(message, Text)
    return message.text


def overloaded() -> ProviderError:
    return ProviderError("the provider is overloaded")


def refused() -> ProviderError:
    return ProviderError("the key was refused", status="auth", permanent=True)
