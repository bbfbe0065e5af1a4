"""What is known of one strategy: where it stands, its text, and all that is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass

from core.strategy.bank.alarms import Watched
from core.strategy.bank.bank import Entry
from core.strategy.bank.states import Standing
from core.strategy.documents.reading import Fault
from core.strategy.governance.laws import Lint


@dataclass(frozen=True, slots=True)
class StrategyLine:
    """A strategy of the bank.

    `text` is its newest text, "" where only versions are left. `faults` are those of its files, in order: what can't
    be read, and where skills are known also what can't be compiled; `warnings` what may be meant, `lints` what the laws
    say. `alarm` is the watch over its business's outcome, None where its release names none. `calls` counts
    the tracked executions that served somebody, `failed` those of them that failed.
    """

    entry: Entry
    text: str = ""
    faults: tuple[Fault, ...] = ()
    warnings: tuple[Fault, ...] = ()
    lints: tuple[Lint, ...] = ()
    calls: int = 0
    failed: int = 0
    alarm: Watched | None = None

    @property
    def id(self) -> str:
        return self.entry.id

    @property
    def owner(self) -> str:
        """Who answers for it, "" where no text says so."""
        return self.entry.authored.owner if self.entry.authored is not None else ""

    @property
    def purpose(self) -> str:
        return self.entry.authored.purpose if self.entry.authored is not None else ""

    @property
    def unpublished(self) -> bool:
        """Whether its newest text is no version yet."""
        return bool(self.text) and not self.entry.published

    @property
    def alarmed(self) -> bool:
        """Whether its alarm is raised."""
        return self.alarm is not None and self.alarm.state == "alarm"

    @property
    def at_work(self) -> tuple[Standing, ...]:
        """The versions that are neither put away nor replaced, newest first."""
        done = ("archived", "deprecated")
        return tuple(one for one in reversed(self.entry.versions) if one.state not in done)

    @property
    def place(self) -> str:
        """The file as the bank names it, for a fault."""
        return f"{self.entry.file.parent.name}/{self.entry.file.name}"
