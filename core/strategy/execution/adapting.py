"""A bank as it is for one model: the thresholds and limits that the model matrix found (S20, S118).

A model that is surer or slower than the one a strategy was written for needs other numbers, not another strategy. The
numbers lie in the release (`compat.models.<model>.settings`); the strategy's file stays as it is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from core.foundation.errors import UsageError
from core.foundation.strict_json import is_number
from core.strategy.conditions.condition import Condition, compile_condition
from core.strategy.conditions.tree import Compare, Literal, Path, walk
from core.strategy.documents.plan import Node
from core.strategy.execution.compiled import Compiled
from core.strategy.execution.compiler import CompiledBank
from core.strategy.execution.trace import canonical

TIMEOUT_SCALE = "parallel_timeout_scale"
"""The setting that makes the time limits of parallel branches longer."""
_LONGEST_MS = 3_600_000
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")


def for_model(bank: CompiledBank, settings: Mapping[str, Mapping[str, Any]]) -> CompiledBank:
    """Return the bank with each strategy's settings applied; `settings` is by strategy, then by path of the context.

    A setting of a path takes the place of the number that the trigger compares the path with. A strategy that isn't in
    the bank is passed over. Raises UsageError for a setting that fits nothing in its strategy, or is no number.
    """
    changed = {
        name: _adapted(bank, bank.strategies[name], wanted)
        for name, wanted in settings.items()
        if wanted and name in bank.strategies
    }
    return replace(bank, strategies={**bank.strategies, **changed}) if changed else bank


def _adapted(bank: CompiledBank, one: Compiled, settings: Mapping[str, Any]) -> Compiled:
    when, plan = one.when, one.plan
    for path, value in settings.items():
        if not is_number(value):
            raise UsageError(f"{one.id}: the setting {path} is {value!r}, not a number", hint="correct compat.models")
        if path == TIMEOUT_SCALE:
            plan = _scaled(plan, float(value), inside=False) if plan else None
        elif when is not None:
            when = _with_threshold(bank, one, when, path, value)
    told = f"{one.sha256}{canonical(dict(settings))}"
    return replace(one, when=when, plan=plan, sha256=hashlib.sha256(told.encode()).hexdigest())


def _with_threshold(bank: CompiledBank, one: Compiled, when: Condition, path: str, value: float) -> Condition:
    places = [
        side.at
        for node in walk(when.tree)
        if isinstance(node, Compare) and node.operator in {"<", "<=", ">", ">="}
        for side, other in ((node.left, node.right), (node.right, node.left))
        if isinstance(side, Literal) and isinstance(other, Path) and other.name == path and is_number(side.value)
    ]
    if not places:
        raise UsageError(
            f"{one.id}: its trigger compares {path} with no number, so the setting fits nothing",
            hint="correct compat.models in the release, or the trigger",
        )
    text = when.expression
    for at in sorted(places, reverse=True):
        found = _NUMBER.match(text, at)
        assert found is not None  # the tree says that a number stands there
        text = f"{text[:at]}{value}{text[found.end() :]}"
    return compile_condition(text, bank.registry)


def _scaled(node: Node, by: float, *, inside: bool) -> Node:
    """Return the node with the time limits of parallel nodes, and of all in them, `by` times as long."""
    inside = inside or node.parallel is not None
    update: dict[str, Any] = {}
    if inside and node.timeout_ms is not None:
        update["timeout_ms"] = max(1, min(_LONGEST_MS, round(node.timeout_ms * by)))
    if node.sequence is not None:
        update["sequence"] = tuple(_scaled(child, by, inside=inside) for child in node.sequence)
    if node.parallel is not None:
        branches = tuple(_scaled(child, by, inside=True) for child in node.parallel.branches)
        update["parallel"] = node.parallel.model_copy(update={"branches": branches})
    if node.loop is not None:
        update["loop"] = node.loop.model_copy(update={"do": _scaled(node.loop.do, by, inside=inside)})
    if node.switch is not None:
        update["switch"] = tuple(
            case.model_copy(update={"do" if case.do else "otherwise": _scaled(case.node, by, inside=inside)})
            for case in node.switch
        )
    return node.model_copy(update=update)
