"""Questions to a model that stand alone: one system prompt, one message, one answer, as often as it is worth trying.

An executor's turn, a judgement, a curation: none of them is a conversation. Retries and their waits are those of
`core.models.retry`. What is asked together is asked at the same time, up to a limit.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from core.curation.meter import Meter
from core.foundation.errors import UsageError
from core.models.interface import (
    Finished,
    Item,
    ModelRef,
    Price,
    Provider,
    ProviderError,
    Request,
    Text,
    ThinkingLevel,
    ToolCall,
    ToolSpec,
    Usage,
)
from core.models.registry import route_of
from core.models.rehearsal.options import RehearsalOptions
from core.models.retry import delay_before_next
from core.state.paths import ProjectPaths

T = TypeVar("T")
MAX_TOKENS = 4_096  # of an answer: Table 4's longest response
PARALLEL = 8
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Answered:
    """What a model answered: its text, its tool calls in order, and what it cost; `usage` None where unknown."""

    text: str
    calls: tuple[ToolCall, ...]
    usage: Usage | None


@dataclass(frozen=True, slots=True)
class Model:
    """A model that can be asked. `make` gives a Provider of its own to each batch, which closes it."""

    ref: ModelRef
    make: Callable[[], Provider]
    max_tokens: int = MAX_TOKENS
    thinking_level: ThinkingLevel = "none"
    timeout_s: float = 120.0
    parallel: int = PARALLEL
    wait: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep)
    price: Price | None = None
    meter: Meter = field(default_factory=Meter, compare=False)

    @property
    def name(self) -> str:
        """The pair as it is written on a command line."""
        return f"{self.ref.provider}/{self.ref.model_id}"


class Asker:
    """One open provider. Invariant: at most `parallel` requests are under way."""

    def __init__(self, model: Model, provider: Provider) -> None:
        self._model = model
        self._provider = provider
        self._room = asyncio.Semaphore(model.parallel)

    async def ask(
        self, system: str, user: str, *, tools: tuple[ToolSpec, ...] = (), seed: int | None = None
    ) -> Answered:
        """Return the answer.

        Raises ProviderError where none came, after every retry that is worth it; BudgetSpentError where none may be
        asked for.
        """
        model = self._model
        request = Request(
            model=model.ref,
            system_prompt=system,
            messages=(Text("user", user),),
            tools=tools,
            max_tokens=model.max_tokens,
            thinking_level=model.thinking_level,
            timeout_s=model.timeout_s,
            seed=seed,
        )
        for attempt in itertools.count(1):
            try:
                async with self._room:
                    model.meter.check()
                    answered = await self._once(request)
                    model.meter.take(answered.usage, model.price)
                    return answered
            except ProviderError as error:
                if error.usage is not None:
                    model.meter.take(error.usage, model.price)
                delay = delay_before_next(attempt, error)
                if delay is None:
                    raise
                await model.wait(delay)
        raise AssertionError("unreachable")

    async def _once(self, request: Request) -> Answered:
        texts: list[str] = []
        calls: list[ToolCall] = []
        finished: Finished | None = None
        events = self._provider.stream(request)
        try:
            async for event in events:
                match event:
                    case Item(Text(text=text)):
                        texts.append(text)
                    case Item(ToolCall() as call):
                        calls.append(call)
                    case Finished():
                        finished = event
        finally:
            if isinstance(events, AsyncGenerator):
                await events.aclose()
        if finished is None:
            raise ProviderError("the reply broke off", status="malformed")
        if not calls and not any(text.strip() for text in texts):
            raise ProviderError("the reply was empty", status="malformed", usage=finished.usage)
        return Answered("\n".join(texts), tuple(calls), finished.usage)


def without_thought(text: str) -> str:
    """Return an answer without the thought that some models write before it, and without blanks around it."""
    return _THOUGHT.sub("", text).strip()


def together(model: Model, questions: Sequence[Callable[[Asker], Awaitable[T]]]) -> list[T]:
    """Ask everything at the same time and return the results in order. Where one raises, the others are ended."""
    if not questions:
        return []
    return asyncio.run(_together(model, questions))


async def _together(model: Model, questions: Sequence[Callable[[Asker], Awaitable[T]]]) -> list[T]:
    provider = model.make()
    try:
        asker = Asker(model, provider)
        tasks = [asyncio.ensure_future(question(asker)) for question in questions]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    finally:
        await provider.aclose()


def model_named(project: ProjectPaths, name: str, *, seed: int | None = None) -> Model:
    """Return the model that `PROVIDER/MODEL` names. Raises UsageError, or NotFoundError where nobody configured it."""
    provider, slash, model_id = name.partition("/")
    if not slash or not provider or not model_id:
        raise UsageError(f"{name!r} names no model.", hint="Write PROVIDER/MODEL, as in openai/gpt-5.")
    rehearsal = None if seed is None else RehearsalOptions(seed=seed)
    route = route_of(project, provider, model_id, rehearsal=rehearsal)
    limit = route.entry.max_tokens
    return Model(
        route.entry.ref,
        route.make_provider,
        max_tokens=min(MAX_TOKENS, limit) if limit else MAX_TOKENS,
        price=route.entry.price,
    )


def spent(usages: Sequence[Usage | None]) -> int | None:
    """Return the tokens of several requests, None where one of them is unknown."""
    return None if any(usage is None for usage in usages) else sum(usage.total for usage in usages if usage is not None)
