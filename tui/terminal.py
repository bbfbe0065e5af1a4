"""Everything that touches the terminal itself, and the only place that uses Textual's inner points.

A driver that says each style once, a net that no control character of a file gets through, colours off where
NO_COLOR asks for it, and leaving cleanly whatever happens to the terminal (TERMINAL 0, 2.2, 3.8, 3.9).
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import threading
from collections.abc import Callable

from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.drivers.linux_driver import LinuxDriver
from textual.filter import LineFilter

_STYLE = re.compile(r"\x1b\[([0-9;]*)m")
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_WATCH_S = 1.0
_LAST_RESORT_S = 1.0


def say_styles_once(output: str) -> str:
    """Return `output` with the same cells and fewer bytes: a style is said only where text follows that needs it.

    Textual ends each piece of text with a reset and begins the next with the whole style again. Here the style that
    the terminal has is compared with the one that the next text wants; nothing is assumed of the terminal before the
    first style, and the last style said stands at the end.
    """
    parts: list[str] = []
    has: str | None = None  # unknown
    wants: str | None = None  # nothing said yet
    at = 0
    for match in _STYLE.finditer(output):
        if text := output[at : match.start()]:
            if wants is not None and wants != has:
                parts.append(_change(has, wants))
                has = wants
            parts.append(text)
        at = match.end()
        code = match[1]
        reset = code in ("", "0")
        wants = "" if reset else f"{wants};{code}" if wants else code
    if not at:
        return output
    if wants is not None and wants != has:
        parts.append(_change(has, wants))
    parts.append(output[at:])
    return "".join(parts)


def _change(has: str | None, wants: str) -> str:
    if not wants:
        return "\x1b[0m"
    return f"\x1b[{wants}m" if has == "" else f"\x1b[0;{wants}m"


class LeanDriver(LinuxDriver):
    """Writes each style once; about half the bytes."""

    def write(self, data: str) -> None:
        super().write(say_styles_once(data))


class Net(LineFilter):
    """Replaces control and direction characters that got as far as the screen: the second line of defence."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        if not any(_UNSAFE.search(segment.text) for segment in segments):
            return segments
        return [
            Segment(_UNSAFE.sub("\N{REPLACEMENT CHARACTER}", segment.text), segment.style, segment.control)
            for segment in segments
        ]


class NoColours(LineFilter):
    """Keeps bold, reverse and underline, drops every colour: NO_COLOR means none, not grey."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            Segment(segment.text, None if segment.style is None else _colourless(segment.style), segment.control)
            for segment in segments
        ]


def _colourless(style: Style) -> Style:
    return Style(bold=style.bold, dim=style.dim, italic=style.italic, underline=style.underline, reverse=style.reverse)


def leave_on_signals(app: App[int]) -> None:
    """Leave cleanly on HUP and TERM, so that the terminal is as it was."""
    loop = asyncio.get_running_loop()

    def leave(number: int) -> None:
        if number == signal.SIGHUP:
            arm_last_resort(128 + number)  # the writer may hang on a terminal that is gone
        app.exit(return_code=128 + number)

    for number in (signal.SIGHUP, signal.SIGTERM):
        # Under nohup HUP is ignored on purpose: then only the watchdog below looks for the terminal.
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, leave, number)


def arm_last_resort(code: int) -> None:
    """End the process a second from now, whatever hangs; a clean exit before that makes it void."""
    timer = threading.Timer(_LAST_RESORT_S, os._exit, (code,))
    timer.daemon = True
    timer.start()


def watch_terminal(app: App[int], gone: Callable[[], bool] | None = None) -> None:
    """Leave within two seconds once the terminal has vanished, also where HUP is ignored."""
    is_gone = gone or _terminal_gone

    def look() -> None:
        if is_gone():
            arm_last_resort(129)
            app.exit(return_code=129)

    app.set_interval(_WATCH_S, look)


def _terminal_gone() -> bool:
    stream = sys.__stdin__
    try:
        return stream is None or not os.isatty(stream.fileno())
    except (OSError, ValueError):
        return True
