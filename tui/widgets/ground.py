"""What lies under the text of a widget."""

from __future__ import annotations

from rich.style import Style
from textual.widget import Widget


class Grounded(Widget):
    """A widget whose own style is worked out once, not for each line that is drawn.

    Textual goes through all widgets around this one for it, which takes longer than drawing the line. Nothing here
    changes the colours of one widget under another: tones lie over it. A rule of the widget's own makes it anew.
    """

    _ground: tuple[int, Style] | None = None

    @property
    def rich_style(self) -> Style:
        key = self.styles._cache_key
        if self._ground is None or self._ground[0] != key:
            self._ground = (key, super().rich_style)
        return self._ground[1]
