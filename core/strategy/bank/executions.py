"""The executions' log: one line each execution, a file each day (STRATEGY S74). Every line is checked, both ways."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from core.foundation import strict_json
from core.foundation.errors import UsageError
from core.foundation.visible import visible_line
from core.state.jsonlines import append_record, read_lines
from core.strategy.bank.states import moment
from core.strategy.execution.records import Execution

DIRECTORY = "executions"
_LINE = TypeAdapter(Execution)
_KEYS = frozenset(Execution.__slots__)


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
        append_record(records / DIRECTORY / f"{_day(one.time)}.jsonl", record, fsync=False)


def read(records: Path, *, since: datetime | None = None, until: datetime | None = None) -> Log:
    """Return what was logged from `since` (included) to `until` (excluded), aware moments; None for no bound."""
    found: list[tuple[datetime, Execution]] = []
    findings: list[str] = []
    for path in _files(records / DIRECTORY, since, until):
        lines = read_lines(path)
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


def parse(record: Any) -> Execution:
    """Return the execution of a log line. Raises ValueError naming the field that breaks its schema."""
    fault = fault_of(record)
    if fault:
        raise ValueError(fault)
    return Execution.from_json(record)


def fault_of(record: Any) -> str:
    """Return what is wrong with a line of the log, "" for a good one: every field there, of its type, none else."""
    if not isinstance(record, dict):
        return "is no object"
    strange = sorted(record.keys() - _KEYS)
    if strange:
        return f"{strange[0]}: is no field of an execution"
    try:
        _LINE.validate_json(strict_json.dumps(record), strict=True)
        moment(str(record["time"]))
    except ValidationError as error:
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except (ValueError, TypeError) as error:
        return f"time: {error}"
    return ""


def _files(directory: Path, since: datetime | None, until: datetime | None) -> list[Path]:
    first = "" if since is None else f"{since.astimezone(UTC):%Y-%m-%d}"
    last = "~" if until is None else f"{until.astimezone(UTC):%Y-%m-%d}"
    return [path for path in sorted(directory.glob("*.jsonl")) if first <= path.stem <= last]


def _day(time: str) -> str:
    return f"{moment(time).astimezone(UTC):%Y-%m-%d}"
