"""The terminal: what it can show, what the console will do about it, and the way the keys and bytes come."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tui.cli.doctor.findings import Finding, World

SMALLEST, WANTED = (60, 15), (80, 24)
_PLAIN = "exuvia --plain tells every event on a line of its own."


def terminal(world: World) -> Iterator[Finding]:
    """Say whether the console can be shown, and how large."""
    term = world.environ.get("TERM", "")
    missing = [name for name in ("input", "screen") if name not in world.terminals]
    if missing:
        yield Finding("terminal", "warn", f"this command's {' and '.join(missing)}: no terminal",
                      f"Run the console from a terminal; without one, {_PLAIN}")  # fmt: skip
    elif term in {"", "dumb"}:
        yield Finding("terminal", "warn", f"TERM is {term or 'not set'}: the console cannot be shown",
                      f"Set TERM, for example TERM=xterm-256color. {_PLAIN}")  # fmt: skip
    else:
        yield _sized(term, world.size)
    pinned = [name for name in ("COLUMNS", "LINES") if name in world.environ]
    if pinned and not missing:
        yield Finding("terminal", "ok", f"{' and '.join(pinned)} exported: the console measures the terminal itself")
    from tui.settings import Settings, wants_ascii

    utf8 = world.encoding.lower().replace("-", "").replace("_", "") == "utf8"
    if utf8 and not wants_ascii(Settings(), world.environ):
        yield Finding("locale", "ok", world.encoding)
    else:
        said = next((world.environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if world.environ.get(name)), "none")
        yield Finding("locale", "warn", f"{said} ({world.encoding}): marks are drawn in ASCII, the rest is replaced",
                      "Set LANG=C.UTF-8 (or another UTF-8 locale).")  # fmt: skip


def _sized(term: str, size: tuple[int, int] | None) -> Finding:
    if size is None or 0 in size:
        return Finding("terminal", "warn", f"{term}, of unknown size", "Say it: stty cols 120 rows 40")
    said = f"{term}, {size[0]} x {size[1]}"
    if size[0] < SMALLEST[0] or size[1] < SMALLEST[1]:
        return Finding("terminal", "warn", f"{said}: the console only says that it is too small",
                       f"Make it at least {WANTED[0]} x {WANTED[1]}. {_PLAIN}")  # fmt: skip
    if size[0] < WANTED[0] or size[1] < WANTED[1]:
        return Finding("terminal", "warn", f"{said}: lines will be cut", f"Make it at least {WANTED[0]} x {WANTED[1]}.")
    return Finding("terminal", "ok", said)


def colours(world: World) -> Iterator[Finding]:
    """Say how many colours there are, and what the console draws with them."""
    env = world.environ
    term = env.get("TERM", "")
    if term in {"", "dumb"}:
        return
    if env.get("NO_COLOR"):
        yield Finding("colours", "ok", "NO_COLOR is set: none are used; marks and words say everything")
        return
    depth = colour_depth(term, env.get("COLORTERM", ""))
    said = {
        "24-bit": "24-bit (COLORTERM): any theme looks as it should",
        "256": "256: the default theme uses the terminal's own 16, other themes come out nearly right",
        "16": "16: the default theme uses the terminal's own",
    }[depth]
    advice = ""
    if depth == "16":
        advice = "If the terminal shows more: TERM=xterm-256color (inside tmux: default-terminal tmux-256color)."
    elif depth == "256" and env.get("SSH_CONNECTION"):
        advice = "For 24-bit over SSH: SendEnv COLORTERM here, AcceptEnv COLORTERM in the server's sshd_config."
    yield Finding("colours", "ok", said, advice)


def colour_depth(term: str, colorterm: str) -> str:
    """Return "24-bit", "256" or "16", as the console's toolkit will judge it (TERMINAL 2.2)."""
    if colorterm.strip().lower() in {"truecolor", "24bit"}:
        return "24-bit"
    return "256" if term.endswith("-256color") or term in {"xterm-kitty", "xterm-ghostty", "alacritty"} else "16"


def ssh(world: World) -> Iterator[Finding]:
    """Say what the console does about a long line, and what ssh itself can do."""
    if not (world.environ.get("SSH_CONNECTION") or world.environ.get("SSH_TTY")):
        return
    yield Finding("ssh", "ok", "over SSH: fewer bytes are sent, animations and mouse are off",
                  "In ~/.ssh/config where you come from: Compression yes, ServerAliveInterval 15")  # fmt: skip
    if not (world.environ.get("TMUX") or world.environ.get("STY")):
        yield Finding("ssh", "ok", "no multiplexer: a lost link closes the console, runs go on",
                      "Inside tmux the console itself is still there after a lost link.")  # fmt: skip


