"""Turns as they happened: decisions, executions and comparisons of each, a file a session (STRATEGY S74, S85, S91).

The executions' log tells what strategies came to; this tells how one session got there, for whoever looks at it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from core.foundation.errors import UsageError
from core.foundation.visible import visible_line
from core.state.jsonlines import append_record, read_lines
from core.strategy.bank import executions as log
from core.strategy.bank.lines import Schema
from core.strategy.execution.records import Execution
from core.strategy.execution.trace import DecisionTrace

DIRECTORY = "turns"


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a session. `kind`, `code`, `strategy` are those of its result, `events` those of its decision trace.

    `call_id` is the call of the agent's tool that began it, `user` what is known of who speaks, empty where this was
    no traffic. `suggestion` is what the model suggested. `comparisons` are those with versions in shadow, as records.
    `context` is what the session knew after it.
    """

    session: str
    turn: int
    time: str
    agent: str
    call_id: str
    kind: str
    code: str
    strategy: str
    utterance: str
    suggestion: Mapping[str, Any]
    events: tuple[Mapping[str, Any], ...]
    executions: tuple[Execution, ...] = ()
    comparisons: tuple[Mapping[str, Any], ...] = ()
    user: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)

    @property
    def trace(self) -> DecisionTrace:
        """Its decision trace."""
        return DecisionTrace(tuple(self.events))

    def to_json(self) -> dict[str, Any]:
        """Return it as a line's mapping."""
        return {**asdict(self), "executions": [one.to_json() for one in self.executions]}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Turn:
        """Return what `to_json` gave. Raises KeyError, TypeError or ValueError for anything else."""
        fault = _schema().fault_of(value, "a turn")
        if fault:
            raise ValueError(fault)
        executions = tuple(log.parse(one) for one in value["executions"])
        lists = {name: tuple(dict(one) for one in value[name]) for name in ("events", "comparisons")}
        if not all(isinstance(event.get("event"), str) for event in lists["events"]):
            raise ValueError("events: one says not what happened")
        return cls(**{**value, **lists, "executions": executions})


@lru_cache(maxsize=1)
def _schema() -> Schema:
    return Schema(Turn)


def append(records: Path, turn: Turn) -> None:
    """Write a turn down."""
    append_record(_file(records, turn.session), turn.to_json(), fsync=False)


def read(records: Path, session: str) -> tuple[tuple[Turn, ...], tuple[str, ...]]:
    """Return the turns of a session in order, and a word for each line that is none."""
    return read_file(_file(records, session))


def read_file(path: Path) -> tuple[tuple[Turn, ...], tuple[str, ...]]:
    """Return the turns in a file, and a word for each line that is none."""
    lines = read_lines(path)
    found: list[Turn] = []
    findings = [f"{path.name}: bytes {gap.start} to {gap.end}: {gap.reason}" for gap in lines.gaps]
    for line in lines.lines:
        try:
            found.append(Turn.from_json(line.record))
        except (KeyError, TypeError, ValueError) as error:
            findings.append(visible_line(f"{path.name}: byte {line.start}: is no turn: {error}"))
    return tuple(found), tuple(findings)


def sessions(records: Path) -> tuple[str, ...]:
    """Return the sessions of which turns are kept, the one that changed last first."""
    files = [path for path in (records / DIRECTORY).glob("*.jsonl") if path.is_file()]
    return tuple(path.stem for path in sorted(files, key=lambda path: (-path.stat().st_mtime_ns, path.name)))


def _file(records: Path, session: str) -> Path:
    if not session or session.startswith(".") or "/" in session or "\0" in session:
        raise UsageError(f"{visible_line(session)!r} is no session id.")
    return records / DIRECTORY / f"{session}.jsonl"
