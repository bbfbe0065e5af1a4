"""From a condition's text to its tree, with the place of what can't be read.

The part of Common Expression Language that conditions use: literals, lists, paths, calls of functions, `!`, `&&`, `||`,
comparisons, `in`, `?:` and brackets, bound as the language binds them. What it has beyond that (arithmetic, maps,
macros, methods, comments) is refused by name. Length, depth and size are bounded, before the binding sees the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from core.strategy.conditions.errors import ConditionError, error_at
from core.strategy.conditions.tree import And, Call, Choice, Compare, ListOf, Literal, Not, Or, Path, Tree

MOST_CHARACTERS = 2_000
MOST_DEPTH = 24
MOST_NODES = 300
GREATEST = 2**53
"""Whole numbers beyond it can't be compared with fractions exactly."""

_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<comment>//)|(?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.]))"
    r"|(?P<text>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign>&&|\|\||==|!=|<=|>=|[<>!?:()\[\].,])|(?P<arithmetic>[-+*/%])"
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'", "`": "`", "?": "?"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_COMPARISONS = ("==", "!=", "<=", ">=", "<", ">")
_CONSTANTS = {"true": True, "false": False, "null": None}
_MACROS = {"all", "exists", "exists_one", "map", "filter"}
RESERVED = frozenset(
    (
        *("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop"),
        *("namespace", "null", "package", "return", "true", "var", "void", "while"),
    )
)
_MEANT = {"=": "==", "&": "&&", "|": "||", "AND": "&&", "OR": "||", "NOT": "!", "and": "&&", "or": "||", "not": "!"}


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int


def parse(text: str) -> Tree:
    """Return the tree of a condition. Raises ConditionError with line and column."""
    if len(text) > MOST_CHARACTERS:
        raise error_at(text, 0, f"is longer than {MOST_CHARACTERS} characters: split the strategy")
    return _Parser(text).whole()


def _tokens(text: str) -> list[_Token]:
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        kind = match.lastgroup if match else None
        if match is None or kind is None:
            raise error_at(text, at, _unreadable(text, at))
        if kind == "comment":
            raise error_at(text, at, "comments belong beside a condition: folded into one line they'd hide its end")
        if kind != "space":
            found.append(_Token(kind, match.group(), at))
        at = match.end()
    return [*found, _Token("end", "", len(text))]


def _unreadable(text: str, at: int) -> str:
    sign = text[at]
    if sign in _MEANT:
        return f"{sign!r} is no sign of this language; did you mean {_MEANT[sign]!r}?"
    if sign in "\"'":
        return "a text begins here and does not end on this line"
    if sign.isdigit():
        return "isn't a number as it is written"
    if sign in "{}":
        return "maps can't be written in a condition"
    return f"{sign!r} is no sign of this language"


