"""The curator's operations as tool calls, with a verdict on each (CURATION 1.2, K2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from core.skillrepo.skill import Skill

Style = Literal["native", "tool_call", "marker"]


@dataclass(frozen=True, slots=True)
class Call:
    """A call as a model made it. `arguments` is None where they are no JSON object; `problem` says why then."""

    name: str
    arguments: Mapping[str, Any] | None
    raw: str
    style: Style
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a call parsed and could be carried out. `reason` says why not; `before` and `after` are the skill."""

    call: Call
    valid: bool
    reason: str = ""
    before: Skill | None = None
    after: Skill | None = None
