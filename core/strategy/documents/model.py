"""The base of every record that is read from a file here: frozen, and strict about keys."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class Record(BaseModel):
    """A record of a strategy file. An unknown key is an error: a typo must not switch a check off."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


type_of_list = BeforeValidator(_tuple)
Texts = Annotated[tuple[str, ...], type_of_list]
Id = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$", max_length=120)]
"""Of a strategy: `domain.name`. Lower case, digits and underscores, parts joined by dots."""
SkillName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=64)]
Code = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$", max_length=64)]
"""Of a failure, such as NETWORK_TIMEOUT."""
Milliseconds = Annotated[int, Field(ge=1, le=3_600_000)]
