"""Reading a curator's calls out of its answer: `<tool_call>` blocks, the older markers, and native calls (K2).

Qwen3 and its kin write `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`, agents of the earlier style
`✿FUNCTION✿: name` and `✿ARGS✿: {...}` (CURATION 1.2). Each attempt at a call becomes a `Call`, a broken one too: what
doesn't parse is an invalid call, not a missing one. JSON is taken strictly and never repaired; text between calls is
not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from core.foundation import strict_json
from core.skillrepo.operations import Call

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_FUNCTION, _ARGS = "✿FUNCTION✿", "✿ARGS✿"
_START = re.compile(f"{_OPEN}|{_FUNCTION}")
_BLOCK_END = re.compile(f"{_CLOSE}|{_OPEN}")
_MARK = re.compile(f"✿(?:FUNCTION|ARGS|RESULT|RETURN)✿|{_OPEN}")
_COLON = re.compile(r"[ \t]*[:：]?")
_THINK, _THOUGHT = "<think>", "</think>"


def parse(text: str) -> tuple[Call, ...]:
    """Return the calls that `text` makes, in order. Never raises.

    What stands in a leading `<think>` block is thought, not said.
    """
    calls: list[Call] = []
    at = _after_thought(text)
    while found := _START.search(text, at):
        call, at = _block(text, found.start()) if found.group() == _OPEN else _marked(text, found.start())
        calls.append(call)
    return tuple(calls)


def from_native(name: str, arguments: str | Mapping[str, Any] | None) -> Call:
    """Return the call that a provider's own tool calling gave: a name and its arguments as JSON text (or read)."""
    if isinstance(arguments, Mapping):
        try:
            arguments = strict_json.dumps(dict(arguments))
        except (TypeError, ValueError, RecursionError) as error:
            return Call(name, None, "", "native", f"the arguments are no JSON: {error}")
    try:
        value = strict_json.parse(arguments or "", unique=True)
    except ValueError as error:
        return Call(name, None, arguments or "", "native", f"the arguments are no JSON: {error}")
    if not isinstance(value, dict):
        return Call(name, None, arguments or "", "native", "the arguments are no JSON object")
    return Call(name, value, arguments or "", "native")


def render(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a call as the literal `<tool_call>` block that `parse` reads back."""
    return f"{_OPEN}\n{strict_json.dumps({'name': name, 'arguments': dict(arguments)})}\n{_CLOSE}"


def _after_thought(text: str) -> int:
    begin = len(text) - len(text.lstrip())
    if not text.startswith(_THINK, begin):
        return 0
    end = text.find(_THOUGHT, begin)
    return end + len(_THOUGHT) if end >= 0 else len(text)


def _block(text: str, start: int) -> tuple[Call, int]:
    """Read the `<tool_call>` block at `start`; return the call and where to read on."""
    inside = start + len(_OPEN)
    try:
        value, end = strict_json.parse_prefix(text, inside, unique=True)
    except ValueError as error:
        # Whatever it is, the next tag ends it: a broken block must not swallow the one after it.
        tag = _BLOCK_END.search(text, inside)
        after = (tag.end() if tag.group() == _CLOSE else tag.start()) if tag else len(text)
        what = "not closed by </tool_call>" if tag is None else f"no JSON: {error}"
        return Call("", None, text[start:after], "tool_call", f"the block is {what}"), after
    tag = _BLOCK_END.search(text, end)
    if tag is None or tag.group() == _OPEN:
        after = tag.start() if tag else len(text)
        problem = "the block is not closed by </tool_call>"
    else:
        after = tag.end()
        problem = "text follows the JSON in the block" if text[end : tag.start()].strip() else ""
    return _from_object(value, text[start:after], problem), after


def _from_object(value: object, raw: str, problem: str) -> Call:
    if not isinstance(value, dict):
        return Call("", None, raw, "tool_call", problem or "the block holds no JSON object")
    name = value.get("name")
    arguments = value.get("arguments")
    if not isinstance(name, str):
        return Call("", None, raw, "tool_call", problem or "the block has no name")
    unknown = next((key for key in value if key not in {"name", "arguments"}), None)
    if unknown is not None:
        problem = problem or f"unknown key {unknown[:80]!r} beside name and arguments"
    if not isinstance(arguments, dict):
        return Call(name, None, raw, "tool_call", problem or "the arguments are no JSON object")
    return Call(name, None if problem else arguments, raw, "tool_call", problem)


def _marked(text: str, start: int) -> tuple[Call, int]:
    """Read `✿FUNCTION✿: name` and `✿ARGS✿: {...}` at `start`; return the call and where to read on."""
    mark = _MARK.search(text, start + len(_FUNCTION))
    named = text[_past_colon(text, start + len(_FUNCTION)) : mark.start() if mark else len(text)].strip()
    name = named.split("\n", 1)[0].strip()
    if mark is None or mark.group() != _ARGS:
        after = mark.start() if mark else len(text)
        return Call(name, None, text[start:after], "marker", f"no {_ARGS} follows"), after
    inside = _past_colon(text, mark.end())
    try:
        value, end = strict_json.parse_prefix(text, inside, unique=True)
    except ValueError as error:
        following = _MARK.search(text, inside)
        after = following.start() if following else len(text)
        return Call(name, None, text[start:after], "marker", f"the arguments are no JSON: {error}"), after
    following = _MARK.search(text, end)
    after = following.start() if following else len(text)
    raw = text[start:after]
    if text[end:after].strip():
        return Call(name, None, raw, "marker", "text follows the arguments"), after
    if not isinstance(value, dict):
        return Call(name, None, raw, "marker", "the arguments are no JSON object"), after
    return Call(name, value, raw, "marker"), after


def _past_colon(text: str, at: int) -> int:
    found = _COLON.match(text, at)
    return found.end() if found else at
