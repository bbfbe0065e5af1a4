"""The rehearsal curator: reads how a task went and changes the skills, as a middling curator would.

It looks for the kind of chore, for a skill of that kind among those that were at hand, and at the result. From the
same library as the Optimizer it draws what may help, and does not know which of it is good; it also writes what good
curators don't: praise of what went well, general advice, a worse skill in the place of a good one, a summary that
leaves out what mattered. Whether any of it helps, only measuring tells. A task that is none of its chores it answers
from the trajectory alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.models.interface import Request, Text
from core.models.rehearsal.choosing import kind_of
from core.models.rehearsal.lesson_library import Lesson, lessons
from core.models.rehearsal.target_statement import words
from core.models.rehearsal.transcript import Reply, Transcript, call, draw, front_matter

INSERT, UPDATE, DELETE = "new_skill_insert", "skill_update", "skill_delete"
_TOOLS = (INSERT, UPDATE, DELETE)
_HEADINGS = ("Task Description", "Past Skills", "Agent Trajectory", "Result")
_SKILL = re.compile(r'^<skill name="(?P<name>[^\n]*)">\n(?P<content>.*?)\n</skill>$', re.MULTILINE | re.DOTALL)
_ACTION = re.compile(r"^\[\d+\] Action: (.+)$", re.MULTILINE)
_INPUT = re.compile(r"`[\w./-]+(?:\.\w+|/)`")
_FENCED = re.compile(r"^```.*?^```[ \t]*$", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"\s*\b\d[\w.-]*")
_CHANCE = 12.0  # points of average by which a seed may move a lesson up, as for the Optimizer
_WORDS = 3.0  # what it is worth that a lesson speaks in the words of the task
_PRAISES = 0.5  # how often it writes down that something went well where no skill says how
_SUMMARISES = 0.3  # how often it puts a skill that did well into fewer words
_REPLACES = 0.4  # how often it trades a skill that did not do for another one
_STEPS = 8  # actions of a trajectory that a skill retells

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Seen:
    """What one prompt shows. `skills` are the past skills by name; `success` is None where nobody judged."""

    task: str
    skills: Mapping[str, str]
    trajectory: str
    success: bool | None

    @property
    def kind(self) -> str | None:
        """The kind of chore; None where the task names no file, so that it is none of ours."""
        return kind_of(self.task) if _INPUT.search(self.task) else None


def reply(request: Request, seed: int) -> Reply:
    """Return the curator's calls, or, once they are answered, what it says of them."""
    talk = Transcript.of(request)
    made = [step for step in talk.steps if step.name in _TOOLS]
    if made:
        refused = sum(1 for step in made if (step.answer or {}).get("valid") is not True)
        kept = len(made) - refused
        told = f"{kept} of {len(made)} operations are in." if refused else f"{kept} operations are in; nothing more."
        return (Text("assistant", told),)
    said, calls = decide(read(talk.first_user), seed)
    return (
        Text("assistant", said + "\n"),
        *(call(request, number, name, arguments) for number, (name, arguments) in enumerate(calls)),
    )


def read(prompt: str) -> Seen:
    """Return what the four blocks of a curation prompt hold; a block that is missing is empty."""
    places: list[tuple[int, str]] = []
    at = 0
    for name in _HEADINGS:
        mark = f"# {name}\n"
        # The last block's heading may stand in what was read; the real one is the last.
        found = prompt.rfind(f"\n{mark}") + 1 if name == _HEADINGS[-1] else prompt.find(mark, at)
        if found >= at:
            places.append((found, name))
            at = found + len(mark)
    blocks = dict.fromkeys(_HEADINGS, "")
    for (start, name), (end, _) in zip(places, [*places[1:], (len(prompt), "")], strict=True):
        blocks[name] = prompt[start + len(f"# {name}\n") : end].strip("\n")
    result = blocks["Result"].lower()
    success = True if "judged a success" in result else False if "judged a failure" in result else None
    skills = {match["name"]: match["content"] for match in _SKILL.finditer(blocks["Past Skills"])}
    return Seen(blocks["Task Description"].strip(), skills, blocks["Agent Trajectory"], success)


def decide(seen: Seen, seed: int) -> tuple[str, list[Call]]:
    """Return what it thinks in a sentence, and the operations that follow from it."""
    kind = seen.kind
    if kind is None:
        return _from_trajectory(seen)
    library = [lesson for lesson in lessons() if lesson.edit == "skill" and kind in lesson.kinds]
    at_hand = [lesson for lesson in library if lesson.skill in seen.skills]
    if seen.success:
        return _after_success(seen, kind, at_hand, seed)
    others = sorted(
        (lesson for lesson in library if lesson.skill not in seen.skills),
        key=lambda lesson: (-_appeal(lesson, seen.task, seed), lesson.id),
    )
    if not at_hand and others:
        lesson = others[0]
        return (
            f"It failed, and no skill for a chore of this kind ({kind}) was at hand. {lesson.hypothesis}",
            [(INSERT, {"skill_name": lesson.skill, "content": _whole(lesson)})],
        )
    if at_hand and others and draw(seed, "curator", "replace", kind) < _REPLACES:
        old, new = at_hand[0], others[0]
        return (
            f"It failed although {old.skill} was at hand; another way of doing it may do better. {new.hypothesis}",
            [(UPDATE, {"skill_name": old.skill, "new_name": new.skill, "new_content": _whole(new)})],
        )
    if at_hand:
        return _advice(seen, at_hand[0])
    return _from_trajectory(seen)


