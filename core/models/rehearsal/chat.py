"""The rehearsal model's side of the chat-completions wire format: JSON in, a Request; a reply, chunks out.

A Request's texts, calls and outputs survive the way over the wire, so the served model replies as the one in process
does. What the format has no place for (who stands behind a user text, thinking) the roles never look at.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from core.models.interface import Message, ModelRef, Request, Text, Thinking, ToolCall, ToolOutput, ToolSpec, Usage
from core.models.rehearsal.transcript import Reply

_PIECES = 3  # in which a call's arguments are streamed


class ChatError(ValueError):
    """A body that is no chat-completions request; the text says where."""


def request_of(body: Mapping[str, Any]) -> Request:
    """Return the Request that a body asks for. Raises ChatError."""
    model, entries = body.get("model"), body.get("messages")
    if not isinstance(model, str) or not isinstance(entries, list):
        raise ChatError("'model' must be a string and 'messages' a list")
    system: list[str] = []
    messages: list[Message] = []
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise ChatError(f"messages[{number}] is no object")
        role = entry.get("role")
        if role in ("system", "developer"):
            system.append(_content(entry))
        elif role == "user":
            messages.append(Text("user", _content(entry)))
        elif role == "assistant":
            messages += _spoken(entry, number)
        elif role == "tool":
            messages.append(ToolOutput(str(entry.get("tool_call_id", "")), _content(entry)))
        else:
            raise ChatError(f"messages[{number}] has the unknown role {role!r}")
    seed = body.get("seed")
    return Request(
        model=ModelRef("rehearsal", model),
        system_prompt="\n".join(system),
        messages=tuple(messages),
        tools=tuple(_tools(body.get("tools") or [])),
        seed=seed if isinstance(seed, int) and not isinstance(seed, bool) else None,
    )


def _content(entry: Mapping[str, Any]) -> str:
    content = entry.get("content")
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    raise ChatError("a message's content is neither a text nor a list of parts")


def _spoken(entry: Mapping[str, Any], number: int) -> list[Message]:
    spoken: list[Message] = []
    if text := _content(entry):
        spoken.append(Text("assistant", text))
    for call in entry.get("tool_calls") or []:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise ChatError(f"messages[{number}] holds a tool call without a function")
        spoken.append(ToolCall(str(call.get("id", "")), function["name"], str(function.get("arguments", ""))))
    return spoken


def _tools(entries: Sequence[Any]) -> Iterator[ToolSpec]:
    for entry in entries:
        function = entry.get("function") if isinstance(entry, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise ChatError("a tool has no function with a name")
        yield ToolSpec(function["name"], str(function.get("description", "")), function.get("parameters") or {})


def chunks(identifier: str, model: str, reply: Reply, usage: Usage | None, *, with_usage: bool) -> Iterator[str]:
    """Yield the JSON of each streamed chunk: texts, calls in pieces, the finish, then usage where it was asked for."""

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _dump({**_head(identifier, model, "chat.completion.chunk"), "choices": [choice]})

    yield chunk({"role": "assistant", "content": ""})
    for piece in _texts(reply):
        yield chunk({"content": piece})
    for index, call in enumerate(_calls(reply)):
        named = {"index": index, "id": call.call_id, "type": "function"}
        yield chunk({"tool_calls": [{**named, "function": {"name": call.name, "arguments": ""}}]})
        for piece in _pieces(call.arguments):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, "tool_calls" if any(True for _ in _calls(reply)) else "stop")
    if with_usage and usage is not None:
        yield _dump({**_head(identifier, model, "chat.completion.chunk"), "choices": [], "usage": _usage(usage)})


def completion(identifier: str, model: str, reply: Reply, usage: Usage | None) -> str:
    """Return the JSON of a whole reply, for a client that doesn't stream."""
    calls = [
        {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in _calls(reply)
    ]
    text = "".join(message.text for message in reply if isinstance(message, Text))
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    document: dict[str, Any] = {**_head(identifier, model, "chat.completion"), "choices": [choice]}
    if usage is not None:
        document["usage"] = _usage(usage)
    return _dump(document)


def _dump(document: Mapping[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=True)


def _head(identifier: str, model: str, kind: str) -> dict[str, Any]:
    return {"id": identifier, "object": kind, "created": 0, "model": model}


def _texts(reply: Reply) -> Iterator[str]:
    for message in reply:
        if isinstance(message, Text):
            yield from _pieces(message.text)
        elif isinstance(message, Thinking):
            continue


def _calls(reply: Reply) -> Iterator[ToolCall]:
    return (message for message in reply if isinstance(message, ToolCall))


def _pieces(text: str) -> Iterator[str]:
    step = max(1, -(-len(text) // _PIECES))
    return (text[start : start + step] for start in range(0, len(text), step))


def _usage(usage: Usage) -> dict[str, Any]:
    prompt = usage.cache_read + usage.cache_write
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output,
        "total_tokens": prompt + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    }
