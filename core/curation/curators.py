"""What a curator is: it reads how a task went and answers with operations on the repository (CURATION 1.1, 1.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from core.curation.worlds import Episode
from core.skillrepo.operations import Call
from core.skillrepo.skill import Skill


@dataclass(frozen=True, slots=True)
class CurationInput:
    """What one curation sees: the Episode with its opinion of itself, and the skills that were retrieved for its task.

    Never the whole repository, and never the world's own verdict unless `judged` is it (K5). `seed` is what a curator
    that samples draws this answer by: the same input with the same seed gives the same answer, whatever else is in the
    batch, so that a stream that was killed goes on as if it hadn't been.
    """

    episode: Episode
    retrieved: tuple[Skill, ...]
    seed: int = 0

    @property
    def judged(self) -> bool | None:
        return self.episode.judged


@dataclass(frozen=True, slots=True)
class Curation:
    """One answer. `calls` are what could be read from `text` (or came as native tool calls), to be judged one by one.

    `prompt_tokens` and `answer_tokens` are None where nobody counted. `failure` is not empty where no answer came:
    the position is masked then, never scored 0.
    """

    text: str
    calls: tuple[Call, ...]
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    failure: str = ""


class Curator(Protocol):
    """Answers in batches, so that a policy can generate for many streams at once."""

    @property
    def name(self) -> str: ...

    def refuses(self, world: str) -> str:
        """Return why it may not curate that world, in one sentence; empty where it may."""
        ...

    def curate(self, inputs: Sequence[CurationInput]) -> Sequence[Curation]:
        """Answer each input, in order."""
        ...
