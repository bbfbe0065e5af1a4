"""Tasks, Episodes, curations as plain JSON, for files and for the pipe to a curator in another process.

Reading is strict: a key that is missing or of another type raises DamagedError, naming it. What is None is written as
null and read as None, never as a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from core.curation.curators import Curation, CurationInput
from core.curation.worlds import Episode, Step, Task
from core.foundation.errors import DamagedError
from core.foundation.strict_json import is_number
from core.skillrepo.operations import Call
from core.skillrepo.skill import Skill

T = TypeVar("T")


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


def read_task(document: Any) -> Task:
    at = Fields(document, "task")
    split = at.text("split")
    if split not in ("train", "test"):
        raise DamagedError(f"task: split is {split!r}, neither train nor test.")
    return Task(
        id=at.text("id"),
        family=at.text("family"),
        text=at.text("text"),
        split="train" if split == "train" else "test",
        seed=at.whole("seed"),
        difficulty=at.number_or_none("difficulty"),
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


def read_episode(document: Any) -> Episode:
    at = Fields(document, "episode")
    return Episode(
        task=read_task(at.get("task")),
        success=at.truth_or_none("success"),
        steps=at.whole("steps"),
        trajectory=at.listed("trajectory", _read_step),
        intro=at.text("intro"),
        score=at.number_or_none("score"),
        judged=at.truth_or_none("judged"),
        tokens=at.whole_or_none("tokens"),
        used=at.texts("used"),
        failure=at.text("failure"),
    )


def _read_step(document: Any) -> Step:
    match document:
        case [str(action), str(observation), bool(coerced)]:
            return Step(action, observation, coerced)
    raise DamagedError("episode: a step is no [action, observation, coerced].")


def skill_json(skill: Skill) -> dict[str, Any]:
    return {"title": skill.title, "description": skill.description, "body": skill.body, "content": skill.content}


def read_skill_json(document: Any) -> Skill:
    at = Fields(document, "skill")
    return Skill(at.text("title"), at.text("description"), at.text("body"), at.text("content"))


def input_json(given: CurationInput) -> dict[str, Any]:
    return {
        "episode": episode_json(given.episode),
        "retrieved": [skill_json(skill) for skill in given.retrieved],
        "seed": given.seed,
    }


def read_input(document: Any) -> CurationInput:
    at = Fields(document, "curation input")
    return CurationInput(read_episode(at.get("episode")), at.listed("retrieved", read_skill_json), at.whole("seed"))


def call_json(call: Call) -> dict[str, Any]:
    arguments = None if call.arguments is None else dict(call.arguments)
    return {"name": call.name, "arguments": arguments, "raw": call.raw, "style": call.style, "problem": call.problem}


def read_call(document: Any) -> Call:
    at = Fields(document, "call")
    style = at.text("style")
    if style not in ("native", "tool_call", "marker"):
        raise DamagedError(f"call: there is no style {style!r}.")
    arguments = None if at.get("arguments") is None else at.mapping("arguments")
    return Call(at.text("name"), arguments, at.text("raw"), style, at.text("problem"))  # type: ignore[arg-type] # checked above


def curation_json(curation: Curation) -> dict[str, Any]:
    return {
        "text": curation.text,
        "calls": [call_json(call) for call in curation.calls],
        "prompt_tokens": curation.prompt_tokens,
        "answer_tokens": curation.answer_tokens,
        "failure": curation.failure,
    }


def read_curation(document: Any) -> Curation:
    at = Fields(document, "curation")
    return Curation(
        text=at.text("text"),
        calls=at.listed("calls", read_call),
        prompt_tokens=at.whole_or_none("prompt_tokens"),
        answer_tokens=at.whole_or_none("answer_tokens"),
        failure=at.text("failure"),
    )


class Fields:
    """The fields of a JSON object, each asked for with its type. Raises DamagedError that names what is wrong."""

    def __init__(self, document: Any, what: str) -> None:
        if not isinstance(document, Mapping):
            raise DamagedError(f"{what} is no JSON object.")
        self._document = document
        self._what = what

    def get(self, key: str) -> Any:
        if key not in self._document:
            raise DamagedError(f"{self._what}: {key} is missing.")
        return self._document[key]

    def text(self, key: str) -> str:
        return self._typed(key, str, "text")

    def truth(self, key: str) -> bool:
        return self._typed(key, bool, "true or false")

    def truth_or_none(self, key: str) -> bool | None:
        return None if self.get(key) is None else self.truth(key)

    def whole(self, key: str) -> int:
        value = self.get(key)
        if not isinstance(value, int) or isinstance(value, bool):
            raise DamagedError(f"{self._what}: {key} is no whole number.")
        return value

    def whole_or_none(self, key: str) -> int | None:
        return None if self.get(key) is None else self.whole(key)

    def number(self, key: str) -> float:
        value = self.get(key)
        if not is_number(value):
            raise DamagedError(f"{self._what}: {key} is no number.")
        return float(value)

    def number_or_none(self, key: str) -> float | None:
        return None if self.get(key) is None else self.number(key)

    def mapping(self, key: str) -> Mapping[str, Any]:
        return self._typed(key, dict, "an object")

    def listed(self, key: str, read: Callable[[Any], T]) -> tuple[T, ...]:
        value: Sequence[Any] = self._typed(key, list, "a list")
        return tuple(read(item) for item in value)

    def texts(self, key: str) -> tuple[str, ...]:
        return self.listed(key, self._text)

    def _text(self, value: Any) -> str:
        if not isinstance(value, str):
            raise DamagedError(f"{self._what} holds something that is no text.")
        return value

    def _typed(self, key: str, kind: type[T], words: str) -> T:
        value = self.get(key)
        if not isinstance(value, kind):
            raise DamagedError(f"{self._what}: {key} is not {words}.")
        return value
