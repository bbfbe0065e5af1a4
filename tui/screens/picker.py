"""Choosing one of many by a few letters: the palette, another agent, a version to compare with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from core.foundation.visible import visible_line
from tui.actions import bindings
from tui.screens.base import ConsoleScreen
from tui.widgets.bars import Bar
from tui.widgets.line_list import Row, RowList
from tui.widgets.spans import Line, fit, short

_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Choice:
    """Something to choose: its key, what it is called, what is said beside it, and its kind in a word."""

    key: str
    name: str
    about: str = ""
    kind: str = ""


class _Choices(RowList):
    """The list; letters typed go to the screen, which narrows it."""

    BINDINGS: ClassVar[list[BindingType]] = []  # no letter may be a key here

    def on_focus(self) -> None:
        self.paint_row(self.cursor)


class PickerScreen(ConsoleScreen):
    """What was typed narrows the list; Enter chooses, Esc leaves. `chosen` hears the key, never None."""

    BINDINGS = bindings("global", only=("redraw", "interrupt"))

    def __init__(self, title: str, choices: Sequence[Choice], chosen: Callable[[str], None], *, at: str = "") -> None:
        super().__init__(id="picker")
        self._title, self._choices, self._chosen, self._at = title, tuple(choices), chosen, at
        self._typed = ""

    def compose(self) -> ComposeResult:
        yield Bar(id="picker-title", reverse=True)
        yield _Typed(id="picker-typed")
        yield _Choices(id="picker-list")
        yield Bar(id="picker-footer")

    def on_mount(self) -> None:
        self.whole = self.count()
        self.query_one("#picker-title", Bar).show(
            ((f" {self._title}", "strong"),), ((f"{len(self._choices)} ", "dim"),)
        )
        self.query_one("#picker-footer", Bar).show(
            ((" Enter", "key"), (" choose   ", "dim"), ("Up Down", "key"), (" move   ", "dim"),
             ("Esc", "key"), (" back   ", "dim"), ("type", "key"), (" to narrow", "dim"))
        )  # fmt: skip
        self._narrow()
        rows = self.query_one(_Choices)
        if self._at:
            rows.go_to(self._at)
        rows.focus()

    def _narrow(self) -> None:
        words = self._typed.casefold().split()
        found = [choice for choice in self._choices if _holds(choice, words)]
        found.sort(key=lambda choice: _rank(choice, words))
        self.query_one(_Typed).say(self._typed, len(found))
        rows = self.query_one(_Choices)
        rows.show(lambda width: [_row(choice, width) for choice in found] or [_none(self._typed)])
        rows.select(0)

    def on_key(self, event: events.Key) -> None:
        rows = self.query_one(_Choices)
        page = max(1, rows.size.height - 1)
        moves = {"up": -1, "down": 1, "pageup": -page, "pagedown": page}
        if event.key in moves:
            rows.select(rows.cursor + moves[event.key])
        elif event.key == "enter":
            if rows.row_count() and rows.is_selectable(rows.cursor):
                key = rows.key
                self.dismiss()
                self._chosen(key)
        elif event.key == "escape":
            self.dismiss()
        elif event.key in ("backspace", "ctrl+u"):
            self._typed = self._typed[:-1] if event.key == "backspace" else ""
            self._narrow()
        elif event.is_printable and event.character:
            self._typed = (self._typed + event.character)[:_LONGEST]
            self._narrow()
        else:
            return
        event.stop()
        event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self._typed = (self._typed + visible_line(" ".join(event.text.split())))[:_LONGEST]
        self._narrow()

    def run_action_by_id(self, action_id: str) -> None:
        if action_id == "interrupt":
            self.dismiss()
        elif action_id == "redraw":
            self.refresh(repaint=True, layout=True)


class _Typed(Bar):
    """What was typed, with a cursor behind it."""

    def say(self, typed: str, count: int) -> None:
        """Show what was typed and how many it leaves."""
        self.show(((f" > {typed}", "plain"), ("_", "strong")), ((f"{count} found ", "dim"),))


def _holds(choice: Choice, words: Sequence[str]) -> bool:
    text = f"{choice.kind} {choice.name} {choice.about}".casefold()
    return all(word in text for word in words)


def _rank(choice: Choice, words: Sequence[str]) -> int:
    """Return 0 where the name begins with what was typed, 1 where it holds it, else 2; equal ranks keep their order."""
    name, typed = choice.name.casefold(), " ".join(words)
    return 0 if name.startswith(typed) else 1 if typed in name else 2


def _row(choice: Choice, width: int) -> Row:
    kind = 9
    name = min(max(20, width // 3), max(12, width - kind - 20))
    line: Line = (
        (fit(choice.kind, kind), "dim"),
        (fit(choice.name, name), "plain"),
        ("  ", "plain"),
        (short(choice.about, max(0, width - kind - name - 2)), "dim"),
    )
    return Row(choice.key, (line,))


def _none(typed: str) -> Row:
    return Row("none", (((f"Nothing holds {typed!r}.", "dim"),),), selectable=False)
