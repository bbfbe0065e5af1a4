"""A condition, compiled once and asked many times (STRATEGY S9 to S13, S20, X3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.strategy.conditions.binding import compiled
from core.strategy.conditions.checking import check
from core.strategy.conditions.errors import ConditionError, error_at
from core.strategy.conditions.functions import kind
from core.strategy.conditions.parser import parse
from core.strategy.conditions.registry import Registry
from core.strategy.conditions.sugar import written_out
from core.strategy.conditions.tree import Call, Path, Tree, functions, paths, spoken, walk
from core.strategy.conditions.truth import Truth
from core.strategy.conditions.view import View

__all__ = ["Condition", "ConditionError", "Judgement", "compile_condition"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a condition was found to be.

    `unknown` are the names that it asks about and that were not there, where that left it open. `defect` says which
    value was of the wrong kind; such a condition is unknown too, never false.
    """

    truth: Truth
    unknown: tuple[str, ...] = ()
    defect: str = ""


_TRUE = Judgement(Truth.TRUE)
_FALSE = Judgement(Truth.FALSE)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that has been checked. `text` is how it was written, `expression` what is evaluated, `activates` the
    skill of the IF ... THEN activate form. `paths` are the names in it; `reads` are those that a view needs for it,
    with a "?" behind one of which it is enough to know whether it is empty (`view.hollow`)."""

    text: str
    expression: str
    tree: Tree
    paths: tuple[str, ...]
    reads: tuple[str, ...]
    functions: tuple[str, ...]
    activates: str | None
    _names: tuple[Path, ...] = field(repr=False)
    _program: Any = field(repr=False, compare=False)

    def judge(self, view: View) -> Judgement:
        """Return whether it holds in a view. Never raises for what the view holds or lacks."""
        view.complaints.clear()
        try:
            value = self._program.execute(view.context)
        except (RuntimeError, LookupError, TypeError, ValueError) as error:
            return self._undecided(view, error)
        if value is True:
            return _TRUE
        if value is False:
            return _FALSE
        return self._undecided(view, TypeError(f"it is {kind(value)} instead of true or false"))

    def _undecided(self, view: View, error: Exception) -> Judgement:
        unknown = [path.name for path in self._names if not view.knows(path.parts)]
        unknown += [complaint.unknown for complaint in view.complaints if complaint.unknown]
        if unknown:
            return Judgement(Truth.UNKNOWN, tuple(dict.fromkeys(unknown)))
        said = next((str(complaint) for complaint in view.complaints), "")
        if not said:
            said = "values of these kinds can't be compared" if isinstance(error, TypeError) else str(error)
            said = str(error) if str(error).startswith("it is ") else said
        return Judgement(Truth.UNKNOWN, (), f"{self.text}: {said}")


def compile_condition(text: str, registry: Registry, *, extra: Mapping[str, str] | None = None) -> Condition:
    """Return the condition in `text`: an expression, or IF ... THEN activate a skill.

    `extra` are names that are known only here, path to type: aliases of nodes that ran before, a probe's output.
    Raises ConditionError with the place in `text` for what can't be read, a name that isn't known (with the nearest
    that is), and types that can't be right.
    """
    written = written_out(text)
    try:
        tree = parse(written.expression)
        check(tree, written.expression, registry, extra or {})
        program = compiled(written.expression)
    except ConditionError as error:
        if written.skill is None:
            raise
        at = written.place(_offset(written.expression, error))
        raise error_at(text, at, error.reason, error.path) from error
    except ValueError as error:  # the parser lets nothing through that the binding refuses; if it does, say so plainly
        raise error_at(text, 0, f"the expression engine refuses it: {str(error)[:200]}") from error
    names = paths(tree)
    return Condition(
        text,
        written.expression,
        tree,
        tuple(dict.fromkeys(path.name for path in names)),
        _reads(tree),
        functions(tree),
        written.skill,
        names,
        program,
    )


def _reads(tree: Tree) -> tuple[str, ...]:
    """Return what must be in a view: `has` needs what holds its field, the raw utterance comes with the other, and
    `is_empty` is content with less than the whole."""
    found: dict[str, None] = {}
    calls = [node for node in walk(tree) if isinstance(node, Call)]
    special = {one.at: call.name for call in calls for one in call.arguments if call.name in {"has", "is_empty"}}
    for path in (node for node in walk(tree) if isinstance(node, Path)):
        asked = special.get(path.at, "")
        name = spoken(path.parts[:-1]) if asked == "has" else path.name
        found["utterance" if name == "utterance_raw" else f"{name}?" if asked == "is_empty" else name] = None
    return tuple(name for name in found if name.removesuffix("?") == name or name.removesuffix("?") not in found)


def _offset(text: str, error: ConditionError) -> int:
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: error.line - 1]) + error.column - 1
