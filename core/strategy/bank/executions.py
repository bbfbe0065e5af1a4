"""The executions' log: one line each execution, a file each day (STRATEGY S74). Every line is checked, both ways."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core.foundation.errors import DamagedError, UsageError
from core.foundation.visible import visible_line
from core.state.jsonlines import Wanted, append_record, read_lines
from core.strategy.bank.lines import Schema
from core.strategy.bank.states import moment
from core.strategy.execution.records import Execution

DIRECTORY = "executions"
_SCHEMA = Schema(Execution)


@dataclass(frozen=True, slots=True)
class Log:
    """Executions in the order of their time, and a word for each line that is none."""

    executions: tuple[Execution, ...]
    findings: tuple[str, ...] = ()


def append(records: Path, executions: Iterable[Execution]) -> None:
    """Write executions to the log below `records`. Raises UsageError for one that breaks the schema of a line."""
    for one in executions:
        record = one.to_json()
        fault = fault_of(record)
        if fault:
            raise UsageError(f"An execution can't be logged: {fault}", hint="Report this: the executor made it.")
        append_record(records / DIRECTORY / f"{day_of(one.time)}.jsonl", record, fsync=False)


def read(records: Path, *, since: datetime | None = None, until: datetime | None = None) -> Log:
    """Return what was logged from `since` (included) to `until` (excluded), aware moments; None for no bound."""
    found: list[tuple[datetime, Execution]] = []
    findings: list[str] = []
    for path in _files(records / DIRECTORY, since, until):
        try:
            lines = read_lines(path)
        except (DamagedError, OSError) as error:
            findings.append(f"{path.name}: {error}")
            continue
        findings += (f"{path.name}: bytes {gap.start} to {gap.end}: {gap.reason}" for gap in lines.gaps)
        for line in lines.lines:
            try:
                one = parse(line.record)
            except ValueError as error:
                findings.append(visible_line(f"{path.name}: byte {line.start}: {error}"))
                continue
            at = moment(one.time)
            if (since is None or at >= since) and (until is None or at < until):
                found.append((at, one))
    found.sort(key=lambda pair: pair[0])
    return Log(tuple(one for _, one in found), tuple(findings))


def of_session(records: Path, session: str, days: Iterable[str]) -> tuple[Execution, ...]:
    """Return what was logged of one session on some days (YYYY-MM-DD, UTC); lines of others are passed over unread."""
    found: list[Execution] = []
    for day in sorted(set(days)):
        path = records / DIRECTORY / f"{day}.jsonl"
        mine = (one for one in read_lines(path, wanted=mentions(session)).records if one.get("session") == session)
        found += (Execution.from_json(one) for one in mine if not fault_of(one))
    return tuple(found)


def mentions(text: str) -> Wanted:
    """Return what wants the lines in which `text` stands."""
    sought = text.encode("utf-8", "replace")
    return lambda raw, at, start: raw.find(sought, at, raw.find(b"\n", at)) >= 0


def parse(record: Any) -> Execution:
    """Return the execution of a log line. Raises ValueError naming the field that breaks its schema."""
    fault = fault_of(record)
    if fault:
        raise ValueError(fault)
    return Execution.from_json(record)


def fault_of(record: Any) -> str:
    """Return what is wrong with a line of the log, "" for a good one: every field there, of its type, none else."""
    return _SCHEMA.fault_of(record, "an execution")


def _files(directory: Path, since: datetime | None, until: datetime | None) -> list[Path]:
    first = "" if since is None else f"{since.astimezone(UTC):%Y-%m-%d}"
    last = "~" if until is None else f"{until.astimezone(UTC):%Y-%m-%d}"
    return [path for path in sorted(directory.glob("*.jsonl")) if first <= path.stem <= last]


def day_of(time: str) -> str:
    """Return the day (UTC) of a time of ours, the name of its file."""
    return f"{moment(time).astimezone(UTC):%Y-%m-%d}"
