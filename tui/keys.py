"""Keys of one's own: what may be a key, what clashes, and what Textual is told (TERMINAL 2.2, 5.2)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from tui.actions import PANES, of_scope

_KEY = (
    r"(?:ctrl\+|shift\+)?(?:[a-z0-9]|f[1-9]|f1[0-2]|up|down|left|right|home|end|pageup|pagedown|tab|enter|escape|"
    r"backspace|delete|insert|space|[a-z]+(?:_[a-z]+)+|slash|backslash|colon|semicolon|comma|period|minus|plus|at|tilde)"
    r"|[!-~]"
)
FORBIDDEN = frozenset({f"ctrl+{letter}" for letter in "abhijmps"})
"""Taken by terminals and multiplexers, or the same byte as another key (TERMINAL 2.2)."""


_NAMES = {
    "solidus": "slash", "reverse_solidus": "backslash", "commercial_at": "at", "hyphen_minus": "minus",
    "plus_sign": "plus", "low_line": "underscore",
}  # fmt: skip


def key_name(key: str) -> str:
    """Return Textual's name of a key that was written as its character: `slash` for `/`."""
    if len(key) != 1 or key.isalnum():
        return key
    name = unicodedata.name(key, key).lower().replace("-", "_").replace(" ", "_")
    return _NAMES.get(name, name)


def keys_fault(changed: Mapping[str, tuple[str, ...]]) -> tuple[str, str] | None:
    """Return the first action whose changed keys can't be, and why; None where all can."""
    for name, keys in changed.items():
        for key in keys:
            if not re.fullmatch(_KEY, key):
                return name, f"{key!r} is no key that every terminal sends"
            if key in FORBIDDEN:
                return name, f"{key} is taken by terminals"
    for pane, _, _ in PANES:
        taken: dict[str, str] = {}
        # What was changed comes last, so that it is the change that has to give way.
        together = [action for scope in ("global", "list", pane) for action in of_scope(scope)]
        for action in sorted(together, key=lambda action: action.id in changed):
            for key in changed.get(action.id, action.keys):
                other = taken.setdefault(key, action.id)
                if other != action.id and action.id in changed:
                    return action.id, f"{key} is the key of {other}"
    return None


def keymap(changed: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return changed keys as Textual takes them; an action without keys gets one that no terminal sends."""
    return {name: ",".join(keys) or "f63" for name, keys in changed.items()}
