"""Names and types of a condition against the registry, before it is ever asked (STRATEGY 4.1, S81)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from core.strategy.conditions.errors import ConditionError, error_at
from core.strategy.conditions.functions import FUNCTIONS, MOST_TURNS, found_in
from core.strategy.conditions.registry import Registry
from core.strategy.conditions.tree import And, Call, Choice, Compare, ListOf, Literal, Not, Or, Path, Tree
from core.strategy.conditions.utterance import normal

_ORDERED = frozenset({"<", "<=", ">", ">="})
_A = {
    "string": "a text",
    "number": "a number",
    "boolean": "true or false",
    "date": "a date",
    "list": "a list",
    "map": "a map",
    "null": "null",
}
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def check(tree: Tree, text: str, registry: Registry, extra: Mapping[str, str]) -> None:
    """Raise ConditionError where a name isn't known or a type can't be right; the whole must be true or false."""
    checker = _Checker(text, registry, extra)
    checker.boolean(tree, "a condition")


class _Checker:
    def __init__(self, text: str, registry: Registry, extra: Mapping[str, str]) -> None:
        self._text = text
        self._registry = registry
        self._extra = extra

    def _error(self, tree: Tree, reason: str, path: str = "") -> ConditionError:
        return error_at(self._text, tree.at, reason, path)

    def boolean(self, tree: Tree, what: str) -> None:
        found = self._type(tree)
        if found not in {"boolean", "any"}:
            name = tree.name if isinstance(tree, Path) else ""
            raise self._error(tree, f"{what} is true or false, and this is {_A[found]}", name)

    def _type(self, tree: Tree) -> str:
        match tree:
            case Literal(value=value):
                return _type_of(value)
            case ListOf(items=items):
                for item in items:
                    self._type(item)
                return "list"
            case Path():
                return self._path(tree)
            case Call():
                return self._call(tree)
            case Not(inner=inner):
                self.boolean(inner, "what ! turns round")
                return "boolean"
            case And(parts=parts) | Or(parts=parts):
                for part in parts:
                    self.boolean(part, f"each side of {'&&' if isinstance(tree, And) else '||'}")
                return "boolean"
            case Compare():
                self._compare(tree)
                return "boolean"
            case Choice(test=test, yes=yes, no=no):
                self.boolean(test, "what stands before ?")
                first, second = self._type(yes), self._type(no)
                return first if first == second else "any"

    def _path(self, path: Path) -> str:
        dotted = next((part for part in path.parts if isinstance(part, str) and "." in part), None)
        if dotted is not None:
            raise self._error(path, f"a field's name has no point: {dotted!r}", path.name)
        found = self._registry.type_of(path.parts, self._extra)
        if found is None:
            name = ".".join(map(str, path.parts))
            near = self._registry.nearest(name, self._extra)
            hint = f"; did you mean {near}?" if near else ": no skill provides it and bank.yaml's registry has it not"
            raise self._error(path, f"{path.name} is not known{hint}", path.name)
        return found

    def _compare(self, tree: Compare) -> None:
        left, right = self._type(tree.left), self._type(tree.right)
        self._utterance(tree)
        if tree.operator == "in":
            self._among(tree, left, right)
        elif tree.operator in _ORDERED:
            self._ordered(tree, left, right)
        elif not _comparable(left, right):
            raise self._mismatch(tree, left, right)

    def _mismatch(self, tree: Compare, left: str, right: str) -> ConditionError:
        path = next((side.name for side in (tree.left, tree.right) if isinstance(side, Path)), "")
        who = next(
            (f"{side.name} is {_A[kind]}" for side, kind in _paths(tree, left, right)), f"{_A[left]} stands left"
        )
        other = right if isinstance(tree.left, Path) or left == right else left
        if not path:
            other = right
        return self._error(tree, f"{who} and can't be compared with {_A[other]} by {tree.operator}", path)

    def _ordered(self, tree: Compare, left: str, right: str) -> None:
        if "date" in {left, right}:
            path = next((side.name for side, kind in _paths(tree, left, right) if kind == "date"), "")
            raise self._error(tree, f"dates are compared by days_from_now, such as days_from_now({path}) > 0", path)
        kinds = {left, right} - {"any"}
        if len(kinds) > 1 or not kinds <= {"number", "string"}:
            raise self._mismatch(tree, left, right)

    def _among(self, tree: Compare, left: str, right: str) -> None:
        if right not in {"list", "map", "any"}:
            raise self._error(tree, f"right of `in` stands a list or a map, not {_A[right]}")
        if isinstance(tree.right, ListOf):
            for item in tree.right.items:
                kind = self._type(item)
                if not _comparable(left, kind):
                    who = tree.left.name if isinstance(tree.left, Path) else ""
                    raise self._error(item, f"{who or 'the left side'} is {_A[left]}, and this is {_A[kind]}", who)

    def _utterance(self, tree: Compare) -> None:
        """`utterance` is in its normal form: a text that isn't would never be equal to it (S19)."""
        if not any(isinstance(side, Path) and side.parts == ("utterance",) for side in (tree.left, tree.right)):
            return
        other = tree.right if isinstance(tree.left, Path) else tree.left
        for one in other.items if isinstance(other, ListOf) else (other,):
            if isinstance(one, Literal) and isinstance(one.value, str) and normal(one.value) != one.value:
                raise self._error(one, f"utterance is in its normal form: write {normal(one.value)!r}", "utterance")

    def _call(self, call: Call) -> str:
        function = FUNCTIONS.get(call.name)
        if function is None:
            near = next(iter(difflib.get_close_matches(call.name, FUNCTIONS, n=1)), "")
            hint = f"; did you mean {near}?" if near else f"; there are {', '.join(sorted(FUNCTIONS))}"
            raise self._error(call, f"there is no function {call.name}{hint}")
        if len(call.arguments) != len(function.arguments):
            wanted = f"{len(function.arguments)} argument{'s' if len(function.arguments) != 1 else ''}"
            raise self._error(call, f"{call.name} takes {wanted}, not {len(call.arguments)}")
        for argument, kind in zip(call.arguments, function.arguments, strict=True):
            self._argument(call.name, argument, kind)
        return function.result

    def _argument(self, name: str, argument: Tree, kind: str) -> None:
        written = argument.value if isinstance(argument, Literal) else None
        match kind:
            case "texts":
                self._phrases(name, argument)
            case "turns":
                if isinstance(written, bool) or not isinstance(written, int) or not 1 <= written <= MOST_TURNS:
                    raise self._error(argument, f"{name} takes a number of turns, 1 to {MOST_TURNS}, written out")
            case "skill":
                if not isinstance(written, str):
                    raise self._error(argument, f"{name} takes the name of a skill, written out")
            case "pattern":
                self._pattern(argument, written)
            case "field":
                last = argument.parts[-1] if isinstance(argument, Path) and len(argument.parts) > 1 else None
                if not isinstance(last, str) or not _FIELD.match(last):
                    raise self._error(argument, "has asks for a field, such as has(order.status)")
                self._type(argument)
            case _:
                found = self._type(argument)
                wanted = {"sized": {"string", "list", "map"}, "date": {"date", "string"}}.get(kind, {kind})
                if found != "any" and kind != "any" and found not in wanted:
                    path = argument.name if isinstance(argument, Path) else ""
                    told = " or ".join(sorted(_A[one] for one in wanted))
                    raise self._error(argument, f"{name} takes {told} here, and this is {_A[found]}", path)

    def _phrases(self, name: str, argument: Tree) -> None:
        items = argument.items if isinstance(argument, ListOf) else ()
        texts = [item.value for item in items if isinstance(item, Literal) and isinstance(item.value, str)]
        if not texts or len(texts) != len(items):
            raise self._error(argument, f'{name} takes its phrases as a list of texts: ["one", "two"]')
        empty = next((text for text in texts if not normal(text)), None)
        if empty is not None:
            raise self._error(argument, f"the phrase {empty!r} has no word, so that no text has it")

    def _pattern(self, argument: Tree, name: object) -> None:
        patterns = self._registry.patterns
        if not isinstance(name, str):
            raise self._error(argument, "matches_named takes the name of a pattern, written out")
        if name not in patterns:
            near = next(iter(difflib.get_close_matches(name, patterns, n=1)), "")
            hint = f"; did you mean {near}?" if near else ": bank.yaml names them under `patterns`"
            raise self._error(argument, f"there is no pattern {name}{hint}")
        try:
            found_in(patterns[name], "")
        except ValueError as error:
            raise self._error(argument, str(error)) from error


def _paths(tree: Compare, left: str, right: str) -> list[tuple[Path, str]]:
    return [(side, kind) for side, kind in ((tree.left, left), (tree.right, right)) if isinstance(side, Path)]


def _comparable(left: str, right: str) -> bool:
    """Whether two types may be equal: a date is written as a text."""
    if left == right or {"any", "null"} & {left, right}:
        return True
    return {left, right} == {"date", "string"}


def _type_of(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "number"
