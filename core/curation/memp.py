"""The arm `memp`: our own re-implementation of Memp, procedural memory (arXiv 2508.06433), from the paper.

Theirs: a memory is built from a trajectory in two forms at once (proceduralization): the trajectory itself and a
script, an abstract procedure that a model writes from it; memories are found by the similarity of the tasks; updates
follow the best of their strategies: only successes are stored (validation), and when a task fails although a memory was
used, that memory is revised in place with the failed trajectory (adjustment).

Ours, where the paper leaves it open or needs what isn't here: BM25 over the words of the tasks instead of embeddings;
an update after every task rather than every few; three memories a task; trajectories shortened to 4,000 characters in
the executor's prompt; "used" means that the memory was the first one found; the instructions are in our words; the
judgement is the stream's self-judgement, the same as for every other arm.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from core.curation.asking import Model, without_thought
from core.curation.curators import CurationInput
from core.curation.distilled import DistilledArm, Question, attempt_text
from core.curation.experiences import most_alike
from core.curation.fields import Fields
from core.curation.memories import Memory, Operation
from core.curation.prompt import trajectory_text
from core.curation.worlds import Task
from core.foundation.visible import visible, visible_line
from core.skillrepo.skill import Skill

MEMORIES = 3
_TRAJECTORY_LIMIT = 4_000  # characters of a stored trajectory

_SCRIPT = """\
You turn an agent's attempt into procedural memory. The attempt succeeded. Write a script: the procedure behind it, as
a numbered list of steps that hold for every task of this kind, with the conditions under which a step is needed. Leave
out particular objects and places, detours and luck. Write nothing but the list.
"""
_REVISE = """\
You repair procedural memory. An agent followed the script below on a task, and failed. Find the step that misled it or
is missing, and write the whole script again, corrected, as a numbered list that holds for every task of this kind.
Write nothing but the list.
"""
_STEP = re.compile(r"^\s*\d+[.)]\s+\S", re.MULTILINE)
_LACKING = "the answer holds no numbered step"


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedural memory: the task that it came from, what was done, and the script behind it."""

    task: str
    trajectory: str
    script: str
    number: int

    @property
    def title(self) -> str:
        """Its name among the others; numbers never change, so that a revision can say which it revises."""
        return f"procedure {self.number}"

    @property
    def skill(self) -> Skill:
        body = f"# Script\n{self.script}\n\n# How it went once: {visible_line(self.task)}\n{self.trajectory}"
        return Skill(self.title, self.task, body, body)


class ProceduralMemory:
    """Procedures in the order in which they were built. Revised in place; none is ever dropped."""

    def __init__(self, memories: int = MEMORIES) -> None:
        self._count = memories
        self._procedures: list[Procedure] = []

    @property
    def skills(self) -> tuple[Skill, ...]:
        return tuple(procedure.skill for procedure in self._procedures)

    def find(self, position: int, task: Task) -> tuple[Skill, ...]:
        del position
        found = most_alike([procedure.task for procedure in self._procedures], task.text, self._count)
        return tuple(self._procedures[at].skill for at in found)

    def titled(self, title: str) -> Procedure | None:
        return next((procedure for procedure in self._procedures if procedure.title == title), None)

    def take(self, change: Mapping[str, Any]) -> tuple[Operation, ...]:
        at = Fields(change)
        if at.has("revise"):
            number = at.whole("revise")
            if number >= len(self._procedures):
                raise ValueError(f"revise: there is no procedure {number}")
            revised = replace(self._procedures[number], script=at.text("script"))
            self._procedures[number] = revised
            return (Operation("update", revised.title, True, content=revised.skill.content),)
        built = Procedure(at.text("task"), at.text("trajectory"), at.text("script"), len(self._procedures))
        self._procedures.append(built)
        return (Operation("insert", built.title, True, content=built.skill.content),)


def memp_arm(model: Model, memories: int = MEMORIES) -> DistilledArm:
    """Return the arm; `model` writes scripts, and is the executor's as a rule."""
    return DistilledArm("memp", model, lambda: ProceduralMemory(memories), _question)


def read_script(text: str) -> str:
    """Return the script in an answer; empty where it holds no numbered step."""
    script = visible(without_thought(text))
    return script if _STEP.search(script) else ""


def _question(memory: Memory, given: CurationInput) -> Question | None:
    assert isinstance(memory, ProceduralMemory)
    episode = given.episode
    if given.judged:
        kept = {
            "task": episode.task.text,
            "trajectory": visible(trajectory_text(episode, limit=_TRAJECTORY_LIMIT)),
        }
        return Question(_SCRIPT, attempt_text(given), partial(_change, about=kept), _LACKING)
    used = memory.titled(given.retrieved[0].title) if given.retrieved else None
    if used is None:
        return None  # a failure without a memory to blame teaches Memp nothing
    user = f"# The script\n{used.script}\n\n{attempt_text(given)}"
    return Question(_REVISE, user, partial(_change, about={"revise": used.number}), _LACKING)


def _change(text: str, *, about: Mapping[str, Any]) -> Mapping[str, Any] | None:
    script = read_script(text)
    return {**about, "script": script} if script else None
