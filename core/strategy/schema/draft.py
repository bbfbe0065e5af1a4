"""A first skill.yaml from what was seen of a skill: inputs, outputs, failure codes (STRATEGY S2, S46).

What was measured stands as it is; what is inferred is a guess and says so. Guesses are on the safe side: a skill of
which nothing is known is taken to write, and not to bear a repeat.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

from core.foundation.errors import UsageError
from core.strategy.conditions.utterance import holds
from core.strategy.documents.skill import FailureMode, Input, Needs, Signature, SkillSchema
from core.strategy.schema.define import InputType
from core.strategy.schema.writing import to_yaml

FEW = 20
"""Of fewer calls than this the draft says that it rests on few."""
_MOST_WORDS = 8
_PER_WORD = 4
_TRANSIENT = ("TIMEOUT", "NETWORK", "UNAVAILABLE", "503", "RATE_LIMIT", "CONNECTION")


@dataclass(frozen=True, slots=True)
class Observed:
    """One call as a trace has it. `code` is empty for success; `said` are the user's utterances up to it."""

    arguments: Mapping[str, Any]
    output: Any
    code: str = ""
    ms: float | None = None
    said: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """A schema, and path to reason for each part of it that is a guess."""

    schema: SkillSchema
    guesses: Mapping[str, str]
    calls: int

    def text(self) -> str:
        """Return the skill.yaml, guesses marked as such."""
        few = "" if self.calls >= FEW else " That is few: look at every line."
        head = f"# Drafted from {self.calls} calls.{few} What is marked is a guess.\n"
        return head + to_yaml(self.schema, {path: f"guess: {why}" for path, why in self.guesses.items()})


def observed_in(turns: Iterable[tuple[str, Iterable[Mapping[str, Any]]]]) -> dict[str, list[Observed]]:
    """Return by skill the calls in decision traces: of each turn, in order, what the user said and the events.

    Such a trace has inputs and failure codes, and no outputs; what the user said before counts too.
    """
    found: dict[str, list[Observed]] = {}
    said: tuple[str, ...] = ()
    for utterance, events in turns:
        said = (*said, utterance)
        for event in events:
            if event.get("event") == "called" and isinstance(event.get("skill"), str):
                one = Observed(event.get("inputs") or {}, None, str(event.get("code") or ""), said=said)
                found.setdefault(event["skill"], []).append(one)
    return found


def draft_schema(skill: str, calls: Sequence[Observed]) -> Draft:
    """Return a draft from at least one call. Raises UsageError without any."""
    if not calls:
        raise UsageError(f"no call of {skill} was seen", hint="Run the skill first; a draft is made from its traces.")
    guesses = {
        "side_effects": "nothing shows it; a skill that only looks is `read`",
        "idempotent": "nothing shows it",
        "context": "what it needs and provides can't be seen from its calls",
    }
    inputs = {}
    for name in sorted({name for call in calls for name in call.arguments}):
        inputs[name] = _input(name, calls, guesses)
    times = [call.ms for call in calls if call.ms is not None]
    schema = SkillSchema(
        skill=skill,
        side_effects="write",
        idempotent=False,
        typical_ms=max(1, round(median(times))) if times else None,
        signature=Signature(inputs=inputs, outputs=_outputs(calls, guesses)),
        context=Needs(),
        failure_modes=_failures(calls, guesses),
    )
    return Draft(schema, guesses, len(calls))


def _input(name: str, calls: Sequence[Observed], guesses: dict[str, str]) -> Input:
    path = f"signature.inputs.{name}"
    given = [(call, call.arguments[name]) for call in calls if call.arguments.get(name) is not None]
    values = [value for _, value in given]
    kind: InputType = _type(values)
    optional = len(given) < len(calls)
    if len(_kinds(values)) > 1:
        guesses[path] = "values of several kinds were seen"
        return Input(type=kind, role="domain_constraint", optional=optional)
    if kind in {"number", "integer"} and values:
        guesses[path] = f"bounds are those of the {len(values)} values seen"
        return Input(type=kind, role="business_rule", optional=optional, min=min(values), max=max(values))
    if kind == "string" and values:
        said = sum(any(holds(one, value) for one in call.said) for call, value in given)
        words = Counter(values)
        if said == len(given) and len(words) > 1:
            guesses[path] = "all values stood in what the user said"
            return Input(type=kind, role="user_intent_phrase", optional=optional)
        if len(words) <= _MOST_WORDS and len(values) >= _PER_WORD * len(words):
            guesses[path] = f"only these were seen in {len(values)} calls"
            return Input(type=kind, role="domain_constraint", optional=optional, enum=tuple(sorted(words)))
    guesses[path] = "the role"
    return Input(type=kind, role="domain_constraint", optional=optional)


def _type(values: Sequence[Any]) -> InputType:
    kinds = _kinds(values)
    return kinds.pop() if len(kinds) == 1 else "string"


def _kinds(values: Sequence[Any]) -> set[InputType]:
    """Return the kinds of values; a whole number is a number where others are."""
    kinds = {_kind(value) for value in values}
    return kinds - {"integer"} if "number" in kinds else kinds


def _kind(value: Any) -> InputType:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, Mapping):
        return "object"
    return "array" if isinstance(value, list | tuple) else "string"


def _outputs(calls: Sequence[Observed], guesses: dict[str, str]) -> dict[str, Any]:
    outputs = [call.output for call in calls if not call.code and isinstance(call.output, Mapping)]
    if not outputs:
        guesses["signature.outputs"] = "no successful call with a map as its output was seen"
        return {"type": "object"}
    names = sorted({name for output in outputs for name in output})
    always = [name for name in names if all(output.get(name) is not None for output in outputs)]
    properties = {name: _field([output.get(name) for output in outputs]) for name in names}
    guesses["signature.outputs"] = f"what was alike in {len(outputs)} successful calls"
    return {"type": "object", "required": always, "properties": properties}


def _field(values: Sequence[Any]) -> dict[str, Any]:
    kinds: set[str] = set(_kinds([value for value in values if value is not None]))
    if len(kinds) != 1:
        return {}
    kind = kinds.pop()
    return {"type": [kind, "null"] if None in values else kind}


def _code(seen: str) -> str:
    """Return a code as a profile writes it: NETWORK_TIMEOUT for "network timeout"."""
    code = re.sub(r"[^A-Z0-9]+", "_", seen.upper()).strip("_")[:64]
    return code if code[:1].isalpha() else f"CODE_{code}"[:64]


def _failures(calls: Sequence[Observed], guesses: dict[str, str]) -> tuple[FailureMode, ...]:
    counted = Counter(_code(call.code) for call in calls if call.code)
    rows = []
    for number, (code, count) in enumerate(sorted(counted.items())):
        share = count / len(calls)
        severity: Literal["high", "medium"] = "high" if share > 0.05 else "medium"
        again: Literal["retry_with_backoff", "none"] = (
            "retry_with_backoff" if any(word in code for word in _TRANSIENT) else "none"
        )
        rows.append(FailureMode(code=code, severity=severity, auto_recovery=again))
        guesses[f"failure_modes[{number}]"] = f"severity and recovery; seen {count} times in {len(calls)} calls"
    return tuple(rows)
