"""What all panes share: a title, a place for the cursor, and words of their own for time and money."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from time import time

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widget import Widget

from core.foundation.clock import parse_ms
from tui.actions import PANES
from tui.screens.base import own_screen
from tui.stores.console import ConsoleView
from tui.widgets.bars import PaneTitle
from tui.widgets.spans import Line, Span


class TraceWanted(Message):
    """The operator wants to see a Session's trace; `about` says what it is of, `at_end` whether its end is wanted."""

    def __init__(self, session_id: str, about: str, *, at_end: bool = False) -> None:
        self.session_id, self.about, self.at_end = session_id, about, at_end
        super().__init__()


class BackWanted(Message):
    """The operator wants to go back, and the pane has nothing left to leave: to the pane that led here, if one did."""


class Pane(Vertical):
    """A pane. `show` takes the newest view; a subclass repaints what changed in it.

    An action of the pane's own scope, say `page.older`, is done by its method `do_page_older`. Invariant: a pane out
    of sight draws nothing; it is drawn when it comes into sight.
    """

    pane_id = ""
    early = False
    """Whether it can draw the first facts of a console that opens; other panes wait until everything is read."""
    opener = ""
    """The pane that led here by a key (t, d, Enter), where that was what brought this one into sight."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id or self.pane_id, classes="pane")
        self.view = ConsoleView()
        self._late = True

    def compose(self) -> ComposeResult:
        yield PaneTitle(id=f"{self.pane_id}-title")
        yield from self.parts()

    def parts(self) -> ComposeResult:
        """Yield the widgets below the title."""
        raise NotImplementedError

    def show(self, view: ConsoleView) -> None:
        """Take the newest view."""
        self.view = view
        self._late = True
        self.catch_up()

    def catch_up(self, *, soon: bool = False) -> None:
        """Draw what is newer than what was drawn, where it is in sight, or will be at once (`soon`)."""
        if self._late and (soon or self.display):
            self.redraw()

    def redraw(self) -> None:
        """Draw, where there is something to draw on: not before the parts are there, not while the app leaves."""
        if own_screen(self).stands:
            self._late = False
            if self.view.reading and not self.early:
                self.title("reading...")
            else:
                self.draw()

    def draw(self) -> None:
        """Show `view`."""
        raise NotImplementedError

    def do(self, action_id: str) -> bool:
        """Do an action of this pane's scope, or one that it does in its own way; tell whether it did."""
        done: Callable[[], None] | None = getattr(self, method_of(action_id), None)
        if done is None:
            return False
        done()
        return True

    def copied(self, *, whole: bool) -> tuple[str, str] | None:
        """Return what to copy and what it is in words: the id of what is selected, or all of it; None: nothing."""
        return None

    def reading(self) -> str:
        """Return the text that a pager shows: what is selected, to read at length; "" where there is none."""
        return ""

    def resting(self) -> Line:
        """Return what the prompt line says of this pane while nothing was asked; () leaves it to the frame."""
        return ()

    def heading(self) -> Line:
        """Return what the status row says in place of the agent; () where this pane is about the agent."""
        return ()

    def useless(self) -> frozenset[str]:
        """Return the actions of the pane that would do nothing now, which the footer need not offer."""
        return frozenset()

    def go_back(self) -> bool:
        """Leave what was opened inside the pane, one step at a time (Esc); tell whether there was anything to leave."""
        return False

    def first_focus(self) -> Widget | None:
        """Return the widget that gets the focus when the pane is entered; None while the app leaves."""
        return next((widget for widget in self.query("*") if widget.can_focus and widget.display), None)

    def version_in_sight(self) -> int | None:
        """Return the version under the cursor, None where the pane shows none."""
        return None

    def title(self, context: str, right: Line = ()) -> None:
        """Set the pane's title row."""
        digit, name = next((digit, name) for pane, digit, name in PANES if pane == self.pane_id)
        left: tuple[Span, ...] = ((f" {digit} {name} ", "title"),)
        if context:
            left += ((" ", "plain"), (context, "plain"))
        self.query_one(PaneTitle).show(left, right)

    def on_descendant_focus(self) -> None:
        self.query(PaneTitle).refresh()

    def on_descendant_blur(self) -> None:
        self.query(PaneTitle).refresh()


def method_of(action_id: str) -> str:
    """Return the name of the method that does an action: `do_page_older` for `page.older`."""
    return f"do_{action_id.replace('.', '_')}"


def points(score: float | None) -> str:
    """Return a score as people read it: two decimals, '-' where there is none (never 0)."""
    return "-" if score is None else f"{score:.2f}"


def signed(delta: float | None) -> str:
    """Return a difference in points with its sign."""
    return "" if delta is None else f"{delta:+.2f}"


def span_of(milliseconds: float | None) -> str:
    """Return a duration: 0.4 s, 12 s, 3:05, 1:02:03; '-' where nobody knows it, as where the clock was set back."""
    if milliseconds is None or milliseconds < 0:
        return "-"
    seconds = milliseconds / 1000
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def elapsed(started_ms: int | None, ended_ms: int | None) -> str:
    """Return how long a run took, or has taken so far where `ended_ms` is None."""
    if started_ms is None:
        return "-"
    end = time() * 1000 if ended_ms is None else ended_ms
    seconds = max(0, int((end - started_ms) / 1000))
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def money(known: float, unknown: int) -> str:
    """Return a cost: what is known, and that more was spent that nobody counted (unknown is not zero)."""
    if not unknown:
        return f"${known:.4f}" if known else "$0"
    return f"${known:.4f} + {unknown} unknown" if known else "cost unknown"


def local(timestamp: str) -> str:
    """Return a time as `11-30 20:19` in local time, or the text itself where it is no time."""
    moment = parse_ms(timestamp)
    if moment is None:
        return timestamp[:16]
    return datetime.fromtimestamp(moment / 1000).astimezone().strftime("%m-%d %H:%M")


def yes_no(value: bool | None, yes: str, no: str) -> Span:
    """Return a word for True or False, none for None."""
    return ("", "plain") if value is None else ((yes, "good") if value else (no, "bad"))
