"""How a model plays a Game: what it is told each turn, and how its answer becomes an action (CURATION 1.4, K4).

ReAct with forced tags: `<think>...</think><action>...</action>`. Each turn is a question of its own that shows the
task, the retrieved skills, the last few actions and what can be done now. A world of one turn asks for an answer
instead of an action, and gets all that the model wrote.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.curation.worlds import Step, Task
from core.skillrepo.skill import Skill

MAX_TURNS = 30
HISTORY = 3
_ADMISSIBLE_SHOWN = 80
_ACTION_LIMIT = 300  # characters of an action

_SYSTEM = """\
You act in a text world to complete a task, one action at a time. You see what your last action brought about, and you
choose the next.

Every answer of yours has exactly two parts and nothing else:

<think>your reasoning: what is done, what is missing, what to do next</think>
<action>one action</action>

The action is a single line. Where possible actions are listed, copy one of them exactly. You have at most {turns}
actions; do not repeat one that brought nothing.
"""

_ANSWERING = """\
You solve a problem in one answer. Think step by step, then give the final result, in the form that the problem asks
for, as \\boxed{result} on the last line.
"""

_SKILLS = """\
Skills that were learned on earlier tasks and may help. Use what fits this task; ignore what does not.

"""

_TAG = re.compile(r"<action>(.*?)(?:</action>|\Z)", re.IGNORECASE | re.DOTALL)
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.IGNORECASE | re.DOTALL)
_ARTICLES = re.compile(r"\b(?:the|a|an)\b")
_IDLE = ("look", "inventory")


@dataclass(frozen=True, slots=True)
class Chosen:
    """The action that is taken. `coerced`: the answer held no legal one, and this is what stands for it."""

    action: str
    coerced: bool


def system_text(turns: int, skills: Sequence[Skill]) -> str:
    """Return the system prompt of an attempt of at most `turns` turns."""
    head = _ANSWERING if turns == 1 else _SYSTEM.format(turns=turns)
    if not skills:
        return head
    return head + "\n" + _SKILLS + "\n\n".join(skill.content.strip() for skill in skills) + "\n"


def turn_text(
    task: Task, intro: str, steps: Sequence[Step], admissible: Sequence[str], turns: int, history: int = HISTORY
) -> str:
    """Return what a turn shows. The first observation is always there whole: a task's line may stand at its end."""
    parts = [f"# Task\n{task.text.strip()}"]
    if intro.strip() and intro.strip() != task.text.strip():
        parts.append(f"# How it began\n{intro.strip()}")
    if turns == 1:
        return "\n\n".join(parts) + "\n"
    if steps:
        shown = steps[-history:] if history > 0 else ()
        first = len(steps) - len(shown) + 1
        lines = [f"{len(steps)} of at most {turns} actions are taken. The latest:" if shown else ""]
        lines += [
            f"[{number}] {step.action}\n    {step.observation.strip()}" for number, step in enumerate(shown, first)
        ]
        parts.append("# So far\n" + "\n".join(line for line in lines if line))
    if admissible:
        listed = [f"- {action}" for action in admissible[:_ADMISSIBLE_SHOWN]]
        if len(admissible) > _ADMISSIBLE_SHOWN:
            listed.append(f"- ... and {len(admissible) - _ADMISSIBLE_SHOWN} more")
        parts.append("# Possible actions\n" + "\n".join(listed))
    parts.append("# Your turn")
    return "\n\n".join(parts) + "\n"


def choose(answer: str, admissible: Sequence[str]) -> Chosen:
    """Return the action that an answer stands for.

    Legal as it stands, up to case and spaces: taken. Legal but for articles: taken, and counted as coerced. Anything
    else is coerced to an action that does no harm. Where any text is legal, the tag's text is the action, and a
    missing tag coerces the answer's last line.
    """
    said = _said(answer)
    if not admissible:
        if said:
            return Chosen(said, False)
        lines = [line.strip() for line in _THOUGHT.sub("", answer).splitlines() if line.strip()]
        return Chosen(_one_line(lines[-1]) if lines else _IDLE[0], True)
    if said:
        exact = {_plain(action): action for action in reversed(admissible)}
        if (found := exact.get(_plain(said))) is not None:
            return Chosen(found, False)
        loose = {_bare(action): action for action in reversed(admissible)}
        if (found := loose.get(_bare(said))) is not None:
            return Chosen(found, True)
    return Chosen(next((idle for idle in _IDLE if idle in admissible), admissible[0]), True)


def whole_answer(answer: str) -> Chosen:
    """Return the answer of a world of one turn: all of it but a leading thought."""
    said = _THOUGHT.sub("", answer).strip()
    return Chosen(said or answer.strip(), not said)


def _said(answer: str) -> str:
    found = _TAG.findall(_THOUGHT.sub("", answer))
    return _one_line(found[-1]) if found else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_ACTION_LIMIT]


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _bare(text: str) -> str:
    return " ".join(_ARTICLES.sub(" ", _plain(text).strip(" .!\"'`")).split())
