"""How an executor decides to go about a task: which skill it follows, and what it does where that says nothing.

What is drawn for a task is drawn once, from the task's seed (`Luck`), and each decision has its own draw: the same task
goes the same way under the same skills, and two sets of skills are compared under the same luck.

An executor follows the first retrieved skill that has a step of its own, and takes the meta steps (search, open) from
all of them. What makes it less likely to heed them at all: vague lines, names of objects and places, and every further
skill that was retrieved (CURATION 2c; others measured 2.1 to 7-9 % bad actions from retrieved skills).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from trainer.worlds.household.constants import Habits
from trainer.worlds.household.reading import Reading
from trainer.worlds.household.tasks import Goal
from trainer.worlds.household.wordings import Meaning

NEEDS = {
    "clean": Meaning.CLEAN,
    "heat": Meaning.HEAT,
    "cool": Meaning.COOL,
    "look": Meaning.LAMP,
    "two": Meaning.REPEAT,
}
"""The step that makes a family; `pick` has none."""


@dataclass(frozen=True, slots=True)
class Luck:
    """The draws of a task, each uniform in [0, 1) and each for one decision."""

    heeds: float
    need: float
    lands: float
    systematic: float
    wary: float
    second_look: float
    judges: float
    opens: tuple[float, ...]  # one for each visit to a closed receptacle
    picks: tuple[float, ...]  # one for each visit of a search without a system
    order: tuple[float, ...]  # one for each receptacle of a systematic search

    @classmethod
    def of(cls, seed: int, visits: int = 64) -> Luck:
        """Draw the luck of a task's seed."""
        draw = Random(f"luck {seed}").random
        return cls(
            heeds=draw(),
            need=draw(),
            lands=draw(),
            systematic=draw(),
            wary=draw(),
            second_look=draw(),
            judges=draw(),
            opens=tuple(draw() for _ in range(visits)),
            picks=tuple(draw() for _ in range(visits)),
            order=tuple(draw() for _ in range(visits)),
        )


@dataclass(frozen=True, slots=True)
class Conduct:
    """How an executor decided to go about a task."""

    steps: tuple[Meaning, ...]
    systematic: bool
    opens: bool
    used: tuple[str, ...]


def compliance(habits: Habits, top: Reading, retrieved: int) -> float:
    """The probability that an executor heeds its skills: less by what the top one says badly, and by each extra one."""
    lost = habits.per_vague * top.vague + habits.per_object * top.objects + habits.per_place * top.places
    return max(habits.least, habits.compliance - lost - habits.per_extra * (retrieved - 1))


def _misfit(meanings: Sequence[Meaning], family: str) -> bool:
    """Whether a skill was written for another family: it makes a change that this task doesn't ask for."""
    return any(meaning in meanings and other != family for other, meaning in NEEDS.items())


def conduct(goal: Goal, readings: Sequence[Reading], habits: Habits, luck: Luck) -> Conduct:
    """Decide how to go about a task: which skill to follow, and what to do where it says nothing."""
    family, need = goal.family, NEEDS.get(goal.family)
    heard = [(reading, reading.told[family]) for reading in readings]
    followed = next((entry for entry in heard if entry[1].guides), None)
    guide = followed or next((entry for entry in heard if entry[1].meanings), None)
    if guide and luck.heeds >= compliance(habits, guide[0], len(readings)):
        heard, followed = [], None
    if followed and luck.wary < habits.wary and _misfit(followed[1].meanings, family):
        heard, followed = [entry for entry in heard if entry is not followed], None
    used = [entry for entry in heard if entry is followed or entry[1].searches or entry[1].opens]
    innate = habits.needs.get(family, 1.0)
    if followed:
        steps = _completed(followed[1].meanings, family, habits, luck)
    else:
        steps = [Meaning.TAKE]
        if need and need is not Meaning.REPEAT and luck.need < innate:
            steps.append(need)
        if family != "look":
            steps += [Meaning.GOTO, Meaning.PUT]
        if need is Meaning.REPEAT and luck.need < innate:
            steps.append(need)
    return Conduct(
        tuple(steps),
        systematic=luck.systematic < habits.systematic or any(told.searches for _, told in used),
        opens=any(told.opens for _, told in used),
        used=tuple(reading.title for reading, _ in used),
    )


def _completed(told: Sequence[Meaning], family: str, habits: Habits, luck: Luck) -> list[Meaning]:
    """Add what a followed skill leaves out and the executor does by itself all the same, less often than without it."""
    need = NEEDS.get(family)
    steps: list[Meaning] = [step for step in told if step is not Meaning.SEARCH and step is not Meaning.OPEN]
    if Meaning.TAKE not in steps:
        steps = [Meaning.TAKE, *steps]
    if family != "look" and Meaning.PUT not in steps and luck.lands < habits.lands:
        steps += [Meaning.GOTO, Meaning.PUT]
    if family != "look" and Meaning.PUT in steps and Meaning.GOTO not in steps and luck.lands < habits.lands:
        steps.insert(steps.index(Meaning.PUT), Meaning.GOTO)
    if need and need not in steps:
        innate = habits.dulled * habits.needs[family]
        landing = steps.index(Meaning.GOTO) if Meaning.GOTO in steps else len(steps)
        noticed = Meaning.VERIFY in steps[: landing + 1] and luck.second_look < habits.second_look
        if luck.need < innate or noticed:
            at = len(steps) if need in (Meaning.REPEAT, Meaning.LAMP) else max(landing, steps.index(Meaning.TAKE) + 1)
            steps.insert(at, need)
    return steps
