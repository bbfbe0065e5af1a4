"""One request to the model and its reply, as often as it is worth trying, each attempt in the trace."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Callable

from core.foundation.visible import well_formed
from core.models.interface import (
    Finished,
    Item,
    ProviderError,
    Request,
    Text,
    TextDelta,
    Thinking,
    ToolCall,
    Usage,
)
from core.models.retry import delay_before_next
from core.traces import records

from .conversation import Conversation
from .execution import Execution
from .live import LiveText
from .spec import SessionSpec


class Exchange:
    """Sends the conversation and records what comes.

    Invariant: every request_begin that `send` records is followed by its request_end, unless `send` is cancelled;
    then `streamed` holds the text that came since the last complete item.
    """

    def __init__(
        self,
        spec: SessionSpec,
        conversation: Conversation,
        execution: Execution,
        live: LiveText,
        *,
        record: Callable[[records.Record], None],
        notice: Callable[[str], None],
    ) -> None:
        self._spec = spec
        self._specs = tuple(tool.spec for tool in spec.tools)
        self._conversation = conversation
        self._execution = execution
        self._live = live
        self._record = record
        self._notice = notice
        self._warned = False
        self.streamed = ""
        self.failure: ProviderError | None = None

    async def send(self) -> bool:
        """Send the conversation, as often as it is worth it. False when the turn ended for want of a reply."""
        for attempt in itertools.count(1):
            self._record(records.request_begin())
            try:
                usage = await self._stream()
            except ProviderError as error:
                self._record_usage(error.usage)
                delay = delay_before_next(attempt, error)
                self._record(
                    records.request_end(
                        error.status,
                        error_message=str(error),
                        attempt=attempt,
                        retry_in_ms=None if delay is None else round(delay * 1000),
                    )
                )
                self._live.clear()
                if delay is None:
                    self.failure = error
                    self._record(records.abort(f"llm request error: {error}"))
                    return False
                self._live.write(f"[waiting {delay:g} s before attempt {attempt + 1}: {error}]\n")
                await self._spec.wait(delay)
                self._live.clear()
                continue
            self._record_usage(usage)
            self._record(records.request_end("completed", attempt=attempt if attempt > 1 else None))
            self._live.clear()
            return True
        raise AssertionError("unreachable")

    async def decide(self, call: ToolCall) -> None:
        """Decide whether a call may run, and record it. Where a person is asked, this waits for them."""
        ruling = await self._execution.decide(call)
        if ruling is not None:
            self._record(records.approval_decision(ruling.decision, call.call_id, well_formed(ruling.reason)))

    async def _stream(self) -> Usage | None:
        """Record a reply item by item and return its usage, or raise ProviderError where it is not whole."""
        self.streamed = ""
        items, finished = 0, None
        events = self._spec.provider.stream(self._make_request())
        try:
            async for event in events:
                match event:
                    case TextDelta():
                        self.streamed += event.text
                        self._live.write(event.text)
                    case Item():
                        self.streamed = ""
                        items += await self._item(event.message)
                    case Finished():
                        finished = event
        finally:
            # A reply left in the middle must let go of its connection now, not when it is collected.
            if isinstance(events, AsyncGenerator):
                await events.aclose()
        if finished is None:
            raise ProviderError("the reply broke off", status="malformed")
        if not items:
            raise ProviderError("the reply was empty", status="malformed", usage=finished.usage)
        return finished.usage

    async def _item(self, message: Text | Thinking | ToolCall) -> bool:
        """Record an item; tell whether it is something that answers: a text or a call."""
        match message:
            case Text():
                if not message.text.strip():
                    return False
                self._record(records.assistant_text(well_formed(message.text)))
            case Thinking():
                self._record(records.thinking(well_formed(message.text), fidelity=message.fidelity))
                return False
            case ToolCall():
                if message.call_id in self._conversation.call_ids:
                    raise ProviderError(f"the call id {message.call_id} came twice", status="malformed")
                call = ToolCall(message.call_id, well_formed(message.name), well_formed(message.arguments))
                self._record(records.tool_call(call.call_id, call.name, call.arguments))
                if self._spec.approval != "always-ask":
                    await self.decide(call)
                # A person who is asked takes hours; the reply they hold up would be lost with its connection, and a
                # call of a reply that is not whole must not be allowed. They are asked once it is committed.
        return True

    def _make_request(self) -> Request:
        spec = self._spec
        return Request(
            model=spec.model,
            system_prompt=spec.system_prompt,
            messages=tuple(self._conversation.messages),
            tools=self._specs,
            max_tokens=spec.max_tokens,
            thinking_level=spec.thinking_level,
            timeout_s=spec.request_timeout_s,
            seed=spec.seed,
        )

    def _record_usage(self, usage: Usage | None) -> None:
        if usage is None:
            return
        self._record(records.token_usage(self._conversation.session_usage + usage, usage))
        limit = self._spec.context_limit
        if limit is not None and usage.total > limit and not self._warned:
            self._warned = True
            self._notice(f"the context has reached {usage.total} tokens of {limit}; it is not compacted here")
