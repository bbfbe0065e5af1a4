"""How things look: names of tones, the themes behind them, and the marks.

A tone never carries a meaning alone: a mark or a word says it too, so NO_COLOR and colour-blind operators lose
nothing. The default theme uses the terminal's own sixteen colours, so it fits whatever the operator chose there.
"""

from __future__ import annotations

from rich.style import Style

_TERMINAL: dict[str, Style] = {
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
    "added": Style(color="green"),
    "removed": Style(color="red"),
    "added.word": Style(color="green", bold=True, underline=True),
    "removed.word": Style(color="red", bold=True, underline=True),
    "found": Style(reverse=True, color="yellow"),
}


def _theme(**colours: str) -> dict[str, Style]:
    """Return the terminal's theme with other colours: one for each colour that it names."""
    return {
        tone: Style(
            color=colours.get(style.color.name, style.color.name) if style.color else None,
            bold=style.bold,
            underline=style.underline,
            reverse=style.reverse,
        )
        for tone, style in _TERMINAL.items()
    }


THEMES: dict[str, dict[str, Style]] = {
    "terminal": _TERMINAL,
    "dark": _theme(
        bright_black="#8a93a3", green="#7fc98a", red="#f08a80", yellow="#e3c15f", cyan="#6fc3df", blue="#8fb4ff"
    ),
    "light": _theme(
        bright_black="#5f6672", green="#1d6f2d", red="#a8201a", yellow="#7a5600", cyan="#00607a", blue="#1f4fb8"
    ),
    "mono": {
        tone: Style(bold=style.bold, underline=style.underline, reverse=style.reverse, dim=tone == "dim" or None)
        for tone, style in _TERMINAL.items()
    },
}
"""The styles of each tone, by the name of the theme (see tui.settings)."""

TONES: dict[str, Style] = dict(_TERMINAL)
"""The theme in force; `use_theme` changes it."""

PLAIN: dict[str, Style] = {name: Style(bold=style.bold, underline=style.underline) for name, style in _TERMINAL.items()}
"""The same without colours, for rows that are drawn in reverse."""


def use_theme(name: str) -> None:
    """Draw everything from now on in a theme of `THEMES`."""
    TONES.update(THEMES[name])


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
