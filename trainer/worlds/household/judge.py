"""The rule judge of what a curator writes: four criteria, by reading the text (CURATION 1.3, K9).

ABSTRACTION: no object, no numbered instance, no particular place but the family's tool. REUSABILITY: one skill, not
all of them at once, and no transcript. ACTIONABILITY: steps that can be done, no empty advice. FAITHFULNESS: what it
claims was seen in the trajectory or is what the task's own family asks for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from core.curation.worlds import ContentVerdict, Episode
from core.foundation.errors import UsageError
from core.skillrepo.skill import read
from trainer.worlds.household.conduct import NEEDS
from trainer.worlds.household.reading import Reading, named_in, read_skill
from trainer.worlds.household.telling import NOTHING
from trainer.worlds.household.things import TOOLS
from trainer.worlds.household.wordings import META, Meaning

CHANGES: Mapping[Meaning, str] = {
    Meaning.CLEAN: "sinkbasin",
    Meaning.HEAT: "microwave",
    Meaning.COOL: "fridge",
    Meaning.LAMP: "",
}
"""What a family's step needs as its tool."""
MOST_LINES = 14
MOST_VAGUE = 0.2  # of the lines
LEAST_STEPS = 3
LEAST_META = 2  # for a skill of meta steps alone
_VERBS = {"clean": Meaning.CLEAN, "heat": Meaning.HEAT, "cool": Meaning.COOL, "use": Meaning.LAMP}
_COMMAND = re.compile(
    r"\W*(?:go to|open|close|examine|take|move|put|clean|heat|cool|use) \w+(?: \d+)?"
    r"(?: (?:from|to|in|on|in/on|with) \w+(?: \d+)?)?\W*"
)
_ACTION = re.compile(r"\b(?:go to|open|close|examine|take|move|put|clean|heat|cool|use) \w+ \d")
_RECOUNT = re.compile(
    r"\b(?:in this (?:task|run|episode|trajectory)|(?:the (?:agent|executor)|i|we) (?:then )?"
    r"(?:went|found|took|cleaned|heated|cooled|moved|opened|checked|put|picked|used))\b"
)
_FIND = re.compile(r"\b(?:find|locate|look for|search for)\b")
_BOTH_AT_ONCE = re.compile(
    r"\b(?:take|pick up|carry|hold|grab)\w*\b.{0,20}\b(?:two|both|them)\b.{0,20}"
    r"\b(?:at once|at the same time|together)\b|"
    r"\bhands? (?:can )?holds? (?:both|two)\b"
)


def _done(episode: Episode) -> set[Meaning]:
    """The changes that worked in the trajectory."""
    return {
        _VERBS[verb]
        for step in episode.trajectory
        if (verb := step.action.partition(" ")[0]) in _VERBS and step.observation != NOTHING
    }


def _abstract(reading: Reading, description: str, family: str) -> str:
    objects, places = named_in(f"{reading.title}\n{description}")
    if reading.objects or objects:
        return "ABSTRACTION: it names an object or a numbered instance"
    tools = {CHANGES[at.meaning] for at in reading.instructions if at.meaning in CHANGES} | {TOOLS.get(family)}
    if (set(places) | {place for line in reading.lines for place in line.places}) - tools:
        return "ABSTRACTION: it names a place that another task won't have"
    return ""


def _reusable(reading: Reading, body: str) -> str:
    plain = body.lower()
    commands = sum(_COMMAND.fullmatch(line) is not None for line in plain.split("\n"))
    if len(_ACTION.findall(plain)) >= 2 or commands >= 3:
        return "REUSABILITY: it copies the trajectory"
    if _RECOUNT.search(plain):
        return "REUSABILITY: it tells what happened once"
    if len({at.meaning for at in reading.instructions if at.meaning in CHANGES}) > 1:
        return "REUSABILITY: several kinds of task in one skill"
    if len(reading.lines) > MOST_LINES:
        return "REUSABILITY: longer than a skill that is one thing"
    texts = [line.text.lower() for line in reading.lines]
    if len(set(texts)) < len(texts):
        return "REUSABILITY: it repeats itself"
    return ""


def _actionable(reading: Reading) -> str:
    meanings = {at.meaning for at in reading.instructions}
    if not meanings:
        return "ACTIONABILITY: no step that can be done"
    finds = any(_FIND.search(line.text.lower()) for line in reading.lines) and Meaning.SEARCH not in meanings
    if len(meanings) + finds < (LEAST_META if meanings <= META else LEAST_STEPS):
        return "ACTIONABILITY: too few steps"
    if reading.vague > MOST_VAGUE * len(reading.lines):
        return "ACTIONABILITY: empty advice"
    return ""


def _faithful(reading: Reading, body: str, episode: Episode) -> str:
    known = _done(episode) | {NEEDS.get(episode.task.family)}
    for line in reading.lines:
        for at in line.instructions:
            if at.meaning not in CHANGES:
                continue
            if at.meaning not in known:
                return f"FAITHFULNESS: nothing in the trajectory or the task supports {at.meaning.value}"
            others = set(line.places) & set(CHANGES.values()) - {CHANGES[at.meaning]}
            if others:
                return f"FAITHFULNESS: {at.meaning.value} is not done with a {min(others)}"
    if _BOTH_AT_ONCE.search(body.lower()):
        return "FAITHFULNESS: a hand holds one object"
    return ""


def judge_content(content: str, episode: Episode) -> ContentVerdict:
    """Judge a SKILL.md against the Episode that it was written after. What can't be read is not valid."""
    try:
        skill = read(content)
    except UsageError as error:
        return ContentVerdict(False, ("UNREADABLE",), str(error))
    reading = read_skill(skill)
    found = [
        _abstract(reading, skill.description, episode.task.family),
        _reusable(reading, skill.body),
        _actionable(reading),
        _faithful(reading, skill.body, episode),
    ]
    issues = tuple(problem.partition(":")[0] for problem in found if problem)
    return ContentVerdict(not issues, issues, "; ".join(problem for problem in found if problem))
