"""Final answers: where one stands in a model's text, and whether two say the same.

With the package math-verify installed, what this plain comparison doesn't know is asked of it as well.
"""

from __future__ import annotations

import importlib.util
import re
from fractions import Fraction

_BOXED = re.compile(r"\\boxed\s*\{")
_FINAL = re.compile(r"(?:final answer|answer)\s*(?:is|:|=)\s*(?P<answer>.+)", re.IGNORECASE)
_FRACTION = re.compile(r"\\[dt]?frac\s*\{(?P<top>[^{}]+)\}\s*\{(?P<bottom>[^{}]+)\}")
_TEXT = re.compile(r"\\(?:text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}")
_DROPPED = re.compile(r"\\(?:left|right|!|,|;|quad|displaystyle)|\$|\\\(|\\\)|\\\[|\\\]")
_UNIT = re.compile(r"\s*(?:\\%|%|\\?degrees?|\^\\circ|\^\{\\circ\})$")


def boxed(text: str) -> str | None:
    r"""Return what stands in the last `\boxed{...}`, braces inside balanced; None where there is none."""
    found = None
    for match in _BOXED.finditer(text):
        depth, at = 1, match.end()
        while at < len(text) and depth:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        if depth == 0:
            found = text[match.end() : at - 1].strip()
    return found


def final_answer(text: str) -> str:
    """Return the answer of a text: what is boxed, else what follows "answer is", else the last line with anything."""
    inside = boxed(text)
    if inside is not None:
        return inside
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in reversed(lines):
        if match := _FINAL.search(line):
            return match["answer"].strip().rstrip(".")
    return lines[-1] if lines else ""


def plain(answer: str) -> str:
    """Return an answer without the marks of its notation: dollars, \\left, \\text, spaces, a full stop, a unit."""
    said = _TEXT.sub(r"\1", answer)
    said = _DROPPED.sub("", said)
    said = _FRACTION.sub(r"(\g<top>)/(\g<bottom>)", said)
    said = _UNIT.sub("", said.strip().rstrip("."))
    said = re.sub(r"(?<=\d),(?=\d{3}\b)", "", said)  # 12,345
    said = re.sub(r"\s+", " ", said).strip().lower()
    return re.sub(r"^\w+\s*=\s*", "", said)  # x = 3


def _number(said: str) -> Fraction | None:
    try:
        return Fraction(said.replace("(", "").replace(")", "").replace(" ", ""))
    except (ValueError, ZeroDivisionError):
        return None


def same(answer: str, expected: str) -> bool:
    """Tell whether two answers say the same: as numbers, as plain text, or by math-verify where it is installed."""
    given, wanted = plain(answer), plain(expected)
    if given == wanted or given.replace(" ", "") == wanted.replace(" ", ""):
        return bool(wanted)
    a, b = _number(given), _number(wanted)
    if a is not None and b is not None:
        return a == b
    return _verified(answer, expected)


def _verified(answer: str, expected: str) -> bool:
    if importlib.util.find_spec("math_verify") is None:
        return False
    from math_verify import parse, verify

    return bool(verify(parse(f"${expected}$"), parse(f"${answer}$")))
