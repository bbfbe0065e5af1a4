"""What a governed Session did, brought from its scratchpad to the bank's records (STRATEGY S74, S96).

The confined process can write in its scratchpad only, and what it wrote is not believed: a line that is no turn, and
whatever a turn says of strategies that the Session wasn't given, or of a time in which it was not, is told and left.
Every turn is kept; executions count and bad cases are captured only where the Session was for a user, since a
measurement is no traffic. A kill between two steps counts nothing twice and nothing never: a turn's line in the
records is the last thing written, and the scratchpad's file goes once all of it is kept.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from core.foundation import strict_json
from core.foundation.errors import ExuviaError
from core.foundation.visible import visible_line
from core.state import readonly
from core.state.atomic import StorageError
from core.strategy.bank import executions, shadow, turns
from core.strategy.bank.bank import Bank, bank_of
from core.strategy.bank.changes import FEEDBACK
from core.strategy.bank.comparison import Comparison
from core.strategy.bank.states import moment
from core.strategy.documents.reading import FaultyFileError, read
from core.strategy.documents.strategy import Strategy
from core.strategy.execution.records import Execution
from core.strategy.feedback.bad_cases import Queue, capture

from .orders import Orders
from .outputs import redacted
from .tools.suggest import TURNS

_MOST_BYTES = 64 << 20
_MOST_TOLD = 20
_SLACK = timedelta(minutes=5)  # between a clock read and a line written, and steps of the clock
_DATED = re.compile(r"session-(\d{4}-\d\d-\d\d)-")


def bring_turns_home(orders: Orders) -> None:
    """Move the Session's turns to the records of the Project's bank. What can't be kept is told, never raised: the
    Session itself has ended and stands.
    """
    assert orders.governed is not None
    path = orders.scratchpad / TURNS
    home = _Home(orders, bank_of(orders.project))
    try:
        if not path.is_file() or path.is_symlink():
            return
        readonly.refuse(orders.project.root)
        size = path.stat().st_size
        if size > _MOST_BYTES:
            home.tell(
                f"{path.name} has {size} bytes, more than is read; it stays in the scratchpad, and counts nowhere"
            )
            return
        found, findings = turns.read_file(path)
        for finding in findings:
            home.tell(finding)
        for turn in found:
            home.bring(turn)
        path.unlink()
    except (ExuviaError, OSError) as error:
        home.tell(f"its turns are not kept: {error}; they stay in {path} until the Session goes on")
    finally:
        home.close()


@dataclass
class _Home:
    """The records that turns are brought to, and what of them may be believed."""

    orders: Orders
    bank: Bank
    told: int = 0
    kept: Counter[str] = field(default_factory=Counter)
    given: frozenset[tuple[str, int]] = frozenset()
    tried: frozenset[tuple[str, int]] = frozenset()

    def __post_init__(self) -> None:
        assert self.orders.governed is not None
        self.user = dict(self.orders.governed.user)
        self.given = _versions(self.orders.governed.files)
        self.tried = _versions(self.orders.governed.shadow)
        before, _ = turns.read(self.bank.records, self.orders.session_id)
        self.kept = Counter(_line(turn) for turn in before)

    def bring(self, turn: turns.Turn) -> None:
        """Keep a turn, and count it where it is a user's; one that is kept already is passed over."""
        orders = self.orders
        # Whose they are is not for the process to say, and what commands alone may know stands in no record.
        mine = turns.Turn.from_json(redacted(_as_read(turn), tuple(orders.vault.values())))
        mine = replace(mine, session=orders.session_id, agent=orders.agent_id, user=self.user)
        real = [replace(one, session=mine.session, user=self.user) for one in mine.executions if self.believed(one)]
        compared = [replace(one, session=mine.session, user=self.user) for one in self.comparisons(mine)]
        mine = replace(mine, executions=tuple(real), comparisons=tuple(one.to_json() for one in compared))
        line = _line(mine)
        if self.kept[line] > 0:
            self.kept[line] -= 1  # of a process that was killed before the file was away
            return
        try:
            if self.user:
                self.count(mine, [one for one in real if not one.dry_run], compared)
            turns.append(self.bank.records, mine)
        except (StorageError, OSError):
            raise
        except (ExuviaError, KeyError, TypeError, ValueError) as error:
            self.tell(f"turn {turn.turn} is not kept whole: {error}")

    def believed(self, one: Execution) -> bool:
        """Tell whether an execution may count: of a strategy that the Session was given, in the Session's time."""
        if one.strategy_id is not None and (one.strategy_id, one.version) not in self.given:
            self.tell(f"an execution of {one.strategy_id} version {one.version} is left: it wasn't in force there")
            return False
        return self.timely(one.time, "an execution")

    def comparisons(self, turn: turns.Turn) -> list[Comparison]:
        """Return the turn's comparisons that may count: with a version in shadow that the Session was given."""
        found: list[Comparison] = []
        for record in turn.comparisons:
            try:
                one = Comparison.from_json(record)
            except (KeyError, TypeError, ValueError) as error:
                self.tell(f"turn {turn.turn}: is no comparison: {error}")
                continue
            if (one.strategy_id, one.new_version) not in self.tried:
                self.tell(f"a comparison with {one.strategy_id} version {one.new_version} is left: it wasn't in shadow")
            elif self.timely(one.time, "a comparison"):
                found.append(one)
        return found

    def timely(self, time: str, what: str) -> bool:
        """Tell whether a time lies in the Session's: not before the day before its id's, not after now."""
        at, now = moment(time), datetime.now(UTC)
        begun = _DATED.match(self.orders.session_id)
        earliest = None if begun is None else datetime.fromisoformat(f"{begun[1]}T00:00:00+00:00") - timedelta(days=1)
        if at > now + _SLACK or (earliest is not None and at < earliest):
            self.tell(f"{what} of {time} is left: the Session wasn't there then")
            return False
        return True

    def count(self, turn: turns.Turn, real: list[Execution], compared: list[Comparison]) -> None:
        """Let a turn of a user count: its executions, what versions in shadow did, and what went wrong."""
        days = [executions.day_of(one.time) for one in real]
        known = Counter(map(_line, executions.of_session(self.bank.records, turn.session, days)))
        for one in real:
            if known[_line(one)] > 0:
                known[_line(one)] -= 1
            else:
                executions.append(self.bank.records, (one,))
        for comparison in compared:
            if not shadow.holds(self.bank, comparison):
                shadow.append(self.bank, comparison)
        queue = Queue(self.bank.records / FEEDBACK)
        for one in real:
            case = capture(one, turn.trace, turn.utterance, turn.suggestion)
            if case is not None:
                queue.add(case)

    def tell(self, text: str) -> None:
        """Say a thing to the operator; a process that leaves a million faults is not listened to for so long."""
        self.told += 1
        if self.told <= _MOST_TOLD:
            sys.stderr.write(f"{self.orders.session_id}: {visible_line(text)[:600]}\n")

    def close(self) -> None:
        """Say how much was not said."""
        if self.told > _MOST_TOLD:
            sys.stderr.write(f"{self.orders.session_id}: and {self.told - _MOST_TOLD} more such lines\n")


def _versions(files: Mapping[str, str]) -> frozenset[tuple[str, int]]:
    found: set[tuple[str, int]] = set()
    for name, text in files.items():
        try:
            strategy, _ = read(text, Strategy, name)
        except FaultyFileError:
            continue  # it governed nothing
        found.add((strategy.id, strategy.version))
    return frozenset(found)


def _as_read(turn: turns.Turn) -> Any:
    return strict_json.parse(strict_json.dumps(turn.to_json()))


def _line(record: turns.Turn | Execution) -> str:
    return strict_json.dumps(record.to_json())
