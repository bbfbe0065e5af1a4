"""The bank's board: what was executed lately, by strategy and by segment, with alarms and releases (STRATEGY S75).

One look at the files, as values; a screen shows it, `exuvia strategy board --json` prints it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from core.strategy.bank import executions as log
from core.strategy.bank import intents, outcomes
from core.strategy.bank.alarms import Watched, watched
from core.strategy.bank.bank import Bank
from core.strategy.bank.dashboards import Numbers, Share, numbers, segments
from core.strategy.bank.rollback import mistriggers_of
from core.strategy.bank.states import Standing
from core.strategy.bank.tracked import impacts_of
from core.strategy.execution.records import Execution


@dataclass(frozen=True, slots=True)
class Board:
    """`whole` and `strategies` are of the `hours` before `now`; "" among `strategies` is what ran without one.

    `satisfaction` are the answers of surveys (key "nps", 0 to 10) of those sessions, `intents` in how many of them the
    model saw what the user wanted (S95). `findings` are lines of the records that can't be read.
    """

    now: datetime
    hours: float
    whole: Numbers
    strategies: Mapping[str, Numbers]
    alarms: tuple[Watched, ...]
    released: tuple[Standing, ...]
    satisfaction: tuple[float, ...]
    intents: Share
    executions: tuple[Execution, ...]
    findings: tuple[str, ...]

    def by(self, attribute: str, strategy_id: str | None = None) -> dict[str, Numbers]:
        """Return the numbers by a user's attribute (see `dashboards.segments`), of one strategy where it is named."""
        some = [one for one in self.executions if strategy_id is None or one.strategy_id == strategy_id]
        return {value: numbers(group) for value, group in segments(some, attribute).items()}


def board(bank: Bank, now: datetime, *, hours: float = 24.0) -> Board:
    """Return the board at `now`. Writes nothing; of damaged records it tells, it doesn't raise."""
    since = now - timedelta(hours=hours)
    impacts, unreadable = impacts_of(bank)
    longest = max((one.alert.hours for one in impacts.values()), default=0)
    earliest = min(since, now - timedelta(hours=longest + 1))
    read = log.read(bank.records, since=earliest, until=now)
    told = outcomes.read(bank.records, since=earliest - timedelta(seconds=1))
    everything = outcomes.joined(read.executions, told, {name: one.metric for name, one in impacts.items()})
    begin = since.timestamp()
    lately = tuple(one for one in everything if datetime.fromisoformat(one.time).timestamp() >= begin)
    wrong = mistriggers_of(bank, earliest)
    sessions = {one.session for one in lately}
    by_session = outcomes.latest(told)
    answers = (keys["nps"].value for session, keys in by_session.items() if session in sessions and "nps" in keys)
    mine = {
        "" if name == "unknown" else name: numbers(some, wrong) for name, some in segments(lately, "strategy").items()
    }
    standings = bank.journal().standings.values()
    return Board(
        now=now,
        hours=hours,
        whole=numbers(lately, wrong),
        strategies=mine,
        alarms=watched(everything, impacts, now),
        released=tuple(one for one in standings if one.state in {"shadow", "gray"}),
        satisfaction=tuple(float(one) for one in answers if isinstance(one, int | float) and not isinstance(one, bool)),
        intents=intents.of_sessions(bank.records, sessions, by_session),
        executions=lately,
        findings=(*read.findings, *outcomes.gaps(bank.records), *unreadable),
    )
