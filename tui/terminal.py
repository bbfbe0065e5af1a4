"""Everything that touches the terminal itself, and the only place that uses Textual's inner points.

A driver that sends what differs, a net that no control character of a file gets through, colours off where
NO_COLOR asks for it, and leaving cleanly whatever happens to the terminal (TERMINAL 0, 2.2, 3.8, 3.9).
"""

from __future__ import annotations

import asyncio
import codecs
import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.drivers import linux_driver
from textual.drivers.linux_driver import LinuxDriver
from textual.filter import LineFilter

from tui.lean import Shown

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_WATCH_S = 1.0
_LAST_RESORT_S = 1.0


class LeanDriver(LinuxDriver):
    """Sends only what the terminal does not show already: a third of the bytes of a start, a tenth of a key's."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._shown = Shown()

    def write(self, data: str) -> None:
        if out := self._shown.sent(data, self._size_now()):
            super().write(out)

    def forget(self) -> None:
        """Send the next frames whole: the terminal may have changed what it shows."""
        self._shown.forget()

    def _size_now(self) -> tuple[int, int]:
        try:
            size = os.get_terminal_size(sys.__stderr__.fileno() if sys.__stderr__ is not None else 2)
        except (OSError, ValueError):
            return (0, 0)  # the terminal is gone
        return size.columns, size.lines


class _Typed(codecs.getincrementaldecoder("utf-8")):  # type: ignore[misc]
    """What comes from the keyboard as text. A byte that is no UTF-8 becomes a stand-in: a terminal of another
    encoding, or a noisy line, must not end the console (FAULTS: encoding assumptions).
    """

    def __init__(self, errors: str = "replace") -> None:
        super().__init__(errors)


linux_driver.getincrementaldecoder = lambda encoding: _Typed  # type: ignore[attr-defined]
"""Textual's own decoder is strict, and the thread that reads the keyboard dies of it."""


def forget_screen(app: App[int]) -> None:
    """Let the next frames be sent whole."""
    if isinstance(app._driver, LeanDriver):
        app._driver.forget()


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
