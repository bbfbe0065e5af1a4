"""A problem with an answer that can be checked, and where problems come from: generators or files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from core.curation.worlds import Split, Task


@dataclass(frozen=True, slots=True)
class Checked:
    """What a verifier says of an answer: 1 is right; some verifiers give a part for an answer that is nearly so."""

    score: float

    @property
    def right(self) -> bool:
        return self.score >= 1.0


class Source(Protocol):
    """Gives problems as tasks, the same for the same arguments in any process, and checks answers."""

    @property
    def families(self) -> tuple[str, ...]: ...

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the problems depend on, for the world's fingerprint."""
        ...

    def stream(self, split: Split, seed: int, count: int | None) -> Sequence[Task]: ...

    def group(self, split: Split, seed: int, count: int, family: str | None) -> Sequence[Task]: ...

    def check(self, task: Task, answer: str) -> Checked:
        """Check a final answer, as it stood in the box."""
        ...
