"""What a cluster asks for: one change, named, with how often it happened and the cases that show it (STRATEGY S100).

Deterministic: a table from what failed to what is usually done about it. Whatever the table doesn't know is a matter
for a draft (`synthesis`) and a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from core.strategy.documents.skill import SkillSchema
from core.strategy.execution.skills import TIMEOUT
from core.strategy.feedback.bad_cases import BadCase
from core.strategy.feedback.clusters import Cluster

Kind = Literal["cache", "time_limit", "retry", "fallback", "probe", "provider", "declare", "check", "draft"]
LEAST = 3
"""Fewer cases than that are no pattern yet."""
_MISSING = frozenset({"MISSING_CONTEXT", "MISSING_INPUT"})
_EVIDENCE = 20


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One proposed change. `change` are keys of a strategy or skill with proposed values, for a draft or a person.

    `evidence` are ids of cases, the earliest first, at most twenty; `count` is how many there are.
    """

    cluster: str
    kind: Kind
    text: str
    count: int
    sessions: int
    evidence: tuple[str, ...]
    change: Mapping[str, Any]


def suggest(
    clusters: Iterable[Cluster], cases: Mapping[str, BadCase], schemas: Mapping[str, SkillSchema], *, least: int = LEAST
) -> tuple[Suggestion, ...]:
    """Return a suggestion for each cluster of at least `least` cases, the most frequent first."""
    found = [
        _suggestion(cluster, [cases[name] for name in cluster.cases if name in cases], schemas)
        for cluster in clusters
        if cluster.count >= least
    ]
    return tuple(sorted(found, key=lambda one: (-one.count, one.cluster)))


def _suggestion(cluster: Cluster, cases: list[BadCase], schemas: Mapping[str, SkillSchema]) -> Suggestion:
    key = cluster.structure
    kind, text, change = _change(cluster, cases, schemas.get(key.skill))
    where = f" in {key.strategy_id}" if key.strategy_id else ""
    failed = f"{key.skill or 'a step'} failed with {key.code or 'no code'} {cluster.count} times{where}"
    evidence = cluster.cases[:_EVIDENCE]
    return Suggestion(cluster.id, kind, f"{failed}: {text}", cluster.count, cluster.sessions, evidence, change)


def _change(cluster: Cluster, cases: list[BadCase], schema: SkillSchema | None) -> tuple[Kind, str, dict[str, Any]]:
    skill, code = cluster.structure.skill, cluster.structure.code
    row = schema.failure(code) if schema else None
    instead = {code: {"do": {"run": row.fallback_skill if row else None}}}
    if code.endswith(TIMEOUT):
        return _timed_out(skill, schema, instead)
    if code == "PSEUDO_SUCCESS":
        text = "it says success without an effect; take another way after the probe"
        return "fallback", text, {"skill": skill, "on_fail": instead}
    if code in _MISSING:
        text = "name who provides what is missing, or ask for it"
        return "provider", text, {"context": {"complete": _missing(cases)}}
    if schema is not None and code and row is None and not cluster.structure.check:
        text = f"{code} is not in its failure profile; add the row"
        return "declare", text, {"skill": skill, "failure_modes": [code]}
    if cases and all("fallback" in case.reasons for case in cases):
        used = sorted({name for case in cases for name in case.fallbacks})
        text = f"it ended in {', '.join(used)} each time; go there at once in this situation"
        return "fallback", text, {"skip": skill, "do": used[0]}
    if cluster.structure.check:
        text = f"the check {cluster.structure.check} fails; give the failure a recovery"
        return "check", text, {"on_fail": instead}
    if row is not None and row.auto_recovery != "none":
        text = f"its profile says {row.auto_recovery}; retry before giving up"
        return "retry", text, {"retry": {"max": 2}}
    return "draft", "no usual change fits; draft a strategy for it", {}


def _timed_out(skill: str, schema: SkillSchema | None, instead: dict[str, Any]) -> tuple[Kind, str, dict[str, Any]]:
    if schema is not None and not schema.writes:
        name = f"{skill.replace('-', '_').removesuffix('_query').removeprefix('query_')}_cache_ttl"
        text = f"it only reads, so keep its last answer for a while ({name}) and use it as an estimate"
        return "cache", text, {"skill": skill, f"{name}_s": 300, "recover": {TIMEOUT: {"estimated": True}}}
    limit = 3 * schema.typical_ms if schema and schema.typical_ms else None
    shown = f" to {limit} ms, three times what it usually takes," if limit else ""
    text = f"it may write, so don't repeat it; limit its time{shown} and hand over"
    return "time_limit", text, {"skill": skill, "timeout_ms": limit, "recover": instead}


def _missing(cases: Iterable[BadCase]) -> dict[str, None]:
    told = [event for case in cases for event in case.events if event.get("event") == "missing"]
    return dict.fromkeys(sorted({str(event.get("path") or event.get("input")) for event in told}))
