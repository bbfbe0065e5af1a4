"""A conversation read back: which calls were made, what they answered, and what the engine last said of its state.

The rehearsal roles keep no memory. Each reply is derived from the request alone, so that it is the same in process,
over HTTP and after a crash; this module is the one place where they look back.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from core.models.interface import Request, Text, Thinking, ToolCall, ToolOutput

Reply = tuple[Text | Thinking | ToolCall, ...]
# How a file tool says that it has nothing to give.
_NOT_THERE = re.compile(
    r"\A(?:\{\"ok\": ?false.*|\[?[Ee]rror: [^\n]{0,4000}|Tool call denied by (?:user|policy)\..*|"
    r"\[interrupted[^\n]{0,400})\s*\Z",
    re.DOTALL,
)
STEERING = re.compile(r"\[user_steering\]\n(.*)\n\[/user_steering\]", re.DOTALL)
"""A word that the operator put in while a turn ran."""
_HARNESS = ("[user_steering]", "[turn_aborted]", "[background_task_done]")
_FIELD = re.compile(r"^\s*([a-z_]+):[ \t]*(.*?)\s*$")


@dataclass(frozen=True, slots=True)
class Step:
    """One tool call of the conversation.

    `arguments` is None where the JSON text was no object; `output` is None while the call is unanswered; `answer`
    is the output as a JSON object where it is one; `turn` is the number of the reply that made the call, from 1.
    """

    name: str
    arguments: Mapping[str, Any] | None
    output: str | None
    answer: Mapping[str, Any] | None
    turn: int

    @property
    def ok(self) -> bool:
        """Whether an engine tool did it."""
        return self.answer is not None and self.answer.get("ok") is True

    @property
    def refused(self) -> str | None:
        """The code of an engine tool's refusal, or None."""
        if self.answer is None or self.answer.get("ok") is not False:
            return None
        return str(self.answer.get("refused", ""))

    def argument(self, name: str) -> str:
        """Return an argument as text, empty where there is none."""
        value = (self.arguments or {}).get(name)
        return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class Transcript:
    """The conversation so far. `turn` counts the replies that were given; `state` is the engine's newest one."""

    first_user: str
    user_texts: tuple[str, ...]
    steps: tuple[Step, ...]
    state: Mapping[str, Any]
    turn: int

    @classmethod
    def of(cls, request: Request) -> Transcript:
        """Read a request's messages."""
        outputs = {message.call_id: message.output for message in request.messages if isinstance(message, ToolOutput)}
        users: list[str] = []
        steps: list[Step] = []
        turn, speaking = 0, False
        for message in request.messages:
            from_model = isinstance(message, Thinking | ToolCall) or (
                isinstance(message, Text) and message.role == "assistant"
            )
            # A reply may be several messages; a new one begins when something else stood between.
            if from_model and not speaking:
                turn += 1
            speaking = from_model
            if isinstance(message, Text) and message.role == "user":
                users.append(message.text)
            elif isinstance(message, ToolCall):
                output = outputs.get(message.call_id)
                steps.append(
                    Step(message.name, json_object(message.arguments), output, json_object(output or ""), turn)
                )
        return cls(users[0] if users else "", tuple(users), tuple(steps), _newest_state(request), turn)

    def of_tool(self, *names: str) -> Iterator[Step]:
        """Yield the steps of the named tools, oldest first."""
        return (step for step in self.steps if step.name in names)

    def last(self, *names: str) -> Step | None:
        """Return the newest step of the named tools."""
        return next((step for step in reversed(self.steps) if step.name in names), None)

    def done(self, name: str) -> Step | None:
        """Return the newest step of the tool that the engine carried out."""
        return next((step for step in reversed(self.steps) if step.name == name and step.ok), None)

    def file(self, path: str) -> str | None:
        """Return the text that `read_file` last gave for `path`, or None if it was not read or not found."""
        found = (
            step.output
            for step in reversed(self.steps)
            if step.name == "read_file" and step.argument("file_path") == path and step.output is not None
        )
        text = next(found, None)
        return None if text is None or _NOT_THERE.match(text) else text

    def asked(self, path: str) -> bool:
        """Tell whether `read_file` was called for `path` and answered, with whatever answer."""
        return any(
            step.name == "read_file" and step.argument("file_path") == path and step.output is not None
            for step in self.steps
        )


def newest_prompt(request: Request) -> Request:
    """Return the request from its newest prompt on: what a chat asks now, and what was done about it so far."""
    places = [
        place
        for place, message in enumerate(request.messages)
        if isinstance(message, Text) and message.role == "user" and not message.text.startswith(_HARNESS)
    ]
    return replace(request, messages=request.messages[places[-1] :]) if places else request


def json_object(text: str) -> Mapping[str, Any] | None:
    """Return the JSON object that `text` is, or None."""
    stripped = text.lstrip()
    if not stripped.startswith("{"):
        return None
    try:
        value = json.loads(stripped)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _newest_state(request: Request) -> Mapping[str, Any]:
    for message in reversed(request.messages):
        if isinstance(message, ToolOutput):
            found = json_object(message.output)
        elif isinstance(message, Text) and message.role == "user" and not STEERING.fullmatch(message.text):
            found = _embedded_object(message.text)
        else:
            continue
        state = found.get("state") if found else None
        if isinstance(state, dict):
            return state
    return {}


def _embedded_object(text: str) -> Mapping[str, Any] | None:
    """Return a JSON object with a state that stands within a text of the harness."""
    at = text.find('{"')
    while at != -1:
        try:
            value, _ = json.JSONDecoder().raw_decode(text, at)
        except ValueError:
            value = None
        if isinstance(value, dict) and "state" in value:
            return value
        at = text.find('{"', at + 1)
    return None


def fields(text: str) -> dict[str, list[str]]:
    """Return the `key: value` lines of a first message; a key that occurs twice has two values."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if match := _FIELD.match(line):
            found.setdefault(match[1], []).append(match[2])
    return found


def call(request: Request, offset: int, name: str, arguments: Mapping[str, Any]) -> ToolCall:
    """Return a call, numbered by the calls that the conversation holds and its place `offset` in this reply."""
    made = sum(isinstance(message, ToolCall) for message in request.messages)
    return ToolCall(f"call_{made + offset + 1:04d}", name, json.dumps(arguments, ensure_ascii=False))


def draw(*parts: object) -> float:
    """Return a number in [0, 1) that depends on `parts` alone, the same on every machine."""
    digest = hashlib.sha256("\x1f".join(str(part) for part in parts).encode()).digest()
    return int.from_bytes(digest[:7], "big") / float(1 << 56)


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """Split a document into its leading `key: value` lines between `---` lines and its body."""
    lines = text.lstrip("\ufeff").splitlines()
    if not lines or lines[0].strip() != "---":
        return {}, text
    values: dict[str, str] = {}
    for number, line in enumerate(lines[1:], 1):
        if line.strip() == "---":
            return values, "\n".join(lines[number + 1 :]).strip("\n") + "\n"
        key, colon, value = line.partition(":")
        if colon:
            values[key.strip()] = value.strip()
    return {}, text
