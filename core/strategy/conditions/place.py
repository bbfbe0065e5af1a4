"""Where in its file a condition is wrong (STRATEGY S81).

A condition may be folded over several lines or stand in quotes, so that its own line and column aren't the file's.
Folding changes white space only: the n-th character that is none is the same in the file and in the value.
"""

from __future__ import annotations

import yaml

from core.strategy.conditions.errors import ConditionError
from core.strategy.documents.reading import Fault, Source, dotted


def fault_in(source: Source, path: tuple[str | int, ...], error: ConditionError) -> Fault:
    """Return the fault of a condition that stands at `path` of a file, with its line and column there."""
    line, column = source.place(path)
    node = source.node(path)
    if isinstance(node, yaml.ScalarNode):
        found = _place(source.text, node, error)
        line, column = found or (node.start_mark.line + 1, node.start_mark.column + 1)
    return Fault(source.file, line, column, dotted(path), error.reason)


def _place(text: str, node: yaml.ScalarNode, error: ConditionError) -> tuple[int, int] | None:
    """Return line and column, None where quotes hide them behind escapes."""
    lines = text.split("\n")
    number, column = node.start_mark.line, node.start_mark.column
    if node.style in {"|", ">"}:
        number, column = number + 1, 0  # the text begins below its sign
    elif node.style in {"'", '"'}:
        column += 1
        raw = "\n".join(lines[number : node.end_mark.line + 1])
        if ("\\" if node.style == '"' else "''") in raw:
            return None
    wanted = _solid_before(node.value, error)
    last = (number + 1, column + 1)
    while number < len(lines):
        for at in range(column, len(lines[number])):
            if lines[number][at].isspace():
                continue
            if wanted == 0:
                return number + 1, at + 1
            wanted -= 1
            last = (number + 1, at + 2)
            if wanted == 0 and _at_end(node.value, error):
                return last
        number, column = number + 1, 0
    return last


def _offset(value: str, error: ConditionError) -> int:
    lines = value.split("\n")
    return sum(len(line) + 1 for line in lines[: error.line - 1]) + error.column - 1


def _solid_before(value: str, error: ConditionError) -> int:
    return sum(not sign.isspace() for sign in value[: _offset(value, error)])


def _at_end(value: str, error: ConditionError) -> bool:
    return not value[_offset(value, error) :].strip()
