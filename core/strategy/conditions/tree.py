"""The tree of a condition. `at` is the place in its text, in characters from 0; two trees may be equal without it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, text, true, false or null. True and 1 differ here, though not in Python."""

    value: str | int | float | bool | None
    at: int = field(default=0, compare=False)
    _boolean: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_boolean", isinstance(self.value, bool))


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list that is written out."""

    items: tuple[Tree, ...]
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Path:
    """A name of the context; a number is a place in a list."""

    parts: tuple[str | int, ...]
    at: int = field(default=0, compare=False)

    @property
    def name(self) -> str:
        """How it is spoken of: order.items[0].id."""
        return spoken(self.parts)


@dataclass(frozen=True, slots=True)
class Call:
    """A function with its arguments."""

    name: str
    arguments: tuple[Tree, ...]
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Not:
    inner: Tree
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Tree, ...]
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Tree, ...]
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Compare:
    """`operator` is one of == != < <= > >= in."""

    operator: str
    left: Tree
    right: Tree
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Choice:
    """test ? yes : no"""

    test: Tree
    yes: Tree
    no: Tree
    at: int = field(default=0, compare=False)


Tree: TypeAlias = Literal | ListOf | Path | Call | Not | And | Or | Compare | Choice


def children(tree: Tree) -> tuple[Tree, ...]:
    """Return what a node holds, in the order of its text."""
    match tree:
        case ListOf(items=held) | Call(arguments=held) | And(parts=held) | Or(parts=held):
            return held
        case Not(inner=inner):
            return (inner,)
        case Compare(left=left, right=right):
            return (left, right)
        case Choice(test=test, yes=yes, no=no):
            return (test, yes, no)
        case _:
            return ()


def walk(tree: Tree) -> Iterator[Tree]:
    """Go through a tree, a node before what it holds."""
    yield tree
    for child in children(tree):
        yield from walk(child)


def paths(tree: Tree) -> tuple[Path, ...]:
    """Return the context's names in a tree, each once, in the order of the text."""
    return tuple(dict.fromkeys(node for node in walk(tree) if isinstance(node, Path)))


def functions(tree: Tree) -> tuple[str, ...]:
    """Return the names of the functions in a tree, each once."""
    return tuple(dict.fromkeys(node.name for node in walk(tree) if isinstance(node, Call)))


def spoken(parts: tuple[str | int, ...]) -> str:
    """Return a path's parts as one name."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
