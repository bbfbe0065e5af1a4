"""The rule judge of what a curator writes: four criteria, by reading the text (CURATION 1.3, K9).

ABSTRACTION: no object, no numbered instance, no particular place but the family's tool. REUSABILITY: one skill, not
all of them at once, and no transcript. ACTIONABILITY: steps that can be done, no empty advice. FAITHFULNESS: what it
claims was seen in the trajectory or is what the task's own family asks for.
"""

from __future__ import annotations

import re

from core.curation.worlds import ContentVerdict, Episode
from core.foundation.errors import UsageError
from core.skillrepo.skill import read
from trainer.worlds.household.executor import NEEDS
from trainer.worlds.household.reading import META, Meaning, Reading, named_in, read_skill
from trainer.worlds.household.telling import NOTHING
from trainer.worlds.household.things import TOOLS

CHANGES = (Meaning.CLEAN, Meaning.HEAT, Meaning.COOL, Meaning.LAMP)
MOST_LINES = 14
LEAST_STEPS = 3
LEAST_META = 2
_VERBS = {"clean": Meaning.CLEAN, "heat": Meaning.HEAT, "cool": Meaning.COOL, "use": Meaning.LAMP}
_ACTION = re.compile(
    r"\b(?:go to \w+ \d|(?:open|close|examine) \w+ \d|take \w+ \d+ from|(?:move|put) \w+ \d+ (?:to|in)|"
    r"(?:clean|heat|cool) \w+ \d+ with|use desklamp \d)"
)


def _done(episode: Episode) -> set[Meaning]:
    """The changes that worked in the trajectory."""
    return {
        _VERBS[verb]
        for step in episode.trajectory
        if (verb := step.action.partition(" ")[0]) in _VERBS and step.observation != NOTHING
    }


def _abstract(reading: Reading, description: str) -> str:
    objects, places = named_in(description)
    tools = set(TOOLS.values())
    if reading.objects or objects:
        return "ABSTRACTION: it names an object or a numbered instance"
    if reading.places or set(places) - tools:
        return "ABSTRACTION: it names a place that another task won't have"
    return ""


def _reusable(reading: Reading, body: str) -> str:
    if len(_ACTION.findall(body.lower())) >= 2:
        return "REUSABILITY: it copies the trajectory"
    changes = {at.meaning for at in reading.instructions if at.meaning in CHANGES and not at.families}
    if len(changes) > 1:
        return "REUSABILITY: several kinds of task in one skill"
    if len(reading.lines) > MOST_LINES:
        return "REUSABILITY: longer than a skill that is one thing"
    once = [line.text.lower() for line in reading.lines]
    if len(set(once)) < len(once):
        return "REUSABILITY: it repeats itself"
    return ""


def _actionable(reading: Reading) -> str:
    meanings = {at.meaning for at in reading.instructions}
    if not meanings:
        return "ACTIONABILITY: no step that can be done"
    least = LEAST_META if meanings <= META else LEAST_STEPS
    if len(meanings) < least:
        return "ACTIONABILITY: too few steps"
    if reading.vague:
        return "ACTIONABILITY: empty advice"
    return ""


def _faithful(reading: Reading, episode: Episode) -> str:
    known = _done(episode) | {NEEDS.get(episode.task.family)}
    for at in reading.instructions:
        if at.meaning in CHANGES and not at.families and at.meaning not in known:
            return f"FAITHFULNESS: nothing in the trajectory or the task supports {at.meaning.value}"
    return ""


def judge_content(content: str, episode: Episode) -> ContentVerdict:
    """Judge a SKILL.md against the Episode that it was written after. What can't be read is not valid."""
    try:
        skill = read(content)
    except UsageError as error:
        return ContentVerdict(False, ("UNREADABLE",), str(error))
    reading = read_skill(skill)
    found = [
        _abstract(reading, skill.description),
        _reusable(reading, skill.body),
        _actionable(reading),
        _faithful(reading, episode),
    ]
    issues = tuple(problem.partition(":")[0] for problem in found if problem)
    return ContentVerdict(not issues, issues, "; ".join(problem for problem in found if problem))
