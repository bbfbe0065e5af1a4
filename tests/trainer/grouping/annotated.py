"""Annotated tasks, written short."""

from __future__ import annotations

from trainer.grouping.attributes import Annotated, Attributes
from trainer.grouping.similarity import Exact, Overlap


def phrases(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def attributes(t: str = "", s: str = "", c: str = "", r: str = "", p: str = "") -> Attributes:
    """Each argument holds phrases of one word, between spaces."""
    return Attributes(phrases(t), phrases(s), phrases(c), phrases(r), phrases(p))


def overlap(source: Attributes, target: Attributes) -> Overlap:
    return Overlap(source, target, Exact(), 0.6)


def annotated(
    name: str, difficulty: float, t: str = "", s: str = "", c: str = "", r: str = "", p: str = ""
) -> Annotated:
    return Annotated(name, attributes(t, s, c, r, p), difficulty)
