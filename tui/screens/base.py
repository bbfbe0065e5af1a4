"""What every screen of the console answers to."""

from __future__ import annotations

from textual._callback import count_parameters
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget


class ConsoleScreen(Screen[None], inherit_bindings=False):
    """A screen whose keys are actions of the registry, done by id."""

    whole = 0  # widgets that the screen has once it is composed

    @property
    def stands(self) -> bool:
        """Whether all widgets are there: not yet while it is composed, no more while the app leaves.

        Messages arrive at both times; what they say is then nobody's to draw.
        """
        return self.is_running and 0 < self.whole == self.count()

    def count(self) -> int:
        """Return how many widgets the screen has now. Asked often, so it goes without a query.

        Textual adds some of its own (for tooltips and toasts) that no query tells of, and that a test has only where
        it asks for them: `whole` is always what this counts.
        """
        return sum(1 for _ in self.walk_children())

    def run_action_by_id(self, action_id: str) -> None:
        """Do an action of the registry."""
        raise NotImplementedError

    def lines(self) -> None:
        """Fill the rows around what the screen shows, where it has such: something that they speak of has changed."""

    def restore_focus(self) -> None:
        """Give the focus back after a question was answered."""

    def action_do(self, action_id: str) -> None:
        """Do what a key is bound to."""
        self.run_action_by_id(action_id)


def own_screen(widget: Widget) -> ConsoleScreen:
    """Return the console's screen that a widget is on."""
    screen = widget.screen
    assert isinstance(screen, ConsoleScreen)
    return screen


def hand_up(widget: Widget, message: Message) -> None:
    """Hand a message to the widgets around `widget` at once, instead of posting it.

    What they draw for it then comes in the same frame as what the widget itself has drawn, not in one of its own a
    sixtieth of a second later: a key is answered in half the time. Handlers are found by name and are no coroutines.
    """
    for node in widget.ancestors:
        handler = getattr(node, message.handler_name, None)
        if handler is not None:
            handler(message) if count_parameters(handler) else handler()
        if message._stop_propagation:
            return
