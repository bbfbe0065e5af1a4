"""Who calls and stands in for whom: what a change of the selected strategy concerns, in red, and what it rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.state.paths import ProjectPaths
from core.strategy.bank.impact import ImpactReport, impact
from core.strategy.documents.strategy import Strategy
from core.strategy.governance.graph import Affected, Edge, Graph, Mandatory, affected, graph, mandatory
from tui.screens.panes.strategies_bank import percent
from tui.screens.panes.strategies_pages import Asked, Page
from tui.widgets.line_list import Row
from tui.widgets.spans import Line, Span, fit, short

_HOW = {"call": "calls", "fallback": "falls back to", "conditional": "depends on"}
_DEEPEST = 6


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """The graph of the bank as it is written, and what a change of `id` concerns in it."""

    id: str
    strategies: Mapping[str, Strategy]
    graph: Graph
    affected: Affected
    mandatory: Mandatory
    impact: ImpactReport
    unread: int


class GraphPage(Page[GraphFacts]):
    """The graph around a strategy."""

    rest = " Red is what a change of it concerns; their examples must pass. Enter goes there."

    def read(self, asked: Asked, project: ProjectPaths) -> GraphFacts:
        assert asked.line is not None
        name = asked.line.id
        held = {one.id: one.entry.authored for one in asked.view.lines if one.entry.authored is not None}
        found = graph(held.values())
        concerned = affected(found, [name])
        report = impact(name, held, asked.view.executions)
        faulty = len(asked.view.lines) - len(held)
        return GraphFacts(name, held, found, concerned, mandatory(held.values(), [name]), report, faulty)

    def title(self, facts: GraphFacts) -> str:
        count = len(facts.affected.marked) - 1
        return f"{facts.id}  a change of it concerns {count or 'no'} other{'s' * (count != 1)}"

    def leads_to(self, facts: GraphFacts, key: str) -> str:
        return key.rpartition(":")[2] if key.startswith(("red:", "on:", "self:")) else ""

    def rows(self, facts: GraphFacts, width: int) -> Sequence[Row]:
        rows = [_head("A change concerns")]
        rows.append(Row(f"self:{facts.id}", (_node_line("", facts.id, "this one", facts, width, red=True),)))
        rows += self._dependents(facts, facts.id, 1, width)
        rows.append(_head("It depends on"))
        below = self._foundations(facts, facts.id, 0, width, (facts.id,))
        rows += below or [Row("on-none", ((("nothing else in the bank", "dim"),),), selectable=False)]
        rows.append(_head("Mandatory before it is published"))
        rows += _mandatory_rows(facts, width)
        return rows

    def _dependents(self, facts: GraphFacts, target: str, depth: int, width: int) -> list[Row]:
        """Return those that depend on `target`, each where it was reached first, indented under it."""
        rows: list[Row] = []
        through = facts.affected.through
        for source in sorted(name for name, edge in through.items() if edge.target == target):
            line = _node_line("  " * min(depth, _DEEPEST), source, _why(through[source]), facts, width, red=True)
            rows.append(Row(f"red:{source}", (line,), find=f"red {source}"))
            rows += self._dependents(facts, source, depth + 1, width)
        return rows

    def _foundations(self, facts: GraphFacts, source: str, depth: int, width: int, stack: tuple[str, ...]) -> list[Row]:
        rows: list[Row] = []
        seen: dict[str, Edge] = {}
        for edge in facts.graph.edges:
            if edge.source == source and edge.target not in stack:
                seen.setdefault(edge.target, edge)
        for target, edge in sorted(seen.items()):
            line = _node_line("  " * min(depth, _DEEPEST), target, _why(edge), facts, width, red=False)
            key = ".".join(stack)
            rows.append(Row(f"on:{key}:{target}", (line,), find=target))
            if depth < _DEEPEST:
                rows += self._foundations(facts, target, depth + 1, width, (*stack, target))
        return rows

    def below(self, facts: GraphFacts, key: str, width: int) -> tuple[Line, list[Line]]:
        name = self.leads_to(facts, key) or facts.id
        strategy = facts.strategies.get(name)
        lines: list[Line] = []
        if strategy is None:
            lines.append(((f"There is no strategy {name} that can be read here.", "bad"),))
        else:
            lines.append(((strategy.purpose, "plain"),))
            if name != facts.id and name in facts.affected.through:
                lines.append((("in red because ", "dim"), (_path(facts.affected.through, name, facts.id), "plain")))
            lines += [((f"{edge.source} {_HOW[edge.kind]} {edge.target} ({edge.why})", "dim"),)
                      for edge in facts.graph.of(name)[:12]]  # fmt: skip
        lines.append(((facts.impact.text, "plain"),))
        if facts.unread:
            told = f"{facts.unread} strategies can't be read and are not in the graph."
            lines.append(((told, "warn"),))
        return ((name, "strong"),), lines


def _head(title: str) -> Row:
    return Row(f"head:{title}", (((title, "title"),),), selectable=False)


def _node_line(indent: str, name: str, why: str, facts: GraphFacts, width: int, *, red: bool) -> Line:
    known = name in facts.strategies
    mark: Span = ("! ", "bad") if red else ("  ", "plain") if known else ("? ", "warn")
    room = max(16, min(44, width - len(indent) - 26))
    return (
        (indent, "plain"),
        mark,
        (fit(name, room) + " ", "bad" if red else "plain" if known else "warn"),
        (short(why if known else f"{why}; not here", max(8, width - len(indent) - room - 4)), "dim"),
    )


def _why(edge: Edge) -> str:
    return f"{_HOW[edge.kind]} it: {edge.why}" if edge.kind != "conditional" else f"on {edge.why}"


def _path(through: Mapping[str, Edge], name: str, end: str) -> str:
    """Return the way over which a strategy was reached."""
    told = name
    while name != end and name in through:
        edge = through[name]
        told += f" {_HOW[edge.kind]} {edge.target} ({edge.why})"
        name = edge.target
    return told


def _mandatory_rows(facts: GraphFacts, width: int) -> list[Row]:
    del width
    found, report = facts.mandatory, facts.impact
    several = len(found.strategies) != 1
    told = f"{found.examples} routing examples of {len(found.strategies)} strateg{'ies' if several else 'y'}"
    rows = [Row("tests", (((told, "plain"), ("   exuvia strategy check", "dim")),), find=told)]
    if found.untested:
        line: Line = (("without any: ", "warn"), (", ".join(found.untested), "plain"))
        rows.append(Row("untested", (line,), find="untested"))
    share = report.paths
    paths = f"{percent(share.value)} of {share.count} call paths of its skills"
    turns = f", {percent(report.turns.value)} of {report.turns.count} tracked turns"
    rows.append(Row("impact", (((f"It touches {paths}{turns}", "plain"),),), find="impact"))
    return rows
