"""The base of every record that is read from a file here: frozen, and strict about keys."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class Record(BaseModel):
    """A record of a strategy file. An unknown key is an error: a typo must not switch a check off."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


type_of_list = BeforeValidator(_tuple)
Texts = Annotated[tuple[str, ...], type_of_list]
MOST_VERSIONS = 1_000_000
"""No number of a version is higher."""
_ID, _LONGEST_ID = r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$", 120
Id = Annotated[str, Field(pattern=_ID, max_length=_LONGEST_ID)]
"""Of a strategy: `domain.name`. Lower case, digits and underscores, parts joined by dots."""
SkillName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=64)]
_CODE, _LONGEST_CODE = r"^[A-Z][A-Z0-9_]*$", 64
Code = Annotated[str, Field(pattern=_CODE, max_length=_LONGEST_CODE)]
"""Of a failure, such as NETWORK_TIMEOUT."""
Milliseconds = Annotated[int, Field(ge=1, le=3_600_000)]


def is_id(text: str) -> bool:
    """Tell whether `text` may be the id of a strategy: what may stand in a file's name."""
    return len(text) <= _LONGEST_ID and re.fullmatch(_ID[1:-1], text) is not None


def is_code(text: str) -> bool:
    """Tell whether `text` may be a failure code, such as NETWORK_TIMEOUT."""
    return len(text) <= _LONGEST_CODE and re.fullmatch(_CODE[1:-1], text) is not None
