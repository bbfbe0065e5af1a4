"""The bank's texts: read, hashed, parsed once, and whether one may become a version."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from core.foundation.errors import ConflictError, UsageError
from core.foundation.visible import visible_line
from core.strategy.bank.states import Standing
from core.strategy.documents.reading import Fault, read, text_in
from core.strategy.documents.strategy import Strategy


def text_of(path: Path) -> str:
    return text_in(path)


def sha256_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


@lru_cache(maxsize=1024)
def parsed(text: str, name: str) -> Strategy:
    return read(text, Strategy, name)[0]


def plain_id(strategy_id: str) -> str:
    if not strategy_id.replace(".", "").replace("_", "").isalnum() or strategy_id.startswith("."):
        raise UsageError(f"{visible_line(strategy_id)!r} is no id of a strategy.", hint="domain.name, in lower case.")
    return strategy_id


def refuse_version(strategy: Strategy, sha256: str, versions: tuple[Standing, ...]) -> None:
    known = {one.version: one for one in versions}
    if strategy.version in known:
        if known[strategy.version].sha256 != sha256:
            raise changed_error(strategy)
        return
    highest = max(known, default=0)
    if strategy.version < highest:
        raise UsageError(
            f"{strategy.id}: version {strategy.version} is lower than {highest}, which is published.",
            hint=f"Set version: {highest + 1}.",
        )
    parent = strategy.parent_version
    if parent is not None and parent not in known and known:
        raise UsageError(
            f"{strategy.id}: parent_version {parent} was never published.",
            hint=f"Published are {', '.join(map(str, sorted(known)))}.",
        )


def changed_error(strategy: Strategy) -> ConflictError:
    return ConflictError(
        f"version {strategy.version} of {strategy.id} is published and never changes; this text is another.",
        hint=f"Set version: {strategy.version + 1} and parent_version: {strategy.version}, then publish.",
    )


def misplaced(strategy: Strategy, file: Path, name: str) -> list[Fault]:
    found = []
    if strategy.id != file.stem:
        found.append(Fault(name, 1, 1, "id", f"is {strategy.id}, but the file is named {file.stem}"))
    if strategy.domain != file.parent.name:
        found.append(Fault(name, 1, 1, "domain", f"is {strategy.domain}, but the file lies in {file.parent.name}/"))
    return found
