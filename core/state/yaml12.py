"""YAML as the shared format means it: the 1.2 core schema, strictly (EVOLUTION 2.3 no. 48 and 49).

PyYAML reads the older 1.1, where `no` is a boolean, `12:30:45` a number, `2026-01-01` a date and the last of two
equal keys wins. Here only null, true/false, decimal, 0o, 0x and float scalars are typed; dates and `<<` are plain
text; equal keys, several documents, undefined or circular aliases are refused, with line and column.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Protocol

import yaml

from core.foundation.errors import DamagedError

_NULL = re.compile(r"(?:~|null|Null|NULL|)\Z")
_TRUE = re.compile(r"(?:true|True|TRUE)\Z")
_FALSE = re.compile(r"(?:false|False|FALSE)\Z")
_INT = re.compile(r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)\Z")
_FLOAT = re.compile(
    r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+|[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"
)
_PREFIX = "tag:yaml.org,2002:"
_STR, _SEQ, _MAP = _PREFIX + "str", _PREFIX + "seq", _PREFIX + "map"

# PyYAML refuses control characters and, as 1.1 says, breaks lines at NEL, LS and PS. The format's own writers let
# them stand inside text, so they travel through the scanner as plane-15 private-use characters.
_TRAVELLERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_PRIVATE = 0xF0000
_PRIVATE_RANGE = re.compile("[\U000f0000-\U000fffff]")

_MAX_NODES = 5_000_000  # with aliases expanded: a file of a few lines cannot ask for the memory of the machine
_MAX_DEPTH = 200


class YamlError(DamagedError):
    """A text is not one YAML 1.2 document. `line` and `column` count from 1; 0 where they are unknown."""

    def __init__(self, message: str, *, line: int = 0, column: int = 0, hint: str = "") -> None:
        super().__init__(f"line {line}, column {column}: {message}" if line else message, hint=hint)
        self.reason = message
        self.line = line
        self.column = column


class _CoreResolver(yaml.resolver.BaseResolver):
    """Gives plain scalars the tags of the 1.2 core schema."""

    def resolve(self, kind: type[yaml.Node], value: str | None, implicit: tuple[bool, bool]) -> str:
        if kind is not yaml.ScalarNode:
            return _SEQ if kind is yaml.SequenceNode else _MAP
        return _plain_tag(value or "") if implicit[0] else _STR


def _plain_tag(value: str) -> str:
    first = value[:1]
    if first and first not in "-+.0123456789~nNtTfF":
        return _STR
    if _NULL.match(value):
        return _PREFIX + "null"
    if _INT.match(value):
        return _PREFIX + "int"
    if _FLOAT.match(value):
        return _PREFIX + "float"
    return _PREFIX + "bool" if _TRUE.match(value) or _FALSE.match(value) else _STR


class _PythonComposer(
    yaml.reader.Reader, yaml.scanner.Scanner, yaml.parser.Parser, yaml.composer.Composer, _CoreResolver
):
    """The pure Python reader; its marks carry exact offsets, so edits use it."""

    def __init__(self, text: str) -> None:
        yaml.reader.Reader.__init__(self, text)
        yaml.scanner.Scanner.__init__(self)
        yaml.parser.Parser.__init__(self)
        yaml.composer.Composer.__init__(self)
        _CoreResolver.__init__(self)


class _Composer(Protocol):
    def __init__(self, text: str) -> None: ...
    def get_single_node(self) -> yaml.Node | None: ...


def _fast_composer() -> type[_Composer]:
    from yaml._yaml import CParser  # part of PyYAML where libyaml is built in, ten times faster

    class FastComposer(CParser, _CoreResolver):
        def __init__(self, text: str) -> None:
            CParser.__init__(self, text)
            _CoreResolver.__init__(self)

    return FastComposer


_FAST: type[_Composer] = _fast_composer() if yaml.__with_libyaml__ else _PythonComposer


def compose(text: str, *, exact: bool = False) -> yaml.Node | None:
    """Return the node tree of the one document in `text`, None for an empty one.

    Raises YamlError. `exact` uses the slower reader whose marks hold character offsets (`mark.index`).
    """
    depth = _flow_depth(text)
    if depth > _MAX_DEPTH:
        raise YamlError(f"nested {depth} deep; at most {_MAX_DEPTH} levels are read")
    travelled = _TRAVELLERS.search(text) is not None and not _PRIVATE_RANGE.search(text)
    stream = _TRAVELLERS.sub(lambda m: chr(_PRIVATE + ord(m.group())), text) if travelled else text
    composer: type[_Composer] = _PythonComposer if exact else _FAST
    try:
        node = composer(stream).get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = " ".join(part for part in (error.context, error.problem) if part)
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise YamlError(reason or "not YAML", line=line, column=column) from error
    except yaml.YAMLError as error:
        raise YamlError(" ".join(str(error).split())) from error
    except RecursionError as error:
        raise YamlError("nested too deep to be read") from error
    if node is not None:
        _check_size(node)
        if travelled:
            _bring_back(node, set())
    return node


def _flow_depth(text: str) -> int:
    """Return how deep the text may nest at most: an upper bound, so that no scanner's stack overflows."""
    level = deepest = 0
    if text.count("[") + text.count("{") > _MAX_DEPTH:
        for bracket in re.findall(r"[\[\]{}]", text):
            level = level + 1 if bracket in "[{" else max(0, level - 1)
            deepest = max(deepest, level)
    dashes = re.search(rf"(?m)^[ \t]*(?:[-?:][ \t]+){{{_MAX_DEPTH},}}", text)
    return max(deepest, _MAX_DEPTH + 1) if dashes else deepest


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield key
            yield value
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value


