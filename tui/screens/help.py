"""All keys, made from the registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.app import ComposeResult

from tui.actions import SCOPES, bindings, of_scope, shown_keys
from tui.screens.base import ConsoleScreen
from tui.widgets.bars import Bar
from tui.widgets.spans import Line, fit
from tui.widgets.wrapped_text import WrappedText


class HelpScreen(ConsoleScreen):
    """What every key does; any of the leaving keys goes back."""

    BINDINGS = bindings("global")

    def __init__(self, pane: str, *, read_only: bool, changed: Mapping[str, tuple[str, ...]] | None = None) -> None:
        super().__init__(id="help")
        self._pane, self._read_only, self._changed = pane, read_only, changed or {}

    def compose(self) -> ComposeResult:
        yield Bar(id="help-title", reverse=True)
        yield WrappedText(id="help-text")
        yield Bar(id="help-footer")

    def on_mount(self) -> None:
        self.query_one("#help-title", Bar).show(((" Keys of the console", "strong"),))
        self.query_one("#help-footer", Bar).show(
            ((" Esc", "key"), (" back   ", "dim"), ("Up Down PgUp PgDn", "key"), (" scroll", "dim"))
        )
        text = self.query_one("#help-text", WrappedText)
        text.show(help_lines(self._pane, read_only=self._read_only, changed=self._changed))
        text.focus()

    def run_action_by_id(self, action_id: str) -> None:
        if action_id in ("back", "help", "quit", "interrupt"):
            self.dismiss()


def help_lines(pane: str, *, read_only: bool, changed: Mapping[str, tuple[str, ...]]) -> Sequence[Line]:
    """Return the help: the pane at hand first, then the rest in the registry's order."""
    scopes = sorted(SCOPES, key=lambda scope: scope[0] != pane)
    lines: list[Line] = []
    for scope, title in scopes:
        actions = of_scope(scope, read_only=read_only)
        if not actions:
            continue
        lines += [((title, "title"),)]
        lines += [
            ((f"  {fit(keys, 10)}", "key"), (action.text, "plain"), (" *" if action.dangerous else "", "warn"))
            for action in actions
            if (keys := shown_keys(action, changed))
        ]
        lines.append(())
    lines.append((("* changes something on disk or stops a run", "dim"),))
    if read_only:
        lines.append((("Opened with --read-only: keys that change something do not exist.", "warn"),))
    return lines
