"""Written and derived schemas side by side (STRATEGY S57): for `exuvia strategy schema --check`."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.foundation.errors import UsageError
from core.strategy.documents.reading import Fault
from core.strategy.documents.skill import SkillSchema
from core.strategy.schema.canonical import canonical
from core.strategy.schema.define import definitions_in, schema_of
from core.strategy.schema.directory import skills_in
from core.strategy.schema.failures import Collected, collect

MISSING = object()
_SAID = frozenset({"description"})


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a skill.yaml and its code part: a path, and what each says, "-" for nothing."""

    skill: str
    path: str
    written: str
    derived: str

    def __str__(self) -> str:
        return f"{self.skill}: {self.path}: written {self.written}, derived {self.derived}"


def compare(written: SkillSchema, derived: SkillSchema) -> tuple[Difference, ...]:
    """Return the differences that matter: not the order of rows, fields or words, and no descriptions."""
    ours, theirs = dict(_flat(_comparable(written), "")), dict(_flat(_comparable(derived), ""))
    return tuple(
        Difference(written.skill, path, _shown(ours.get(path, MISSING)), _shown(theirs.get(path, MISSING)))
        for path in sorted({*ours, *theirs})
        if ours.get(path, MISSING) != theirs.get(path, MISSING)
    )


def compare_all(written: Mapping[str, SkillSchema], derived: Mapping[str, SkillSchema]) -> tuple[Difference, ...]:
    """Return the differences of all skills that are derived; one without a skill.yaml differs as a whole. A written
    one that no code defines is none: a skill may be a text (S2)."""
    found: list[Difference] = []
    for name in sorted(derived):
        if name not in written:
            found.append(Difference(name, "skill.yaml", "-", "a schema"))
        else:
            found += compare(written[name], derived[name])
    return tuple(found)


def derived_from(file: Path, failures: Collected) -> dict[str, SkillSchema]:
    """Return the schemas of the functions that a Python file decorates. The file is run, as importing it would.

    Raises UsageError where it can't be, DefinitionError where a function makes no schema.
    """
    name = f"_skills_of_{file.stem}_{abs(hash(file.resolve())):x}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file} is no Python file", hint="Name the file in which skills are decorated.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # types that a function names are looked up there
    try:
        spec.loader.exec_module(module)
        return {
            skill: schema_of(function, failures.rows.get(skill, ()))
            for skill, function in definitions_in(module).items()
        }
    except (ImportError, SyntaxError, OSError) as error:
        raise UsageError(f"{file} can't be run: {error}", hint="Its imports must be installed here.") from error
    finally:
        sys.modules.pop(name, None)


@dataclass(frozen=True, slots=True)
class Report:
    """What was compared, what differs, and what could not be read. In order when nothing differs and nothing failed."""

    derived: Mapping[str, SkillSchema]
    differences: tuple[Difference, ...]
    faults: tuple[Fault, ...]

    @property
    def in_order(self) -> bool:
        """Whether every derived schema is the written one."""
        return not self.differences and not self.faults


def check(skills: Path, code: Iterable[Path], tests: Path | None = None) -> Report:
    """Compare the skill.yaml files below `skills` with what Python files and tests say. Raises as derived_from does."""
    written = skills_in(skills)
    failures = collect(tests) if tests is not None else Collected({}, ())
    derived: dict[str, SkillSchema] = {}
    for file in code:
        derived |= derived_from(file, failures)
    return Report(derived, compare_all(written.schemas, derived), (*written.faults, *failures.faults))


def _comparable(schema: SkillSchema) -> dict[str, Any]:
    value = schema.model_dump(mode="json", by_alias=True, exclude_none=True)
    value["signature"]["outputs"] = canonical(schema.signature.outputs)
    value["failure_modes"] = {row.pop("code"): row for row in value["failure_modes"]}
    value["context"]["needs"] = sorted(value["context"]["needs"])
    value["context"]["provides"] = sorted(value["context"]["provides"])
    for one in value["signature"]["inputs"].values():
        if "enum" in one:
            one["enum"] = sorted(one["enum"], key=repr)
    return value


def _flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            if key not in _SAID or not path.startswith("signature.inputs."):
                yield from _flat(inner, f"{path}.{key}" if path else str(key))
    else:
        yield path, value


def _shown(value: object) -> str:
    return "-" if value is MISSING else repr(value)
