"""Copying over SSH: the terminal's own clipboard by OSC 52 as far as it takes that, and always a file (TERMINAL 2.2).

Nobody tells whether a terminal took it, so what is said names both ways.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Literal

from core.foundation.errors import ExuviaError
from core.foundation.visible import visible
from core.state import atomic

Mode = Literal["auto", "osc52", "file"]
OSC52_MOST = 74_994
"""Encoded bytes that common terminals still take."""


def last_copy(environ: MutableMapping[str, str] | None = None) -> Path:
    """Return the file that holds what was copied last."""
    env = os.environ if environ is None else environ
    state = env.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "exuvia" / "last-copy"


def copy(
    text: str, tell: Callable[[str], None], mode: Mode = "auto", environ: MutableMapping[str, str] | None = None
) -> tuple[str, str]:
    """Copy `text`; `tell` writes to the terminal. Return what to say of it, and a hint.

    What is copied may be pasted into a shell, so control characters are made visible first.
    """
    env = os.environ if environ is None else environ
    raw = visible(text).encode("utf-8", "replace")
    ways: list[str] = []
    hints: list[str] = []
    if mode != "file":
        encoded = base64.b64encode(raw)
        if len(encoded) <= OSC52_MOST:
            tell(f"\x1b]52;c;{encoded.decode('ascii')}\a")
            ways.append("the terminal's clipboard")
            if env.get("TMUX"):
                hints.append("tmux passes it on with: set -s set-clipboard on")
        else:
            hints.append("too long for the terminal's clipboard")
    file = last_copy(env)
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        atomic.write_bytes(file, raw, mode=0o600)
        ways.append(_home(file))
    except (ExuviaError, OSError) as error:
        hints.append(f"not written to a file: {error}")
    return " and ".join(ways) or "nowhere", "; ".join(hints)


def _home(path: Path) -> str:
    try:
        return f"~/{path.relative_to(Path.home())}"
    except ValueError:
        return str(path)
