"""Which strategy depends on which: calls, fallbacks, conditional dependencies (STRATEGY S108 to S110).

An edge goes from the one that depends to the one it depends on. Editing a strategy concerns all from which it can be
reached; their routing examples become mandatory in the check.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from core.strategy.conditions.errors import ConditionError
from core.strategy.conditions.parser import parse
from core.strategy.conditions.sugar import to_expression
from core.strategy.conditions.tree import paths
from core.strategy.documents.plan import Node
from core.strategy.documents.strategy import Strategy
from core.strategy.governance.measures import nodes

EdgeKind = Literal["call", "fallback", "conditional"]


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """`source` depends on `target`. `why` names the key: "plan", "recover TIMEOUT", "results.query_logistics"."""

    source: str
    target: str
    kind: EdgeKind
    why: str


@dataclass(frozen=True, slots=True)
class Graph:
    """Strategies and what they depend on. An edge's target may be an id that the bank lacks."""

    nodes: tuple[str, ...]
    edges: tuple[Edge, ...]

    def of(self, strategy_id: str) -> tuple[Edge, ...]:
        """Return the edges of one strategy, both ways."""
        return tuple(edge for edge in self.edges if strategy_id in (edge.source, edge.target))


def graph(strategies: Iterable[Strategy]) -> Graph:
    """Return the graph of a bank."""
    held = {one.id: one for one in strategies}
    runs: dict[str, set[str]] = defaultdict(set)
    emits: dict[str, set[str]] = defaultdict(set)
    for one in held.values():
        for node in nodes(one.plan) if one.plan else ():
            if node.run:
                runs[node.run].add(one.id)
            if node.emit:
                emits[node.emit].add(one.id)
    edges = {edge for one in held.values() for edge in _edges(one, runs, emits) if edge.source != edge.target}
    return Graph(tuple(sorted(held)), tuple(sorted(edges)))


def _edges(one: Strategy, runs: Mapping[str, set[str]], emits: Mapping[str, set[str]]) -> Iterator[Edge]:
    if one.plan is not None:
        yield from _calls(one.id, one.plan, "call", "plan")
    if one.validate_ is not None:
        for code, rule in one.validate_.on_fail.items():
            if rule.do is not None:
                yield from _calls(one.id, rule.do, "fallback", f"on_fail {code}")
    for other in (*one.conflict_resolution.overrides, *one.conflict_resolution.yields_to):
        yield Edge(one.id, other, "conditional", "conflict_resolution")
    if one.trigger is None:
        return
    kind, _, name = one.trigger.event.partition(":")
    if kind == "strategy_failed":
        # It stands in where the other one fails: whoever edits the other changes when that is.
        yield Edge(one.id, name, "fallback", one.trigger.event)
    elif kind == "emitted":
        yield from (Edge(one.id, other, "conditional", one.trigger.event) for other in emits.get(name, ()))
    elif kind in ("skill_result", "failure"):
        skill = name.partition("/")[0]
        yield from (Edge(one.id, other, "conditional", one.trigger.event) for other in runs.get(skill, ()))
    for skill in _results(one.trigger.when):
        yield from (Edge(one.id, other, "conditional", f"results.{skill}") for other in runs.get(skill, ()))


def _calls(source: str, node: Node, kind: EdgeKind, why: str) -> Iterator[Edge]:
    if node.call:
        yield Edge(source, node.call, kind, why)
    rules = [rule.do for rule in node.recover.values()]
    for code, rule in node.recover.items():
        if rule.do is not None:
            yield from _calls(source, rule.do, "fallback", f"recover {code}")
    for inner in node.children:
        if not any(inner is held for held in rules):
            yield from _calls(source, inner, kind, why)


def _results(condition: str) -> tuple[str, ...]:
    """Return the skills whose results a condition reads."""
    try:
        tree = parse(to_expression(condition)[0])
    except ConditionError:
        return ()
    names = [path.parts for path in paths(tree) if path.parts[0] == "results" and len(path.parts) > 1]
    return tuple(dict.fromkeys(str(parts[1]) for parts in names))


@dataclass(frozen=True, slots=True)
class Affected:
    """What a change concerns. `marked` are the changed ones and all that depend on them, those in red (S109).

    `through` tells for each that isn't changed itself the edge over which it was reached.
    """

    changed: tuple[str, ...]
    marked: tuple[str, ...]
    through: Mapping[str, Edge]


def affected(found: Graph, changed: Iterable[str]) -> Affected:
    """Return all that depend on the changed strategies, directly or through others, by the shortest way."""
    begin = sorted(set(changed))
    incoming: dict[str, list[Edge]] = defaultdict(list)
    for edge in found.edges:
        incoming[edge.target].append(edge)
    through: dict[str, Edge] = {}
    seen, ahead = set(begin), deque(begin)
    while ahead:
        for edge in incoming[ahead.popleft()]:
            if edge.source not in seen:
                seen.add(edge.source)
                through[edge.source] = edge
                ahead.append(edge.source)
    return Affected(tuple(begin), tuple(sorted(seen)), through)


@dataclass(frozen=True, slots=True)
class Mandatory:
    """Tests that a change must pass: routing examples of all it concerns (S110). `untested` have none."""

    strategies: tuple[str, ...]
    examples: int
    untested: tuple[str, ...]


def mandatory(strategies: Iterable[Strategy], changed: Iterable[str]) -> Mandatory:
    """Return the tests that become mandatory with a change."""
    held = {one.id: one for one in strategies}
    marked = affected(graph(held.values()), changed).marked
    counts = {}
    for name in marked:
        trigger = held[name].trigger if name in held else None
        counts[name] = len(trigger.examples.fire) + len(trigger.examples.no_fire) if trigger else 0
    untested = tuple(name for name in marked if name in held and held[name].trigger and not counts[name])
    return Mandatory(marked, sum(counts.values()), untested)
