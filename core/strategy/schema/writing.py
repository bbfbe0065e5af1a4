"""A schema as the text of a skill.yaml (STRATEGY S57)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from core.state.yaml_text import flow
from core.strategy.documents.skill import SkillSchema

_BLOCKS = frozenset({"signature", "inputs", "outputs", "properties", "context", "failure_modes"})


def to_yaml(schema: SkillSchema, remarks: Mapping[str, str] | None = None) -> str:
    """Return the text; `remarks` stand as comments behind the lines of their paths."""
    value = schema.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=False)
    for one in value["signature"]["inputs"].values():
        for key, nothing in (("optional", False), ("description", "")):
            if one.get(key) == nothing:
                del one[key]
    if not value["context"]["providers"]:
        del value["context"]["providers"]
    return "\n".join(_lines(value, "", 0, remarks or {})) + "\n"


def _lines(value: Mapping[str, Any], path: str, depth: int, remarks: Mapping[str, str]) -> Iterator[str]:
    for key, inner in value.items():
        here = f"{path}.{key}" if path else str(key)
        begin = f"{'  ' * depth}{flow(str(key))}:"
        open_ = key in _BLOCKS or any(remark.startswith(f"{here}.") for remark in remarks)
        if isinstance(inner, Mapping) and inner and open_:
            yield f"{begin}{_remark(here, remarks)}"
            yield from _lines(inner, here, depth + 1, remarks)
        elif isinstance(inner, list) and inner and open_:
            yield f"{begin}{_remark(here, remarks)}"
            for number, one in enumerate(inner):
                yield f"{'  ' * (depth + 1)}- {flow(one)}{_remark(f'{here}[{number}]', remarks)}"
        else:
            yield f"{begin} {flow(inner)}{_remark(here, remarks)}"


def _remark(path: str, remarks: Mapping[str, str]) -> str:
    return f"  # {remarks[path]}" if path in remarks else ""
