"""What happens in a chat, as whoever shows it hears of it. Texts in it come from a model: never print them raw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.state.approvals import Decision, Waiting
from core.state.mailbox import Word


@dataclass(frozen=True, slots=True)
class Piece:
    """Text of the reply as it streams."""

    text: str


@dataclass(frozen=True, slots=True)
class Said:
    """A whole text of the agent; its pieces came before where the model streams."""

    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """The agent calls a tool; `arguments` is JSON text as it wrote it."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Returned:
    """A call ended; `stop_reason` is completed where it went well. `output` is its head."""

    output: str
    stop_reason: str


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The model gave no reply; `again` tells that it is asked once more."""

    reason: str
    again: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """The agent waits for the operator; whoever decides the approval first is heard."""

    waiting: Waiting


@dataclass(frozen=True, slots=True)
class Decided:
    """What was asked is decided, here or elsewhere."""

    decision: Decision


@dataclass(frozen=True, slots=True)
class Told:
    """A word of the operator's was read by the agent."""

    word: Word


@dataclass(frozen=True, slots=True)
class WordWaits:
    """A word came while no turn runs: `hear` lets the agent work on it."""

    word: Word


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that concerns the operator, not the agent."""

    text: str


TurnStatus = Literal["completed", "aborted", "failed", "budget", "loop", "idle"]


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A turn is over. `text` is the agent's last text."""

    status: TurnStatus
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The chat's process is gone without having been told to leave; nothing more comes."""

    reason: str


ChatEvent = (
    Piece | Said | Called | Returned | Unanswered | Asked | Decided | Told | WordWaits | Notice | TurnEnded | Ended
)
