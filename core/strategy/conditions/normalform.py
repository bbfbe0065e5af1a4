"""A condition as alternatives of constraints on single terms: the form in which one is compared with another (S123).

A term is a path, a function of one, or a comparison of two, taken as a whole; a constraint says in which set its value
lies, "not there" being a value too. So "not true" (false or unknown) and "false" are told apart throughout, as the
three-valued language asks. Terms are taken as independent of each other: the form allows for more than can happen,
never for less.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import lru_cache, reduce
from typing import TypeAlias

from core.strategy.conditions.tree import And, Call, Choice, Compare, ListOf, Literal, Not, Or, Path, Tree
from core.strategy.conditions.utterance import holds, normal
from core.strategy.conditions.valueset import ALL, COUNT, KNOWN, ValueSet, between, exactly, numbers

Term: TypeAlias = Tree
Conjunct: TypeAlias = Mapping[Term, ValueSet]
MOST_CONJUNCTS = 1_024
_COUNTING = frozenset({"successes", "failures", "calls"})
_WHOLE = _COUNTING | {"size"}
_NUMERIC = _WHOLE | {"days_from_now", "stability"}
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}


class TooLargeError(Exception):
    """A condition has more alternatives than are looked at."""


class Want(Enum):
    """What a condition should be found to be."""

    TRUE = "true"
    FALSE = "false"
    NOT_TRUE = "not true"
    NOT_FALSE = "not false"


_OPPOSITE = {
    Want.TRUE: Want.FALSE,
    Want.FALSE: Want.TRUE,
    Want.NOT_TRUE: Want.NOT_FALSE,
    Want.NOT_FALSE: Want.NOT_TRUE,
}


@lru_cache(maxsize=8_192)
def alternatives(tree: Tree, want: Want) -> tuple[Conjunct, ...]:
    """Return the conjuncts of which one holds where a condition is as wanted; none where it never can be.

    Raises TooLargeError above MOST_CONJUNCTS.
    """
    match tree:
        case Not(inner=inner):
            return alternatives(inner, _OPPOSITE[want])
        case And(parts=parts) | Or(parts=parts):
            each = [alternatives(part, want) for part in parts]
            joined = isinstance(tree, And) == (want in {Want.TRUE, Want.NOT_FALSE})
            return reduce(product, each) if joined else either(*each)
        case Choice(test=test, yes=yes, no=no):
            met, unmet = alternatives(test, Want.TRUE), alternatives(test, Want.FALSE)
            if want in {Want.TRUE, Want.FALSE}:
                return either(product(met, alternatives(yes, want)), product(unmet, alternatives(no, want)))
            open_ = product(alternatives(test, Want.NOT_TRUE), alternatives(test, Want.NOT_FALSE))
            return either(open_, product(met, alternatives(yes, want)), product(unmet, alternatives(no, want)))
        case Compare(operator="!=", left=left, right=right):
            return alternatives(Compare("==", left, right), _OPPOSITE[want])
        case Compare(operator="==") if (told := _told(tree)) is not None:
            inner, value = told
            return alternatives(inner, want if value else _OPPOSITE[want])
        case Call(name="contains_any", arguments=(text, ListOf(items=phrases))) if len(phrases) > 1:
            return alternatives(Or(tuple(Call("contains_any", (text, ListOf((one,)))) for one in phrases)), want)
        case Literal(value=bool() as value):
            return ({},) if value == (want in {Want.TRUE, Want.NOT_FALSE}) else ()
        case _:
            term, true, false = _atom(tree)
            values = {Want.TRUE: true, Want.FALSE: false, Want.NOT_TRUE: ~true, Want.NOT_FALSE: ~false}[want]
            values = values & _universe(term)
            return () if values.has_none(whole=is_whole(term)) else ({term: values},)


def _told(tree: Compare) -> tuple[Tree, bool] | None:
    """Return what is compared with true or false, where it is an expression that is one of them itself."""
    for one, other in ((tree.left, tree.right), (tree.right, tree.left)):
        is_boolean = isinstance(one, Not | And | Or | Compare) or (isinstance(one, Call) and one.name not in _NUMERIC)
        if is_boolean and isinstance(other, Literal) and isinstance(other.value, bool):
            return one, other.value
    return None


def either(*each: tuple[Conjunct, ...]) -> tuple[Conjunct, ...]:
    """Return the alternatives of all."""
    found = tuple(conjunct for one in each for conjunct in one)
    if len(found) > MOST_CONJUNCTS:
        raise TooLargeError
    return found


def product(one: tuple[Conjunct, ...], other: tuple[Conjunct, ...]) -> tuple[Conjunct, ...]:
    """Return the alternatives in which both hold, without those that can't be."""
    if len(one) * len(other) > MOST_CONJUNCTS * 16:
        raise TooLargeError
    return either(tuple(met for a in one for b in other if (met := meet(a, b)) is not None))


def exclusive(one: tuple[Conjunct, ...], other: tuple[Conjunct, ...]) -> bool:
    """Return whether the two can never hold together: whether their product is empty, without making it."""
    return all(not (a.keys().isdisjoint(b) and _apart(a, b)) and meet(a, b) is None for a in one for b in other)


