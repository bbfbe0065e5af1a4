"""The text form in which models write drafts, brought to our format (STRATEGY S32).

    IF is_empty(results.query_logistics) AND order.status == "paid" THEN
    trigger_skill(contact_carrier, context={order_id: order.id, paid_at: order.paid_at})
    set_timeout(5000)
    fallback_to(estimate_by_weight)

Statements stand on lines of their own or are parted by semicolons. The first line may be a condition, with or without
"activate <skill>", which is the same as a first trigger_skill. `set_timeout` and `fallback_to` speak of the skill
above them. `context` is a mapping of inputs to paths or plain values, or a set of paths that are handed on under their
last part. Anything else is an error that names the line: a draft is never half understood.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from core.foundation.errors import UsageError
from core.strategy.conditions.sugar import to_expression

_CONDITION = re.compile(r"\s*IF\b(.*?)\bTHEN\b(?:[ \t]+activate[ \t]+([a-z0-9][a-z0-9_-]*))?", re.DOTALL)
_PATH = re.compile(r"\$(?=[a-z_])")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True, slots=True)
class Written:
    """What a text says: the trigger's condition ("" for none) and the plan as a mapping of our format."""

    when: str
    plan: Mapping[str, Any]
    skills: tuple[str, ...]


@dataclass(slots=True)
class _Step:
    skill: str
    inputs: dict[str, Any] = field(default_factory=dict)
    timeout_ms: int | None = None
    fallback: str = ""

    def node(self) -> dict[str, Any]:
        node: dict[str, Any] = {"run": self.skill}
        if self.inputs:
            node["with"] = self.inputs
        if self.timeout_ms is not None:
            node["timeout_ms"] = self.timeout_ms
        if self.fallback:
            node["recover"] = {"*": {"do": {"run": self.fallback}}}
        return node


def read_text(text: str) -> Written:
    """Return what a draft in the text form says. Raises UsageError with the line for what isn't of this form."""
    when, steps, start = "", [], 0
    condition = _CONDITION.match(text)
    if condition is not None:
        when = to_expression(f"IF{condition[1]} THEN activate {condition[2] or 'x'}")[0].strip()
        steps = [_Step(condition[2])] if condition[2] else []
        start = condition.end()
    for number, statement in _statements(text, start):
        _take(steps, statement, number)
    if not steps:
        raise UsageError("The draft triggers no skill.", hint="It needs a line trigger_skill(name, context={...}).")
    nodes = [step.node() for step in steps]
    skills = tuple(dict.fromkeys(name for step in steps for name in (step.skill, step.fallback) if name))
    return Written(when, nodes[0] if len(nodes) == 1 else {"sequence": nodes}, skills)


def to_document(
    written: Written,
    strategy_id: str,
    *,
    purpose: str,
    owner: str,
    event: str,
    created_by: str,
    origin: Mapping[str, Any],
) -> str:
    """Return the text of a strategy's first version that does what a draft says. Read it to have it checked."""
    document = {
        "schema": "strategy/v1",
        "id": strategy_id,
        "version": 1,
        "purpose": " ".join(purpose.split()),
        "domain": strategy_id.partition(".")[0],
        "owner": owner,
        "created_by": created_by,
        "origin": dict(origin),
        "trigger": {"event": event.strip(), "when": written.when or "true"},
        "plan": written.plan,
    }
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)


def _statements(text: str, start: int) -> list[tuple[int, str]]:
    """Return statements with their lines. One may go over several lines, as long as a bracket is open."""
    found: list[tuple[int, str]] = []
    held, line, depth, quote = "", text.count("\n", 0, start) + 1, 0, ""
    begins = line
    for character in text[start:] + "\n":
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        else:
            depth += (character in "({[") - (character in ")}]")
        if not quote and depth <= 0 and character in ";\n":
            if held.strip() and not held.strip().startswith("#"):
                found.append((begins, held.strip()))
            held = ""
        else:
            begins = line if not held.strip() else begins
            held += character
        line += character == "\n"
    if held.strip():
        raise _wrong(begins, held.strip(), "a bracket or a quotation mark is not closed")
    return found


