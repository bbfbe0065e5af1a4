"""A Session's state as a fold of its trace records: live and resumed Sessions hold the same thing by construction.

A request counts iff its request_end says completed (EVOLUTION 2.6 no. 64): what came of a request that was cut is
dropped, so it can be asked for again. Outputs stand in the trace in completion order and reach the model in call
order. Of a turn that was aborted in the middle of a text, the text is shown to the model inside [turn_aborted].
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from core.models.interface import Message, Text, Thinking, ToolCall, ToolOutput, Usage

INTERRUPTED = "[interrupted: the engine was restarted while this ran; its effect is unknown, look before you repeat it]"
STOPPED = "[interrupted: the turn was ended before this finished; its effect is unknown, look before you repeat it]"

TurnStatus = Literal["completed", "aborted", "failed", "budget", "loop"]
Decision = Literal["allow", "deny", "forbidden"]

_STATUS_OF_PREFIX: tuple[tuple[str, TurnStatus], ...] = (
    ("budget:", "budget"),
    ("loop:", "loop"),
    ("llm request error:", "failed"),
)


@dataclass(slots=True)
class Turn:
    """What one prompt led to so far. `unknown_usage` counts completed requests whose tokens nobody told."""

    prompt: str
    sender: str
    texts: list[str] = field(default_factory=list)
    final_text: str = ""
    requests: int = 0
    usage: Usage = field(default_factory=Usage)
    unknown_usage: int = 0
    repeats: int = 0
    status: TurnStatus | None = None
    reason: str = ""

    @property
    def open(self) -> bool:
        return self.status is None


class Conversation:
    """The fold. Invariant: `messages` holds only what is committed, every call in it followed by its output."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.has_meta = False
        self.tools_announced = False
        self.turns: list[Turn] = []
        self.request_open = False
        self.session_usage = Usage()
        self.decisions: dict[str, Decision] = {}
        self.reasons: dict[str, str] = {}  # of decisions, by call, where a person gave one
        self.words: set[str] = set()  # ids of the operator's words that were read (see core.state.mailbox)
        self.call_ids: set[str] = set()
        self._items: list[Text | Thinking | ToolCall] = []
        self._request_usage: Usage | None = None
        self._awaited: list[ToolCall] = []
        self._outputs: dict[str, str] = {}
        self._late_texts: list[Text] = []
        self._last_exchange: object = None
        self._partial = ""

    @property
    def turn(self) -> Turn | None:
        """The current turn, open or closed; None before the first prompt."""
        return self.turns[-1] if self.turns else None

    @property
    def unfinished(self) -> bool:
        """Whether a turn has begun and not ended."""
        return bool(self.turns) and self.turns[-1].open

    def pending_calls(self) -> tuple[ToolCall, ...]:
        """Calls of committed requests without an output, in call order."""
        return tuple(call for call in self._awaited if call.call_id not in self._outputs)

    def apply(self, kind: str, payload: Mapping[str, Any]) -> None:
        """Fold one record in. Unknown kinds change nothing: a trace of a later engine still opens."""
        if kind == "session_meta":
            self.has_meta = True
        elif kind == "model_msg":
            self._message(payload)
        elif kind == "event_msg":
            self._event(payload)

    def _message(self, payload: Mapping[str, Any]) -> None:
        match payload.get("type"), payload.get("role"):
            case "text", "user":
                if isinstance(word := payload.get("mail"), str):
                    self.words.add(word)
                self._user_text(Text("user", str(payload.get("text", "")), payload.get("sender", "user")))
            case "text", _:
                self._items.append(Text("assistant", str(payload.get("text", ""))))
            case "thinking", _:
                self._items.append(Thinking(str(payload.get("thinking", "")), payload.get("fidelity")))
            case "tool_call", _:
                call = ToolCall(str(payload["tool_call_id"]), str(payload["name"]), str(payload.get("arguments", "")))
                self._items.append(call)
            case "tool_call_output", _:
                self._outputs[str(payload.get("tool_call_id"))] = str(payload.get("output", ""))
                self._settle()
            case _:
                pass

    def _user_text(self, text: Text) -> None:
        turn = self.turn
        if turn is not None and not turn.open and _continues(text):
            turn.status, turn.reason = None, ""
        elif turn is None or not turn.open:
            self.turns.append(Turn(text.text, text.sender))
            self._last_exchange = None
        else:
            turn.repeats = 0
            self._last_exchange = None
        if self._awaited:
            self._late_texts.append(text)
        else:
            self.messages.append(text)

    def _event(self, payload: Mapping[str, Any]) -> None:
        match payload.get("type"):
            case "tool_list_ready":
                self.tools_announced = True
            case "approval_decision":
                self.decisions[str(payload.get("tool_call_id"))] = payload.get("decision", "deny")
                if isinstance(reason := payload.get("reason"), str):
                    self.reasons[str(payload.get("tool_call_id"))] = reason
            case "request_begin":
                if self.request_open:  # the engine that began the one before is gone
                    self._drop(self._items)
                self.request_open, self._items, self._request_usage, self._partial = True, [], None, ""
            case "token_usage":
                self._usage(payload)
            case "request_end":
                self._request_end(payload)
            case "abort":
                self._abort(str(payload.get("reason") or ""))
            case _:
                pass

    def _usage(self, payload: Mapping[str, Any]) -> None:
        used = _usage_of(payload.get("request"))
        self._request_usage = used
        self.session_usage = self.session_usage + used
        if self.turn is not None:
            self.turn.usage = self.turn.usage + used

    def _request_end(self, payload: Mapping[str, Any]) -> None:
        self.request_open = False
        items, self._items = self._items, []
        turn = self.turn
        if payload.get("status") != "completed":
            self._drop(items)
            return
        if turn is None:
            return
        self.messages.extend(items)
        self.call_ids.update(item.call_id for item in items if isinstance(item, ToolCall))
        turn.requests += 1
        if self._request_usage is None:
            turn.unknown_usage += 1
        texts = [item.text for item in items if isinstance(item, Text)]
        turn.texts.extend(texts)
        self._awaited = [item for item in items if isinstance(item, ToolCall)]
        if texts or not self._awaited:
            turn.final_text = "\n".join(texts)
        if not self._awaited:
            turn.status = "completed"
        self._settle()

    def _drop(self, items: list[Text | Thinking | ToolCall]) -> None:
        """Forget a request that was cut; of a foreign engine that ran calls while it streamed, tell what they did."""
        self._partial = "\n".join(item.text for item in items if isinstance(item, Text))
        acted = [item for item in items if isinstance(item, ToolCall) and item.call_id in self._outputs]
        if acted:
            told = [f"{call.name} {call.arguments}\n{self._outputs.pop(call.call_id)}" for call in acted]
            self._present("\n".join([self._partial, *told]).strip())

    def _present(self, partial: str) -> None:
        self.messages.append(Text("user", f"[turn_aborted]\n{partial}\n[/turn_aborted]", "harness"))
        self._partial = ""

    def _settle(self) -> None:
        """When every awaited call is answered, hand the outputs over in call order."""
        if self.request_open or not self._awaited or self.pending_calls():
            return
        outputs = [ToolOutput(call.call_id, self._outputs[call.call_id]) for call in self._awaited]
        exchange = [(call.name, _canonical(call.arguments)) for call in self._awaited], [out.output for out in outputs]
        if self.turn is not None:
            self.turn.repeats = self.turn.repeats + 1 if exchange == self._last_exchange else 1
        self._last_exchange = exchange
        self.messages.extend(outputs)
        self.messages.extend(self._late_texts)
        self._awaited, self._outputs, self._late_texts = [], {}, []

    def _abort(self, reason: str) -> None:
        for call in self.pending_calls():
            self._outputs[call.call_id] = STOPPED
        if self.request_open:
            self.request_open = False
            items, self._items = self._items, []
            self._drop(items)
        self._settle()
        if self._partial:
            self._present(self._partial)
        turn = self.turn
        if turn is not None and turn.open:
            turn.reason = reason
            turn.status = next((status for prefix, status in _STATUS_OF_PREFIX if reason.startswith(prefix)), "aborted")


def _continues(text: Text) -> bool:
    """A text of the harness, or steering, goes on with the turn before it instead of opening one."""
    return text.sender == "harness" or text.text.startswith("[user_steering]")


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments


def _usage_of(counts: object) -> Usage:
    if not isinstance(counts, Mapping):
        return Usage()

    def count(name: str) -> int:
        value = counts.get(name)
        return int(value) if isinstance(value, int | float) and value > 0 else 0

    return Usage(count("cache_read"), count("cache_write"), count("output"))
