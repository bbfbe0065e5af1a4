"""A skill as the executor sees it: a schema, and what can be called. No skill knows of strategies (S2)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from core.strategy.documents.skill import SkillSchema

TIMEOUT = "TIMEOUT"
"""The code of a call that did not return in its time."""
RAISED = "SKILL_RAISED"
"""The code of a call that raised instead of returning an outcome."""


@dataclass(frozen=True, slots=True)
class Call:
    """What a skill is told beside its inputs.

    `idempotency_key` is the same for every repeat of one call: a skill that writes must do its work once a key (X2);
    "" where the skill doesn't write. `timeout_ms` is how long the caller waits, None without a limit. With `dry_run`
    the call is for comparison only; a skill that writes is never called so (X1).
    """

    session_id: str
    idempotency_key: str = ""
    timeout_ms: float | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came back. `code` is "" for success, else a failure code; `raw` is the provider's own answer, if kept."""

    output: Mapping[str, Any] | None
    code: str = ""
    message: str = ""
    raw: Any = None

    @property
    def ok(self) -> bool:
        """Whether the skill itself says that it succeeded; validation may find otherwise (S34)."""
        return not self.code


@dataclass(frozen=True, slots=True)
class Skill:
    """A callable skill: `call(inputs, call)`. It reports failure by a code; what it raises becomes SKILL_RAISED."""

    schema: SkillSchema
    call: Callable[[Mapping[str, Any], Call], Awaitable[Outcome]]


Skills = Mapping[str, Skill]
