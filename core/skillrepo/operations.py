"""The curator's operations as tool calls, with a verdict on each (CURATION 1.2, K2).

Three operations always; merge, split and link are ours and off unless a caller asks for `extra` ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from core.foundation.visible import visible_line
from core.skillrepo.skill import Skill

Style = Literal["native", "tool_call", "marker"]
Kind = Literal["text", "titles", "skills"]
Change = tuple[Skill | None, Skill | None]
"""A skill before and after: (None, new), (old, None) or (old, new)."""

INSERT = "new_skill_insert"
UPDATE = "skill_update"
DELETE = "skill_delete"
MERGE = "skill_merge"
SPLIT = "skill_split"
LINK = "skill_link"
RELATIONS = ("derived_from", "requires", "contrasts_with")
"""What one skill may be to another; merging and splitting write `derived_from` themselves."""


@dataclass(frozen=True, slots=True)
class Link:
    """What the skill `source` has to do with `target` (provenance). A `target` that is gone by now is history."""

    source: str
    target: str
    relation: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call as a model made it. `arguments` is None where they are no JSON object; `problem` says why then."""

    name: str
    arguments: Mapping[str, Any] | None
    raw: str
    style: Style
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a call parsed and could be carried out. `reason` says why not; `before` and `after` are the skill.

    Merge and split touch more skills than one: `also` holds the other changes, in order. `links` is new provenance.
    """

    call: Call
    valid: bool
    reason: str = ""
    before: Skill | None = None
    after: Skill | None = None
    also: tuple[Change, ...] = ()
    links: tuple[Link, ...] = ()

    @property
    def changes(self) -> tuple[Change, ...]:
        """Every change of a skill, in order; empty for a call that is invalid or only links."""
        return ((self.before, self.after), *self.also) if self.before or self.after else ()


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of an operation: a `text`, a list of `titles`, or a list of `skills` with name and content."""

    name: str
    kind: Kind
    about: str
    required: bool = True
    choices: tuple[str, ...] = ()


def _schema(argument: Argument) -> dict[str, Any]:
    text: dict[str, Any] = {"type": "string"}
    if argument.kind == "titles":
        return {"type": "array", "items": text, "minItems": 2, "uniqueItems": True, "description": argument.about}
    if argument.kind == "skills":
        part = {
            "type": "object",
            "properties": {"skill_name": text, "content": text},
            "required": ["skill_name", "content"],
            "additionalProperties": False,
        }
        return {"type": "array", "items": part, "minItems": 2, "description": argument.about}
    if argument.choices:
        text["enum"] = list(argument.choices)
    return {**text, "description": argument.about}


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation: its tool name, what it is for, and its arguments."""

    name: str
    about: str
    arguments: tuple[Argument, ...]

    @property
    def tool(self) -> dict[str, Any]:
        """The operation as a tool: name, description, and parameters as a JSON schema."""
        properties = {argument.name: _schema(argument) for argument in self.arguments}
        required = [argument.name for argument in self.arguments if argument.required]
        parameters = {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }
        return {"name": self.name, "description": self.about, "parameters": parameters}


_WHOLE = "the whole SKILL.md: front matter with name and description, then the body"
_EXACT = "the exact title of a skill that exists"

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        INSERT,
        "Add a new skill. Only when no existing skill is relevant.",
        (
            Argument("skill_name", "text", "the title of the new skill; no skill of that title may exist"),
            Argument("content", "text", _WHOLE),
        ),
    ),
    Operation(
        UPDATE,
        "Improve, extend or rename an existing skill. What is left out stays as it is.",
        (
            Argument("skill_name", "text", _EXACT),
            Argument("new_name", "text", "the new title", required=False),
            Argument("new_content", "text", "replaces the whole skill", required=False),
        ),
    ),
    Operation(
        DELETE,
        "Remove a skill that is wrong, redundant or useless.",
        (Argument("skill_name", "text", _EXACT),),
    ),
)
EXTRA_OPERATIONS: tuple[Operation, ...] = (
    Operation(
        MERGE,
        "Put one skill in the place of two or more that overlap.",
        (
            Argument("skill_names", "titles", "the exact titles of the skills to merge, two or more"),
            Argument("new_name", "text", "the title of the merged skill"),
            Argument("content", "text", _WHOLE),
        ),
    ),
    Operation(
        SPLIT,
        "Put two or more atomic skills in the place of one that does too much.",
        (
            Argument("skill_name", "text", _EXACT),
            Argument("new_skills", "skills", "the new skills, two or more, each with skill_name and content"),
        ),
    ),
    Operation(
        LINK,
        "Write down where a skill comes from or what it belongs with.",
        (
            Argument("skill_name", "text", _EXACT),
            Argument("linked_name", "text", _EXACT),
            Argument("relation", "text", "what the second is to the first", choices=RELATIONS),
        ),
    ),
)
_BY_NAME = {operation.name: operation for operation in (*OPERATIONS, *EXTRA_OPERATIONS)}

TOOLS: tuple[dict[str, Any], ...] = tuple(operation.tool for operation in OPERATIONS)
"""The three operations as tools (CURATION 1.2): name, description, parameters (JSON schema)."""


def tools(*, extra: bool = False) -> tuple[dict[str, Any], ...]:
    """Return the operations as tools; `extra` adds merge, split and link."""
    return (*TOOLS, *(operation.tool for operation in EXTRA_OPERATIONS)) if extra else TOOLS


def argument_problem(call: Call, *, extra: bool = False) -> str:
    """Return why the call can't be carried out whatever the repository holds; empty where nothing speaks against it.

    That is: no JSON object, no such tool, a missing, unknown or ill-typed argument.
    """
    if call.problem or call.arguments is None:
        return call.problem or "the arguments are no JSON object"
    operation = _BY_NAME.get(call.name)
    if operation is None or (not extra and operation in EXTRA_OPERATIONS):
        return f"there is no tool {visible_line(call.name[:80])!r}"
    known = {argument.name for argument in operation.arguments}
    unknown = next((name for name in call.arguments if name not in known), None)
    if unknown is not None:
        return f"unknown argument {visible_line(unknown[:80])!r}"
    for argument in operation.arguments:
        if argument.name not in call.arguments:
            if argument.required:
                return f"the argument {argument.name} is missing"
        elif problem := _value_problem(argument, call.arguments[argument.name]):
            return problem
    return ""


def _value_problem(argument: Argument, value: object) -> str:
    if argument.kind == "text":
        if not isinstance(value, str):
            return f"{argument.name} is no string"
        if not value.strip():
            return f"{argument.name} is empty"
        if argument.choices and value not in argument.choices:
            return f"{argument.name} is none of {', '.join(argument.choices)}"
        return ""
    if not isinstance(value, list) or len(value) < 2:
        return f"{argument.name} is no list of two or more"
    if argument.kind == "titles":
        if not all(isinstance(title, str) for title in value):
            return f"{argument.name} holds something that is no string"
        return f"{argument.name} names a skill twice" if len(set(value)) < len(value) else ""
    fits = all(
        isinstance(part, dict)
        and set(part) == {"skill_name", "content"}
        and all(isinstance(text, str) for text in part.values())
        for part in value
    )
    return "" if fits else f"{argument.name} holds something other than skill_name and content"
