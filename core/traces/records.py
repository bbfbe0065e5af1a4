"""The records of a trace as typed builders, and the one way a record becomes a line of bytes.

A record is a pair (type, payload); the writer adds the timestamp. Field names and their order are those of the
shared format (EVOLUTION 2.4 no. 50 to 52, 2.5 no. 55 to 59), so that a trace of ours reads like any other.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

Record = tuple[str, dict[str, Any]]
Status = Literal["completed", "failed", "aborted", "timeout", "malformed", "auth"]
Decision = Literal["allow", "deny", "forbidden"]

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_DEEPEST = 64


class TokenCounts(Protocol):
    """Tokens of a request or a Session (EVOLUTION 2.5 no. 59); the models' `Usage` is one."""

    @property
    def cache_read(self) -> int: ...

    @property
    def cache_write(self) -> int: ...

    @property
    def output(self) -> int: ...


class ToolDescription(Protocol):
    """A tool as it is announced; the models' `ToolSpec` is one."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def parameters(self) -> Mapping[str, Any]: ...


def session_meta(
    *,
    session_id: str,
    provider: str,
    model_id: str,
    model_context_window: int | None,
    system_prompt: str,
    agent_state: str | os.PathLike[str],
    workspace: str | os.PathLike[str],
    source: str | None = None,
) -> Record:
    """Head of every shard. `source` is "subagent" or "schedule"; a Target's Session has none."""
    payload: dict[str, Any] = {
        "session_id": session_id,
        "provider": provider,
        "model_id": model_id,
        "model_context_window": "unknown" if model_context_window is None else model_context_window,
        "system_prompt": system_prompt,
        "agent_state": os.fspath(agent_state),
        "workspace": os.fspath(workspace),
    }
    if source is not None:
        payload["source"] = source
    return "session_meta", payload


def user_text(text: str, *, sender: str = "user", stop_reason: Status = "completed", mail: str | None = None) -> Record:
    """A user's text; `sender` parent_agent, harness or server says that it was not the user who wrote it.

    `mail` is the id of the operator's word that it hands over, so that a resumed Session knows which it has read.
    """
    payload: dict[str, Any] = {"type": "text", "role": "user", "text": text, "stop_reason": stop_reason}
    if sender != "user":
        payload["sender"] = sender
    if mail is not None:
        payload["mail"] = mail
    return "model_msg", payload


def assistant_text(
    text: str, *, stop_reason: Status = "completed", fidelity: Mapping[str, Any] | None = None
) -> Record:
    """A complete text of the model."""
    payload: dict[str, Any] = {"type": "text", "role": "assistant", "text": text, "stop_reason": stop_reason}
    return "model_msg", _with_fidelity(payload, fidelity)


def thinking(text: str, *, stop_reason: Status = "completed", fidelity: Mapping[str, Any] | None = None) -> Record:
    """A complete piece of the model's thinking; `fidelity` is what its provider wants back with it."""
    payload: dict[str, Any] = {"type": "thinking", "role": "assistant", "thinking": text, "stop_reason": stop_reason}
    return "model_msg", _with_fidelity(payload, fidelity)


def tool_call(
    call_id: str,
    name: str,
    arguments: str,
    *,
    stop_reason: Status = "completed",
    fidelity: Mapping[str, Any] | None = None,
) -> Record:
    """A call; `arguments` is the JSON text as the model wrote it, possibly invalid."""
    payload: dict[str, Any] = {
        "type": "tool_call",
        "role": "assistant",
        "name": name,
        "arguments": arguments,
        "tool_call_id": call_id,
        "stop_reason": stop_reason,
    }
    return "model_msg", _with_fidelity(payload, fidelity)


def tool_call_output(
    call_id: str, output: str, *, stop_reason: Status = "completed", images: Sequence[str] = ()
) -> Record:
    """The answer to a call; `images` are data URLs."""
    payload: dict[str, Any] = {"type": "tool_call_output", "role": "user", "output": output}
    if images:
        payload["images"] = list(images)
    payload["tool_call_id"] = call_id
    payload["stop_reason"] = stop_reason
    return "model_msg", payload


def approval_decision(decision: Decision, call_id: str, reason: str = "") -> Record:
    """What the approval mode, a person or the command policy said to a call; `reason` is the person's."""
    payload: dict[str, Any] = {"type": "approval_decision", "decision": decision, "tool_call_id": call_id}
    if reason:
        payload["reason"] = reason
    return "event_msg", payload