def _take(steps: list[_Step], statement: str, line: int) -> None:
    call = _call(statement, line)
    assert isinstance(call.func, ast.Name)
    match call.func.id:
        case "trigger_skill":
            if len(call.args) != 1 or any(word.arg != "context" for word in call.keywords):
                raise _wrong(line, statement, "trigger_skill takes a name and context={...}")
            inputs = _inputs(call.keywords[0].value, statement, line) if call.keywords else {}
            steps.append(_Step(_skill(call.args[0], statement, line), inputs))
        case "set_timeout":
            value = _only(call, statement, line)
            if not isinstance(value, ast.Constant) or type(value.value) is not int or not 1 <= value.value <= 3_600_000:
                raise _wrong(line, statement, "set_timeout takes milliseconds from 1 to 3600000")
            if _last(steps, statement, line).timeout_ms is not None:
                raise _wrong(line, statement, "this skill has a time limit already")
            steps[-1].timeout_ms = value.value
        case "fallback_to":
            if _last(steps, statement, line).fallback:
                raise _wrong(line, statement, "this skill has a fallback already")
            steps[-1].fallback = _skill(_only(call, statement, line), statement, line)
        case other:
            raise _wrong(line, statement, f"there is no {other}; there are trigger_skill, set_timeout, fallback_to")


def _call(statement: str, line: int) -> ast.Call:
    try:
        tree = ast.parse(_PATH.sub("", statement), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _wrong(line, statement, "it can't be read") from error
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise _wrong(line, statement, "it is no call")
    return tree


def _only(call: ast.Call, statement: str, line: int) -> ast.expr:
    if len(call.args) != 1 or call.keywords:
        raise _wrong(line, statement, "it takes one value")
    return call.args[0]


def _last(steps: list[_Step], statement: str, line: int) -> _Step:
    if not steps:
        raise _wrong(line, statement, "no skill stands above it")
    return steps[-1]


def _skill(value: ast.expr, statement: str, line: int) -> str:
    name = value.id if isinstance(value, ast.Name) else value.value if isinstance(value, ast.Constant) else None
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise _wrong(line, statement, "a skill's name has lower case, digits, - and _")
    return name


def _inputs(value: ast.expr, statement: str, line: int) -> dict[str, Any]:
    if isinstance(value, ast.Set):
        paths = [_dotted(item) for item in value.elts]
        if not all(paths):
            raise _wrong(line, statement, "a set of context holds paths")
        return {path.rpartition(".")[2]: f"${path}" for path in paths}
    if not isinstance(value, ast.Dict):
        raise _wrong(line, statement, "context is {input: path, ...} or {path, ...}")
    inputs: dict[str, Any] = {}
    for key, inner in zip(value.keys, value.values, strict=True):
        name = key.id if isinstance(key, ast.Name) else key.value if isinstance(key, ast.Constant) else None
        if not isinstance(name, str) or name in inputs:
            raise _wrong(line, statement, "an input has a name, and each once")
        path = _dotted(inner)
        if path:
            inputs[name] = f"${path}"
        elif isinstance(inner, ast.Constant) and isinstance(inner.value, _PLAIN):
            inputs[name] = inner.value
        else:
            raise _wrong(line, statement, f"the value of {name} is neither a path nor a plain value")
    return inputs


def _dotted(value: ast.expr) -> str:
    if isinstance(value, ast.Name):
        return value.id
    if isinstance(value, ast.Attribute):
        holder = _dotted(value.value)
        return f"{holder}.{value.attr}" if holder else ""
    return ""


def _wrong(line: int, statement: str, reason: str) -> UsageError:
    shown = statement if len(statement) <= 60 else f"{statement[:60]}…"
    return UsageError(
        f"Line {line} of the draft, {shown!r}: {reason}.",
        hint="The form: trigger_skill(name, context={...}), set_timeout(ms), fallback_to(skill).",
    )
