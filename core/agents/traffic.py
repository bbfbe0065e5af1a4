"""What a governed Session did, brought from its scratchpad to the bank's records (STRATEGY S74, S96).

The confined process can write in its scratchpad only, and what it wrote is read strictly: a line that is no turn is
told and left. Every turn is kept; executions count and bad cases are captured only where the Session was for a user,
since a measurement is no traffic.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from core.foundation.errors import ExuviaError
from core.foundation.visible import visible_line
from core.state import readonly
from core.strategy.bank import executions, shadow, turns
from core.strategy.bank.bank import Bank, bank_of
from core.strategy.bank.changes import FEEDBACK
from core.strategy.bank.comparison import Comparison
from core.strategy.feedback.bad_cases import Queue, capture

from .orders import Orders
from .tools.suggest import TURNS


def bring_turns_home(orders: Orders) -> None:
    """Move the Session's turns to the records of the Project's bank. What can't be kept is told, never raised: the
    Session itself has ended and stands.
    """
    assert orders.governed is not None
    path = orders.scratchpad / TURNS
    if not path.is_file() or path.is_symlink():
        return
    readonly.refuse(orders.project.root)
    found, findings = turns.read_file(path)
    bank = bank_of(orders.project)
    for finding in findings:
        _tell(orders, finding)
    for turn in found:
        # Whose they are is not for the process to say.
        mine = replace(turn, session=orders.session_id, agent=orders.agent_id, user=dict(orders.governed.user))
        try:
            turns.append(bank.records, mine)
            if orders.governed.user:
                _count(bank, mine)
        except (ExuviaError, KeyError, TypeError, ValueError) as error:
            _tell(orders, f"turn {turn.turn} is not kept whole: {error}")
    path.unlink()


def _count(bank: Bank, turn: turns.Turn) -> None:
    """Let a turn of a user count: its executions, what versions in shadow did, and what went wrong."""
    real = [one for one in turn.executions if not one.dry_run]
    executions.append(bank.records, (replace(one, session=turn.session, user=dict(turn.user)) for one in real))
    for record in turn.comparisons:
        shadow.append(bank, Comparison.from_json(record))
    queue = Queue(bank.records / FEEDBACK)
    for one in real:
        case = capture(one, turn.trace, turn.utterance, turn.suggestion)
        if case is not None:
            queue.add(case)


def _tell(orders: Orders, text: str) -> None:
    sys.stderr.write(f"{orders.session_id}: {visible_line(text)}\n")
