"""The arm `reasoningbank`: our own re-implementation of ReasoningBank (arXiv 2509.25140), from the paper.

Theirs: after each attempt, successful or not, a model distils up to three memory items (title, description, content),
with one instruction for successes and another for failures; a model's own judgement says which it was; items are
appended and never merged or forgotten; before a task, the items of the most similar past experience (k = 1) are put
into the executor's prompt.

Ours, where the paper leaves it open or needs what isn't here: experiences are found by BM25 over the words of their
tasks instead of embeddings; the instructions are in our words; the judgement is the stream's self-judgement, the same
as for every other arm. Memory-aware test-time scaling is left out: one attempt a task, as for the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from core.curation.asking import Model, without_thought
from core.curation.curators import CurationInput
from core.curation.distilled import DistilledArm, Question, attempt_text
from core.curation.experiences import most_alike
from core.curation.fields import Fields
from core.curation.memories import Memory, Operation
from core.curation.worlds import Task
from core.foundation.visible import visible, visible_line
from core.skillrepo.skill import Skill

MOST_ITEMS = 3
EXPERIENCES = 1

_FORMAT = """\
Write at most three items, each about something different, none that repeats another. Do not name particular objects,
places, numbers or texts of this task: an item must serve tasks that look different. Use exactly this form:

# Memory Item 1
## Title
what the strategy is called
## Description
one sentence that sums it up
## Content
one to five sentences: the insight, and how to act on it
"""
_SUCCESS = f"""\
You distil reasoning memory. An agent tried a task and succeeded. Read what it did, think about why it worked, and write
down what is worth remembering for later tasks.

{_FORMAT}"""
_FAILURE = f"""\
You distil reasoning memory. An agent tried a task and failed. Read what it did, find out why it failed, and write down
the lessons that would prevent such a failure, or the strategies that would have worked.

{_FORMAT}"""
_ITEM = re.compile(
    r"^# Memory Item \d+[ \t]*\n+## Title[ \t]*\n(?P<title>.*?)\n+## Description[ \t]*\n(?P<description>.*?)\n+"
    r"## Content[ \t]*\n(?P<content>.*?)(?=^# Memory Item|\Z)",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Item:
    """A memory item."""

    title: str
    description: str
    content: str

    @property
    def skill(self) -> Skill:
        """The item as what an executor is given; its title need not be unique."""
        shown = f"## {self.title}\n{self.description}\n\n{self.content}"
        return Skill(self.title, self.description, self.content, shown)


class ReasoningBank:
    """Experiences in the order in which they were made, each with its items. It only grows."""

    def __init__(self, experiences: int = EXPERIENCES) -> None:
        self._count = experiences
        self._queries: list[str] = []
        self._items: list[tuple[Item, ...]] = []

    @property
    def skills(self) -> tuple[Skill, ...]:
        return tuple(item.skill for items in self._items for item in items)

    def find(self, position: int, task: Task) -> tuple[Skill, ...]:
        del position
        found = most_alike(self._queries, task.text, self._count)
        return tuple(item.skill for at in found for item in self._items[at])

    def take(self, change: Mapping[str, Any]) -> tuple[Operation, ...]:
        at = Fields(change)
        items = tuple(
            Item(item.text("title"), item.text("description"), item.text("content")) for item in at.parts("items")
        )
        self._queries.append(at.text("query"))
        self._items.append(items)
        return tuple(Operation("insert", item.title, True, content=item.skill.content) for item in items)


def reasoning_bank_arm(model: Model, experiences: int = EXPERIENCES) -> DistilledArm:
    """Return the arm; `model` distils, and is the executor's as a rule."""
    return DistilledArm("reasoningbank", model, lambda: ReasoningBank(experiences), _question)


def read_items(text: str) -> tuple[Item, ...]:
    """Return the items of an answer, at most three; none where it doesn't keep to the form."""
    found = (
        Item(
            visible_line(" ".join(match["title"].split())),
            visible_line(" ".join(match["description"].split())),
            visible(match["content"].strip()),
        )
        for match in _ITEM.finditer(without_thought(text))
    )
    return tuple(item for item in found if item.title and item.content)[:MOST_ITEMS]


def _question(memory: Memory, given: CurationInput) -> Question:
    del memory
    system = _SUCCESS if given.judged else _FAILURE
    read = partial(_change, query=given.episode.task.text)
    return Question(system, attempt_text(given), read, "the answer holds no memory item")


def _change(text: str, *, query: str) -> Mapping[str, Any] | None:
    items = [asdict(item) for item in read_items(text)]
    return {"query": query, "items": items} if items else None
