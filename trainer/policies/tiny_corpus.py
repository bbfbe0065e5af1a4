"""What a tiny tokenizer is trained on: the texts that a curator reads and writes in one world."""

from __future__ import annotations

import json
from collections.abc import Iterator

from core.curation.curators import CurationInput
from core.curation.prompt import messages
from core.curation.worlds import World
from core.skillrepo.operations import DELETE, INSERT, TOOLS, UPDATE

STREAM_SEED = 20_260_514  # of the tokenizer's own tasks, apart from every stream that is trained or evaluated on
EPISODES = 200


def world_texts(world: World, episodes: int = EPISODES) -> Iterator[str]:
    """Yield the instructions, and for each of `episodes` training tasks the four blocks and a call of each kind.

    Where the world has no executor of its own, its games are opened instead and their first observations read.
    """
    skills = world.oracle()
    yield json.dumps(TOOLS)
    for index, task in enumerate(world.stream("train", STREAM_SEED, episodes)):
        executor = world.executors[index % len(world.executors)]
        shown = skills[: index % 3] if skills else ()
        episode = world.run(task, shown, executor)
        system, user = messages(CurationInput(episode, shown), native=True)
        if index % 10 == 0:
            yield system
        yield user
        skill = skills[index % len(skills)] if skills else None
        if skill is None:
            continue
        for name, arguments in (
            (INSERT, {"skill_name": skill.title, "content": skill.content}),
            (UPDATE, {"skill_name": skill.title, "new_content": skill.content}),
            (DELETE, {"skill_name": skill.title}),
        ):
            yield f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments}, ensure_ascii=False)}\n</tool_call>"
