"""What must be so before the console starts: a terminal that can show it, and Textual's settings (TERMINAL 5.4).

Textual reads its settings once, when it is imported, so `prepare` comes before that import.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import MutableMapping

from core.foundation.errors import UsageError

_ELSE = (
    "Without a screen: exuvia --plain tells each event on a line of its own.\n"
    "Every command works without the console: exuvia runs list, exuvia approvals list, ... (exuvia --help)."
)


def check_terminal(environ: MutableMapping[str, str] | None = None) -> None:
    """Raise UsageError, with the way out, where the console cannot be shown."""
    env = os.environ if environ is None else environ
    term = env.get("TERM", "")
    if term in ("", "dumb"):
        raise UsageError(
            f"The console needs a terminal that can place text; TERM is {term or 'not set'!r}.",
            hint=f"Set TERM, for example TERM=xterm-256color. {_ELSE}",
        )
    for stream, name in ((sys.__stdin__, "input"), (sys.__stderr__, "screen (stderr)")):
        try:
            is_terminal = stream is not None and os.isatty(stream.fileno())
        except (OSError, ValueError):
            is_terminal = False
        if not is_terminal:
            raise UsageError(f"The console's {name} is no terminal.", hint=f"Don't redirect it. {_ELSE}")


def prepare(environ: MutableMapping[str, str] | None = None) -> None:
    """Settle what Textual reads from the environment. Exported COLUMNS and LINES would pin the size, so they go."""
    env = os.environ if environ is None else environ
    for name in ("COLUMNS", "LINES"):
        env.pop(name, None)
    env["TEXTUAL_ANIMATIONS"] = "none"
    env.setdefault("TEXTUAL_THEME", "ansi-dark")
    env.setdefault("ESCDELAY", "50")


def write_utf8() -> None:
    """Let the screen be written in UTF-8 whatever PYTHONIOENCODING or the locale say: characters that a terminal
    can't show are kept from it by the ASCII filter, not by an encoding that spells them out and breaks every row.
    """
    if isinstance(sys.__stderr__, io.TextIOWrapper):
        sys.__stderr__.reconfigure(encoding="utf-8", errors="replace")


def wants_lean(environ: MutableMapping[str, str] | None = None) -> bool:
    """Tell whether the screen is far away, so that bytes count."""
    env = os.environ if environ is None else environ
    return bool(env.get("SSH_CONNECTION") or env.get("SSH_TTY"))
