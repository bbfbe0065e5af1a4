"""IF (c1) AND (c2) THEN activate x: the account's way to write a trigger, brought to an expression (STRATEGY S10).

Words are AND, OR, NOT, True and False in capitals as the account has them; brackets and comparisons are those of
expressions, `<>` and the signs for "not equal", "at most" and "at least" too. Its three names become ours:
`intent_confidence`, `last_user_utterance_contains("a" OR "b")`, `no_successful_skill_execution_in_last_2_turns`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from core.strategy.conditions.errors import error_at

_BEGINS = re.compile(r"\s*IF\b")
_THEN = re.compile(r"\bTHEN\s+activate\s+(?P<skill>[a-z0-9][a-z0-9_-]*)\s*\Z")
_TOKEN = re.compile(
    r"(?P<text>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    r"|(?P<contains>\blast_user_utterance_contains\s*\(\s*(?P<phrases>(?:\"[^\"\n]*\"|'[^'\n]*'|\s|OR\b|,)+)\))"
    r"|(?P<memory>\bno_successful_skill_execution_in_last_(?P<turns>\d{1,3})_turns\b)"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_.]*)|(?P<sign><>|\u2260|\u2264|\u2265|\u2227|\u2228|\u00ac)|(?P<other>.)",
    re.DOTALL,
)
_WORDS = {
    "AND": "&&",
    "OR": "||",
    "NOT": "!",
    "IN": "in",
    "True": "true",
    "False": "false",
    "intent_confidence": "intent.confidence",
    "intent_name": "intent.name",
    "session_stability_score": "stability()",
}
_SIGNS = {"<>": "!=", "\u2260": "!=", "\u2264": "<=", "\u2265": ">=", "\u2227": "&&", "\u2228": "||", "\u00ac": "!"}
_PHRASE = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")


@dataclass(frozen=True, slots=True)
class Written:
    """An expression, the skill that is activated (None where the text was an expression already), and where the parts
    of the expression come from: pairs of its own place and the text's, rising."""

    expression: str
    skill: str | None
    places: tuple[tuple[int, int], ...]

    def place(self, at: int) -> int:
        """Return where in the text the expression's character `at` comes from."""
        number = bisect_right(self.places, (at, 1 << 62)) - 1
        own, theirs = self.places[max(number, 0)]
        return theirs if own != at and self.skill is not None else theirs + at - own


def to_expression(text: str) -> tuple[str, str | None]:
    """Return the expression of a condition and the skill that it activates. A text that does not begin with IF is
    returned as it is, with None. Raises ConditionError where the end, THEN activate, is missing."""
    written = written_out(text)
    return written.expression, written.skill


def written_out(text: str) -> Written:
    """Return the expression with the places it comes from. Raises as to_expression does."""
    begins = _BEGINS.match(text)
    if begins is None:
        return Written(text, None, ((0, 0),))
    ends = _THEN.search(text)
    if ends is None:
        raise error_at(text, len(text.rstrip()), "a condition that begins with IF ends with THEN activate <skill>")
    pieces: list[str] = []
    places: list[tuple[int, int]] = []
    at, length = begins.end(), 0
    while at < ends.start():
        match = _TOKEN.match(text, at, ends.start())
        assert match is not None  # `other` takes any character
        piece = _piece(match)
        places.append((length, at))
        pieces.append(piece)
        length += len(piece)
        at = match.end()
    if not pieces:
        raise error_at(text, begins.end(), "nothing stands between IF and THEN")
    return Written("".join(pieces), ends["skill"], tuple(places))


def _piece(match: re.Match[str]) -> str:
    token = match.group()
    if match["contains"]:
        return f"contains_any(utterance, [{', '.join(_PHRASE.findall(match['phrases']))}])"
    if match["memory"]:
        return f"(successes({match['turns']}) == 0)"
    if match["word"]:
        return _WORDS.get(token, token)
    return _SIGNS[token] if match["sign"] else token
