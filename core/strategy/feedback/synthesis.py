"""Drafts of strategies, written by a model from a cluster of bad cases (STRATEGY S104).

The model is given what failed, how often, and which skills there are; it answers with one call of the tool
`draft_strategy` in the text form. Its answer is read strictly, checked against the skills and the registry, and becomes
a file whose origin says "synthesized" with the cluster as evidence. A draft is only a draft: `review` is where it goes.
No other strategy's text is in the prompt (S90).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from core.foundation import strict_json
from core.foundation.errors import ExuviaError, UsageError
from core.models.interface import Item, ModelRef, Provider, Request, Text, ToolCall, ToolSpec
from core.strategy.conditions.condition import compile_condition
from core.strategy.conditions.errors import ConditionError
from core.strategy.conditions.registry import Registry
from core.strategy.documents.reading import FaultyFileError, read
from core.strategy.documents.skill import SkillSchema
from core.strategy.documents.strategy import Strategy
from core.strategy.feedback.bad_cases import BadCase
from core.strategy.feedback.clusters import Cluster
from core.strategy.feedback.text_form import read_text, to_document

TOOL = ToolSpec(
    "draft_strategy",
    "Hand over the draft of one strategy that handles this failure.",
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["purpose", "event", "draft"],
        "properties": {
            "purpose": {"type": "string", "description": "One sentence without `and`: the one problem it solves."},
            "event": {
                "type": "string",
                "description": "turn, skill_result:<skill> or failure:<skill>/<CODE>: when it is looked at.",
            },
            "draft": {"type": "string", "description": "The draft in the text form."},
        },
    },
)
SYSTEM = """You write one small strategy for an executor that calls skills.
You are given a kind of failure as JSON: what failed, how often, examples of what users said, and the skills there are.
Answer with exactly one call of draft_strategy. The draft has this form and no other:

IF <condition> AND <condition> THEN
trigger_skill(name, context={input: path})
set_timeout(milliseconds)
fallback_to(name)

Use only skills and names that are listed. Prefer skills without effects. Solve this one failure, nothing else."""
_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Draft:
    """A drafted strategy: its file's text, what is read from it, and who wrote it. `warnings` are for the reviewer."""

    text: str
    strategy: Strategy
    cluster: str
    cases: tuple[str, ...]
    model: str
    warnings: tuple[str, ...]


class DraftRefusedError(ExuviaError):
    """The model's answer is no draft that can be taken; the text says why."""


def material(
    cluster: Cluster, cases: Iterable[BadCase], schemas: Mapping[str, SkillSchema], registry: Registry
) -> dict[str, Any]:
    """Return what the model is told: the failure and the skills, no user, no strategy."""
    said = sorted({case.utterance for case in cases if case.id in set(cluster.cases)})
    return {
        "failure": {"skill": cluster.structure.skill, "code": cluster.structure.code, "check": cluster.structure.check},
        "count": cluster.count,
        "examples": said[:_EXAMPLES],
        "skills": [
            {
                "name": name,
                "side_effects": schema.side_effects,
                "inputs": {key: value.type for key, value in schema.signature.inputs.items() if not value.optional},
                "failure_codes": [row.code for row in schema.failure_modes],
                "fallback": next((row.fallback_skill for row in schema.failure_modes if row.fallback_skill), None),
            }
            for name, schema in sorted(schemas.items())
        ],
        "names": dict(sorted(registry.types.items())),
    }


async def synthesise(
    cluster: Cluster,
    cases: Iterable[BadCase],
    schemas: Mapping[str, SkillSchema],
    registry: Registry,
    provider: Provider,
    model: ModelRef,
    *,
    domain: str,
    owner: str,
) -> Draft:
    """Ask a model for a draft and return it, checked. The provider stays open.

    Raises DraftRefusedError for an answer that can't be taken, ProviderError where none came.
    """
    told = material(cluster, cases, schemas, registry)
    request = Request(model, SYSTEM, (Text("user", strict_json.dumps(told, indent=1)),), (TOOL,), max_tokens=2_000)
    calls = [
        event.message
        async for event in provider.stream(request)
        if isinstance(event, Item) and isinstance(event.message, ToolCall)
    ]
    if len(calls) != 1 or calls[0].name != TOOL.name:
        raise DraftRefusedError(f"The model made {len(calls)} calls; one of {TOOL.name} was asked for.")
    written = f"{model.provider}/{model.model_id}"
    return read_draft(calls[0].arguments, cluster, schemas, registry, domain=domain, owner=owner, model=written)


def read_draft(
    arguments: str,
    cluster: Cluster,
    schemas: Mapping[str, SkillSchema],
    registry: Registry,
    *,
    domain: str,
    owner: str,
    model: str,
) -> Draft:
    """Return the draft in a call's arguments. Raises DraftRefusedError for anything that isn't one, to the letter."""
    try:
        value = strict_json.parse(arguments, unique=True)
    except ValueError as error:
        raise DraftRefusedError(f"The arguments are no JSON: {error}") from error
    if not isinstance(value, Mapping) or set(value) != {"purpose", "event", "draft"}:
        raise DraftRefusedError("A draft has purpose, event and draft, and nothing else.")
    if not all(isinstance(part, str) and part.strip() for part in value.values()):
        raise DraftRefusedError("purpose, event and draft are texts.")
    try:
        written = read_text(value["draft"])
        if written.when:
            compile_condition(written.when, registry)
    except (UsageError, ConditionError) as error:
        raise DraftRefusedError(f"The draft can't be taken: {error}") from error
    unknown = [name for name in written.skills if name not in schemas]
    if unknown:
        raise DraftRefusedError(f"There is no skill {', '.join(unknown)}.", hint="It may use listed skills only.")
    name = name_of(cluster, domain)
    text = to_document(
        written,
        name,
        purpose=value["purpose"],
        owner=owner,
        event=value["event"],
        created_by=model,
        origin={"kind": "synthesized", "evidence": [cluster.id, *cluster.cases[:20]]},
    )
    try:
        strategy, _ = read(text, Strategy, f"{name}.yaml")
    except FaultyFileError as error:
        raise DraftRefusedError(f"The draft is no strategy: {error}") from error
    return Draft(text, strategy, cluster.id, cluster.cases, model, _warnings(written.skills, strategy, schemas))


def name_of(cluster: Cluster, domain: str) -> str:
    """Return the id of a cluster's draft: the same for the same cluster."""
    key = cluster.structure
    words = re.sub(r"[^a-z0-9]+", "_", f"{key.skill}_{key.code or key.check}".lower()).strip("_")
    return f"{domain}.draft_{words[:60]}_{cluster.id.rpartition('-')[2][:6]}"


def _warnings(skills: Iterable[str], strategy: Strategy, schemas: Mapping[str, SkillSchema]) -> tuple[str, ...]:
    found = [f"{name} has effects ({schemas[name].side_effects})" for name in skills if schemas[name].writes]
    if strategy.trigger is not None and strategy.trigger.when == "true":
        found.append("it has no condition beside its event")
    return tuple(found)
