"""The registry's rules (TERMINAL 5.3): keys exist, don't clash, are safe everywhere, fit the footer, are documented."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from textual.keys import Keys, _character_to_key

from tui.actions import ACTIONS, FOOTER_WIDTH, PANES, SCOPES, by_id, footer, keys_page, of_scope
from tui.screens.global_actions import GlobalActions
from tui.screens.lines import footer_line, tabs_line
from tui.screens.panes.base import method_of
from tui.screens.panes.table import BESIDE, NUMBERED, make
from tui.widgets.spans import width_of

_NAMED = {key.value for key in Keys}
_PRINTABLE = {_character_to_key(chr(code)) for code in range(33, 127)}
# Taken by terminals and multiplexers, or the same byte as another key (TERMINAL 2.2).
_FORBIDDEN = {f"ctrl+{letter}" for letter in "abhijmps"}


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_keys_are_names_that_textual_knows_and_every_terminal_sends(action: object) -> None:
    for key in by_id(action.id).keys:  # type: ignore[attr-defined]  # parametrize hides the type
        assert key in _NAMED | _PRINTABLE, f"{key} is no key name"
        assert key not in _FORBIDDEN
        assert not key.startswith(("alt+", "ctrl+shift+", "super+"))


def test_ids_are_unique_and_scopes_known() -> None:
    assert max(Counter(action.id for action in ACTIONS).values()) == 1
    assert {action.scope for action in ACTIONS} <= {scope for scope, _ in SCOPES}


@pytest.mark.parametrize("pane", [pane for pane, _, _ in PANES])
def test_no_two_actions_share_a_key_where_both_work(pane: str) -> None:
    keys = Counter(key for scope in ("global", "list", pane) for action in of_scope(scope) for key in action.keys)
    assert [key for key, count in keys.items() if count > 1] == []


@pytest.mark.parametrize("pane", [pane for pane, _, _ in PANES])
def test_the_footer_fits_the_smallest_width(pane: str) -> None:
    line = footer_line(pane, FOOTER_WIDTH, (), read_only=False)
    assert sum(width_of(text) for text, _ in line) <= FOOTER_WIDTH
    words = "".join(text for text, _ in line)
    assert "help" in words
    assert "quit" in words


def test_tabs_fit_the_smallest_width() -> None:
    assert sum(width_of(text) for text, _ in tabs_line("inbox", 3)) <= FOOTER_WIDTH


def test_read_only_has_no_dangerous_action() -> None:
    for scope, _ in SCOPES:
        assert not any(action.dangerous for action in of_scope(scope, read_only=True))
    for pane, _, _ in PANES:
        assert not {"roll back", "undo", "stop run", "approve", "reject"} & {
            word for _, word in footer(pane, read_only=True)
        }


def test_every_action_is_done_somewhere() -> None:
    panes = {pane_id: type(make(pane_id)) for pane_id in NUMBERED}
    done_by_lists = {action.id for action in of_scope("list") if action.id.startswith("nav.") or action.id == "open"}
    for action in ACTIONS:
        if action.id in done_by_lists or action.id in {f"pane.{pane}" for pane in panes}:
            continue
        does = hasattr(GlobalActions, method_of(action.id)) or hasattr(panes.get(action.scope), method_of(action.id))
        assert does, f"{action.id} does nothing"


def test_the_panes_are_those_of_the_registry() -> None:
    assert list(NUMBERED) == [pane for pane, _, _ in PANES]
    assert all(make(pane_id).pane_id == pane_id for pane_id in (*NUMBERED, *BESIDE))


def test_the_documented_keys_are_the_registrys() -> None:
    page = Path(__file__).parents[2] / "docs" / "keys.md"
    assert page.read_text(encoding="utf-8") == keys_page(), "write it anew: python -m tui.actions > docs/keys.md"
