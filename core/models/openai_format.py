"""The chat-completions format: a Request as its JSON body, and a reply put together from its chunks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .interface import (
    Item,
    Message,
    ProviderError,
    Request,
    StreamEvent,
    Text,
    TextDelta,
    Thinking,
    ThinkingLevel,
    ToolCall,
    ToolOutput,
    Usage,
)

# What servers call their thinking, in the order of preference.
_REASONING_FIELDS = ("reasoning_content", "reasoning")
_EFFORT: Mapping[ThinkingLevel, str | None] = {
    "none": None,
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}


def body_of(request: Request, extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the JSON body of `request`; `extra` (from the model's configuration) has the last word."""
    body: dict[str, Any] = {
        "model": request.model.model_id,
        "messages": [{"role": "system", "content": request.system_prompt}, *_messages(request.messages)],
        "max_tokens": request.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
            }
            for tool in request.tools
        ]
    if request.seed is not None:
        body["seed"] = request.seed
    effort = _EFFORT[request.thinking_level]
    if effort is not None:
        body["reasoning_effort"] = effort
    for key, value in (extra or {}).items():
        if value is None:
            body.pop(key, None)
        else:
            body[key] = value
    return body


def _messages(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Group what the assistant said in one reply; thinking goes back only within the turn it belongs to."""
    listed = list(messages)
    last_user = max((i for i, m in enumerate(listed) if isinstance(m, Text) and m.role == "user"), default=-1)
    out: list[dict[str, Any]] = []
    reply: dict[str, Any] | None = None
    for index, message in enumerate(listed):
        if isinstance(message, ToolOutput):
            out.append({"role": "tool", "tool_call_id": message.call_id, "content": message.output})
            reply = None
        elif isinstance(message, Text) and message.role == "user":
            out.append({"role": "user", "content": message.text})
            reply = None
        else:
            if reply is None:
                reply = {"role": "assistant", "content": None}
                out.append(reply)
            _add(reply, message, current=index > last_user)
    return [message for message in out if message != {"role": "assistant", "content": None}]


def _add(reply: dict[str, Any], message: Message, *, current: bool) -> None:
    if isinstance(message, Text):
        reply["content"] = message.text if reply["content"] is None else f"{reply['content']}\n{message.text}"
    elif isinstance(message, ToolCall):
        reply.setdefault("tool_calls", []).append(
            {
                "id": message.call_id,
                "type": "function",
                "function": {"name": message.name, "arguments": message.arguments or "{}"},
            }
        )
    elif isinstance(message, Thinking) and current and message.fidelity:
        name = message.fidelity.get("reasoning_field")
        if name in _REASONING_FIELDS:
            reply[name] = reply.get(name, "") + message.text


@dataclass
class _Call:
    call_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class Assembly:
    """A reply under way. Invariant: pieces of text and thinking are given out as Items when the next kind begins.

    `taken` are the call ids the conversation holds already: a server that counts from one again in every reply gets
    `#2` and so on behind its id (EVOLUTION 2.5 no. 56).
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._thinking_field = _REASONING_FIELDS[0]
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._content = False
        self.usage: Usage | None = None
        self.finish_reason: str | None = None

    def feed(self, chunk: Mapping[str, Any]) -> list[StreamEvent]:
        """Take a chunk, return what it completes."""
        usage = usage_of(chunk.get("usage"))
        if usage is not None:
            self.usage = usage
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
            return []
        choice = choices[0]
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.finish_reason = reason
        delta = choice.get("delta") or choice.get("message")
        return self._delta(delta) if isinstance(delta, Mapping) else []

    def _delta(self, delta: Mapping[str, Any]) -> list[StreamEvent]:
        out: list[StreamEvent] = []
        for name in _REASONING_FIELDS:
            piece = delta.get(name)
            if isinstance(piece, str) and piece:
                out += self._flush_text()
                self._thinking_field = name
                self._thinking.append(piece)
                break  # a server that sends both sends the same twice
        content = _content(delta.get("content"))
        if content:
            out += self._flush_thinking()
            self._text.append(content)
            out.append(TextDelta(content))
        calls = delta.get("tool_calls")
        for piece in calls if isinstance(calls, list) else ():
            if isinstance(piece, Mapping):
                self._call_piece(piece)
        return out

    def _call_piece(self, piece: Mapping[str, Any]) -> None:
        call = self._call_of(piece)
        function = piece.get("function")
        if isinstance(function, Mapping):
            name, arguments = function.get("name"), function.get("arguments")
            if isinstance(name, str) and name and not call.name:
                call.name = name
            if isinstance(arguments, str):
                call.arguments.append(arguments)

    def _call_of(self, piece: Mapping[str, Any]) -> _Call:
        """Return the call a piece belongs to: by index, and by id where servers leave the index out or at 0."""
        index, call_id, function = piece.get("index"), piece.get("id"), piece.get("function")
        call_id = call_id if isinstance(call_id, str) else ""
        named = isinstance(function, Mapping) and bool(function.get("name"))
        if isinstance(index, int):
            call = self._by_index.get(index)
            if call is not None and not (call_id and call.call_id and call_id != call.call_id):
                call.call_id = call.call_id or call_id
                return call
        elif self._calls and not named and call_id in {"", self._calls[-1].call_id}:
            return self._calls[-1]
        call = _Call(call_id)
        self._calls.append(call)
        if isinstance(index, int):
            self._by_index[index] = call
        return call

    def finish(self) -> list[StreamEvent]:
        """Return the last Items, or raise ProviderError where the reply is not whole."""
        if self.finish_reason is None:
            raise ProviderError("The reply broke off before its end.", status="malformed", usage=self.usage)
        if self.finish_reason == "length" and self._calls:
            raise ProviderError(
                "The reply was cut in the middle of a tool call: it reached the limit of output tokens.",
                status="malformed",
                usage=self.usage,
            )
        if self.finish_reason == "content_filter":
            raise ProviderError("The provider's content filter ended the reply.", usage=self.usage)
        out = [*self._flush_thinking(), *self._flush_text()]
        for call in self._calls:
            if not call.name:
                raise ProviderError("A tool call in the reply has no name.", status="malformed", usage=self.usage)
            out.append(Item(ToolCall(self._distinct(call.call_id), call.name, "".join(call.arguments))))
        if not any(isinstance(item, Item) and not isinstance(item.message, Thinking) for item in out) and not (
            self._content
        ):
            raise ProviderError("The reply was empty.", status="malformed", usage=self.usage)
        return out

    def _distinct(self, call_id: str) -> str:
        base = call_id or f"call_{len(self._taken) + 1:04d}"
        name, number = base, 2
        while name in self._taken:
            name, number = f"{base}#{number}", number + 1
        self._taken.add(name)
        return name

    def _flush_text(self) -> list[StreamEvent]:
        text, self._text = "".join(self._text), []
        if not text.strip():
            return []
        self._content = True
        return [Item(Text("assistant", text))]

    def _flush_thinking(self) -> list[StreamEvent]:
        text, self._thinking = "".join(self._thinking), []
        return [Item(Thinking(text, {"reasoning_field": self._thinking_field}))] if text else []


def _content(content: object) -> str:
    """Return the text of a content delta: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(
            part["text"] for part in content if isinstance(part, Mapping) and isinstance(part.get("text"), str)
        )
    return ""


def usage_of(usage: object) -> Usage | None:
    """Return the tokens a server counted, or None where it did not say (EVOLUTION 2.5 no. 59)."""
    if not isinstance(usage, Mapping):
        return None
    prompt, output = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if prompt is None or output is None:
        return None
    details = usage.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, Mapping) else None
    if cached is None:
        cached = _count(usage.get("prompt_cache_hit_tokens"))
    cached = min(cached or 0, prompt)
    return Usage(cached, prompt - cached, output)


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        return None
    return int(value)
