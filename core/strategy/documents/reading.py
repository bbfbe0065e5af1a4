"""From a file's text to its record, every fault with file, line, column and the path of the key (STRATEGY S46, S81)."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from core.foundation.errors import UsageError
from core.foundation.visible import visible_line
from core.state import yaml12
from core.strategy.documents.model import Record
from core.strategy.documents.plan import Node
from core.strategy.documents.strategy import Strategy

Kind = TypeVar("Kind", bound=Record)
_MOST_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong in a file. `line` and `column` count from 1, 0 where they are unknown; `path` is the key's."""

    file: str
    line: int
    column: int
    path: str
    reason: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return visible_line(f"{place}: {self.path}: {self.reason}" if self.path else f"{place}: {self.reason}")


class FaultyFileError(UsageError):
    """A file of the strategy layer can't be taken as it is. `faults` has all that was found, in order."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        super().__init__(f"{faults[0]}{more}", hint="Every fault: exuvia strategy check")
        self.faults = faults


@dataclass(frozen=True, slots=True)
class Source:
    """A text with its node tree: where each path stands."""

    file: str
    root: yaml.Node | None
    text: str = ""

    def node(self, path: tuple[str | int, ...]) -> yaml.Node | None:
        """Return the node of the value at `path`, None where it isn't there."""
        node = self.root
        for part in path:
            inner = _inner(node, part)
            if inner is None:
                return None
            node = inner[1]
        return node

    def place(self, path: tuple[str | int, ...]) -> tuple[int, int]:
        """Return line and column of the value at `path`, of the nearest holder that is there where it isn't."""
        node, found = self.root, (1, 1)
        for part in path:
            inner = _inner(node, part)
            if inner is None:
                break
            key, node = inner
            found = (key.start_mark.line + 1, key.start_mark.column + 1)
        return found

    def fault(self, path: tuple[str | int, ...], reason: str) -> Fault:
        """Return a fault of the value at `path`."""
        return Fault(self.file, *self.place(path), dotted(path), reason)


def dotted(path: tuple[str | int, ...]) -> str:
    """Return a path as it is spoken of: plan.sequence[1].timeout_ms."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _inner(node: yaml.Node | None, part: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        return next(((key, value) for key, value in node.value if key.value == str(part)), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part], node.value[part]
    return None


def text_in(path: Path, name: str = "") -> str:
    """Return the text of a file as it is read here: UTF-8, line ends as newlines.

    Raises FaultyFileError for what is no regular file (a pipe would be waited for without end, a device may have
    none), for a larger one than any file of ours, and for what can't be read; `name` is how the file is spoken of.
    """
    name = name or path.name
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise FaultyFileError((Fault(name, 0, 0, "", "is no file"),))
            raw = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or str(error)
        raise FaultyFileError((Fault(name, 0, 0, "", f"can't be read: {told}"),)) from error
    if len(raw) > _MOST_BYTES:
        raise FaultyFileError((Fault(name, 0, 0, "", f"is larger than {_MOST_BYTES // 1024} KiB"),))
    try:
        return raw.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise FaultyFileError((Fault(name, 0, 0, "", "is not UTF-8"),)) from error


def read(text: str, kind: type[Kind], file: str) -> tuple[Kind, Source]:
    """Return the record in `text` and where its parts stand. Raises FaultyFileError; `file` names it there."""
    if len(text) > _MOST_BYTES:
        raise FaultyFileError((Fault(file, 0, 0, "", f"is larger than {_MOST_BYTES // 1024} KiB"),))
    try:
        root = yaml12.compose(text)
        value = yaml12.construct(root)
    except yaml12.YamlError as error:
        raise FaultyFileError((Fault(file, error.line, error.column, "", error.reason),)) from error
    source = Source(file, root, text)
    if not isinstance(value, dict):
        raise FaultyFileError((Fault(file, 1, 1, "", "is not a mapping of keys"),))
    try:
        made = kind.model_validate(value)
    except ValidationError as error:
        raise FaultyFileError(tuple(_faults(error, source, value))) from error
    if isinstance(made, Strategy) and made.plan is not None:
        made = made.model_copy(update={"plan": _with_lines(made.plan, _inner(root, "plan"))})
    return made, source


def _faults(error: ValidationError, source: Source, value: Any) -> list[Fault]:
    found: dict[str, Fault] = {}
    for one in error.errors(include_url=False, include_input=False, include_context=False):
        path = _real(one["loc"], value)
        fault = source.fault(path, _words(one["type"], one["msg"]))
        found.setdefault(str(fault), fault)
    return list(found.values())


def _real(loc: tuple[str | int, ...], value: Any) -> tuple[str | int, ...]:
    """Return pydantic's path without the names of union members and validators that it puts between keys."""
    path: list[str | int] = []
    for number, part in enumerate(loc):
        if _holds(value, part):
            value = value[part]
        elif number == len(loc) - 1 and isinstance(value, Mapping):
            value = None
        else:
            continue
        path.append(part)
    return tuple(path)