def _after_success(seen: Seen, kind: str, at_hand: Sequence[Lesson], seed: int) -> tuple[str, list[Call]]:
    """After a success: leave it, sum up the skill that was at hand, or praise the work in a skill of its own."""
    name = f"{kind}-with-care"
    if at_hand and draw(seed, "curator", "summarise", kind) < _SUMMARISES:
        return _summary(seen, at_hand[0])
    if at_hand or name in seen.skills or draw(seed, "curator", "praise", kind) >= _PRAISES:
        return "It went well with what was at hand. I change nothing.", []
    topic = " ".join(dict.fromkeys(word for word in words(_title(seen.task)) if len(word) > 3)) or kind
    content = _document(
        name,
        f"How a {kind} chore went well: {topic}, read with care, done in order and compared with the task at the end.",
        "# Workflow\n"
        "1. Read the whole task before the first step.\n"
        "2. Do one step after the other, in the order of the task.\n"
        "3. Compare the result with the task before handing it in.\n",
    )
    return "It went well, and no skill says how. I keep it.", [(INSERT, {"skill_name": name, "content": content})]


def _summary(seen: Seen, lesson: Lesson) -> tuple[str, list[Call]]:
    """Keep a skill's sentences and leave out its scripts: shorter, and perhaps all that there was to it."""
    _, body = front_matter(seen.skills[lesson.skill])
    prose = re.sub(r"\n{3,}", "\n\n", _FENCED.sub("", body)).strip()
    if not prose or prose == body.strip():
        return f"It went well, and {lesson.skill} is short. I change nothing.", []
    return (
        f"It went well with {lesson.skill}. I put it into fewer words.",
        [(UPDATE, {"skill_name": lesson.skill, "new_content": prose + "\n"})],
    )


def _advice(seen: Seen, lesson: Lesson) -> tuple[str, list[Call]]:
    """Put a line of general advice at the end of a skill that did not do: it is true, and changes nothing."""
    _, body = front_matter(seen.skills[lesson.skill])
    heading = "# When it does not come out right"
    if heading in body:
        return f"It failed, and {lesson.skill} says what I know already. I change nothing.", []
    body = (
        f"{body.strip()}\n\n{heading}\n- Look at the result again, find the first step that went wrong, and redo it.\n"
    )
    return (
        f"It failed although {lesson.skill} was at hand. I add what to do then.",
        [(UPDATE, {"skill_name": lesson.skill, "new_content": body})],
    )


def _from_trajectory(seen: Seen) -> tuple[str, list[Call]]:
    """Retell a trajectory without its numbers: as a way to do it after a success, as a way to leave after a failure."""
    steps = list(dict.fromkeys(_NUMBER.sub("", action).strip() for action in _ACTION.findall(seen.trajectory)))
    steps = [step for step in steps if step][:_STEPS]
    topic = [word for word in dict.fromkeys(words(_title(seen.task))) if len(word) > 2][:4]
    if not steps or not topic:
        return "There is nothing in it that another task could use. I change nothing.", []
    name = "-".join(topic)
    if seen.success:
        body = "# Workflow\n" + "".join(f"{number}. {step}\n" for number, step in enumerate(steps, 1))
        said = "It went well; I keep the steps."
    else:
        body = "# Workflow\n1. Look where the needed thing is before anything else.\n\n# When NOT to use\n" + "".join(
            f"- not this way: {step}\n" for step in steps[-3:]
        )
        said = "It failed; I keep what to leave."
    content = _document(name, f"For tasks such as: {' '.join(topic)}.", body)
    if name in seen.skills:
        return said, [(UPDATE, {"skill_name": name, "new_content": content})]
    return said, [(INSERT, {"skill_name": name, "content": content})]


def _appeal(lesson: Lesson, task: str, seed: int) -> float:
    """Return how much a lesson promises: its author's hope, its words in the task, and a chance by seed."""
    fitting = len(set(lesson.words) & set(words(task))) / max(1, len(lesson.words))
    return lesson.expected_gain + _WORDS * fitting + _CHANCE * draw(seed, "curator", "lesson", lesson.id)


def _whole(lesson: Lesson) -> str:
    """Return a lesson's skill with a head of exactly two keys."""
    fields, body = front_matter(lesson.body)
    return _document(lesson.skill, fields.get("description", lesson.hypothesis).strip('"'), body)


def _document(name: str, description: str, body: str) -> str:
    escaped = description.replace("\\", "\\\\").replace('"', '\\"')
    return f'---\nname: {name}\ndescription: "{escaped}"\n---\n\n{body.strip()}\n'


def _title(task: str) -> str:
    return next((line.lstrip("# ").strip() for line in task.splitlines() if line.strip()), "")
