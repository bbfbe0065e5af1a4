"""Facts that travel inside the console: one class each, whole results, no behaviour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message
from textual.message_pump import MessagePump

from core.state.paths import ProjectPaths
from tui.stores.console import ConsoleView
from tui.work import Work

if TYPE_CHECKING:
    from tui.stores.diff import Side
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
    """A trace is open and indexed; `at_end` says that its end is what is wanted first.

    `opener` is the other pane that asked for it, "" where the Trace pane did.
    """

    def __init__(self, trace: OpenTrace, *, at_end: bool = False, opener: str = "") -> None:
        self.trace, self.at_end, self.opener = trace, at_end, opener
        super().__init__()


class IsolationKnown(Message):
    """What commands are confined by on this machine."""

    def __init__(self, layer: str, reasons: tuple[str, ...]) -> None:
        self.layer, self.reasons = layer, reasons
        super().__init__()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an action came to. `hint` says what to do next; `changed` that views may be another now.

    `made` is the id of what it made, for the pane that shows it to go there.
    """

    text: str
    hint: str = ""
    ok: bool = True
    changed: bool = True
    made: str = ""


class CopyWanted(Message):
    """The operator wants `text` in the clipboard; `what` says in a few words what it is."""

    def __init__(self, text: str, what: str) -> None:
        self.text, self.what = text, what
        super().__init__()


class Said(Message):
    """Something to say on the prompt line; a tone of the palette and what to do next."""

    def __init__(self, text: str, tone: str = "plain", hint: str = "") -> None:
        self.text, self.tone, self.hint = text, tone, hint
        super().__init__()


class DeedWanted(Message):
    """Something to do in a thread: `do` gets the Work to report to; `doing` says it in words ("exporting v3")."""

    def __init__(self, do: Callable[[Work], Outcome], doing: str) -> None:
        self.do, self.doing = do, doing
        super().__init__()


class DiffWanted(Message):
    """The operator wants to see what differs from `left` to `right`; `file` is what to look at first."""

    def __init__(self, left: Side, right: Side, file: str = "") -> None:
        self.left, self.right, self.file = left, right, file
        super().__init__()


class ReadWanted(Message):
    """Something to read in a thread: `read` gets the Project, and what it returns is posted to `to`."""

    def __init__(self, read: Callable[[ProjectPaths], Message], to: MessagePump, doing: str) -> None:
        self.read, self.to, self.doing = read, to, doing
        super().__init__()


class Done(Message):
    """An action has ended."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        super().__init__()