def _holds(value: Any, part: str | int) -> bool:
    if isinstance(value, Mapping):
        return part in value
    return isinstance(value, list) and isinstance(part, int) and part < len(value)


_SAID = {
    "missing": "is missing",
    "extra_forbidden": "is no key of this format",
    "string_pattern_mismatch": "isn't written as it must be",
}


def _words(kind: str, message: str) -> str:
    said = _SAID.get(kind)
    if kind == "string_pattern_mismatch":
        return f"{said} ({message.partition('pattern')[2].strip() or message})"
    return said or message.removeprefix("Value error, ")


def _with_lines(node: Node, entry: tuple[yaml.Node, yaml.Node] | None) -> Node:
    """Return the node and those that it holds with the lines where they stand."""
    if entry is None:
        return node
    place = entry[1]
    update: dict[str, Any] = {"line": place.start_mark.line + 1}
    if isinstance(place, yaml.SequenceNode):  # a list that stands for a sequence
        children = [(child, child) for child in place.value]
        update["sequence"] = tuple(map(_with_lines, node.sequence or (), children))
        return node.model_copy(update=update)
    if node.sequence is not None:
        update["sequence"] = _each(node.sequence, _inner(place, "sequence"))
    if node.parallel is not None:
        branches = _each(node.parallel.branches, _inside(place, "parallel", "branches"))
        update["parallel"] = node.parallel.model_copy(update={"branches": branches})
    if node.loop is not None:
        body = _with_lines(node.loop.do, _inside(place, "loop", "do"))
        update["loop"] = node.loop.model_copy(update={"do": body})
    if node.switch is not None:
        entries = _inner(place, "switch")
        held = entries[1].value if entries and isinstance(entries[1], yaml.SequenceNode) else []
        update["switch"] = tuple(
            case.model_copy(
                update={"do": _with_lines(case.do, _inner(at, "do"))}
                if case.do
                else {"otherwise": _with_lines(case.node, _inner(at, "else"))}
            )
            for case, at in zip(node.switch, held, strict=True)
        )
    if node.recover:
        update["recover"] = {
            code: rule
            if rule.do is None
            else rule.model_copy(update={"do": _with_lines(rule.do, _inside(place, "recover", code, "do"))})
            for code, rule in node.recover.items()
        }
    return node.model_copy(update=update)


def _inside(node: yaml.Node, *path: str) -> tuple[yaml.Node, yaml.Node] | None:
    entry: tuple[yaml.Node, yaml.Node] | None = (node, node)
    for part in path:
        entry = _inner(entry[1], part) if entry else None
    return entry


def _each(nodes: tuple[Node, ...], entry: tuple[yaml.Node, yaml.Node] | None) -> tuple[Node, ...]:
    held = entry[1].value if entry and isinstance(entry[1], yaml.SequenceNode) else []
    return tuple(_with_lines(node, (at, at)) for node, at in zip(nodes, held, strict=True))
