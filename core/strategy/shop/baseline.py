"""The flat baseline: no strategy, a list of tools, the ones whose words sound most like what was said (S8).

It is built as such an agent is: tools are ranked by the words that their names and descriptions share with the
utterance, rare words count more; what is known fills their inputs, what they answer is known to the next one; the
first tool that says success ends the turn. With `trusting` the model's own choice goes first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from core.skillrepo.words import split_words
from core.strategy.execution.clock import Clock
from core.strategy.execution.skills import Call, Skills
from core.strategy.execution.suggestion import Suggestion
from core.strategy.shop.toolbox import descriptions

MOST_CALLS = 3
_LITTLE = frozenset(
    split_words("a an and are as at be by for from how i in is it me my of on or please that the this to with")
)


@dataclass(frozen=True, slots=True)
class FlatTurn:
    """What the flat baseline did: the tools it called, and what the last one that said success told."""

    called: tuple[str, ...]
    output: Mapping[str, Any] | None
    latency_ms: float


@cache
def _words() -> Mapping[str, frozenset[str]]:
    return {
        name: frozenset(split_words(f"{name.replace('_', ' ')} {told}")) - _LITTLE
        for name, told in descriptions().items()
    }


@cache
def _weights() -> Mapping[str, float]:
    held = Counter(word for words in _words().values() for word in words)
    return {word: math.log((len(_words()) + 1) / count) for word, count in held.items()}


def ranked(utterance: str) -> tuple[str, ...]:
    """Return the tools that share a word with what was said, the most alike first; ties by name."""
    said = set(split_words(utterance))
    scores = {name: math.fsum(_weights()[word] for word in words & said) for name, words in _words().items()}
    return tuple(sorted((name for name in scores if scores[name]), key=lambda name: (-scores[name], name)))


async def run_flat(
    skills: Skills,
    clock: Clock,
    session: str,
    knows: Mapping[str, Any],
    utterance: str,
    suggestion: Suggestion,
    *,
    trusting: bool = False,
) -> FlatTurn:
    """Run one turn: at most MOST_CALLS tools, until one says success."""
    begun = clock.monotonic_ms()
    first = [suggestion.intended_skill] if trusting and suggestion.intended_skill in skills else []
    wanted = list(dict.fromkeys([*first, *(name for name in ranked(utterance) if name in skills)]))[:MOST_CALLS]
    known = _flat(knows) | {"query": utterance, "text": utterance, "about": utterance} | dict(suggestion.arguments)
    called: list[str] = []
    for number, name in enumerate(wanted):
        called.append(name)
        inputs = {field: known[field] for field in skills[name].schema.signature.inputs if field in known}
        outcome = await skills[name].call(inputs, Call(session, idempotency_key=f"{session}:{number}"))
        if outcome.ok:
            return FlatTurn(tuple(called), outcome.output or {}, clock.monotonic_ms() - begun)
        known |= outcome.output or {}
    return FlatTurn(tuple(called), None, clock.monotonic_ms() - begun)


def _flat(knows: Mapping[str, Any]) -> dict[str, Any]:
    """Return {"order": {"id": x}} as {"order_id": x}."""
    found: dict[str, Any] = {}
    for name, value in knows.items():
        if isinstance(value, Mapping):
            found |= {f"{name}_{key}": inner for key, inner in value.items()}
        else:
            found[name] = value
    return found
