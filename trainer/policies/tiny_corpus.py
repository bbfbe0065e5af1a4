"""What a tiny tokenizer is trained on: the texts that a curator reads and writes in one world."""

from __future__ import annotations

import json
from collections.abc import Iterator

from core.curation.curators import CurationInput
from core.curation.prompt import instructions, messages
from core.curation.worlds import World
from core.foundation.errors import UsageError
from core.skillrepo.operations import DELETE, INSERT, TOOLS, UPDATE
from core.skillrepo.skill import Skill
from trainer.demonstrations import demonstrations
from trainer.policies.phrases import PhraseBook
from trainer.settings import RetrievalOptions
from trainer.worlds.lexicon import lexicon_of

SEED = 20_260_514  # of the tokenizer's own tasks, apart from every stream that is trained or evaluated on
EPISODES = 300
_OFTEN = 30  # how often what stands in every prompt is said, so that little of it is spelt out


def world_texts(world: World, episodes: int = EPISODES) -> Iterator[str]:
    """Yield the instructions and tools, and for each of `episodes` tasks the four blocks and an answer to them.

    Answers are those of the imitation phase where the world lends phrases, and calls with the oracle's skills.
    """
    tools = [json.dumps({"type": "function", "function": tool}) for tool in TOOLS]
    for _ in range(_OFTEN):
        yield instructions()
        yield from tools
    for given, answer in _curations(world, episodes):
        yield messages(given, native=True)[1]
        yield answer
    for skill in world.oracle():
        for _ in range(_OFTEN):
            yield skill.content
            yield from _calls(skill)


def _curations(world: World, episodes: int) -> Iterator[tuple[CurationInput, str]]:
    try:
        book = PhraseBook(world.name, lexicon_of(world.name))
    except UsageError:  # it lends no phrases
        book = None
    if book is not None and world.executors:
        executor, retrieval = world.executors[0], RetrievalOptions(min_overlap=0.51)
        for shown in demonstrations(world, book, executor, retrieval, count=episodes, longest=34, seed=SEED):
            yield shown.given, shown.text
        return
    skills = world.oracle()
    for index, task in enumerate(world.stream("train", SEED, episodes) if world.executors else ()):
        shown_skills = skills[index % len(skills) :][:2] if skills else ()
        yield CurationInput(world.run(task, shown_skills, world.executors[0]), shown_skills), ""


def _calls(skill: Skill) -> Iterator[str]:
    for name, arguments in (
        (INSERT, {"skill_name": skill.title, "content": skill.content}),
        (UPDATE, {"skill_name": skill.title, "new_content": skill.content}),
        (DELETE, {"skill_name": skill.title}),
    ):
        call = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
        yield f"<tool_call>\n{call}\n</tool_call>"
