"""The executions' log as it grows: each byte of it read once, the newest days only, a bounded number of lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from core.foundation.visible import visible_line
from core.state.jsonlines import read_lines
from core.strategy.bank import executions as log
from core.strategy.bank.states import moment
from core.strategy.execution.records import Execution

DAYS = 62
"""So many files, one a day: two periods of the monthly audit."""
MOST = 60_000
_PART = 128 << 10


@dataclass
class _Day:
    """A file of the log: read up to byte `end`, where it was `size` long when it was looked at last."""

    end: int = 0
    size: int = 0
    executions: list[Execution] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)


class GrowingLog:
    """Invariant: what stands before a day's `end` was read, and is an execution of it or one of its findings.

    A file that became shorter was written anew, and is read anew.
    """

    def __init__(self, records: Path) -> None:
        self.directory = records / log.DIRECTORY
        self.more = self.is_behind = False
        self._days: dict[str, _Day] = {}

    def advance(self, is_enough: Callable[[], bool]) -> bool:
        """Read on, newest day first, until all is read or `is_enough`; tell whether anything is new.

        `is_behind` tells then whether more is to be read, `more` whether older executions are left out.
        """
        files = sorted(self.directory.glob("*.jsonl"), reverse=True)
        wanted = {path.name for path in files[:DAYS]}
        news = any(self._days.pop(name, None) is not None for name in self._days.keys() - wanted)
        self.more, self.is_behind = len(files) > DAYS, False
        count = 0
        for path in files[:DAYS]:
            if count >= MOST:
                self.more = True
                news |= self._days.pop(path.name, None) is not None
                continue
            news |= self._follow(path, is_enough)
            count += len(self._days[path.name].executions)
        return news

    @property
    def executions(self) -> tuple[Execution, ...]:
        """All that was read, in the order of its time."""
        found = [one for _, day in sorted(self._days.items()) for one in day.executions]
        return tuple(sorted(found, key=lambda one: moment(one.time)))

    @property
    def findings(self) -> tuple[str, ...]:
        """A word for each line that is no execution."""
        return tuple(word for _, day in sorted(self._days.items()) for word in day.findings)

    def _follow(self, path: Path, is_enough: Callable[[], bool]) -> bool:
        day = self._days.setdefault(path.name, _Day())
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            size = 0
        if size == day.size and day.end == day.size:
            return False
        news = size < day.end
        if news:
            day = self._days[path.name] = _Day()
        day.size = size
        while day.end < size:
            if is_enough():
                self.is_behind = True
                return news
            lines = read_lines(path, start=day.end, most=_PART)
            if lines.end == day.end:
                break  # its last line is still being written
            day.findings += (f"{path.name}: bytes {gap.start} to {gap.end}: {gap.reason}" for gap in lines.gaps)
            for line in lines.lines:
                try:
                    day.executions.append(log.parse(line.record))
                except ValueError as error:
                    day.findings.append(visible_line(f"{path.name}: byte {line.start}: {error}"))
            day.end, news = lines.end, True
        return news
