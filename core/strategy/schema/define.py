"""A skill's schema, derived from the function that does the work (STRATEGY S57).

    @skill_definition(side_effects="irreversible", idempotent=True, needs=["order.id"], provides=["refund.status"])
    async def apply_refund(
        order_id: Annotated[str, domain()],
        amount: Annotated[float, rule()],
        reason: Annotated[str | None, domain("broken", "late")] = None,
    ) -> Refund:
        \"\"\"Pay an order back.

        Args:
            order_id: The order.
            amount: What is paid back. Range: 0 to 10000.
        \"\"\"

Types, roles and optional inputs come from the annotations, bounds and vocabularies from them or from the docstring
(`Range: 0 to 10000.`, `One of: broken, late.`; saying both differently is an error), the output's contract from the
return annotation, and the failure profile from the tests' markers (`failures.collect`). A parameter named `call` is
the executor's and no input. The function itself stays as it is.
"""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeVar

from core.foundation.errors import UsageError
from core.strategy.documents.skill import FailureMode, Input, Needs, SideEffects, Signature, SkillSchema
from core.strategy.schema.contract import contract_of

Function = TypeVar("Function", bound=Callable[..., Any])
_ATTRIBUTE = "__skill_definition__"
_EXECUTORS = "call"


class Range(NamedTuple):
    """Two numbers: an input of type "range"."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Role:
    """What an input is for, and what it is held to. In an annotation: Annotated[str, phrase()]."""

    role: Literal["user_intent_phrase", "domain_constraint", "business_rule"]
    low: float | int | None = None
    high: float | int | None = None
    words: tuple[Any, ...] = ()


def phrase() -> Role:
    """Return the role of what the user said."""
    return Role("user_intent_phrase")


def domain(*words: Any) -> Role:
    """Return the role of a value of the trade; with words, of one of them."""
    return Role("domain_constraint", words=words)


def rule(low: float | int | None = None, high: float | int | None = None) -> Role:
    """Return the role of a value with business bounds, ends included; they may stand in the docstring instead."""
    return Role("business_rule", low, high)


@dataclass(frozen=True, slots=True)
class Outputs:
    """A JSON Schema of what comes back, for Annotated[dict[str, Any], Outputs({...})]."""

    contract: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Definition:
    """What the decorator was told."""

    name: str
    side_effects: SideEffects
    idempotent: bool
    needs: tuple[str, ...]
    provides: tuple[str, ...]
    providers: Mapping[str, str]
    typical_ms: int | None


class DefinitionError(UsageError):
    """A function's annotations or docstring don't make a schema."""


def skill_definition(
    *,
    side_effects: SideEffects,
    idempotent: bool,
    name: str = "",
    needs: Sequence[str] = (),
    provides: Sequence[str] = (),
    providers: Mapping[str, str] | None = None,
    typical_ms: int | None = None,
) -> Callable[[Function], Function]:
    """Mark a function as a skill; `schema_of` derives its schema. `name` is the function's where it isn't given."""

    def mark(function: Function) -> Function:
        told = Definition(
            name or function.__name__,
            side_effects,
            idempotent,
            tuple(needs),
            tuple(provides),
            dict(providers or {}),
            typical_ms,
        )
        setattr(function, _ATTRIBUTE, told)
        return function

    return mark


def definition_of(function: Any) -> Definition | None:
    """Return what the decorator was told, None for a function without it."""
    found = getattr(function, _ATTRIBUTE, None)
    return found if isinstance(found, Definition) else None


def definitions_in(module: types.ModuleType) -> dict[str, Callable[..., Any]]:
    """Return a module's own decorated functions by skill."""
    found = {}
    for value in vars(module).values():
        definition = definition_of(value)
        if definition is not None and getattr(value, "__module__", None) == module.__name__:
            found[definition.name] = value
    return found


def schema_of(function: Callable[..., Any], failures: Iterable[FailureMode] = ()) -> SkillSchema:
    """Return a decorated function's schema. Raises DefinitionError that names the parameter that doesn't make an
    input, and pydantic's ValidationError for a value that no schema may have."""
    definition = definition_of(function)
    if definition is None:
        raise _error(function.__name__, "is not decorated with skill_definition")
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise _error(definition.name, f"an annotation can't be resolved: {error}") from error
    told = _told_in_docstring(function)
    inputs = {
        name: _input(definition.name, name, hints.get(name), parameter, told.get(name, ""))
        for name, parameter in inspect.signature(function).parameters.items()
        if name != _EXECUTORS
    }
    stray = sorted(set(told) - set(inputs) - {_EXECUTORS})
    if stray:
        raise _error(definition.name, f"the docstring speaks of {stray[0]}, which is no parameter")
    return SkillSchema(
        skill=definition.name,
        side_effects=definition.side_effects,
        idempotent=definition.idempotent,
        typical_ms=definition.typical_ms,
        signature=Signature(inputs=inputs, outputs=_outputs(definition.name, hints.get("return"))),
        context=Needs(needs=definition.needs, provides=definition.provides, providers=definition.providers),
        failure_modes=tuple(failures),
    )


