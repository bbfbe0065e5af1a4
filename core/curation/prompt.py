"""What a curator that reads text is told: the skill `skill-curation` and four headed blocks (CURATION 1.1).

The same words for every model: a prompted one, a policy in training, a trained one (lesson 5: the system prompt is in
the prompt, and a test looks for it there).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources

from core.curation.curators import CurationInput
from core.curation.worlds import Episode, Step
from core.skillrepo.document import read_text
from core.skillrepo.operations import tools
from core.skillrepo.skill import Skill

HEADINGS = ("Task Description", "Past Skills", "Agent Trajectory", "Result")
TRAJECTORY_LIMIT = 24_000
"""Characters of a trajectory that are shown: about 8,000 tokens of the 16,384 of Table 4."""
_OBSERVATION_LIMIT = 2_000  # characters of one observation

_CALLING = """\
## Tools

You call a tool by writing a JSON object between tags, one pair of tags a call:

<tool_call>
{"name": "NAME", "arguments": {...}}
</tool_call>

The tools, as JSON schemas:

"""


@lru_cache(maxsize=1)
def instructions() -> str:
    """Return the body of the built-in skill `skill-curation`."""
    raw = (resources.files("skills") / "skill-curation" / "SKILL.md").read_bytes()
    return read_text(raw, directory="skill-curation").body.strip() + "\n"


@lru_cache(maxsize=4)
def system_text(*, native: bool = False, extra: bool = False) -> str:
    """Return the system prompt. `native`: the tools travel beside it, so their signatures aren't repeated in it.

    `extra` names merge, split and link among them.
    """
    if native:
        return instructions()
    signatures = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools(extra=extra))
    return f"{instructions()}\n{_CALLING}{signatures}\n"


def messages(
    given: CurationInput, *, native: bool = False, trajectory_limit: int = TRAJECTORY_LIMIT, extra: bool = False
) -> tuple[str, str]:
    """Return the system prompt and the user's message for one curation.

    `trajectory_limit` is in characters; what is cut is cut from the middle and said.
    """
    task, skills, trajectory, result = HEADINGS
    user = (
        f"# {task}\n{given.episode.task.text.strip()}\n\n"
        f"# {skills}\n{skills_text(given.retrieved)}\n\n"
        f"# {trajectory}\n{trajectory_text(given.episode, limit=trajectory_limit)}\n\n"
        f"# {result}\n{result_text(given.judged)}\n"
    )
    return system_text(native=native, extra=extra), user


def skills_text(skills: Sequence[Skill]) -> str:
    """Return skills as a curator sees them: the exact name, then the whole document, fenced by lines of its own."""
    if not skills:
        return "None was found for this task."
    return "\n\n".join(f'<skill name="{skill.title}">\n{skill.content.strip()}\n</skill>' for skill in skills)


def trajectory_text(episode: Episode, *, limit: int = TRAJECTORY_LIMIT) -> str:
    """Return the first observation and each action with what came of it, at most about `limit` characters.

    Steps are left out whole, from the middle: how an attempt began and how it ended tells most.
    """
    if not episode.trajectory and not episode.intro:
        return "No action was taken."
    intro = _shortened(episode.intro.strip(), max(limit // 4, 200))
    steps = [_step(number, step) for number, step in enumerate(episode.trajectory, 1)]
    room = limit - len(intro)
    if sum(len(step) + 1 for step in steps) > room:
        steps = _ends(steps, room)
    return "\n".join(part for part in (intro, *steps) if part)


def result_text(judged: bool | None) -> str:
    """Return the judgement of the outcome in words; None is said, never read as a failure."""
    if judged is None:
        return "Unknown: nobody judged this attempt."
    return "The attempt is judged a success." if judged else "The attempt is judged a failure."


def _step(number: int, step: Step) -> str:
    action = _shortened(step.action.strip(), _OBSERVATION_LIMIT)
    unread = " (not its own words: it named no legal action)" if step.coerced else ""
    observation = _shortened(step.observation.strip(), _OBSERVATION_LIMIT)
    return f"[{number}] Action: {action}{unread}\n    Observation: {observation}"


def _ends(steps: Sequence[str], room: int) -> list[str]:
    """Keep as many whole steps from both ends as `room` takes, at least one each, and say how many are left out."""
    first, last = 0, 0
    used = 0
    while first + last < len(steps):
        following = steps[first] if first <= last else steps[len(steps) - 1 - last]
        if used + len(following) + 1 > room and first and last:
            break
        used += len(following) + 1
        if first <= last:
            first += 1
        else:
            last += 1
    left_out = len(steps) - first - last
    note = [f"[... {left_out} steps are left out here ...]"] if left_out else []
    return [*steps[:first], *note, *steps[len(steps) - last :]]


def _shortened(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]} [... {len(text) - 2 * half} characters are left out ...] {text[-half:]}"
