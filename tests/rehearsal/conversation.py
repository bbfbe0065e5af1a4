"""A Session in small: drives a provider's pure reply against functions that stand for tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.models.interface import Message, ModelRef, Request, Text, ToolCall, ToolOutput, ToolSpec
from core.models.rehearsal.transcript import Reply

Function = Callable[[Mapping[str, Any]], Any]
MODEL = ModelRef("rehearsal", "rehearsal-1")


@dataclass
class Conversation:
    """What was said and called. `speak` gives the reply to a request; `tools` maps a name to what answers it."""

    speak: Callable[[Request], Reply]
    tools: Mapping[str, Function]
    seed: int = 7
    messages: list[Message] = field(default_factory=list)
    called: list[tuple[str, Any]] = field(default_factory=list)

    def request(self) -> Request:
        specs = tuple(ToolSpec(name, name, {"type": "object"}) for name in self.tools)
        return Request(MODEL, "(system)", tuple(self.messages), specs, seed=self.seed)

    def turn(self, text: str, *, limit: int = 200) -> str:
        """Say `text`, answer calls until there are none, and return everything that was written meanwhile."""
        self.messages.append(Text("user", text))
        written: list[str] = []
        for _ in range(limit):
            reply = self.speak(self.request())
            assert reply, "a reply is never empty"
            self.messages += reply
            written += [message.text for message in reply if isinstance(message, Text)]
            calls = [message for message in reply if isinstance(message, ToolCall)]
            if not calls:
                return "\n".join(written)
            self.messages += [ToolOutput(call.call_id, self.answer(call)) for call in calls]
        raise AssertionError(f"no end after {limit} replies: {self.called[-5:]}")

    def answer(self, call: ToolCall) -> str:
        try:
            arguments = json.loads(call.arguments)
        except ValueError:
            self.called.append((call.name, None))
            return "Error: the arguments are not valid JSON."
        self.called.append((call.name, arguments))
        if call.name not in self.tools:
            return f"Error: there is no tool {call.name!r}."
        given = self.tools[call.name](arguments)
        return given if isinstance(given, str) else json.dumps(given)

    def names(self) -> list[str]:
        return [name for name, _ in self.called]
