"""Strategies put to a model before it is changed, and what that showed, kept in their release files (STRATEGY S118)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from core.foundation.errors import UsageError
from core.models.interface import Item, ModelRef, Provider, Request, Text, ToolCall, ToolSpec
from core.state import readonly
from core.state.atomic import write_text
from core.strategy.bank.bank import Bank
from core.strategy.bank.texts import text_of
from core.strategy.conditions.memory import Memory
from core.strategy.documents.reading import read
from core.strategy.documents.release import Release
from core.strategy.execution.compiler import CompiledBank
from core.strategy.execution.suggestion import Suggestion
from core.strategy.execution.suggestion import read as read_suggestion
from core.strategy.governance.matrix import Cell, Verdict, put, regress, with_fit

_COMPAT = re.compile(r"^compat:.*\n(?:(?:[ \t].*|[ \t]*)\n)*", re.MULTILINE)


def asking(provider: Provider, model: ModelRef, spec: ToolSpec, system: str) -> Callable[[str], Awaitable[Suggestion]]:
    """Return how a model is asked for its suggestion on an utterance: by the tool and the prompt that it has in a
    Session. The provider stays open. A model that doesn't call the tool suggests nothing. Raises ProviderError.
    """

    async def ask(utterance: str) -> Suggestion:
        request = Request(model, system, (Text("user", utterance),), (spec,), max_tokens=2_000)
        calls = [
            event.message
            async for event in provider.stream(request)
            if isinstance(event, Item) and isinstance(event.message, ToolCall) and event.message.name == spec.name
        ]
        return read_suggestion(calls[0].arguments)[0] if calls else Suggestion()

    return ask


async def regression(
    compiled: CompiledBank,
    only: Iterable[str],
    ask: Callable[[str], Awaitable[Suggestion]],
    model: str,
    now: datetime,
) -> tuple[Verdict, ...]:
    """Put the routing examples of strategies to a model, one after the other; return what each did. A strategy without
    a trigger doesn't hang on a model and is left out.
    """
    found = []
    for name in only:
        one = compiled.strategies.get(name)
        if one is None or one.when is None:
            continue
        trials = await put(one.strategy, ask, Memory(), now)
        patterns = compiled.registry.patterns
        found.append(regress(name, one.when, trials, model, tested=f"{now:%Y-%m-%d}", patterns=patterns))
    return tuple(found)


def write_fit(bank: Bank, cell: Cell, version: int) -> Path:
    """Keep a cell in the strategy's release file; return the file. Only its block `compat` is written anew, everything
    else stays as it stands, comments too. Without a file one is made for `version`.
    """
    readonly.refuse(bank.root)
    path = bank.root / cell.strategy_id.partition(".")[0] / f"{cell.strategy_id}.release.yaml"
    held = bank.release(cell.strategy_id)
    text = text_of(path) if held is not None else f"schema: release/v1\nid: {cell.strategy_id}\nversion: {version}\n"
    before = held or Release.model_validate({"schema": "release/v1", "id": cell.strategy_id, "version": version})
    after = with_fit(before, cell)
    models: Mapping[str, Any] = {
        name: fit.model_dump(mode="json", exclude_defaults=True) | {"status": fit.status}
        for name, fit in sorted(after.compat.models.items())
    }
    block = yaml.safe_dump({"compat": {"models": models}}, sort_keys=False, allow_unicode=True, width=100)
    bare = _COMPAT.sub("", text if text.endswith("\n") else f"{text}\n")
    made = bare + block
    if read(made, Release, path.name)[0] != after:
        raise UsageError(
            f"{path.name} can't be changed without losing something.", hint="Write its block compat by hand."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, made)
    return path
