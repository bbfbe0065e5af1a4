"""The shop's forty-seven callable skills: schemas from their files, bound to one customer's desk (S2, S6, S8)."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from core.foundation.errors import DamagedError
from core.state import yaml12
from core.strategy.documents.skill import Needs, Signature, SkillSchema
from core.strategy.execution.skills import Call, Outcome, Skill, Skills
from core.strategy.schema.define import definitions_in
from core.strategy.schema.directory import read_schema
from core.strategy.shop import acting, looking, pricing
from core.strategy.shop.desk import At, Desk, SkillFailed

Work = Callable[..., Awaitable[dict[str, Any]]]
_ROOM = resources.files("core.strategy.shop")
_FACT_MS = 150


WORKS: Mapping[str, Work] = {
    name: work for module in (looking, pricing, acting) for name, work in definitions_in(module).items()
}
"""The skills that know the shop's state, by name."""


@cache
def facts() -> Mapping[str, tuple[str, str]]:
    """Return the skills that only tell a fact: name to what a model is told of it, and the fact."""
    rows = yaml12.load(_ROOM.joinpath("facts.yaml").read_text(encoding="utf-8"))
    return {name: (told, fact) for name, (told, fact) in rows.items()}


@cache
def schema_texts() -> Mapping[str, str]:
    """Return the text of every skill.yaml by skill."""
    return {name: _ROOM.joinpath("skills", name, "skill.yaml").read_text(encoding="utf-8") for name in sorted(WORKS)}


@cache
def schemas() -> Mapping[str, SkillSchema]:
    """Return the schema of every skill. Raises DamagedError where one doesn't fit what is called."""
    found: dict[str, SkillSchema] = {}
    for name, text in schema_texts().items():
        schema, _ = read_schema(text, f"skills/{name}/skill.yaml")
        takes = set(list(inspect.signature(WORKS[name]).parameters)[1:])
        if schema.skill != name or set(schema.signature.inputs) != takes:
            raise DamagedError(f"skills/{name}/skill.yaml does not fit the skill: its inputs are {sorted(takes)}.")
        found[name] = schema
    for name in facts():
        found[name] = SkillSchema(
            skill=name,
            side_effects="none",
            idempotent=True,
            typical_ms=_FACT_MS,
            signature=Signature(inputs={}, outputs={"type": "object", "required": ["answer"]}),
            context=Needs(),
            failure_modes=(),
        )
    return found


@cache
def descriptions() -> Mapping[str, str]:
    """Return what a model is told of each skill, one sentence; what a flat list of tools is searched by (S8)."""
    told = {name: (inspect.getdoc(work) or "").partition("\n")[0] for name, work in WORKS.items()}
    return told | {name: row[0] for name, row in facts().items()}


def skills(desk: Desk) -> Skills:
    """Return all skills as they are met at a customer's desk."""
    found = {name: Skill(schema, _calling(desk, schema, WORKS.get(name))) for name, schema in schemas().items()}
    return dict(sorted(found.items()))


def _calling(
    desk: Desk, schema: SkillSchema, work: Work | None
) -> Callable[[Mapping[str, Any], Call], Awaitable[Outcome]]:
    async def call(inputs: Mapping[str, Any], call: Call) -> Outcome:
        begun = desk.shop.clock.monotonic_ms()
        outcome = Outcome(None, "CANCELLED", "the caller did not wait")
        try:
            await desk.work(schema.skill, schema.typical_ms or 0)
            outcome = await _outcome(desk, schema, work, inputs, call)
        except SkillFailed as failed:
            outcome = Outcome(None, failed.code, failed.message)
        finally:
            desk.note(schema.skill, outcome.code, desk.shop.clock.monotonic_ms() - begun)
        return outcome

    return call


async def _outcome(
    desk: Desk, schema: SkillSchema, work: Work | None, inputs: Mapping[str, Any], call: Call
) -> Outcome:
    if work is None:
        return Outcome({"answer": facts()[schema.skill][1]})
    asked = schema.signature.inputs
    missing = [name for name, field in asked.items() if not field.optional and inputs.get(name) is None]
    if missing:
        raise SkillFailed("MISSING_CONTEXT", f"{schema.skill} needs {', '.join(missing)}")
    given = {name: inputs[name] for name in asked if inputs.get(name) is not None}
    output = await work(At(desk, call), **given)
    return Outcome(output, raw=output)
