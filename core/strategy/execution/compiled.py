"""A strategy that is ready to be used: its conditions compiled, its dates read, what it calls known (S78 to S83)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from core.strategy.conditions.condition import Condition
from core.strategy.documents.plan import Node
from core.strategy.documents.strategy import Strategy
from core.strategy.execution.selection import Rival

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """From a strategy to another one, and where it stands: "call", "overrides", "yields_to", "event"."""

    kind: str
    to: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Compiled:
    """One version of a strategy. Nothing in it changes any more, so sessions may share it.

    `target` is the skill that a strategy without a plan activates, "" where that is the model's intended one. `plan`
    is the strategy's, or one node for the target. `conditions` are those of the plan and of the checks, by their
    text. `modifies`: it only skips, emits or adds to the context, so that whatever runs goes on after it (S17).
    """

    id: str
    strategy: Strategy
    file: str
    sha256: str
    when: Condition | None
    target: str
    plan: Node | None
    conditions: Mapping[str, Condition]
    edges: tuple[Edge, ...]
    starts: datetime | None
    ends: datetime | None
    modifies: bool
    rival: Rival
    line: int

    @property
    def event(self) -> str | None:
        """The event that it waits for, None where it is only called or only checks."""
        return self.strategy.trigger.event if self.strategy.trigger else None

    def in_force(self, now: datetime) -> bool:
        """Whether its dates let it be used (S61, S62)."""
        return (self.starts is None or self.starts <= now) and (self.ends is None or now < self.ends)

    @property
    def checks_only(self) -> bool:
        """Whether it has the validation layer alone: its checks hold wherever their skill runs (S4)."""
        return self.strategy.layers == ("validate",)


def walk(node: Node, path: Path = ("plan",)) -> Iterator[tuple[Node, Path]]:
    """Yield a plan's nodes, outer ones first, with the path of each in the file."""
    yield node, path
    for number, child in enumerate(node.sequence or ()):
        yield from walk(child, (*path, "sequence", number))
    if node.parallel:
        for number, child in enumerate(node.parallel.branches):
            yield from walk(child, (*path, "parallel", "branches", number))
    for number, case in enumerate(node.switch or ()):
        yield from walk(case.node, (*path, "switch", number, "do" if case.do else "else"))
    if node.loop:
        yield from walk(node.loop.do, (*path, "loop", "do"))
    for code, rule in node.recover.items():
        if rule.do:
            yield from walk(rule.do, (*path, "recover", code, "do"))


def name_of(node: Node) -> str:
    """Return the name under which a node's output is visible: its alias, else the skill that it runs."""
    return node.alias or node.run or ""
