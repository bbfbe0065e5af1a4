"""Turns as they came: those of which the decision trace is kept, and those of which only the log's line is left."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from core.strategy.bank import turns
from core.strategy.bank.turns import Turn
from core.strategy.execution.records import Execution

MOST = 400
"""Turns that are shown, the newest."""
_SESSIONS = 120


@dataclass(frozen=True, slots=True)
class TurnLine:
    """A turn of a session. `turn` is what was written down of it, None where only executions are left; `executions`
    are the strategies that ran in it, in order."""

    session: str
    number: int
    time: str
    turn: Turn | None
    executions: tuple[Execution, ...]

    @property
    def key(self) -> str:
        return f"{self.session}/{self.number}/{self.time}"

    @property
    def strategies(self) -> tuple[str, ...]:
        """The strategies that ran, each once."""
        return tuple(dict.fromkeys(one.strategy_id for one in self.executions if one.strategy_id))

    @property
    def kind(self) -> str:
        """How it ended: done, question, failed."""
        if self.turn is not None:
            return self.turn.kind
        return "failed" if self.code else "done"

    @property
    def code(self) -> str:
        """The failure code that it ended in, or that something in it was recovered from; "" for none."""
        if self.turn is not None and self.turn.code:
            return self.turn.code
        return next((one.code for one in self.executions if one.code), "")

    @property
    def latency_ms(self) -> float | None:
        """How long what was executed took, None where nothing ran. What calls another counts its time."""
        return max((one.latency_ms for one in self.executions), default=None)


@dataclass(frozen=True, slots=True)
class Turns:
    """The newest turns first; `findings` are lines that are none, `more` that older ones are left out."""

    lines: tuple[TurnLine, ...]
    findings: tuple[str, ...]
    more: bool


class TurnReader:
    """Reads sessions' turns, each file again only where it changed. Many threads may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[Path, tuple[tuple[int, int], tuple[Turn, ...], tuple[str, ...]]] = {}

    def read(self, records: Path, executions: tuple[Execution, ...], only: str = "") -> Turns:
        """Return the newest turns; with `only` those in which that strategy ran."""
        with self._lock:
            kept, findings, cut = self._kept(records)
        found = {(one.session, one.turn, one.time): one for one in kept}
        lines = [TurnLine(one.session, one.turn, one.time, one, one.executions) for one in found.values()]
        told = {(one.session, one.turn) for one in kept}
        left: dict[tuple[str, int], list[Execution]] = {}
        for one in executions[-4 * MOST :]:
            if (one.session, one.turn) not in told and not one.dry_run:
                left.setdefault((one.session, one.turn), []).append(one)
        lines += [TurnLine(*key, some[0].time, None, tuple(some)) for key, some in left.items()]
        lines = [one for one in lines if not only or only in one.strategies]
        lines.sort(key=lambda one: (one.time, one.number), reverse=True)
        return Turns(tuple(lines[:MOST]), findings, cut or len(lines) > MOST)

    def _kept(self, records: Path) -> tuple[list[Turn], tuple[str, ...], bool]:
        stamped = []
        for path in (records / turns.DIRECTORY).glob("*.jsonl"):
            try:
                status = path.stat()
            except FileNotFoundError:
                continue
            stamped.append((status.st_mtime_ns, status.st_size, path))
        stamped.sort(key=lambda one: (-one[0], one[2].name))
        kept: list[Turn] = []
        findings: list[str] = []
        for changed, size, path in stamped[:_SESSIONS]:
            held = self._held.get(path)
            if held is None or held[0] != (changed, size):
                held = self._held[path] = ((changed, size), *turns.read_file(path))
            kept += held[1]
            findings += held[2]
        wanted = {path for _, _, path in stamped[:_SESSIONS]}
        self._held = {path: held for path, held in self._held.items() if path in wanted}
        return kept, tuple(findings), len(stamped) > _SESSIONS
