"""What clusters ask for: one change, named, with how often it happened and the cases that show it (STRATEGY S100).

Deterministic: a table from what failed to what is usually done about it. Whatever the table doesn't know is a matter
for a draft (`synthesis`) and a person.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from typing import Any, Literal

from core.strategy.documents.skill import SkillSchema
from core.strategy.execution.skills import TIMEOUT
from core.strategy.execution.trace import fingerprint
from core.strategy.feedback.bad_cases import BadCase
from core.strategy.feedback.clusters import Cluster, Structure

Kind = Literal["cache", "time_limit", "retry", "fallback", "probe", "provider", "declare", "check", "draft"]
LEAST = 3
"""Fewer cases than that are no pattern yet."""
_MISSING = frozenset({"MISSING_CONTEXT", "MISSING_INPUT"})
_PASSING = re.compile(rf"{TIMEOUT}$|^HTTP_5\d\d$|UNAVAILABLE$|^NETWORK_")
"""Codes of failures that come and go by themselves."""
_EVIDENCE = 20


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One proposed change. `change` are keys of a strategy or skill with proposed values, for a draft or a person.

    `clusters` are those that it would settle: different words for one failure ask for one change. `evidence` are ids of
    cases, the earliest first, at most twenty; `count` is how many there are, in so many `sessions`.
    """

    id: str
    structure: Structure
    kind: Kind
    text: str
    count: int
    sessions: int
    clusters: tuple[str, ...]
    evidence: tuple[str, ...]
    change: Mapping[str, Any]


def suggest(
    clusters: Iterable[Cluster], cases: Mapping[str, BadCase], schemas: Mapping[str, SkillSchema], *, least: int = LEAST
) -> tuple[Suggestion, ...]:
    """Return a suggestion for each structure (strategy, skill, code, check) with at least `least` cases, the most
    frequent first. `cases` is the queue by id.
    """
    groups: dict[Structure, list[Cluster]] = defaultdict(list)
    for cluster in clusters:
        groups[cluster.structure].append(cluster)
    found = [_suggestion(key, group, cases, schemas) for key, group in groups.items() if _count(group) >= least]
    return tuple(sorted(found, key=lambda one: (-one.count, one.structure)))


def _count(group: Iterable[Cluster]) -> int:
    return sum(cluster.count for cluster in group)


def _suggestion(
    key: Structure, group: list[Cluster], cases: Mapping[str, BadCase], schemas: Mapping[str, SkillSchema]
) -> Suggestion:
    held = [cases[name] for cluster in group for name in cluster.cases]
    held.sort(key=lambda case: (case.time, case.id))
    kind, text, change = _change(key, held, schemas.get(key.skill))
    where = f" in {key.strategy_id}" if key.strategy_id else ""
    failed = f"{key.skill or 'a step'} failed with {key.code or 'no code'} {len(held)} times{where}"
    return Suggestion(
        id=f"suggestion-{fingerprint(astuple(key))}",
        structure=key,
        kind=kind,
        text=f"{failed}: {text}",
        count=len(held),
        sessions=len({case.session for case in held}),
        clusters=tuple(sorted(cluster.id for cluster in group)),
        evidence=tuple(case.id for case in held[:_EVIDENCE]),
        change=change,
    )


def _change(key: Structure, cases: list[BadCase], schema: SkillSchema | None) -> tuple[Kind, str, dict[str, Any]]:
    skill, code = key.skill, key.code
    row = schema.failure(code) if schema else None
    instead = {code: {"do": {"run": row.fallback_skill if row else None}}}
    if _PASSING.search(code):
        return _passing(skill, code, schema, instead)
    if code == "PSEUDO_SUCCESS":
        text = "it says success without an effect; take another way after the probe"
        return "fallback", text, {"skill": skill, "on_fail": instead}
    if code in _MISSING:
        text = "name who provides what is missing, or ask for it"
        return "provider", text, {"context": {"complete": _missing(cases)}}
    if schema is not None and code and row is None and not key.check:
        text = f"{code} is not in its failure profile; add the row"
        return "declare", text, {"skill": skill, "failure_modes": [code]}
    if cases and all("fallback" in case.reasons for case in cases):
        used = sorted({name for case in cases for name in case.fallbacks})
        text = f"it ended in {', '.join(used)} each time; go there at once in this situation"
        return "fallback", text, {"skip": skill, "do": used[0]}
    if key.check:
        text = f"the check {key.check} fails; give the failure a recovery"
        return "check", text, {"on_fail": instead}
    if row is not None and row.auto_recovery != "none":
        text = f"its profile says {row.auto_recovery}; retry before giving up"
        return "retry", text, {"retry": {"max": 2}}
    return "draft", "no usual change fits; draft a strategy for it", {}


def _passing(
    skill: str, code: str, schema: SkillSchema | None, instead: dict[str, Any]
) -> tuple[Kind, str, dict[str, Any]]:
    """What is done about a failure that comes and goes: what only reads can be answered from before."""
    if schema is not None and not schema.writes:
        name = f"{skill.replace('-', '_').removesuffix('_query').removeprefix('query_')}_cache_ttl"
        text = f"it only reads, so keep its last answer for a while ({name}) and use it as an estimate"
        return "cache", text, {"skill": skill, f"{name}_s": 300, "recover": {code: {"estimated": True}}}
    limit = 3 * schema.typical_ms if schema and schema.typical_ms else None
    shown = f" to {limit} ms, three times what it usually takes," if limit else ""
    text = f"it may write, so don't repeat it; limit its time{shown} and hand over"
    return "time_limit", text, {"skill": skill, "timeout_ms": limit, "recover": instead}


def _missing(cases: Iterable[BadCase]) -> dict[str, None]:
    told = [event for case in cases for event in case.events if event.get("event") == "missing"]
    return dict.fromkeys(sorted({str(event.get("path") or event.get("input")) for event in told}))
