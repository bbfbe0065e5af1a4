"""Whether an attempt is believed to have succeeded: the opinion that a curator sees (CURATION 1.1, K5).

`Episode.success` is the world's own verdict and never changes here; `Episode.judged` is an opinion, None where there
is none. Three ways: the opinion that the world's scripted executor formed of itself, a model that reads the
trajectory, and the world's verdict itself [amb: the paper writes 1(xi) for the self-judgement and for the reward].
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from core.curation.asking import Asker, Model, together
from core.curation.prompt import trajectory_text
from core.curation.worlds import Episode
from core.models.interface import ProviderError


class SelfJudge(Protocol):
    """Gives Episodes their `judged`."""

    @property
    def name(self) -> str: ...

    def judge(self, world: str, episodes: Sequence[Episode]) -> list[Episode]:
        """Return the Episodes with an opinion each; one lost to infrastructure stays without."""
        ...


@dataclass(frozen=True, slots=True)
class OwnOpinion:
    """What the world's scripted executor thinks of its own attempt; nothing where it doesn't say."""

    name: str = "self"

    def judge(self, world: str, episodes: Sequence[Episode]) -> list[Episode]:
        del world
        return list(episodes)


@dataclass(frozen=True, slots=True)
class WorldVerdict:
    """The world's own verdict, shown to the curator."""

    name: str = "world"

    def judge(self, world: str, episodes: Sequence[Episode]) -> list[Episode]:
        del world
        return [replace(episode, judged=episode.success) for episode in episodes]


_SYSTEM = """\
You judge whether an agent completed its task. You get the task and everything the agent did and saw. {about}

Judge by what the observations show, not by what the agent intended or claimed. If the decisive step is not shown to
have worked, it did not work.

Answer in two lines: one sentence that names the decisive observation, then exactly one of

VERDICT: SUCCESS
VERDICT: FAILURE
"""

_ABOUT: Mapping[str, str] = {
    "household": "It moves through rooms and handles objects; the task names what must be where, and in which state.",
    "alfworld": "It moves through rooms and handles objects; the task names what must be where, and in which state.",
    "shop": "It searches a shop and buys one product; type, attributes, options and price must all be as asked.",
    "reasoning": "It solves a problem in one answer; work the problem out yourself and compare the results.",
}
_GENERAL = "The task says what must be true at the end."
_VERDICT = re.compile(r"^\W*VERDICT:\s*(SUCCESS|FAILURE)\W*$", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ModelOpinion:
    """A model that reads the trajectory; as a rule the one that executed (the frozen executor as judge)."""

    model: Model

    @property
    def name(self) -> str:
        return self.model.name

    def judge(self, world: str, episodes: Sequence[Episode]) -> list[Episode]:
        asked = [episode for episode in episodes if episode.success is not None]
        opinions = iter(together(self.model, [partial(_opinion, world=world, episode=one) for one in asked]))
        return [episode if episode.success is None else replace(episode, judged=next(opinions)) for episode in episodes]


def question(world: str, episode: Episode) -> tuple[str, str]:
    """Return the system prompt and the message that ask for an opinion."""
    system = _SYSTEM.format(about=_ABOUT.get(world.partition(":")[0], _GENERAL))
    return system, f"# Task\n{episode.task.text.strip()}\n\n# What happened\n{trajectory_text(episode)}\n"


def read_verdict(text: str) -> bool | None:
    """Return the opinion in an answer, None where it holds none or contradicts itself."""
    found = {match.upper() for match in _VERDICT.findall(text)}
    return "SUCCESS" in found if len(found) == 1 else None


async def _opinion(asker: Asker, world: str, episode: Episode) -> bool | None:
    try:
        answer = await asker.ask(*question(world, episode))
    except ProviderError as error:
        if error.permanent:
            raise
        return None  # nobody judged: the curator is told so
    return read_verdict(answer.text)