# What answers OSC 52, by the name it gives itself, and what is known not to.
_TAKES = {"iTerm.app": "iTerm2", "WezTerm": "WezTerm", "ghostty": "Ghostty", "vscode": "VS Code", "kitty": "kitty",
          "Alacritty": "Alacritty", "rio": "Rio"}  # fmt: skip
_TAKES_TERM = {"xterm-kitty": "kitty", "alacritty": "Alacritty", "foot": "foot", "xterm-ghostty": "Ghostty",
               "wezterm": "WezTerm"}  # fmt: skip


def clipboard(world: World) -> Iterator[Finding]:
    """Say whether a copy will reach the clipboard, which no terminal ever confirms."""
    from tui.clipboard import last_copy

    env = world.environ
    also = f"every copy is also in {last_copy(dict(env))}"
    if env.get("TMUX"):
        return  # `tmux` below decides
    if env.get("STY") or (env.get("TERM", "").startswith("screen") and not env.get("TMUX")):
        yield Finding("clipboard", "warn", f"inside GNU screen, which drops copies; {also}",
                      "Use tmux with set-clipboard on, or take it from the file.")  # fmt: skip
        return
    program = env.get("TERM_PROGRAM", "")
    known = (
        _TAKES.get(program)
        or _TAKES_TERM.get(env.get("TERM", ""))
        or ("Windows Terminal" * bool(env.get("WT_SESSION")))
    )
    if program == "Apple_Terminal" or env.get("VTE_VERSION") or env.get("TERM") == "linux":
        name = "Terminal.app" if program else "a VTE terminal" if env.get("VTE_VERSION") else "the Linux console"
        yield Finding("clipboard", "warn", f"{name} takes no copies from programs (OSC 52); {also}",
                      "Select with the mouse (it is yours), or take it from the file.")  # fmt: skip
    elif known:
        yield Finding("clipboard", "ok", f"{known} takes copies (OSC 52), also over SSH; {also}")
    else:
        yield Finding("clipboard", "ok", f"the terminal does not say whether it takes copies (OSC 52); {also}")


def tmux(world: World) -> Iterator[Finding]:
    """Look at the settings of the tmux that this terminal is inside of."""
    if not world.environ.get("TMUX"):
        return
    version = (world.answer(["tmux", "-V"]) or "").strip()
    if not version:
        yield Finding("tmux", "warn", "inside tmux, which does not answer", "Is tmux in PATH, and its server alive?")
        return
    yield Finding("tmux", "ok", version)
    yield _set_clipboard(_option(world, "-sv", "set-clipboard"))
    yield _default_terminal(_option(world, "-gv", "default-terminal"))
    yield _escape_time(_option(world, "-sv", "escape-time"))
    if colour_depth("", world.environ.get("COLORTERM", "")) == "24-bit":
        yield _direct_colour(_option(world, "-s", "terminal-features") + _option(world, "-s", "terminal-overrides"))


def _option(world: World, flags: str, name: str) -> str:
    return (world.answer(["tmux", "show-options", flags, name]) or "").strip()


def _set_clipboard(value: str) -> Finding:
    if value == "on":
        return Finding("clipboard", "ok", "tmux passes copies on to the terminal (set-clipboard on)")
    return Finding("clipboard", "warn", f"tmux drops copies of programs inside it (set-clipboard {value or 'unknown'})",
                   "tmux set -s set-clipboard on   (for good: set -s set-clipboard on in ~/.tmux.conf)")  # fmt: skip


def _default_terminal(value: str) -> Finding:
    if value.endswith("-256color"):
        return Finding("tmux", "ok", f"default-terminal {value}")
    return Finding("tmux", "warn", f"default-terminal {value or 'unknown'}: programs see 16 colours or less",
                   'In ~/.tmux.conf: set -g default-terminal "tmux-256color", then open a new window.')  # fmt: skip


def _escape_time(value: str) -> Finding:
    if value.isdecimal() and int(value) <= 50:
        return Finding("tmux", "ok", f"escape-time {value} ms")
    return Finding("tmux", "warn", f"escape-time {value or 'unknown'} ms: Escape comes late",
                   "tmux set -s escape-time 10   (for good: in ~/.tmux.conf)")  # fmt: skip


def _direct_colour(features: str) -> Finding:
    if re.search(r"\bRGB\b|\bTc\b", features):
        return Finding("tmux", "ok", "24-bit colours are passed on (RGB)")
    return Finding("tmux", "warn", "24-bit colours are rounded to 256 (no RGB feature)",
                   """tmux set -as terminal-features ",*:RGB"   (for good: in ~/.tmux.conf)""")  # fmt: skip
