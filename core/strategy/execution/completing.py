"""What is missing is brought in by the skill that provides it, or asked for; then only refused (S51, S52, S93)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from core.strategy.documents.plan import Node
from core.strategy.documents.skill import SkillSchema
from core.strategy.documents.strategy import Question as Wording
from core.strategy.execution import inputs as given
from core.strategy.execution.calling import call
from core.strategy.execution.compiling import provider_of
from core.strategy.execution.failure import (
    MISSING_CONTEXT,
    MISSING_INPUT,
    UNANSWERED,
    AskedError,
    NodeFailedError,
)
from core.strategy.execution.paths import MISSING, provided
from core.strategy.execution.question import Question, worded
from core.strategy.execution.run import Frame, Run

_DEEPEST = 4
"""Providers that need providers: no chain is longer."""


async def ensure(run: Run, frame: Frame, paths: Iterable[str], key: str, schema: SkillSchema | None = None) -> None:
    """Make the paths known. Raises AskedError where the user must say, NodeFailedError where nobody can."""
    for path in paths:
        if _known(frame, path):
            continue
        frame.say("missing", key, path=path)
        await complete(run, frame, path, key, schema)
        if not _known(frame, path):
            ask_for(run, frame, path, key)
        if not _known(frame, path):
            raise NodeFailedError(MISSING_CONTEXT, f"{path} isn't known and nothing provides it")


async def complete(
    run: Run, frame: Frame, path: str, key: str, schema: SkillSchema | None = None, depth: int = 0
) -> bool:
    """Run the provider of a path, if there is one, and return whether the path is known now."""
    own = frame.compiled.strategy.context.complete if frame.compiled else {}
    name = own.get(path) or provider_of(path, schema, run.bank.schemas)
    skill = run.skills.get(name or "")
    if name is None or skill is None or skill.schema.writes or depth > _DEEPEST:
        return False
    for needed in skill.schema.context.needs:
        if needed == path or not (_known(frame, needed) or await complete(run, frame, needed, key, None, depth + 1)):
            return False
    values = given.bound(run, frame, Node(run=name), skill.schema)
    if given.missing(skill.schema, values) or given.refused(skill.schema, values):
        return False
    place = f"{key}.complete.{path}"
    outcome = await call(
        run,
        frame,
        place,
        name,
        values,
        purpose="complete",
        timeout_ms=skill.schema.typical_ms and 10 * skill.schema.typical_ms,
    )
    if not outcome.ok or outcome.output is None:
        frame.say("not completed", place, path=path, by=name, code=outcome.code)
        return False
    publish(frame, skill.schema, outcome.output)
    value = provided(outcome.output, path)
    if not _known(frame, path) and value not in (MISSING, None):
        frame.scope.write({path: value})  # a strategy may name a provider whose schema doesn't say that it is one
    if _known(frame, path):
        frame.say("auto-complete", place, path=path, by=name)
    return _known(frame, path)


def publish(frame: Frame, schema: SkillSchema, output: Mapping[str, Any], *, expected: int | None = None) -> None:
    """Write a skill's output into the context: its result, and the paths that it provides."""
    changes: dict[str, Any] = {f"results.{schema.skill}": output}
    for path in schema.context.provides:
        value = provided(output, path)
        if value is not MISSING:
            changes[path] = value
    frame.scope.write(changes, expected=expected)


async def ensure_inputs(run: Run, frame: Frame, node: Node, schema: SkillSchema, key: str) -> dict[str, Any]:
    """Return the node's inputs, completed or asked for where some are missing."""
    values = given.bound(run, frame, node, schema)
    for name in given.missing(schema, values):
        frame.say("missing", key, input=name)
        for path in given.paths_of(name):
            if await complete(run, frame, path, key, schema):
                break
        else:
            for path in given.paths_of(name):
                ask_for(run, frame, path, key, name=name, schema=schema)
    values = given.bound(run, frame, node, schema)
    for name in given.missing(schema, values):
        raise NodeFailedError(MISSING_INPUT, f"{schema.skill} needs {name}", skill=schema.skill)
    return values


def ask_for(run: Run, frame: Frame, path: str, key: str, *, name: str = "", schema: SkillSchema | None = None) -> None:
    """Stop the turn with a question, if there is a wording for it: the strategy's, or the input's description.

    A model's argument that is one of the options is taken for the answer. Raises AskedError, or NodeFailedError where
    it has been asked often enough.
    """
    wording = frame.compiled.strategy.context.ask.get(path) if frame.compiled else None
    if wording is None and schema is not None and (name or path) == path:
        spec = schema.signature.inputs.get(name or path)
        if spec is not None and spec.description:
            wording = Wording(text=spec.description, options=tuple(map(str, spec.enum or ())))
    if wording is not None:
        question = Question(worded(wording.text, run.language), path, wording.options, wording.max_asks)
        heard = run.suggestion.arguments.get(path)
        accepted = question.accepted(heard) if isinstance(heard, str) and wording.options else None
        if accepted is not None:  # the user has said so already, in the model's ear, and it is one of the answers
            frame.say("heard", key, path=path, value=accepted)
            frame.scope.write({path: accepted})
            return
        stop_for(run, frame, question, key)


def stop_for(run: Run, frame: Frame, question: Question, key: str) -> None:
    """Stop the turn for an answer. Raises AskedError, or NodeFailedError where none came after all the asking."""
    if run.journal.choices.get(f"unanswered:{question.into}"):
        raise NodeFailedError(UNANSWERED, f"no usable answer for {question.into}")
    frame.say("asked", key, into=question.into, text=question.text, options=list(question.options))
    raise AskedError(question)


def _known(frame: Frame, path: str) -> bool:
    return frame.scope.look(path) not in (MISSING, None)
