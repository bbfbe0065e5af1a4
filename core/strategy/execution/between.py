"""What is checked between the strategies of a bank: unknown ones, cycles, ties (STRATEGY S83, S124, S125)."""

from __future__ import annotations

import graphlib
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations

from core.strategy.documents.reading import Fault
from core.strategy.execution.compiled import Compiled, Edge
from core.strategy.execution.selection import beats

Strategies = Mapping[str, Compiled]


def unknown(strategies: Strategies) -> tuple[list[Fault], list[Fault]]:
    """Return faults and warnings about strategies that are named and not there.

    A call must lead somewhere. Who overrides or yields to a strategy that isn't there has nothing to do, which may be
    meant: the other one may have been retired.
    """
    faults: list[Fault] = []
    warnings: list[Fault] = []
    for one in strategies.values():
        for edge in one.edges:
            if edge.to in strategies:
                continue
            path = {"call": "call", "event": "trigger.event"}.get(edge.kind, f"conflict_resolution.{edge.kind}")
            fault = Fault(one.file, edge.line, edge.column, path, f"there is no strategy {edge.to}")
            (warnings if edge.kind in ("overrides", "yields_to") else faults).append(fault)
    return faults, warnings


def cycles(strategies: Strategies) -> list[Fault]:
    """Return a fault for a cycle of calls and for one of overrides, at the line where it begins."""
    calls = _cycle(strategies, lambda one, edge: [(one.id, edge.to)] if edge.kind == "call" else [])
    return [*calls, *_cycle(strategies, _precedence)]


def _precedence(one: Compiled, edge: Edge) -> list[tuple[str, str]]:
    match edge.kind:
        case "overrides":
            return [(one.id, edge.to)]
        case "yields_to":
            return [(edge.to, one.id)]
    return []


def _cycle(strategies: Strategies, arrows: Callable[[Compiled, Edge], list[tuple[str, str]]]) -> list[Fault]:
    graph: dict[str, set[str]] = {}
    places: dict[tuple[str, str], tuple[Compiled, Edge]] = {}
    for one in strategies.values():
        for edge in one.edges:
            for start, end in arrows(one, edge):
                graph.setdefault(start, set()).add(end)
                places.setdefault((start, end), (one, edge))
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        # It gives the cycle against the arrows of `graph`, whose values are what must come before.
        around = list(reversed(error.args[1]))
        first = min(range(len(around) - 1), key=lambda at: around[at])
        around = [*around[first:-1], *around[: first + 1]]
        one, edge = places[around[0], around[1]]
        words = "calls go round in a circle" if edge.kind == "call" else "precedence goes round in a circle"
        return [Fault(one.file, edge.line, edge.column, edge.kind, f"{words}: {' -> '.join(around)}")]
    return []


def ties(strategies: Strategies, same: Callable[[Compiled, Compiled], bool]) -> Iterator[Fault]:
    """Yield a fault for two strategies of one event of which nothing says which goes first.

    Only what is proved is refused: conditions that hold in just the same cases (`same`), with equal priority, date
    and version. What may overlap and isn't proved to is decided by id in a turn and told there as a tie.
    """
    groups: dict[tuple[object, ...], list[Compiled]] = {}
    for one in strategies.values():
        if one.when is None or one.modifies:
            continue
        rival = one.rival
        key = (one.event, rival.priority, rival.since, rival.version, frozenset(one.when.paths))
        groups.setdefault(key, []).append(one)
    for some in groups.values():
        for one, other in combinations(sorted(some, key=lambda one: one.id), 2):
            written = beats(one.rival, other.rival) or beats(other.rival, one.rival)
            if not written and same(one, other):
                reason = (
                    f"fires whenever {one.id} does and nothing says which goes first; give one a higher priority or "
                    "name the other under overrides"
                )
                yield Fault(other.file, other.line, 1, "conflict_resolution", reason)
