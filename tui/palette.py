"""How things look: names of tones and the styles behind them, in the terminal's own sixteen colours.

A tone never carries a meaning alone: a mark or a word says it too, so NO_COLOR and colour-blind operators lose
nothing. The next step, themes, replaces this table and nothing else.
"""

from __future__ import annotations

from rich.style import Style

TONES: dict[str, Style] = {
    "plain": Style(),
    "strong": Style(bold=True),
    "dim": Style(color="bright_black"),
    "good": Style(color="green"),
    "bad": Style(color="red"),
    "warn": Style(color="yellow"),
    "accent": Style(color="cyan"),
    "call": Style(color="blue"),
    "title": Style(bold=True, color="cyan"),
    "key": Style(bold=True),
    "mark": Style(bold=True, color="yellow"),
    "bar": Style(reverse=True),
}

PLAIN: dict[str, Style] = {name: Style(bold=style.bold) for name, style in TONES.items()}
"""The same without colours, for rows that are drawn in reverse."""

BLOCKS = " ▏▎▍▌▋▊▉█"
STEPS = "▁▂▃▄▅▆▇█"

MARKS: dict[str, tuple[str, str]] = {
    "planned": (" ", "dim"),
    "queued": ("·", "dim"),
    "running": ("~", "warn"),
    "scored": ("●", "good"),
    "reused": ("=", "good"),
    "failed": ("x", "bad"),
    "interrupted": ("!", "bad"),
    "repairing": ("+", "warn"),
}
"""Mark and tone of each state of a cell."""

DECISIONS: dict[str, tuple[str, str]] = {
    "baseline": ("o", "accent"),
    "evaluation": ("o", "accent"),
    "accepted": ("+", "good"),
    "rejected": ("x", "bad"),
    "unevaluable": ("!", "warn"),
    "measuring": ("~", "warn"),
}
"""Mark and tone of what came of a version."""

STATES: dict[str, str] = {
    "running": "good",
    "waiting": "mark",
    "blocked": "mark",
    "failed": "bad",
    "dead": "bad",
    "stopped": "warn",
    "finished": "dim",
}
"""Tone of each state of a run."""


def score_tone(score: float | None) -> str:
    """Return the tone of a score from 0 to 100."""
    if score is None:
        return "dim"
    return "good" if score >= 75 else "warn" if score >= 40 else "bad"


def sparkline(scores: list[float], width: int) -> str:
    """Return the last `width` scores (0 to 100) as one row of blocks."""
    return "".join(STEPS[min(7, max(0, int(score / 100 * 8)))] for score in scores[-width:])


def bar(score: float, width: int) -> str:
    """Return a bar of eighths for a score from 0 to 100, as long as `width` cells at 100."""
    eighths = round(max(0.0, min(100.0, score)) / 100 * width * 8)
    return BLOCKS[8] * (eighths // 8) + (BLOCKS[eighths % 8] if eighths % 8 else "")