class _Parser:
    """Reads tokens once, from left to right. `_at` is the next token's number."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0
        self._nodes = 0

    def whole(self) -> Tree:
        if self._next.kind == "end":
            raise self._error("is empty")
        tree = self._choice()
        if self._next.kind != "end":
            raise self._unexpected()
        return tree

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self, *signs: str) -> _Token | None:
        token = self._next
        if token.kind in {"sign", "arithmetic"} and token.text in signs:
            self._at += 1
            return token
        return None

    def _want(self, sign: str, after: str) -> None:
        if self._take(sign) is None:
            raise self._error(f"expected {sign!r} {after}, found {self._found()}")

    def _found(self) -> str:
        return "the end" if self._next.kind == "end" else repr(self._next.text)

    def _error(self, reason: str, token: _Token | None = None) -> ConditionError:
        return error_at(self._text, (token or self._next).at, reason)

    def _unexpected(self) -> ConditionError:
        token = self._next
        if token.kind == "arithmetic":
            return self._error("conditions have no arithmetic: let a skill provide the value")
        if token.kind == "name" and token.text in _MEANT:
            return self._error(f"{token.text!r} is written {_MEANT[token.text]!r} here")
        return self._error(f"expected an operator or the end, found {self._found()}")

    def _counted(self) -> None:
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise self._error(f"has more than {MOST_NODES} parts: split the strategy")

    def _choice(self) -> Tree:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise self._error(f"is nested deeper than {MOST_DEPTH} levels")
        tree = self._joined("||")
        token = self._take("?")
        if token is not None:
            yes = self._joined("||")
            self._want(":", "of a choice")
            tree = Choice(tree, yes, self._choice(), token.at)
        self._depth -= 1
        return tree

    def _joined(self, sign: str) -> Tree:
        inner = self._comparison if sign == "&&" else lambda: self._joined("&&")
        first = inner()
        parts = [first]
        while self._take(sign):
            parts.append(inner())
        if len(parts) == 1:
            return first
        self._counted()
        return And(tuple(parts), first.at) if sign == "&&" else Or(tuple(parts), first.at)

    def _comparison(self) -> Tree:
        tree = self._unary()
        while True:
            token = self._take(*_COMPARISONS)
            if token is None and self._next.kind == "name" and self._next.text == "in":
                token = self._next
                self._at += 1
            if token is None:
                return tree
            self._counted()
            tree = Compare(token.text, tree, self._unary(), token.at)

    def _unary(self) -> Tree:
        self._counted()
        token = self._next
        negations = 0
        while self._take("!"):
            negations += 1
        if negations > MOST_DEPTH:
            raise self._error(f"is nested deeper than {MOST_DEPTH} levels", token)
        tree = self._primary()
        for _ in range(negations):
            tree = Not(tree, token.at)
        return tree

    def _primary(self) -> Tree:
        token = self._next
        if self._take("("):
            tree = self._choice()
            self._want(")", "for a bracket")
            return self._no_member(tree)
        if self._take("["):
            return self._no_member(ListOf(self._items("]", "for a list"), token.at))
        if self._take("-"):
            if self._next.kind != "number":
                raise self._error("conditions have no arithmetic: only a number may have a sign", token)
            return self._number(token)
        if token.kind == "number":
            return self._number(None)
        if token.kind == "text":
            self._at += 1
            return self._no_member(Literal(self._unquoted(token), token.at))
        if token.kind == "name":
            return self._named()
        if token.kind == "arithmetic":
            raise self._unexpected()
        raise self._error(f"expected a value, found {self._found()}")

    def _no_member(self, tree: Tree) -> Tree:
        if self._next.kind == "sign" and self._next.text in {".", "["}:
            raise self._error("only names of the context have fields")
        return tree

    def _number(self, minus: _Token | None) -> Tree:
        token = self._next
        self._at += 1
        value = float(token.text) if re.search(r"[.eE]", token.text) else int(token.text)
        if abs(value) > GREATEST:
            raise self._error(f"numbers lie between -{GREATEST} and {GREATEST}", token)
        return self._no_member(Literal(-value if minus else value, (minus or token).at))

    def _unquoted(self, token: _Token) -> str:
        def one(match: re.Match[str]) -> str:
            if match[1]:
                point = int(match[1], 16)
                if 0xD800 <= point < 0xE000:
                    raise self._error(f"{match[0]} is no character", token)
                return chr(point)
            if match[2] not in _ESCAPES:
                raise self._error(f"{match[0]} is no escape; write two backslashes for one", token)
            return _ESCAPES[match[2]]

        return _ESCAPE.sub(one, token.text[1:-1])

    def _named(self) -> Tree:
        token = self._next
        self._at += 1
        if token.text in _CONSTANTS:
            return self._no_member(Literal(_CONSTANTS[token.text], token.at))
        if token.text in RESERVED:
            raise self._error(f"{token.text!r} is a word of the language, not a name", token)
        if token.text in _MEANT:
            raise self._error(f"{token.text!r} is written {_MEANT[token.text]!r} here", token)
        if self._take("("):
            return self._no_member(Call(token.text, self._items(")", f"for {token.text}"), token.at))
        parts: list[str | int] = [token.text]
        while True:
            if self._take("."):
                parts.append(self._field(parts))
            elif self._take("["):
                parts.append(self._index())
            else:
                return Path(tuple(parts), token.at)

    def _field(self, parts: list[str | int]) -> str:
        token = self._next
        if token.kind != "name":
            raise self._error(f"expected a field's name, found {self._found()}")
        self._at += 1
        if token.text in RESERVED:
            raise self._error(f'{token.text!r} is a word of the language; write ["{token.text}"]', token)
        if self._next.kind == "sign" and self._next.text == "(":
            if token.text in _MACROS:
                raise self._error(f"{token.text} over a list isn't part of conditions: let a skill provide it", token)
            raise self._error(
                f"functions stand before their brackets: {token.text}({'.'.join(map(str, parts))})", token
            )
        return token.text

    def _index(self) -> str | int:
        token = self._next
        self._at += 1
        if token.kind == "text":
            part: str | int = self._unquoted(token)
        elif token.kind == "number" and token.text.isdigit():
            part = int(token.text)
        else:
            raise self._error("in square brackets stands a text or a whole number", token)
        self._want("]", "for a field")
        return part

    def _items(self, end: str, what: str) -> tuple[Tree, ...]:
        items: list[Tree] = []
        while not self._take(end):
            if items:
                self._want(",", f"or {end!r} {what}")
            items.append(self._choice())
        return tuple(items)
