"""The settings: what each is, where the file is, what is wrong in it; Enter changes one and writes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.app import ComposeResult

from core.foundation.errors import ExuviaError
from tui import settings
from tui.actions import ACTIONS, bindings, shown_keys
from tui.screens.base import ConsoleScreen
from tui.settings import SETTINGS, Loaded, Settings
from tui.widgets.bars import Bar, Rule
from tui.widgets.line_list import LineList, Row, RowList
from tui.widgets.prompt import Prompt
from tui.widgets.spans import Line, fit, middle, plain
from tui.widgets.wrapped_text import WrappedText

_LATER = frozenset({"lean", "mouse"})
"""Settings that a console takes up when it starts."""


class SettingsScreen(ConsoleScreen):
    """Invariant: what is shown is what the file says; `changed` hears it after each change."""

    BINDINGS = bindings("global")

    def __init__(self, loaded: Loaded, changed: Callable[[Loaded], None]) -> None:
        super().__init__(id="settings")
        self._loaded, self._changed = loaded, changed
        self._file = loaded.path or settings.settings_path()

    def compose(self) -> ComposeResult:
        yield Bar(id="settings-title", reverse=True)
        yield RowList(id="settings-list")
        yield Rule(id="settings-rule")
        yield WrappedText(id="settings-text")
        yield Prompt(id="settings-prompt")
        yield Bar(id="settings-footer")

    def on_mount(self) -> None:
        self.whole = self.count()
        room = max(12, self.app.size.width - 12)
        self.query_one("#settings-title", Bar).show(
            ((" Settings", "strong"),), ((f"{middle(str(self._file), room)} ", "plain"),)
        )
        self.query_one("#settings-footer", Bar).show(
            ((" Enter", "key"), (" change and save   ", "dim"), ("Esc", "key"), (" back   ", "dim"),
             ("v", "key"), (" edit the file in $EDITOR", "dim"))
        )  # fmt: skip
        self.query_one(RowList).show(self._rows)
        self.query_one(RowList).focus()
        self._text()

    def restore_focus(self) -> None:
        self.query_one(RowList).focus()

    def _rows(self, width: int) -> Sequence[Row]:
        rows = [Row(f"problem:{at}", (((f"Not used: {text}", "bad"),),), False) for at, text in self._problems()]
        rows += [_row(name, self._loaded.settings) for name in SETTINGS]
        rows.append(
            Row("keys", ((("Keys", "title"), ("  in the table [keys] of the file; ? shows all", "dim")),), False)
        )
        rows += [
            Row(f"key:{action.id}", _key_line(action.id, shown_keys(action, self._loaded.keys), action.text))
            for action in ACTIONS
            if action.id in self._loaded.keys
        ] or [Row("nokeys", ((('  none changed; for example: rollback = "ctrl+r", or: mark = false', "dim"),),), False)]
        return rows

    def _problems(self) -> Sequence[tuple[int, str]]:
        return tuple(enumerate(self._loaded.problems))

    def on_line_list_highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        if self.stands:
            self._text()

    def _text(self) -> None:
        key = self.query_one(RowList).key
        about = SETTINGS[key].says if key in SETTINGS else ""
        later = " It counts from the next start." if key in _LATER else ""
        self.query_one(Rule).show(((key, "strong"),) if about else ())
        self.query_one(WrappedText).show(plain([about + later]), key)

    def on_line_list_opened(self, event: LineList.Opened) -> None:
        event.stop()
        if event.key not in SETTINGS:
            return
        now = getattr(self._loaded.settings, event.key)
        values = SETTINGS[event.key].choices
        wanted = values[(values.index(now) + 1) % len(values)]
        try:
            settings.save(event.key, wanted, self._file)
        except (ExuviaError, OSError) as error:
            self.query_one(Prompt).flash(f" {error}", "bad", getattr(error, "hint", ""))
            return
        self._loaded = settings.load(self._file)
        self._changed(self._loaded)
        self.query_one(RowList).show(self._rows)
        self.query_one(Prompt).flash(f" {event.key} is {_word(wanted)} now.", "good")
        self.refresh(repaint=True)

    def run_action_by_id(self, action_id: str) -> None:
        if action_id in ("back", "settings", "quit", "interrupt"):
            self.dismiss()
        elif action_id == "pager":
            self._edit()

    def _edit(self) -> None:
        from tui.pager import edit

        try:
            edit(self.app, self._file)
        except ExuviaError as error:
            self.query_one(Prompt).flash(f" {error}", "bad", error.hint)
        self._loaded = settings.load(self._file)
        self._changed(self._loaded)
        self.query_one(RowList).show(self._rows)


def _word(value: str | bool) -> str:
    return value if isinstance(value, str) else "on" if value else "off"


def _row(name: str, values: Settings) -> Row:
    now, default = getattr(values, name), SETTINGS[name].default
    others = [_word(value) for value in SETTINGS[name].choices if value != now]
    return Row(
        name,
        (((fit(name, 18), "plain"), (fit(_word(now), 12), "strong" if now == default else "accent"),
          ("or " + ", ".join(others), "dim")),),
    )  # fmt: skip


def _key_line(name: str, keys: str, text: str) -> tuple[Line, ...]:
    return (((f"  {fit(name, 18)}", "plain"), (fit(keys or "none", 12), "accent"), (text, "dim")),)
