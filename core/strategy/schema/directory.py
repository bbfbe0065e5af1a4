"""The schemas of an agent's skills: skill.yaml beside SKILL.md, each checked before it counts (STRATEGY S46)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from core.state.paths import ProjectPaths
from core.strategy.documents.reading import Fault, FaultyFileError, Source, read, text_in
from core.strategy.documents.skill import FILE, Input, SkillSchema
from core.strategy.schema.outputs import contract_fault

_COUNTED = frozenset({"integer", "number", "range", "string", "array"})


@dataclass(frozen=True, slots=True)
class Schemas:
    """What a directory of skills holds: the schemas by skill, the faults of those that were refused, and the names of
    skills that have no schema (they are called as before, S2)."""

    schemas: Mapping[str, SkillSchema]
    faults: tuple[Fault, ...]
    without: tuple[str, ...]


def read_schema(text: str, file: str) -> tuple[SkillSchema, Source]:
    """Return the schema in a skill.yaml. Raises FaultyFileError with the path of each key that is missing or can't be
    right: a block that isn't there, an output contract that is no JSON Schema, a range whose ends are exchanged."""
    schema, source = read(text, SkillSchema, file)
    faults = tuple(_faults(schema, source))
    if faults:
        raise FaultyFileError(faults)
    return schema, source


def _faults(schema: SkillSchema, source: Source) -> Iterator[Fault]:
    for name, wanted in schema.signature.inputs.items():
        for key, reason in _input_faults(wanted):
            yield source.fault(("signature", "inputs", name, *key), reason)
    fault = contract_fault(schema.signature.outputs)
    if fault is not None:
        yield source.fault(("signature", "outputs", *fault[0]), fault[1])
    for path in schema.context.providers:
        if path not in schema.context.needs:
            yield source.fault(("context", "providers", path), "provides what the skill does not need")
    for number, row in enumerate(schema.failure_modes):
        if row.fallback_skill == schema.skill:
            yield source.fault(("failure_modes", number, "fallback_skill"), "a skill is no fallback for itself")


def _input_faults(wanted: Input) -> Iterator[tuple[tuple[str, ...], str]]:
    bounded = wanted.min is not None or wanted.max is not None
    if wanted.min is not None and wanted.max is not None and wanted.min > wanted.max:
        yield ("min",), f"{wanted.min} lies above max, {wanted.max}"
    if bounded and wanted.type not in _COUNTED:
        yield ("min" if wanted.min is not None else "max",), f"{wanted.type} has no range"
    if wanted.enum is not None and not wanted.enum:
        yield ("enum",), "is empty: no value would ever do"
    if wanted.role == "user_intent_phrase" and wanted.type != "string":
        yield ("type",), "a user_intent_phrase is a string: what the user said"
    if wanted.role == "business_rule" and not bounded and wanted.enum is None and wanted.type != "boolean":
        yield ("role",), "a business_rule is checked against min, max or enum, and there is none"


def skills_in(directory: Path) -> Schemas:
    """Return the schemas of the skills below `directory`, one folder each. A directory that isn't there holds none."""
    schemas: dict[str, SkillSchema] = {}
    faults: list[Fault] = []
    without: list[str] = []
    folders = sorted(path for path in directory.iterdir() if path.is_dir()) if directory.is_dir() else []
    for folder in folders:
        path = folder / FILE
        if not os.path.lexists(path):
            if (folder / "SKILL.md").is_file():
                without.append(folder.name)
            continue
        file = f"{folder.name}/{FILE}"
        try:
            schema, source = read_schema(text_in(path, file), file)
        except FaultyFileError as error:
            faults += error.faults
            continue
        if schema.skill != folder.name:
            faults.append(source.fault(("skill",), f"is {schema.skill}, and its folder is {folder.name}"))
        else:
            schemas[schema.skill] = schema
    return Schemas(schemas, (*faults, *_strangers(schemas, {*schemas, *without})), tuple(without))


def skills_of(project: ProjectPaths, agent_id: str | None = None) -> Schemas:
    """Return the schemas of an agent's skills; of all agents of the Project where none is named.

    A bank belongs to the Project, so a skill that two agents have should promise the same in both. Where it doesn't,
    that is a fault, and the first agent's schema counts. Files are named from the agents' directory.
    """
    schemas: dict[str, SkillSchema] = {}
    holders: dict[str, str] = {}
    faults: list[Fault] = []
    without: set[str] = set()
    for name in project.agent_ids() if agent_id is None else (agent_id,):
        found = skills_in(project.agent(name).skills)
        faults += (replace(fault, file=f"{name}/skills/{fault.file}") for fault in found.faults)
        without.update(found.without)
        for skill, schema in found.schemas.items():
            if schemas.setdefault(skill, schema) != schema:
                reason = f"differs from {holders[skill]}'s {skill}; one bank serves both (else check with --agent)"
                faults.append(Fault(f"{name}/skills/{skill}/{FILE}", 0, 0, "", reason))
            holders.setdefault(skill, name)
    return Schemas(schemas, tuple(faults), tuple(sorted(without - schemas.keys())))


def _strangers(schemas: Mapping[str, SkillSchema], known: set[str]) -> Iterator[Fault]:
    """Name fallbacks and providers that no folder holds."""
    for name, schema in schemas.items():
        named = [(f"failure_modes.{row.code}.fallback_skill", row.fallback_skill) for row in schema.failure_modes]
        named += [(f"context.providers.{path}", skill) for path, skill in schema.context.providers.items()]
        for path, skill in named:
            if skill is not None and skill not in known:
                yield Fault(f"{name}/{FILE}", 0, 0, path, f"names {skill}, and there is no such skill")
