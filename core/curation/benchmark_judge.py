"""Rules for what a curator writes about a benchmark's tasks (CURATION 1.3, K9).

A rule can see that a text is no lesson: it names this one task, copies its trajectory, gives nothing to do, or holds
what only a rubric says. It can't see whether every claim is true, so FAITHFULNESS is judged by private text alone, and
`explanation` says that; a model as the judge sees more.
"""

from __future__ import annotations

import re

from core.curation.worlds import ContentVerdict, Episode
from core.evolution.admissible import inadmissible
from core.evolution.edits import Edit
from core.foundation.errors import UsageError
from core.skillrepo.skill import read
from core.skillrepo.words import words
from core.state.paths import BenchmarkPaths

COPIED_WORDS = 25
"""So many words in a row that stand in the trajectory are a copy of it, not a lesson from it."""
LEAST_STEPS = 2
_STEP = re.compile(r"^\s*(?:\d+[.)]|[-*+])\s+\S", re.MULTILINE)
_FENCE = re.compile(r"^\s*```", re.MULTILINE)
_FENCED = re.compile(r"^\s*```.*?^\s*```[ \t]*$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"`([\w][\w./ -]*\.[A-Za-z0-9]{1,6})`")
_PLAIN = frozenset({"readme.md", "agents.md", "skill.md"})


def judge(content: str, episode: Episode, benchmark: BenchmarkPaths) -> ContentVerdict:
    """Return the verdict on a skill's text, drawn from an Episode of a Case of the benchmark."""
    try:
        skill = read(content)
    except UsageError as error:
        return ContentVerdict(False, ("ACTIONABILITY",), f"It is no skill: {error}")
    found: dict[str, str] = {}
    if refused := inadmissible([Edit("SKILL.md", content=content)], benchmark, ()):
        criterion = "ABSTRACTION" if refused.code == "not_general" else "FAITHFULNESS"
        found[criterion] = refused.reason
    if files := _own_files(content, episode.task.text):
        found.setdefault("ABSTRACTION", f"It names files of this one task: {', '.join(files[:3])}.")
    if _copies(skill.body, episode):
        found["REUSABILITY"] = f"It repeats {COPIED_WORDS} words or more of the trajectory as they stand there."
    if len(_STEP.findall(skill.body)) < LEAST_STEPS and not _FENCE.search(skill.body):
        found["ACTIONABILITY"] = "It gives no steps and no command: nothing to do."
    if found:
        return ContentVerdict(False, tuple(found), " ".join(found.values()))
    return ContentVerdict(True, (), "By rules only: whether each claim is true was not judged.")


def _own_files(content: str, task: str) -> list[str]:
    """Return the files that the task names in backticks and the skill names too."""
    named = {name for name in _FILE.findall(task) if name.lower().rpartition("/")[2] not in _PLAIN}
    return sorted(name for name in named if name in content)


def _copies(body: str, episode: Episode) -> bool:
    """Tell whether the prose of a skill repeats the trajectory.

    Scripts may be used again, and what was read of a skill that was at hand is that skill's own text.
    """
    told = words(
        "\n".join(f"{step.action}\n{step.observation}" for step in episode.trajectory if "SKILL.md" not in step.action)
    )
    seen = {tuple(told[at : at + COPIED_WORDS]) for at in range(len(told) - COPIED_WORDS + 1)}
    prose = words(_FENCED.sub("", body))
    return any(tuple(prose[at : at + COPIED_WORDS]) in seen for at in range(len(prose) - COPIED_WORDS + 1))
