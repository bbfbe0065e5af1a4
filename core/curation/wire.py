"""Tasks, Episodes and curations as plain JSON, for files and for the pipe to a curator in another process.

Reading raises ValueError that names the field which can't be what it should. What is None is written as null and read
as None, never as a zero.
"""

from __future__ import annotations

from typing import Any

from core.curation.curators import Curation, CurationInput
from core.curation.fields import Fields
from core.curation.worlds import Episode, Step, Task
from core.skillrepo.operations import Call
from core.skillrepo.skill import Skill


def task_json(task: Task) -> dict[str, Any]:
    return {
        "id": task.id,
        "family": task.family,
        "text": task.text,
        "split": task.split,
        "seed": task.seed,
        "difficulty": task.difficulty,
        "data": dict(task.data),
    }


def read_task(at: Fields) -> Task:
    split = at.text("split")
    if split not in ("train", "test"):
        raise ValueError(f"split: {split[:40]!r} is neither train nor test")
    return Task(
        id=at.text("id"),
        family=at.text("family"),
        text=at.text("text"),
        split="train" if split == "train" else "test",
        seed=at.whole("seed"),
        difficulty=at.number("difficulty"),
        data=at.mapping("data"),
    )


def episode_json(episode: Episode, *, trajectory: bool = True) -> dict[str, Any]:
    """Return an Episode; without `trajectory` the steps and the first observation are left out, and count as none."""
    return {
        "task": task_json(episode.task),
        "success": episode.success,
        "steps": episode.steps,
        "trajectory": [[step.action, step.observation, step.coerced] for step in episode.trajectory]
        if trajectory
        else [],
        "intro": episode.intro if trajectory else "",
        "score": episode.score,
        "judged": episode.judged,
        "tokens": episode.tokens,
        "used": list(episode.used),
        "failure": episode.failure,
    }


def read_episode(at: Fields) -> Episode:
    return Episode(
        task=read_task(at.part("task")),
        success=at.flag("success"),
        steps=at.whole("steps"),
        trajectory=tuple(_read_step(step) for step in at.items("trajectory")),
        intro=at.text("intro", ""),
        score=at.number("score"),
        judged=at.flag("judged"),
        tokens=at.count("tokens"),
        used=at.texts("used"),
        failure=at.text("failure", ""),
    )


def _read_step(document: Any) -> Step:
    match document:
        case [str(action), str(observation), bool(coerced)]:
            return Step(action, observation, coerced)
    raise ValueError("trajectory: a step is not [action, observation, coerced]")


def skill_json(skill: Skill) -> dict[str, Any]:
    return {"title": skill.title, "description": skill.description, "body": skill.body, "content": skill.content}


def read_skill(at: Fields) -> Skill:
    return Skill(at.text("title"), at.text("description"), at.text("body"), at.text("content"))


def input_json(given: CurationInput) -> dict[str, Any]:
    return {
        "episode": episode_json(given.episode),
        "retrieved": [skill_json(skill) for skill in given.retrieved],
        "seed": given.seed,
    }


def read_input(at: Fields) -> CurationInput:
    retrieved = tuple(read_skill(skill) for skill in at.parts("retrieved"))
    return CurationInput(read_episode(at.part("episode")), retrieved, at.whole("seed"))


def call_json(call: Call) -> dict[str, Any]:
    arguments = None if call.arguments is None else dict(call.arguments)
    return {"name": call.name, "arguments": arguments, "raw": call.raw, "style": call.style, "problem": call.problem}


def read_call(at: Fields) -> Call:
    arguments = at.mapping("arguments") if at.has("arguments") else None
    match at.text("style"):
        case "native" | "tool_call" | "marker" as style:
            return Call(at.text("name"), arguments, at.text("raw"), style, at.text("problem", ""))
        case other:
            raise ValueError(f"style: {other[:40]!r} is no style of a call")


def curation_json(curation: Curation) -> dict[str, Any]:
    return {
        "text": curation.text,
        "calls": [call_json(call) for call in curation.calls],
        "prompt_tokens": curation.prompt_tokens,
        "answer_tokens": curation.answer_tokens,
        "failure": curation.failure,
    }


def read_curation(at: Fields) -> Curation:
    return Curation(
        text=at.text("text"),
        calls=tuple(read_call(call) for call in at.parts("calls")),
        prompt_tokens=at.count("prompt_tokens"),
        answer_tokens=at.count("answer_tokens"),
        failure=at.text("failure", ""),
    )
