"""How the console opens: with the panes that first facts can fill, and stand-ins; the rest comes right after that.

A stand-in is a pane's title and its keys, without the import of the pane itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from textual.app import ComposeResult
from textual.widget import Widget

from tui.actions import bindings
from tui.screens.panes.base import Pane
from tui.screens.panes.table import BESIDE, NUMBERED, make
from tui.widgets.spans import Line


class Coming(Pane, can_focus=True):
    """A pane of which nothing can be drawn yet. Its keys reach the screen, which lets them wait for the pane."""

    def __init__(self) -> None:
        super().__init__(id=f"coming-{self.pane_id}")

    def parts(self) -> ComposeResult:
        yield from ()

    def draw(self) -> None:
        """Draw nothing: whatever is known by now is the pane's own to draw."""

    def first_focus(self) -> Widget:
        return self

    def heading(self) -> Line:
        """Name what the pane is about, where that is no agent."""
        return ((" training", "strong"),) if self.pane_id == "training" else ()


def first_panes(main: str) -> Iterator[Pane]:
    """Make the panes of the first paint; something stands in for `main`, the one in the middle."""
    yield make("sessions")
    yield _coming(main)
    yield from map(make, BESIDE)


def _coming(pane_id: str) -> Coming:
    own = type("Coming", (Coming,), {"pane_id": pane_id, "BINDINGS": bindings(pane_id)})()
    assert isinstance(own, Coming)
    return own


async def mount_rest(body: Widget, place: Callable[[Pane], None]) -> list[Pane]:
    """Mount the panes that are missing in `body`, in order, and let go of stand-ins; return them, last one first.

    `place` gives a pane the classes that say where it stands. A stand-in that had the focus hands it on.
    """
    following, made = next(iter(BESIDE)), []
    for pane_id in reversed(tuple(NUMBERED)):
        if not body.query(f"#{pane_id}"):
            pane = make(pane_id)
            made.append(pane)
            await body.mount(pane, before=f"#{following}")
            place(pane)
        following = pane_id
    for stood_in in body.query(Coming):
        if stood_in.has_focus:
            body.screen.set_focus(body.query_one(f"#{stood_in.pane_id}", Pane).first_focus())
        await stood_in.remove()
    return made