def _apart(one: Conjunct, other: Conjunct) -> bool:
    """Whether no two terms of different conjuncts can clash: at most one of them asks for phrases."""
    return not (_asks_phrases(one) and _asks_phrases(other))


def _asks_phrases(conjunct: Conjunct) -> bool:
    return any(isinstance(term, Call) and term.name == "contains_any" for term in conjunct)


def meet(one: Conjunct, other: Conjunct) -> Conjunct | None:
    """Return the constraints of both, None where no value satisfies them."""
    met = dict(one)
    for term, values in other.items():
        both = met[term] & values if term in met else values
        if both.has_none(whole=is_whole(term)):
            return None
        met[term] = both
    return None if _phrases_clash(met) else met


def is_whole(term: Term) -> bool:
    """Return whether a term's numbers are whole numbers."""
    return isinstance(term, Call) and term.name in _WHOLE


def phrase_of(term: Term) -> tuple[Tree, str] | None:
    """Return text and phrase of a term that asks whether the one has the other."""
    match term:
        case Call(name="contains_any", arguments=(text, ListOf(items=(Literal(value=str() as phrase),)))):
            return text, phrase
    return None


def _phrases_clash(conjunct: Conjunct) -> bool:
    """Whether a phrase is to be there and another that lies in it isn't."""
    asked = [(found, values.kinds) for term, values in conjunct.items() if (found := phrase_of(term)) is not None]
    if len(asked) < 2:
        return False
    there = [found for found, kinds in asked if kinds == {"true"}]
    missing = [found for found, kinds in asked if "true" not in kinds]
    return any(text == other and _lies_in(phrase, longer) for other, longer in there for text, phrase in missing)


def _lies_in(phrase: str, longer: str) -> bool:
    if longer.rstrip().endswith("*") and not phrase.rstrip().endswith("*"):
        return False
    return holds(normal(longer), phrase)


def _universe(term: Term) -> ValueSet:
    return COUNT if isinstance(term, Call) and term.name in _COUNTING else ALL


def _atom(tree: Tree) -> tuple[Term, ValueSet, ValueSet]:
    """Return a term, the values of it that make the condition true, and those that make it false."""
    match tree:
        case Compare(operator=operator, left=left, right=Literal(value=value)) if _is_term(left):
            if (sets := _against(operator, value)) is not None:
                return left, *sets
            return _ordered(operator, left, tree.right)
        case Compare(operator=operator, left=Literal(value=value), right=right) if _is_term(right) and operator != "in":
            if (sets := _against(_FLIPPED[operator], value)) is not None:
                return right, *sets
            return _ordered(operator, tree.left, right)
        case Compare(operator="in", left=left, right=ListOf(items=items)) if _is_term(left) and _literal(items):
            wanted = exactly(item.value for item in items if isinstance(item, Literal))
            return left, wanted, KNOWN & ~wanted
        case Call(name="is_empty", arguments=(Path() as path,)):
            wanted = ~(~exactly(["", None]) & ~ValueSet(kinds=frozenset({"empty"})))
            return path, wanted, KNOWN & ~wanted
        case Call(name="has", arguments=(Path() as path,)):
            return path, KNOWN, ValueSet(kinds=frozenset({"absent"}))
        case Call(name="within", arguments=(Path() as path, Literal(value=low), Literal(value=high))):
            if isinstance(low, int | float) and isinstance(high, int | float):
                inside = between(low, high)
                return path, inside, ValueSet(ALL.numbers) & ~inside
        case Compare(operator="<" | ">" | "<=" | ">=", left=left, right=right):
            return _ordered(tree.operator, left, right)
        case Compare(operator="==", left=left, right=right):
            first, second = sorted((left, right), key=repr)
            return Compare("==", first, second), exactly([True]), exactly([False])
    return tree, exactly([True]), exactly([False])


def _is_term(tree: Tree) -> bool:
    return isinstance(tree, Path) or (isinstance(tree, Call) and tree.name in _NUMERIC)


def _literal(items: tuple[Tree, ...]) -> bool:
    return all(isinstance(item, Literal) for item in items)


def _against(operator: str, value: str | int | float | bool | None) -> tuple[ValueSet, ValueSet] | None:
    """Return the values for which a comparison with a literal is true and false; None where texts are ordered."""
    if operator == "==":
        wanted = exactly([value])
        return wanted, KNOWN & ~wanted
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    wanted = numbers(operator, value)
    return wanted, ValueSet(ALL.numbers) & ~wanted


def _ordered(operator: str, left: Tree, right: Tree) -> tuple[Term, ValueSet, ValueSet]:
    """x > y is y < x, and x <= y is not y < x where both can be compared."""
    yes, no = exactly([True]), exactly([False])
    term = Compare("<", left, right) if operator in {"<", ">="} else Compare("<", right, left)
    return (term, yes, no) if operator in {"<", ">"} else (term, no, yes)
