"""What a skill is given: what the plan says, what a trigger injects or binds, what the model says, what is known.

(STRATEGY S16, S18, S47 to S49.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from core.strategy.conditions.utterance import holds
from core.strategy.documents.plan import Node
from core.strategy.documents.skill import Input, SkillSchema
from core.strategy.execution.paths import MISSING, filled
from core.strategy.execution.run import Frame, Run
from core.strategy.schema.inputs import check_inputs


def bound(run: Run, frame: Frame, node: Node, schema: SkillSchema) -> dict[str, Any]:
    """Return the inputs of a node's skill by name, as far as they are known. The first source that has one wins:

    the node's `with`; what the strategy injects; an input's role that the trigger binds; the model's arguments, where
    the skill is the one that it intends; for a `user_intent_phrase` what the user said; the context, under the
    input's own name or with a dot for one of its underscores (`order_id`: `order.id`).
    """
    look_up = frame.scope.at_once()
    given = filled(dict(node.with_), look_up)
    found: dict[str, Any] = dict(given)
    for name, spec in schema.signature.inputs.items():
        if name in found:
            continue
        value = next(
            (value for value in _sources(run, frame, look_up, schema, name, spec) if value not in (MISSING, None)), None
        )
        if value is not None:
            found[name] = value
    return found


def _sources(
    run: Run, frame: Frame, look_up: Callable[[str], Any], schema: SkillSchema, name: str, spec: Input
) -> Iterator[Any]:
    strategy = frame.compiled.strategy if frame.compiled else None
    for injected in (strategy.context.inject if strategy else {}, run.injected):
        if name in injected:
            yield look_up(injected[name])
    if strategy and strategy.trigger and frame.target in ("", schema.skill) and spec.role in strategy.trigger.bind:
        yield look_argument(run, frame, strategy.trigger.bind[spec.role])
    if schema.skill == run.suggestion.intended_skill and name in run.suggestion.arguments:
        argument = run.suggestion.arguments[name]
        # A phrase of the user's is only what the user said: a model puts no words into anybody's mouth (S49).
        if spec.role != "user_intent_phrase" or not isinstance(argument, str) or holds(run.utterance, argument):
            yield argument
    for path in paths_of(name):
        yield look_up(path)
    if spec.role == "user_intent_phrase" and spec.type == "string":
        yield run.utterance or MISSING


def look_argument(run: Run, frame: Frame, path: str) -> Any:
    """Return the value at a path of the context, or of the model's arguments under `arguments.`."""
    if path.startswith("arguments."):
        return run.suggestion.arguments.get(path.removeprefix("arguments."), MISSING)
    value = frame.scope.look(path)
    return run.suggestion.arguments.get(path, MISSING) if value is MISSING else value


@lru_cache(maxsize=4096)
def paths_of(name: str) -> tuple[str, ...]:
    """Return the paths of the context that an input's name may mean, most literal first."""
    parts = name.split("_")
    split = ("_".join(parts[:at]) + "." + "_".join(parts[at:]) for at in range(1, len(parts)))
    return (name, *split)


def missing(schema: SkillSchema, inputs: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of inputs that must be there and aren't."""
    return tuple(
        name for name, spec in schema.signature.inputs.items() if not spec.optional and inputs.get(name) is None
    )


def refused(schema: SkillSchema, inputs: Mapping[str, Any]) -> str:
    """Return why the inputs may not be given to the skill, "" where they may (S47 to S49). Pure."""
    return "; ".join(map(str, check_inputs(schema, inputs)))
