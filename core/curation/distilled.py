"""Arms whose memory a model writes after each attempt: the shell that `reasoningbank` and `memp` share (K6).

Each says what its memory is, what it asks about an attempt, and how it reads the answer. Asking, counting tokens and
what happens where no answer comes are the same for both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from core.curation.arms import Learned, Stream, Unconditional
from core.curation.asking import Asker, Model, together
from core.curation.curators import CurationInput
from core.curation.memories import Memory
from core.curation.prompt import trajectory_text
from core.models.interface import ProviderError


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about an attempt. `read` makes the answer's text a change of the memory, or None where it holds
    none; `lacking` says what it then lacks."""

    system: str
    user: str
    read: Callable[[str], Mapping[str, Any] | None]
    lacking: str


@dataclass(frozen=True, slots=True)
class DistilledArm(Unconditional):
    """An arm; `model` writes the memory, and is the executor's as a rule.

    `empty` gives a stream's memory. `question` is what is asked about a judged attempt; None where it teaches nothing.
    """

    name: str
    model: Model
    empty: Callable[[], Memory]
    question: Callable[[Memory, CurationInput], Question | None]
    static: bool = False

    def memory(self, stream: Stream) -> Memory:
        del stream
        return self.empty()

    def learn(self, attempts: Sequence[tuple[Memory, CurationInput]]) -> Sequence[Learned]:
        return together(self.model, [partial(self._learned, memory=memory, given=given) for memory, given in attempts])

    async def _learned(self, asker: Asker, memory: Memory, given: CurationInput) -> Learned:
        if given.judged is None:
            return Learned(None, failure="nobody judged the attempt")
        asked = self.question(memory, given)
        if asked is None:
            return Learned(None)
        try:
            answer = await asker.ask(asked.system, asked.user, seed=given.seed)
        except ProviderError as error:
            if error.permanent:
                raise
            return Learned(None, failure=str(error))
        change, usage = asked.read(answer.text), answer.usage
        return Learned(
            change,
            None if usage is None else usage.cache_read + usage.cache_write,
            None if usage is None else usage.output,
            asked.lacking if change is None else "",
        )


def attempt_text(given: CurationInput) -> str:
    """Return the task and what happened, as a model is told it."""
    episode = given.episode
    return f"# Task\n{episode.task.text.strip()}\n\n# What happened\n{trajectory_text(episode)}\n"
