"""The console for terminals that know ASCII only: each of our marks becomes one that they can show.

One character for one, so widths stay; text of agents that is not ASCII shows as `?`, as no better can be told there.
"""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from tui.characters import to_ascii

__all__ = ["Ascii", "to_ascii"]


class Ascii(LineFilter):
    """Maps every line on its way to the terminal."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        if all(segment.text.isascii() for segment in segments):
            return segments
        return [Segment(to_ascii(segment.text), segment.style, segment.control) for segment in segments]