def _error(node: yaml.Node, reason: str) -> YamlError:
    mark = node.start_mark
    return YamlError(reason, line=mark.line + 1, column=mark.column + 1) if mark else YamlError(reason)


def _check_size(root: yaml.Node) -> None:
    """Refuse circular aliases, and documents that grow past every memory once their aliases are expanded."""
    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()

    def size(node: yaml.Node, depth: int) -> int:
        if isinstance(node, yaml.ScalarNode):
            return 1
        known = sizes.get(id(node))
        if known is not None:
            return known
        if id(node) in open_nodes:
            raise _error(node, "an alias that contains itself")
        if depth > _MAX_DEPTH:
            raise _error(node, f"nested more than {_MAX_DEPTH} deep")
        open_nodes.add(id(node))
        total = 1 + sum(size(child, depth + 1) for child in _children(node))
        open_nodes.discard(id(node))
        if total > _MAX_NODES:
            raise _error(node, "too large once its aliases are expanded")
        sizes[id(node)] = total
        return total

    size(root, 0)


def _bring_back(node: yaml.Node, seen: set[int]) -> None:
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode):
        node.value = _PRIVATE_RANGE.sub(lambda m: chr(ord(m.group()) - _PRIVATE), node.value)
    for child in _children(node):
        _bring_back(child, seen)


def construct(node: yaml.Node | None) -> Any:
    """Return the value of a node: dict, list, str, int, float, bool or None. Raises YamlError on equal keys."""
    if node is None:
        return None
    if isinstance(node, yaml.ScalarNode):
        return _scalar_value(node)
    if isinstance(node, yaml.SequenceNode):
        return [construct(child) for child in node.value]
    result: dict[Any, Any] = {}
    seen: set[tuple[type, Any]] = set()
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise _error(key_node, "a list or mapping as a key")
        key = _scalar_value(key_node)
        if (type(key), key) in seen:
            raise _error(key_node, f"the key {key!r} is there twice")
        seen.add((type(key), key))
        result[key] = construct(value_node)
    return result


def _scalar_value(node: yaml.ScalarNode) -> str | float | bool | None:
    text: str = node.value
    tag: str = node.tag
    if tag == _STR or not tag.startswith(_PREFIX):
        return text
    name = tag[len(_PREFIX) :]
    if name == "timestamp":  # only an explicit tag gets here; the format turns such a value into ISO text
        return _timestamp(node)
    if name not in {"null", "bool", "int", "float"}:
        return text
    natural = _plain_tag(text)[len(_PREFIX) :]
    if name != natural and not (name == "float" and natural == "int"):
        raise _error(node, f"{text!r} is no {name}")
    if name == "null":
        return None
    if name == "bool":
        return bool(_TRUE.match(text))
    return _integer(text) if name == "int" else _float(text)


def _integer(text: str) -> int | float:
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    digits = text[2:] if base != 10 else text
    if len(digits) > 400:
        return -math.inf if text.startswith("-") else math.inf
    return int(digits, base)


def _float(text: str) -> float:
    lowered = text.lower()
    if lowered.endswith((".inf", ".nan")):
        return float(lowered.replace(".", ""))
    return float(text)


def _timestamp(node: yaml.ScalarNode) -> str:
    try:
        moment = datetime.fromisoformat(node.value.strip().replace("t", "T").replace("z", "Z"))
    except ValueError as error:
        raise _error(node, f"{node.value!r} is no timestamp") from error
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def load(text: str) -> Any:
    """Return the value of the one document in `text` (None for an empty one). Raises YamlError.

    A boolean is never a number, `.nan` and `.inf` are floats: refusing them is the caller's part.
    """
    return construct(compose(text))