def _error(skill: str, reason: str) -> DefinitionError:
    return DefinitionError(f"skill {skill}: {reason}", hint="docs/strategies.md shows how a skill is defined.")


def _told_in_docstring(function: Callable[..., Any]) -> dict[str, str]:
    from docstring_parser import parse

    found = parse(inspect.getdoc(function) or "")
    return {one.arg_name: one.description or "" for one in found.params}


def _input(skill: str, name: str, hint: Any, parameter: inspect.Parameter, told: str) -> Input:
    if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
        raise _error(skill, f"{name} takes anything: inputs are named one by one")
    role = next((one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Role)), None)
    if role is None:
        raise _error(skill, f"{name} has no role: Annotated[..., phrase()], domain() or rule()")
    kind, or_none, words = _kind(skill, name, typing.get_args(hint)[0])
    if words and role.words and set(words) != set(role.words):
        raise _error(skill, f"{name} has two vocabularies in its annotation")
    bounded, description = _constraints(skill, name, replace(role, words=role.words or words), told)
    return Input(
        type=kind,
        role=role.role,
        optional=or_none or parameter.default is not parameter.empty,
        min=bounded.low,
        max=bounded.high,
        enum=bounded.words or None,
        description=description,
    )


InputType = Literal["string", "integer", "number", "boolean", "array", "object", "range"]
_TYPES: Mapping[Any, InputType] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    tuple: "array",
    dict: "object",
    Range: "range",
}


def _kind(skill: str, name: str, hint: Any) -> tuple[InputType, bool, tuple[Any, ...]]:
    """Return an annotation's type, whether it may be None, and the words of a Literal."""
    arguments = typing.get_args(hint)
    origin = typing.get_origin(hint)
    if origin in {typing.Union, types.UnionType}:
        inner = [one for one in arguments if one is not types.NoneType]
        if set(inner) == {int, float}:
            inner = [float]
        if len(inner) == 1:
            kind, _, words = _kind(skill, name, inner[0])
            return kind, types.NoneType in arguments, words
    if origin is Literal:
        kinds = {type(one) for one in arguments}
        if len(kinds) == 1 and (found := _TYPES.get(kinds.pop())) is not None:
            return found, False, arguments
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "object", False, ()
    found = _TYPES.get(origin or hint)
    if found is None:
        raise _error(skill, f"{name} is {hint}, and an input is one of {', '.join(sorted(set(_TYPES.values())))}")
    return found, False, ()


_NUMBER = r"-?\d+(?:\.\d+)?"
_RANGE = re.compile(rf"\bRange:\s*({_NUMBER})\s+to\s+({_NUMBER})\.?(?=\s|$)")
_ONE_OF = re.compile(r"\bOne of:\s*([^.\n]+)\.?(?=\s|$)")


def _constraints(skill: str, name: str, role: Role, told: str) -> tuple[Role, str]:
    """Return the role with what the docstring adds, and the description without it."""
    bounds, words = _RANGE.search(told), _ONE_OF.search(told)
    if bounds is not None:
        low, high = (float(end) if "." in end else int(end) for end in bounds.groups())
        if (role.low, role.high) not in {(None, None), (low, high)}:
            raise _error(skill, f"{name}: annotation and docstring have different ranges")
        role = replace(role, low=low, high=high)
    if words is not None:
        listed = tuple(word.strip() for word in words[1].split(",") if word.strip())
        if role.words and set(role.words) != set(listed):
            raise _error(skill, f"{name}: annotation and docstring have different vocabularies")
        role = replace(role, words=role.words or listed)
    return role, " ".join(_ONE_OF.sub("", _RANGE.sub("", told)).split())


def _outputs(skill: str, hint: Any) -> Mapping[str, Any]:
    given = next((one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Outputs)), None)
    if given is not None:
        return given.contract
    bare = typing.get_origin(hint) or hint
    if hint in {None, types.NoneType, Any, inspect.Parameter.empty} or bare in {dict, Mapping}:
        raise _error(
            skill,
            "the return annotation says what comes back: a TypedDict, a dataclass, or Annotated[dict, Outputs({...})]",
        )
    try:
        return contract_of(hint)
    except (TypeError, NameError) as error:
        raise _error(skill, f"no contract follows from the return annotation: {error}") from error
