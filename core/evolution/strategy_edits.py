"""Strategies in a Candidate: what is changed must be readable, and is a version of its own (STRATEGY S3, S59, S81).

Pure: it looks at the state's files before and after. A release file is no part of an Agent State (DECISIONS 26).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from core.evolution.refusal import Refusal
from core.foundation.visible import decode
from core.strategy.documents.reading import FaultyFileError, read
from core.strategy.documents.strategy import Strategy

ROOT = "strategies/"
PATH = re.compile(r"strategies/(?P<domain>[a-z][a-z0-9_]*)/(?P<id>(?P=domain)(?:\.[a-z][a-z0-9_]*)+)\.yaml")
_SHOWN = 4  # faults of one file in a refusal


def problem(paths: Sequence[str], present: Mapping[str, bytes], after: Mapping[str, bytes]) -> Refusal | None:
    """Return why the strategies among the changed `paths` can't be so, or None."""
    for path in paths:
        match = PATH.fullmatch(path)
        if match is None or path not in after:
            continue
        try:
            strategy, _ = read(decode(after[path]), Strategy, path)
        except FaultyFileError as error:
            told = "; ".join(str(fault) for fault in error.faults[:_SHOWN])
            return Refusal("strategy_invalid", f"{told}.")
        if strategy.id != match["id"]:
            return Refusal("strategy_invalid", f"{path} holds the strategy {strategy.id}; the file is named by the id.")
        raw = present.get(path)
        before = None if raw is None else version_in(raw, path)
        if before is not None and before[0] == strategy.id and strategy.version != before[1] + 1:
            told = f"{path} is version {before[1]}, which stays as it is: give the new text version {before[1] + 1}."
            return Refusal("strategy_version", told)
    return None


def version_in(raw: bytes, path: str) -> tuple[str, int] | None:
    """Return id and version of the strategy in a file; None where it can't be read."""
    try:
        strategy, _ = read(decode(raw), Strategy, path)
    except FaultyFileError:
        return None
    return strategy.id, strategy.version
