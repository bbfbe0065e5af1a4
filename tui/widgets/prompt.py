"""The prompt line: one fixed row for what just happened, a question to confirm, or a text to type (TERMINAL 5.1)."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.strip import Strip
from textual.widget import Widget

from core.foundation.visible import visible_line
from tui.screens.base import own_screen
from tui.widgets.spans import Line, middle, strip_of, width_of

GUARD_S = 0.25
"""Keys right after a question are not an answer to it: they were typed before it could be read."""
FLASH_S = 12.0
LONGEST = 500
_ENDS = "   Esc ends it"
_PATH = 32
"""Cells that a path is left where a line is too long: its two ends."""
LEAST = 24
"""Cells that a message keeps for what happened before it is cut for what to do next."""

Answer = Callable[[bool], None]
Text = Callable[[str | None], None]


class Prompt(Widget, can_focus=False):
    """Invariant: at most one of `_confirm` and `_ask` is set; while one is, the prompt holds the focus."""

    DEFAULT_CSS = "Prompt { height: 1; width: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Leave the question", show=False)]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self._flash: Line = ()
        self._flashed = 0.0
        self._resting: Line = ()
        self._working = self._ends = ""
        self._question = ""
        self._confirm: Answer | None = None
        self._ask: Text | None = None
        self._typed = ""
        self._since = 0.0

    # What others say

    @property
    def is_busy(self) -> bool:
        """Whether it waits for an answer."""
        return self._confirm is not None or self._ask is not None

    def rest(self, line: Line) -> None:
        """Say what to show while there is nothing else."""
        if line != self._resting:
            self._resting = line
            if not self.is_busy and not self._flash:
                self.refresh()

    def flash(self, text: str, tone: str = "plain", hint: str = "") -> None:
        """Show what happened until the next message, or for a while."""
        self._flashed = monotonic()
        self._flash = ((text, tone), *((("  " + hint, "dim"),) if hint else ()))
        self.refresh()

    def working(self, words: str, can_end: bool = False) -> None:
        """Say how far something is that takes a while, and that Esc ends it where it can be; "" where nothing does."""
        if (words, can_end) != (self._working, bool(self._ends)):
            self._working, self._ends = words, _ENDS if can_end else ""
            if not self.is_busy:
                self.refresh()

    def age(self) -> None:
        """Take a flash away that was there long enough to be read."""
        if monotonic() - self._flashed > FLASH_S:
            self.clear()

    def clear(self) -> None:
        """Take the last flash away."""
        if self._flash:
            self._flash = ()
            self.refresh()

    def confirm(self, question: str, answer: Answer) -> None:
        """Ask a question that only `y` agrees to."""
        self._begin(f" {question}")
        self._confirm = answer

    def confirm_typed(self, question: str, word: str, answer: Answer) -> None:
        """Ask a question that only typing `word` agrees to: for what cannot be undone."""
        self.ask(f"{question} Type {word}:", lambda typed: answer(typed is not None and typed.strip() == word))

    def ask(self, question: str, done: Text, initial: str = "") -> None:
        """Ask for a text; None where the operator leaves it."""
        self._begin(f" {question}")
        self._ask, self._typed = done, initial

    def _begin(self, question: str) -> None:
        self._question, self._since, self._flash, self._typed = question, monotonic(), (), ""
        self._confirm = self._ask = None
        self.can_focus = True
        self.focus()
        self.refresh()

    def _end(self) -> tuple[Answer | None, Text | None]:
        pending = self._confirm, self._ask
        self._confirm = self._ask = None
        self.can_focus = False
        self.refresh()
        own_screen(self).restore_focus()
        return pending

    # Keys

    def on_key(self, event: events.Key) -> None:
        if not self.is_busy or event.key == "escape":
            return
        event.stop()
        event.prevent_default()
        if self._confirm is not None:
            if monotonic() - self._since < GUARD_S:
                return
            answer, _ = self._end()
            if answer is not None:
                answer(event.key in ("y", "Y"))
            return
        if event.key == "enter":
            typed = self._typed
            _, done = self._end()
            if done is not None:
                done(typed)
        elif event.key == "backspace":
            self._typed = self._typed[:-1]
        elif event.key == "ctrl+u":
            self._typed = ""
        elif event.is_printable and event.character:
            self._typed = (self._typed + event.character)[:LONGEST]
        self.refresh()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        if self._ask is not None:
            self._typed = (self._typed + visible_line(" ".join(event.text.split())))[:LONGEST]
            self.refresh()

    def action_cancel(self) -> None:
        """Answer no, or give no text."""
        answer, done = self._end()
        if answer is not None:
            answer(False)
        if done is not None:
            done(None)

    def on_blur(self) -> None:
        """A question that lost the focus (another screen, a click) is answered no."""
        if self.is_busy:
            self.action_cancel()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if self._confirm is not None:
            line: Line = ((self._question, "mark"), ("  y yes, any other key no ", "dim"))
            return strip_of(line, width, self.rich_style)
        if self._ask is not None:
            room = max(4, width - width_of(self._question) - 3)
            shown = self._typed
            while width_of(shown) > room:
                shown = shown[1:]
            cursor = strip_of(((self._question, "mark"), (" ", "plain"), (shown, "plain")), width - 1, self.rich_style)
            used = min(width - 1, width_of(self._question) + 1 + width_of(shown))
            return _with_cursor(cursor, used, width, self.rich_style)
        if self._working:
            words = middle(self._working, max(8, width - len(self._ends) - 1))
            return strip_of(((f" {words}", "accent"), (self._ends, "dim")), width, self.rich_style)
        return strip_of(_fitted(self._flash, width) or self._resting, width, self.rich_style)


def _fitted(flash: Line, width: int) -> Line:
    """Return what happened and what to do next; where both don't fit, the first loses its middle, save a fault's."""
    flash = _with_short_paths(flash, width)
    if len(flash) < 2 or flash[0][1] == "bad":
        return flash
    (text, tone), hint = flash
    room = width - width_of(hint[0])
    return flash if width_of(text) <= room or room < LEAST else ((middle(text, room), tone), hint)


def _with_short_paths(flash: Line, width: int) -> Line:
    """Return a line that is too long with its long paths cut in their middle: the words around them are what counts."""
    over = sum(width_of(text) for text, _ in flash) - width
    if over <= 0 or not flash or "/" not in flash[0][0]:
        return flash
    words = []
    for word in flash[0][0].split(" "):
        keep = max(_PATH, width_of(word) - over)
        if word.startswith(("/", "~/")) and width_of(word) > keep:
            over -= width_of(word) - keep
            word = middle(word, keep)
        words.append(word)
    return ((" ".join(words), flash[0][1]), *flash[1:])


def _with_cursor(strip: Strip, at: int, width: int, base: Style) -> Strip:
    """Return the strip with a cursor behind what was typed."""
    return Strip.join([strip.crop(0, at), strip_of((("_", "strong"),), 1, base), strip_of((), width - at - 1, base)])
