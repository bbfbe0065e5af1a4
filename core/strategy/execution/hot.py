"""A bank that follows its files without a restart; whoever is in a session keeps the bank it began with (S79, S80)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from core.foundation.errors import NotFoundError
from core.strategy.documents.reading import Fault
from core.strategy.documents.release import BankSettings
from core.strategy.documents.skill import SkillSchema
from core.strategy.execution.compiler import CompiledBank, compile_bank

_DEBOUNCE_MS = 50
_STEP_MS = 10


@dataclass(frozen=True, slots=True)
class Material:
    """What a bank is compiled from."""

    files: Mapping[str, str]
    settings: BankSettings
    schemas: Mapping[str, SkillSchema]


@dataclass(frozen=True, slots=True)
class Update:
    """A reload. `changed` are the ids of strategies that are new, other or gone; with `faults` nothing was taken."""

    changed: tuple[str, ...]
    faults: tuple[Fault, ...]


class Reloader:
    """Holds the bank in force. `read` gives the material as it is now.

    Invariants: `bank` never has faults that the one before hadn't (a reload with faults leaves it as it is); a session
    that was given a bank is given the same one until it ends.
    """

    def __init__(self, read: Callable[[], Material]) -> None:
        self._read = read
        held = read()
        self.bank = compile_bank(held.files, held.settings, held.schemas)
        self._pinned: dict[str, CompiledBank] = {}

    def bank_of(self, session: str) -> CompiledBank:
        """Return the bank that a session began with; the one in force where it is new."""
        return self._pinned.setdefault(session, self.bank)

    def end(self, session: str) -> None:
        """A session has ended, or may go on with the bank in force."""
        self._pinned.pop(session, None)

    def reload(self) -> Update:
        """Compile what changed and put the new bank in force, unless something in it is faulty."""
        held = self._read()
        before, after = self.bank, compile_bank(held.files, held.settings, held.schemas, self.bank)
        if after.faults and after.faults != before.faults:
            return Update((), after.faults)
        self.bank = after
        ids = before.strategies.keys() | after.strategies.keys()
        return Update(tuple(sorted(name for name in ids if _hash(before, name) != _hash(after, name))), ())

    async def watch(self, root: Path, stop: asyncio.Event) -> AsyncIterator[Update]:
        """Reload whenever a file below `root` changes, until `stop` is set; yield what each reload did.

        Raises NotFoundError where there is no such directory.
        """
        from watchfiles import awatch  # here, as what never watches should not load it

        if not root.is_dir():
            raise NotFoundError(f"there is no directory {root}", hint="check where the bank lies")
        async for _ in awatch(root, watch_filter=None, stop_event=stop, debounce=_DEBOUNCE_MS, step=_STEP_MS):
            update = self.reload()
            if update.changed or update.faults:
                yield update


def _hash(bank: CompiledBank, name: str) -> str:
    held = bank.strategies.get(name)
    return held.sha256 if held else ""
