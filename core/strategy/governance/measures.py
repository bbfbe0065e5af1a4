"""How large a strategy is: its logical lines, and how many ways its conditions can come true (STRATEGY S107)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from core.strategy.conditions.errors import ConditionError
from core.strategy.conditions.parser import parse
from core.strategy.conditions.sugar import to_expression
from core.strategy.conditions.tree import And, Choice, Not, Or, Tree
from core.strategy.documents.plan import Node
from core.strategy.documents.strategy import Strategy

_LEAVES = frozenset({"run", "call", "skip", "ask", "emit"})


def logical_lines(strategy: Strategy) -> int:
    """Return how many things a reader must understand, outside of validation and examples.

    One for the trigger, one for what is completed, one for each question, one for each thing a plan does (run, call,
    skip, ask, emit), each loop, each recovery that does nothing of its own but retry or abort, and each condition of a
    switch whose branch does more than one thing: "if this, that" reads as one line. Sequences only hold others.
    """
    context = strategy.context
    lines = (strategy.trigger is not None) + bool(context.complete) + len(context.ask) + bool(context.inject)
    return lines + (sum(_own_lines(node) for node in nodes(strategy.plan)) if strategy.plan else 0)


def nodes(node: Node) -> Iterator[Node]:
    """Yield a node and all that it holds, recoveries too, in order."""
    yield node
    for inner in node.children:
        yield from nodes(inner)


def _own_lines(node: Node) -> int:
    plain = sum(rule.do is None for rule in node.recover.values())
    conditions = sum(bool(case.when) and case.node.kind not in _LEAVES for case in node.switch or ())
    return plain + conditions + (node.kind in _LEAVES or node.kind == "loop")


def branches(condition: str) -> int | None:
    """Return in how many ways a condition can come true: the conjunctions of its disjunctive normal form, before any
    is simplified. None where it can't be read.
    """
    try:
        return _ways(parse(to_expression(condition)[0]), wanted=True)
    except ConditionError:
        return None


def _ways(tree: Tree, *, wanted: bool) -> int:
    match tree:
        case Not(inner=inner):
            return _ways(inner, wanted=not wanted)
        case And(parts=parts) | Or(parts=parts):
            each = [_ways(part, wanted=wanted) for part in parts]
            # Not (a and b) is not a or not b: De Morgan turns one into the other.
            return math.prod(each) if isinstance(tree, And) == wanted else sum(each)
        case Choice(test=test, yes=yes, no=no):
            true = _ways(test, wanted=True) * _ways(yes, wanted=wanted)
            return true + _ways(test, wanted=False) * _ways(no, wanted=wanted)
        case _:
            return 1
