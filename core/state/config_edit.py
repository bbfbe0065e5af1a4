"""Changing a few values of a YAML file so that every other byte stays: comments, order, unknown keys, quoting.

Each change is a splice at the marks of the node it names. The result is parsed and compared with what was wanted
before anyone sees it, so a text too clever for splicing is refused, never damaged (EVOLUTION 1.4 no. 11, App. C no. 3).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import yaml

from core.foundation.errors import DamagedError, UsageError
from core.state import yaml12
from core.state.yaml_text import flow, literal, scalar

_LEADING = ("name", "description")  # where such a key is new, it stands where a reader looks for it: at the top


def edited(text: str, changes: Mapping[str, Any]) -> str:
    """Return `text` with each dotted path of `changes` set to its value (text, number, bool, None, list, mapping).

    Missing keys and mappings are added. Raises YamlError where `text` is no YAML, UsageError where a path leads
    through something that is no mapping, DamagedError where the change cannot be spliced in safely.
    """
    for path, value in changes.items():
        text = _set(text, path, value)
    return text


def _set(text: str, path: str, value: Any) -> str:
    held = yaml12.load(text)
    if held is None:
        held = {}
    if not isinstance(held, dict):
        raise DamagedError("The file holds no mapping at the top.", hint="Repair it by hand.")
    wanted = _with(held, path.split("."), value, path)
    if repr(wanted) == repr(held) and _reaches(held, path.split(".")):
        return text
    for block_text in (True, False):
        spliced = _splice(text, path.split("."), value, block_text=block_text)
        try:
            if _equal(yaml12.load(spliced), wanted):
                return spliced
        except yaml12.YamlError:
            continue
    raise DamagedError(f"{path!r} is written in a way that cannot be edited safely.", hint="Edit the file by hand.")


def _reaches(held: Any, steps: list[str]) -> bool:
    for step in steps:
        if not isinstance(held, dict) or step not in held:
            return False
        held = held[step]
    return True


def _with(held: dict[Any, Any], steps: list[str], value: Any, path: str) -> dict[Any, Any]:
    result = copy.copy(held)
    if len(steps) == 1:
        result[steps[0]] = value
        return result
    inner = held.get(steps[0])
    if inner is not None and not isinstance(inner, dict):
        raise UsageError(f"{path!r} leads through {steps[0]!r}, which is no mapping.", hint="Check the key's name.")
    result[steps[0]] = _with(inner or {}, steps[1:], value, path)
    return result


def _equal(left: Any, right: Any) -> bool:
    """Equality that tells 1 from true, and takes the order of keys as no difference."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(_equal(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, float) or isinstance(right, float):
        return not isinstance(left, bool) and not isinstance(right, bool) and bool(left == right)
    return type(left) is type(right) and bool(left == right)


def _splice(text: str, steps: list[str], value: Any, *, block_text: bool) -> str:
    node = yaml12.compose(text, exact=True)
    if node is None:
        return _ended(text) + _entry(steps, value, 0, block_text=block_text, newline="\n")
    assert isinstance(node, yaml.MappingNode)
    for depth, step in enumerate(steps):
        pair = next((pair for pair in node.value if pair[0].value == step), None)
        rest = steps[depth:]
        if pair is None:
            return _insert(text, node, rest, value, block_text=block_text, at_top=depth == 0)
        if len(rest) > 1 and isinstance(pair[1], yaml.MappingNode):
            node = pair[1]
            continue
        new = value if len(rest) == 1 else _nested(rest[1:], value)
        return _replace(text, node, pair[1], new, block_text=block_text)
    raise AssertionError("a path has at least one step")


def _nested(steps: list[str], value: Any) -> Any:
    return {steps[0]: _nested(steps[1:], value)} if steps else value


def _replace(text: str, parent: yaml.MappingNode, old: yaml.Node, value: Any, *, block_text: bool) -> str:
    assert old.start_mark is not None
    start, end = old.start_mark.index, _content_end(text, old)
    block = block_text and not parent.flow_style
    new = _written(value, _column(parent) + 2, block=block, newline=_newline(text))
    gap = "" if start and text[start - 1].isspace() else " "
    return text[:start] + gap + new + text[end:]


def _insert(
    text: str,
    parent: yaml.MappingNode,
    steps: list[str],
    value: Any,
    *,
    block_text: bool,
    at_top: bool,
) -> str:
    assert parent.end_mark is not None
    if parent.flow_style:
        closing = parent.end_mark.index - 1
        comma = ", " if parent.value and not text[:closing].rstrip().endswith(",") else ""
        return text[:closing] + comma + f"{scalar(steps[0])}: {flow(_nested(steps[1:], value))}" + text[closing:]
    newline = _newline(text)
    entry = _entry(steps, value, _column(parent), block_text=block_text, newline=newline)
    if at_top and steps[0] in _LEADING:
        first_key, first_value = parent.value[0]
        if first_key.value != "name":
            return text[: first_key.start_mark.index] + entry + text[first_key.start_mark.index :]
        place = _line_end(text, _content_end(text, first_value))
    else:
        place = _line_end(text, _content_end(text, parent))
    return _ended(text[:place], newline) + entry + text[place:]


def _entry(steps: list[str], value: Any, column: int, *, block_text: bool, newline: str) -> str:
    pad = " " * column + scalar(steps[0]) + ":"
    if len(steps) > 1:
        return pad + newline + _entry(steps[1:], value, column + 2, block_text=block_text, newline=newline)
    return f"{pad} {_written(value, column + 2, block=block_text, newline=newline)}{newline}"


def _written(value: Any, indent: int, *, block: bool, newline: str) -> str:
    if block and isinstance(value, str) and "\n" in value:
        return literal(value, indent).replace("\n", newline)
    return scalar(value) if block and isinstance(value, str) else flow(value)


def _content_end(text: str, node: yaml.Node) -> int:
    """Return where the node's own text ends: before the comments and blank lines that its end mark takes in."""
    assert node.start_mark is not None
    assert node.end_mark is not None
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        if not isinstance(last, tuple):
            return _content_end(text, last)
        key, value = last
        key_end: int = key.end_mark.index
        return max(_content_end(text, value), key_end)
    start: int = node.start_mark.index
    end: int = node.end_mark.index
    return start + len(text[start:end].rstrip()) if end > start else end


def _column(node: yaml.Node) -> int:
    assert node.start_mark is not None
    return node.start_mark.column


def _line_end(text: str, index: int) -> int:
    found = text.find("\n", index)
    return len(text) if found < 0 else found + 1


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _ended(text: str, newline: str = "\n") -> str:
    return text if not text or text.endswith("\n") else text + newline
