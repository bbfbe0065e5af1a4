"""The shop's rule judge: the four criteria of CURATION 1.3 (K9), decided by reading the skill's text."""

from __future__ import annotations

import re

from core.curation.worlds import ContentVerdict, Episode
from core.foundation.errors import UsageError
from core.skillrepo.skill import read as read_content
from trainer.worlds.shop.demand import Demand
from trainer.worlds.shop.executor import needs_of
from trainer.worlds.shop.reading import COLOR, FEATURES, NEEDS, PRICE, SIZE, read

NEEDS_AT_MOST = 2  # the richest family asks for two things to be seen to
LINES_AT_MOST = 11
STEPS_AT_LEAST = 3
VAGUE_AT_MOST = 0.34  # share of sentences that say nothing to do
_COPY = 5  # words in a row that only a copy of what was seen shares with it
_WORD = re.compile(r"[a-z0-9]+")


def _acts(episode: Episode) -> frozenset[str]:
    """Return the needs that were seen to in the Episode, by its actions."""
    demand = Demand.from_json(episode.task.data["demand"])
    found = set(needs_of(demand))
    for step in episode.trajectory:
        if step.action == "click[features]":
            found.add(FEATURES)
        elif step.observation.startswith("You have clicked"):
            found |= {COLOR, SIZE}
        elif "Price:" in step.observation:
            found.add(PRICE)
    return frozenset(found)


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    said = _WORD.findall(text.lower())
    return frozenset(tuple(said[at : at + _COPY]) for at in range(len(said) - _COPY + 1))


def _copied(body: str, episode: Episode) -> bool:
    seen = " ".join((episode.task.text, *(f"{step.action} {step.observation}" for step in episode.trajectory)))
    return bool(_runs(body) & _runs(seen))


def judge(content: str, episode: Episode) -> ContentVerdict:
    """Judge a whole SKILL.md that a curator wrote after the Episode; text that is no skill is not valid."""
    try:
        skill = read_content(content)
    except UsageError as error:
        return ContentVerdict(False, ("ACTIONABILITY",), str(error))
    reading = read(skill)
    needs = [key for key in NEEDS if reading.has(key)]
    told = set(needs)
    issues = []
    if reading.specific or _copied(skill.body, episode):
        issues.append("ABSTRACTION")
    if len(needs) > NEEDS_AT_MOST or reading.lines > LINES_AT_MOST or len(set(reading.steps)) < len(reading.steps):
        issues.append("REUSABILITY")
    if len(set(reading.steps)) < STEPS_AT_LEAST or reading.vague > VAGUE_AT_MOST * reading.lines:
        issues.append("ACTIONABILITY")
    if told - _acts(episode):
        issues.append("FAITHFULNESS")
    text = "keeps all four criteria" if not issues else "breaks " + ", ".join(issues).lower()
    return ContentVerdict(not issues, tuple(issues), text)
