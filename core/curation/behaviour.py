"""What a curator does and what its skills are like: operations, headings, meta-skills, use (CURATION 1.7, K18).

The paper tells how curation changes in training: inserts give way to updates, headings move from tips to failure
handling and conditional branches, more of the repository is about ways of working, and more of it gets used while
each task uses fewer skills. It prints no rule for these classes; the words below are ours, fixed and documented.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

from core.skillrepo.operations import DELETE, INSERT, UPDATE, Verdict
from core.skillrepo.skill import Skill

OPERATIONS = ("insert", "update", "delete", "other")
_KINDS: Mapping[str, str] = {INSERT: "insert", UPDATE: "update", DELETE: "delete"}

_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)

# In this order: the first class with a word in the heading takes it.
_CLASSES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("limits", re.compile(r"when not|not to use|do not use|limit|scope|exclu|does not apply|out of scope")),
    ("failure", re.compile(r"fail|error|recover|mistake|pitfall|trouble|stuck|retry|fallback|wrong|avoid")),
    ("branches", re.compile(r"condition|branch|\bif\b|cases?\b|variant|alternative|exception|decision|otherwise")),
    ("checks", re.compile(r"verif|check|confirm|validat|valid|success crit|done when|test")),
    ("needs", re.compile(r"prereq|precondition|requirement|\bneeds?\b|before you|inputs?\b|setup|when to use")),
    ("tips", re.compile(r"tip|hint|guid|advice|optimi|best practice|notes?\b|remember|efficien|heuristic|general")),
    ("examples", re.compile(r"example|sample|illustrat|demonstrat")),
    ("workflow", re.compile(r"workflow|steps?\b|procedure|process|how to|instruction|method|plan|approach|action")),
)
HEADING_CLASSES = (*(name for name, _ in _CLASSES), "other")

# A meta-skill is about a way of working rather than about one kind of task.
_META = re.compile(
    r"\b(?:any (?:kind of )?task|every task|all tasks|in general|general(?:ly)?|systematic(?:ally)?|"
    r"strateg(?:y|ies|ic)|explor(?:e|es|ing|ation)|search(?:ing|es)?|plan(?:ning)?|verif(?:y|ies|ication|ying)|recover(?:y|ing|s)?|"
    r"backtrack(?:ing)?|track(?:ing)?|avoid(?:ing)? loops?|loop detection|self-check(?:ing)?|error handling|"
    r"decompos(?:e|ing|ition)|priorit(?:ise|ize|ising|izing)|troubleshoot(?:ing)?|debug(?:ging)?|meta)\b"
)


def operation_kind(name: str) -> str:
    """Return the kind of operation that a call asks for: one of OPERATIONS, whether it was valid or not."""
    return _KINDS.get(name, "other")


def operation_counts(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """Return how often each kind was asked for; every kind is there."""
    counted = Counter(operation_kind(verdict.call.name) for verdict in verdicts)
    return {kind: counted[kind] for kind in OPERATIONS}


def shares(counts: Mapping[str, int]) -> dict[str, float | None]:
    """Return counts as shares of their sum; None where nothing was counted."""
    total = sum(counts.values())
    return {name: count / total if total else None for name, count in counts.items()}


def headings(body: str) -> tuple[str, ...]:
    """Return the Markdown headings of a body, in order, those inside code fences left out."""
    return tuple(match.group(1).strip() for match in _HEADING.finditer(_FENCE.sub("", body)))


def heading_class(heading: str) -> str:
    """Return one of HEADING_CLASSES."""
    text = heading.casefold()
    return next((name for name, words in _CLASSES if words.search(text)), "other")


def heading_counts(skills: Iterable[Skill]) -> dict[str, int]:
    """Return how many headings of each class the skills have; every class is there."""
    counted: Counter[str] = Counter()
    for skill in skills:
        counted.update(_classes(skill.body))
    return {name: counted[name] for name in HEADING_CLASSES}


# The same skills are counted again at every position of a stream or a rollout.
@lru_cache(maxsize=8_192)
def _classes(body: str) -> tuple[str, ...]:
    return tuple(heading_class(heading) for heading in headings(body))


@lru_cache(maxsize=8_192)
def is_meta(skill: Skill) -> bool:
    """Tell whether a skill's title or description speaks of a way of working rather than of one kind of task."""
    return bool(_META.search(f"{skill.title.replace('-', ' ').replace('_', ' ')} {skill.description}".casefold()))


def meta_share(skills: Sequence[Skill]) -> float | None:
    """Return the share of meta-skills, None for an empty repository."""
    return fmean(is_meta(skill) for skill in skills) if skills else None


@dataclass(frozen=True, slots=True)
class Usage:
    """How skills were used over a stream.

    `coverage` is the share of all skills that ever stood in the repository that were given to at least one task;
    `examples_with_skill` the share of tasks that were given any; `skills_per_example` the mean number they were given.
    The last two leave out tasks that met an empty repository; each is None where there is nothing to take a mean of.
    """

    coverage: float | None
    examples_with_skill: float | None
    skills_per_example: float | None


def usage(ever: Iterable[str], given: Iterable[tuple[int, Sequence[str]]]) -> Usage:
    """Return how skills were used.

    `ever` are the titles that ever stood in the repository in time to be found; `given` holds a pair a task, in
    order: how many skills the repository held before it, and the titles it was given.
    """
    found: set[str] = set()
    counts: list[int] = []
    for held, titles in given:
        found.update(titles)
        if held:
            counts.append(len(titles))
    known = set(ever)
    return Usage(
        coverage=len(found & known) / len(known) if known else None,
        examples_with_skill=fmean(count > 0 for count in counts) if counts else None,
        skills_per_example=fmean(counts) if counts else None,
    )
