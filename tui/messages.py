"""Facts that travel inside the console: one class each, whole results, no behaviour."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from tui.stores.console import ConsoleView
from tui.stores.trace import OpenTrace


class ViewsChanged(Message):
    """A newer view of the Project. Only the newest matters: one still in the queue is replaced."""

    def __init__(self, view: ConsoleView) -> None:
        self.view = view
        super().__init__()

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, ViewsChanged)


class TraceChanged(Message):
    """Files of a Session changed: whoever shows it follows."""

    def __init__(self, session_ids: frozenset[str]) -> None:
        self.session_ids = session_ids
        super().__init__()


class TraceOpened(Message):
    """A trace is open and indexed."""

    def __init__(self, trace: OpenTrace) -> None:
        self.trace = trace
        super().__init__()


class IsolationKnown(Message):
    """What commands are confined by on this machine."""

    def __init__(self, layer: str, reasons: tuple[str, ...]) -> None:
        self.layer, self.reasons = layer, reasons
        super().__init__()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an action came to. `hint` says what to do next."""

    text: str
    hint: str = ""
    ok: bool = True


class Done(Message):
    """An action has ended."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        super().__init__()