def abort(reason: str | None = None) -> Record:
    """The end of a turn that was broken off."""
    payload: dict[str, Any] = {"type": "abort"}
    if reason is not None:
        payload["reason"] = reason
    return "event_msg", payload


def token_usage(session: TokenCounts, request: TokenCounts) -> Record:
    """Tokens of the request just done, and of the Session so far (children not included)."""
    return "event_msg", {"type": "token_usage", "session": _counts(session), "request": _counts(request)}


def request_begin() -> Record:
    """A request goes out to the model."""
    return "event_msg", {"type": "request_begin"}


def request_end(
    status: Status = "completed",
    *,
    error_message: str | None = None,
    attempt: int | None = None,
    retry_in_ms: int | None = None,
) -> Record:
    """A request came back or failed; `retry_in_ms` says that it will be tried again, after that many milliseconds."""
    payload: dict[str, Any] = {"type": "request_end", "status": status}
    if error_message is not None:
        payload["error_message"] = error_message
    if attempt is not None:
        payload["attempt"] = attempt
    if retry_in_ms is not None:
        payload["retry_in_ms"] = retry_in_ms
    return "event_msg", payload


def subagent(session_id: str) -> Record:
    """A pointer to a child Session (EVOLUTION 2.6 no. 65)."""
    return "event_msg", {"type": "subagent", "session_id": session_id}


def tool_list_ready(tools: Iterable[ToolDescription]) -> Record:
    """The tools that the model is offered."""
    listed = [
        {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)} for tool in tools
    ]
    return "event_msg", {"type": "tool_list_ready", "tools": listed}


def compaction_begin(
    reason: Literal["context", "turns", "manual"], mode: Literal["summarize", "discard"], *, context: int, turns: int
) -> Record:
    """The conversation is about to be replaced by its summary, or dropped."""
    return "event_msg", {
        "type": "compaction_begin",
        "reason": reason,
        "mode": mode,
        "context": context,
        "turns": turns,
    }


def compaction_end(
    reason: Literal["context", "turns", "manual"],
    mode: Literal["summarize", "discard"],
    status: Status,
    *,
    attempt: int | None = None,
    error_message: str | None = None,
) -> Record:
    """The compaction is over; the next record belongs into the next shard."""
    payload: dict[str, Any] = {"type": "compaction_end", "reason": reason, "mode": mode, "status": status}
    if attempt is not None:
        payload["attempt"] = attempt
    if error_message is not None:
        payload["error_message"] = error_message
    return "event_msg", payload


def encode(record: Record, timestamp: str) -> bytes:
    """Return the line of `record`, newline included: JSON without spaces, UTF-8 as it stands.

    Lone surrogates become escapes and non-finite numbers null, as the existing system's serializer writes them; what
    is nested deeper than any reader goes is cut. So no text a model wrote can keep a record from being written.
    """
    kind, payload = record
    envelope = {"timestamp": timestamp, "type": kind, "payload": payload}
    try:
        line = _dumps(envelope)
    except (ValueError, RecursionError):
        line = _dumps(_writable(envelope, 0))
    try:
        return line.encode() + b"\n"
    except UnicodeEncodeError:
        # Two halves of one character that came apart are joined first, as a UTF-16 writer would see them.
        joined = line.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return _LONE_SURROGATE.sub(lambda half: f"\\u{ord(half.group()):04x}", joined).encode() + b"\n"


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _writable(value: object, depth: int) -> object:
    if depth > _DEEPEST:
        return "(nested too deep)" if isinstance(value, Mapping | list | tuple) else value
    if isinstance(value, Mapping):
        return {key: _writable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_writable(item, depth + 1) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _with_fidelity(payload: dict[str, Any], fidelity: Mapping[str, Any] | None) -> dict[str, Any]:
    if fidelity is not None:
        payload["fidelity"] = dict(fidelity)
    return payload


def _counts(counts: TokenCounts) -> dict[str, int]:
    total = counts.cache_read + counts.cache_write + counts.output
    return {
        "cache_read": counts.cache_read,
        "cache_write": counts.cache_write,
        "output": counts.output,
        "total": total,
    }
