"""A form for the keyboard: one field a line, edited in place, its fault beside it. Text is typed text, never markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from core.foundation.visible import visible_line
from tui.stores.forms import Field
from tui.widgets.line_list import LineList
from tui.widgets.spans import Line, fit, short, strip_of, width_of

LABEL = 14
START = "start"
_LONGEST = 2000


class FormLines(LineList, inherit_bindings=False):
    """The fields, and below them the line that sends the form.

    Invariant: `values` holds a text for each field; `at` is where the next character goes in the field under the
    cursor. Every key that is typed text stays here; the rest goes to the screen.
    """

    BINDINGS: ClassVar[list[BindingType]] = []

    class Changed(Message):
        """Something was typed or chosen in `name`."""

        def __init__(self, name: str) -> None:
            self.name = name
            super().__init__()

    class Sent(Message):
        """Enter on the last line."""

    def __init__(self, send: str, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self.fields: tuple[Field, ...] = ()
        self.values: dict[str, str] = {}
        self.faults: Mapping[str, str] = {}
        self.shown_faults: set[str] = set()
        self.at = 0
        self._send = send

    def show(self, fields: Sequence[Field], values: Mapping[str, str], faults: Mapping[str, str]) -> None:
        """Show fields; the cursor stays on its field."""
        name = self.field.name if self.field else ""
        self.fields, self.values, self.faults = tuple(fields), dict(values), faults
        self.resized()
        self.cursor = next(
            (at for at, one in enumerate(self.fields) if one.name == name), min(self.cursor, len(fields))
        )
        self.at = min(self.at, len(self._value))
        self.refresh()

    @property
    def field(self) -> Field | None:
        """Return the field under the cursor, None on the last line."""
        return self.fields[self.cursor] if self.cursor < len(self.fields) else None

    @property
    def _value(self) -> str:
        return self.values.get(self.field.name, "") if self.field else ""

    def end_of_value(self) -> None:
        """Put the next character at the end of the field under the cursor."""
        self.at = len(self._value)
        self.refresh()

    def go_to(self, name: str) -> None:
        """Put the cursor on a field, or with START on the line that sends."""
        self._go(next((at for at, one in enumerate(self.fields) if one.name == name), len(self.fields)))

    # Rows

    def row_count(self) -> int:
        return len(self.fields) + 1

    def row_key(self, index: int) -> str:
        return self.fields[index].name if index < len(self.fields) else START

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        index = y + int(self.scroll_offset.y)
        if not 0 <= index < self.row_count():
            return strip_of((), width, self.rich_style)
        return strip_of(self._line(index, width), width, self.rich_style)

    def _line(self, index: int, width: int) -> Line:
        here = index == self.cursor
        gutter = ("> " if here else "  ", "strong")
        if index == len(self.fields):
            return gutter, (f" {self._send} ", "bar" if here and self.has_focus else "title")
        one = self.fields[index]
        value = self.values.get(one.name, "")
        fault = self.faults.get(one.name, "") if one.name in self.shown_faults or value else ""
        label = (fit(one.label, LABEL), "strong" if here else "plain")
        room = max(12, width - LABEL - 4)
        if fault:
            room = max(12, min(room, room - width_of(fault) - 2))
        told = (f"  {fault}", "bad") if fault else ("", "plain")
        if not one.typed:
            shown = f"< {value or 'choose'} >" if here and one.choices[1:] else value or one.unset or "none"
            shown = short(shown, room)
            chosen = (shown, "bar" if here and self.has_focus else "plain")
            return gutter, label, chosen, (_others(one, value, room - width_of(shown)), "dim"), told
        if here and self.has_focus:
            return gutter, label, *self._edited(one, value, room), told
        if not value:
            return gutter, label, (short(one.unset, room), "dim"), told
        return gutter, label, (short(value, room), "plain"), told

    def _edited(self, one: Field, value: str, room: int) -> Line:
        """Return the field that is typed in: what is around the cursor, and dimly how it may go on."""
        before, after = value[: self.at], value[self.at :]
        while width_of(before) > room - 2:
            before = before[1:]
        after = short(after, max(0, room - width_of(before) - 1)) if after else ""
        cursor, rest = (after[:1], after[1:]) if after else (" ", "")
        ahead = self._ahead(one, value) if not after else ""
        hint = ahead or ("" if value else one.unset)
        left = max(0, room - width_of(before) - width_of(cursor) - width_of(rest))
        return (before, "strong"), (cursor, "bar"), (rest, "strong"), (short(hint, left), "dim")

    def _ahead(self, one: Field, value: str) -> str:
        """Return what Right would add: the rest of the first choice that begins like this."""
        if not value or self.at < len(value):
            return ""
        return next((name[len(value) :] for name in one.choices if name.startswith(value) and name != value), "")

    # Keys

    def on_key(self, event: events.Key) -> None:
        if self._moves(event.key) or (self.field is not None and self._types(event)):
            event.stop()
            event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        if self.field is not None and self.field.typed:
            self._insert(visible_line(" ".join(event.text.split())))

    def _moves(self, key: str) -> bool:
        # A form is short: PgDn is the way to the line that sends it, PgUp the way back to its head.
        end = len(self.fields)
        steps = {"up": -1, "shift+tab": -1, "down": 1, "tab": 1, "pageup": -end, "pagedown": end}
        if key in steps:
            wraps = key in ("tab", "shift+tab")
            target = self.cursor + steps[key]
            self._go(target % self.row_count() if wraps else max(0, min(self.row_count() - 1, target)))
        elif key == "enter":
            if self.field is None:
                self.post_message(self.Sent())
            else:
                self._go(self.cursor + 1)
        else:
            return False
        return True

    def _go(self, index: int) -> None:
        if self.field is not None and index != self.cursor:
            self.shown_faults.add(self.field.name)
        self.select(index)
        self.at = len(self._value)
        self.refresh()

    def _types(self, event: events.Key) -> bool:
        one = self.field
        assert one is not None
        if not one.typed:
            return self._chooses(one, event)
        value, at = self._value, self.at
        match event.key:
            case "left":
                self.at = max(0, at - 1)
            case "right" if at == len(value):
                self._insert(self._ahead(one, value))
            case "right":
                self.at = at + 1
            case "home" | "ctrl+a":
                self.at = 0
            case "end" | "ctrl+e":
                self.at = len(value)
            case "backspace":
                self.at = max(0, at - 1)
                self._set(value[: self.at] + value[at:])
            case "delete" | "ctrl+d":
                self._set(value[:at] + value[at + 1 :])
            case "ctrl+u":
                self.at = 0
                self._set(value[at:])
            case "ctrl+w":
                kept = value[:at].rstrip()
                self.at = kept.rfind(" ") + 1
                self._set(value[: self.at] + value[at:])
            case _ if event.is_printable and event.character:
                self._insert(event.character)
                return True
            case _:
                return False
        self.refresh()
        return True

    def _chooses(self, one: Field, event: events.Key) -> bool:
        """Go through the choices: Left, Right and Space, or the first letter of one."""
        at = one.choices.index(self._value) if self._value in one.choices else -1
        letter = (event.character or "").lower()
        begins = [name for name in (*one.choices[at + 1 :], *one.choices[: at + 1]) if name.lower().startswith(letter)]
        if event.key in ("right", "space", "left") and one.choices:
            self._set(one.choices[(at + (-1 if event.key == "left" else 1)) % len(one.choices)])
        elif event.is_printable and letter and begins:
            self._set(begins[0])
        return event.is_printable or event.key in ("right", "space", "left")

    def _insert(self, text: str) -> None:
        if text:
            value = (self._value[: self.at] + text + self._value[self.at :])[:_LONGEST]
            self.at = min(len(value), self.at + len(text))
            self._set(value)

    def _set(self, value: str) -> None:
        one = self.field
        if one is not None and value != self._value:
            self.values[one.name] = value
            self.shown_faults.add(one.name)
            self.refresh()
            self.post_message(self.Changed(one.name))

    def on_focus(self) -> None:
        self.at = len(self._value)
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()


def _others(one: Field, value: str, room: int) -> str:
    """Return the other choices of a field in `room` cells, "" where they are too many to be read at a glance."""
    others = [name for name in one.choices if name != value]
    said = f"  {'or' if value else 'of'} {', '.join(others)}" if others else ""
    return said if width_of(said) <= room else ""


class Told(LineList, can_focus=False, inherit_bindings=False):
    """A few lines that say something; nobody stands in them."""

    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self._lines: tuple[Line, ...] = ()

    def show(self, lines: Sequence[Line]) -> None:
        """Show lines."""
        if tuple(lines) != self._lines:
            self._lines = tuple(lines)
            self.refresh()

    def row_count(self) -> int:
        return len(self._lines)

    def row_lines(self, index: int, width: int) -> tuple[Line, ...]:
        return (self._lines[index],)

    def render_line(self, y: int) -> Strip:
        line = self._lines[y] if y < len(self._lines) else ()
        style: Style = self.rich_style
        return strip_of(line, self.size.width, style)
