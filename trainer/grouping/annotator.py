"""Annotation by any model: the schema is a tool's, so every provider that knows tool calls gives structured output."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from core.curation.asking import Asker, Model, together
from core.curation.worlds import Task
from core.foundation import strict_json
from core.foundation.errors import UsageError
from core.models.interface import ProviderError, ToolSpec
from trainer.grouping.annotation_file import Annotation, hash_of
from trainer.grouping.attributes import DIFFICULTY, PHRASE_WORDS, PHRASES_AT_MOST, read, schema

TOOL = "annotate"
TRIES = 3
SYSTEM = f"""\
You describe tasks so that tasks which teach the same way of thinking can be put together. For the task you are given,
call the tool `{TOOL}` once, with phrases of at most {PHRASE_WORDS} words, at most {PHRASES_AT_MOST} of each kind:

- topics: what the task is about;
- skills: abilities that solving it needs;
- concepts: notions and facts that it rests on;
- strategies: ways of reasoning that lead to a solution;
- pitfalls: mistakes that it invites;
- difficulty: a number from {DIFFICULTY[0]:g} (trivial) to {DIFFICULTY[1]:g} (hardest).

Use the usual names of things, in lower case, as an index of a textbook would, so that two tasks that need the same get
the same phrase. Never give the answer or a part of the solution, never repeat the task's own words: its numbers, names
and sentences stay out.
"""
_TOOLS = (ToolSpec(TOOL, "Record what the task is like.", schema()),)


def _document(asked: Any) -> Any:
    """Return the JSON of an answer: the tool call's arguments, or the text where a model answered with plain JSON."""
    calls = [call for call in asked.calls if call.name == TOOL]
    if len(calls) > 1:
        raise UsageError("The model annotated the task more than once.")
    try:
        document = strict_json.parse(calls[0].arguments if calls else asked.text.strip(), unique=True)
    except ValueError as error:
        raise UsageError(f"The annotation is no JSON: {error}.") from error
    if not isinstance(document, dict):
        raise UsageError("The annotation is no JSON object.")
    return document


async def _annotate(asker: Asker, task: Task, name: str) -> Annotation | ProviderError:
    """Ask until an annotation may be used, telling what was wrong; the error where the model gave no reply."""
    answer = task.data.get("answer")
    told = f"# The task\n{task.text.strip()}\n"
    reason = ""
    for _ in range(TRIES):
        user = told if not reason else f"{told}\n# What was wrong with your last annotation\n{reason}\n"
        try:
            asked = await asker.ask(SYSTEM, user, tools=_TOOLS)
            attributes, difficulty = read(_document(asked), task.text, None if answer is None else str(answer))
        except ProviderError as error:
            return error  # infrastructure: not annotated, to be asked again another time
        except UsageError as error:
            reason = str(error)
            continue
        return Annotation(task.id, hash_of(task), name, attributes, difficulty)
    return Annotation(task.id, hash_of(task), name, None, None, reason)


def annotate(model: Model, tasks: Sequence[Task]) -> list[Annotation | ProviderError]:
    """Annotate tasks at the same time, in order; the error in the place of one that brought no reply."""
    return together(model, [partial(_annotate, task=task, name=model.name) for task in tasks])
