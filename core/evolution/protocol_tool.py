"""The form every protocol tool has: strict arguments in, one JSON object out, one at a time, safe to call again.

An answer is `{"ok": true, ..., "state": {...}}` or `{"ok": false, "refused": code, "reason": text, "state": {...}}`.
A tool journals before it acts and looks at the journal first, so a call repeated after a crash completes what it
began and nothing twice.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from core.agents.tool import ToolContext, ToolResult
from core.evolution.events import EventName, Journal
from core.evolution.refusal import Refusal
from core.foundation.errors import ExuviaError
from core.models.interface import ToolSpec

WEEK_S = 7 * 86_400.0  # a dispatch runs as long as its cells do, a freeze waits for a person
OUTPUT_LIMIT = 200_000


class Arguments(BaseModel):
    """Arguments of a protocol tool; an unknown or missing one is refused, never guessed."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class NoArguments(Arguments):
    pass


class RefuseError(Exception):
    """A rule said no; the tool's answer carries the refusal."""

    def __init__(self, refusal: Refusal, **fields: Any) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal
        self.fields = fields


def require(refusal: Refusal | None) -> None:
    """Raise RefuseError where a rule said no."""
    if refusal is not None:
        raise RefuseError(refusal)


ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)
Fault = Callable[[Exception], Awaitable[None]]
Act = Callable[[ArgumentsT, ToolContext], Awaitable[dict[str, Any]]]


@dataclass(frozen=True)
class ProtocolTool(Generic[ArgumentsT]):
    """One door of the protocol. `turn` is shared by a run's tools: parallel calls pass one after the other.

    `fault` ends the run where an act fails by a fault of the engine.
    """

    spec: ToolSpec
    arguments: type[ArgumentsT]
    act: Act[ArgumentsT]
    state: Callable[[], Mapping[str, Any]]
    turn: asyncio.Lock
    journal: Journal
    fault: Fault
    permission: Literal["r", "rw"] = "rw"
    timeout_s: float = WEEK_S
    max_output: int = OUTPUT_LIMIT
    repeatable: bool = True

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        async with self.turn:
            if done := self.journal.of_call(context.call_id, EventName.TOOL_RESULT):
                return ToolResult(done[0]["output"])
            output = json.dumps(await self._answer(arguments, context), ensure_ascii=False, allow_nan=False)
            if self.permission == "rw":
                self.journal.append(EventName.TOOL_RESULT, call_id=context.call_id, tool=self.spec.name, output=output)
            return ToolResult(output)

    async def _answer(self, arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        try:
            parsed = self.arguments.model_validate(dict(arguments))
        except ValidationError as error:
            return self._refused(Refusal("bad_arguments", _told(error)), {})
        try:
            answer = await self.act(parsed, context)
        except RefuseError as refused:
            return self._refused(refused.refusal, refused.fields)
        except ExuviaError as error:
            # What the disk or another process said no to; the model can report it, and the operator reads it.
            return self._refused(Refusal("failed", f"{error} {error.hint}".strip()), {})
        except Exception as error:
            # A fault of our own is nothing a model could act on: the run ends and says so.
            await self.fault(error)
            raise
        return {"ok": True, **answer, "state": dict(self.state())}

    def _refused(self, refusal: Refusal, fields: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "ok": False,
            "refused": refusal.code,
            "reason": refusal.reason,
            **fields,
            "state": dict(self.state()),
        }


def protocol_tool(
    name: str,
    description: str,
    arguments: type[ArgumentsT],
    act: Act[ArgumentsT],
    state: Callable[[], Mapping[str, Any]],
    turn: asyncio.Lock,
    journal: Journal,
    fault: Fault,
    *,
    permission: Literal["r", "rw"] = "rw",
) -> ProtocolTool[ArgumentsT]:
    """Make a tool whose JSON schema is that of its arguments."""
    spec = ToolSpec(name, description, schema_of(arguments))
    return ProtocolTool(spec, arguments, act, state, turn, journal, fault, permission)


def schema_of(arguments: type[BaseModel]) -> dict[str, Any]:
    """Return a JSON schema without references or titles, as every provider takes it."""
    schema = arguments.model_json_schema()
    definitions = schema.pop("$defs", {})
    plain = _plain(schema, definitions)
    assert isinstance(plain, dict)
    plain.setdefault("properties", {})
    plain.pop("description", None)
    return plain


def _plain(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_plain(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        named = dict(definitions[str(node["$ref"]).rsplit("/", 1)[-1]])
        named.pop("description", None)  # a docstring of ours, not a word to a model
        return _plain({**named, **{key: value for key, value in node.items() if key != "$ref"}}, definitions)
    if "anyOf" in node and {"type": "null"} in node["anyOf"]:
        options = [option for option in node["anyOf"] if option != {"type": "null"}]
        if len(options) == 1:  # optional: it may be left out
            rest = {key: value for key, value in node.items() if key not in {"anyOf", "default"}}
            return _plain({**options[0], **rest}, definitions)
    return {
        # Under `properties` a key is an argument's name, never a word of the schema.
        key: {name: _plain(rule, definitions) for name, rule in value.items()}
        if key == "properties"
        else _plain(value, definitions)
        for key, value in node.items()
        if key != "title" or not isinstance(value, str)
    }


def _told(error: ValidationError) -> str:
    """Return what is wrong with the arguments, by place, for a model to mend."""
    told = [
        f"{'.'.join(str(part) for part in item['loc']) or 'arguments'}: {item['msg']}"
        for item in error.errors(include_url=False, include_input=False, include_context=False)
    ]
    more = f" (and {len(told) - 8} more)" if len(told) > 8 else ""
    return "The arguments are not as the tool's schema says: " + "; ".join(told[:8]) + more + ". Call again."
