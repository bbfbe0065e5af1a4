"""What became of a session, told from outside: resolved or not, satisfaction, money (STRATEGY S74, S102).

An outcome is a key with a value for a session: `exuvia strategy outcome SESSION resolved_without_human=true nps=9`, or
JSON lines such as {"session": "...", "resolved_without_human": true}. The executor never makes one up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from core.foundation import strict_json
from core.foundation.clock import now_ms
from core.foundation.errors import UsageError
from core.foundation.visible import visible_line
from core.state import readonly
from core.state.jsonlines import append_record, read_lines
from core.strategy.bank.states import moment
from core.strategy.execution.records import Execution

Value = bool | int | float | str
DIRECTORY = "outcomes"
_KEY = re.compile(r"^[a-z][a-z0-9_.]{0,63}$")
_SESSION = re.compile(r"^[^\s\x00-\x1f]{1,200}$")
_LONGEST = 500
_RESERVED = frozenset({"session", "time"})


@dataclass(frozen=True, slots=True)
class OutcomeLine:
    """One value of one session. `source` says who told it: "cli", a file's name, a system."""

    time: str
    session: str
    key: str
    value: Value
    source: str


@dataclass(frozen=True, slots=True)
class Intake:
    """What was taken, and each line that was not, with its number (from 1) and the reason."""

    taken: tuple[OutcomeLine, ...]
    refused: tuple[tuple[int, str], ...]


def parse_pairs(pairs: Iterable[str]) -> dict[str, Value]:
    """Return the values in `key=value` texts: true, false and numbers as such, anything else as text.

    Raises UsageError naming the pair.
    """
    found: dict[str, Value] = {}
    for pair in pairs:
        key, sign, text = pair.partition("=")
        if not sign:
            raise UsageError(f"{visible_line(pair)!r} is no key=value.", hint="For instance: resolved=true nps=9")
        found[key] = _scalar(text)
        _refuse(key, found[key])
    if not found:
        raise UsageError("No outcome was named.", hint="For instance: resolved=true nps=9")
    return found


def record(
    records: Path, session: str, values: Mapping[str, Value], *, source: str, time: str | None = None
) -> tuple[OutcomeLine, ...]:
    """Write down what became of a session. `time` is now unless told, with a zone. Raises UsageError."""
    readonly.refuse(records)
    lines = _lines(session, values, source, time or now_ms())
    for line in lines:
        append_record(records / DIRECTORY / f"{_day(line.time)}.jsonl", _told(line))
    return lines


def take(records: Path, text: str, *, source: str) -> Intake:
    """Take JSON lines, each {"session": ..., key: value, ...} with an optional "time"; a bad line costs only itself."""
    readonly.refuse(records)
    taken: list[OutcomeLine] = []
    refused: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found = strict_json.parse(line, unique=True)
            if not isinstance(found, dict):
                raise ValueError("is no object")
            values = {key: value for key, value in found.items() if key not in _RESERVED}
            taken += record(records, found.get("session", ""), values, source=source, time=found.get("time"))
        except (ValueError, UsageError) as error:
            refused.append((number, visible_line(str(error))))
    return Intake(tuple(taken), tuple(refused))


def read(records: Path, *, since: datetime | None = None) -> tuple[OutcomeLine, ...]:
    """Return what was told from `since` on, in the order of its time; of a key told twice, both. Bad lines: `gaps`."""
    found: list[tuple[datetime, OutcomeLine]] = []
    for path in _files(records, since):
        for line in read_lines(path).records:
            one = _read(line)
            if one is not None and (since is None or moment(one.time) >= since):
                found.append((moment(one.time), one))
    found.sort(key=lambda pair: pair[0])
    return tuple(one for _, one in found)


def gaps(records: Path) -> tuple[str, ...]:
    """Return a word for each line of the outcomes that can't be read."""
    told = [f"{path.name}: is no file" for path in (records / DIRECTORY).glob("*.jsonl") if not path.is_file()]
    for path in _files(records, None):
        lines = read_lines(path)
        told += (f"{path.name}: bytes {gap.start} to {gap.end}: {gap.reason}" for gap in lines.gaps)
        told += (f"{path.name}: byte {line.start}: is no outcome" for line in lines.lines if _read(line.record) is None)
    return tuple(told)


def latest(outcomes: Iterable[OutcomeLine]) -> dict[str, dict[str, OutcomeLine]]:
    """Return session to key to what was told of it last. Pure; `outcomes` in the order of their time."""
    found: dict[str, dict[str, OutcomeLine]] = {}
    for one in outcomes:
        found.setdefault(one.session, {})[one.key] = one
    return found


def joined(
    executions: Iterable[Execution], outcomes: Iterable[OutcomeLine], metrics: Mapping[str, str]
) -> tuple[Execution, ...]:
    """Return the executions with the business's outcome of their session, by strategy id to metric's key.

    True counts 1, false 0. Where nothing was told, or only before the execution, it stays None: unknown is no failure.
    A text is no measure and leaves None too.
    """
    known = latest(outcomes)
    found: list[Execution] = []
    for one in executions:
        key = metrics.get(one.strategy_id or "")
        told = known.get(one.session, {}).get(key) if key else None
        if told is not None and not isinstance(told.value, str) and _after(told.time, one.time):
            found.append(replace(one, business_impact=float(told.value)))
        else:
            found.append(one)
    return tuple(found)


def _after(outcome: str, execution: str) -> bool:
    """Tell whether an outcome is not from before an execution; systems outside tell whole seconds."""
    return moment(outcome) >= moment(execution).replace(microsecond=0)


def survey_link(template: str, session: str) -> str:
    """Return the survey's address for a session, "" where the bank names none (`survey` in bank.yaml, S102).

    `{session}` in the template stands for the session's id. Raises UsageError where the template lacks it.
    """
    if not template:
        return ""
    if "{session}" not in template or not template.startswith(("https://", "http://")):
        raise UsageError("survey is no address with {session} in it.", hint="https://example.org/s?id={session}")
    return template.replace("{session}", quote(session, safe=""))


def _lines(session: Any, values: Mapping[str, Any], source: str, time: Any) -> tuple[OutcomeLine, ...]:
    if not isinstance(session, str) or not _SESSION.fullmatch(session):
        raise UsageError(f"{visible_line(str(session))!r} is no session's id.", hint="It stands in the trace's name.")
    try:
        moment(time)
    except (TypeError, ValueError) as error:
        raise UsageError(f"time: {error}", hint="Write it with its zone: 2026-06-01T08:00:00Z") from error
    if not values:
        raise UsageError("No outcome was named.", hint="For instance: resolved=true nps=9")
    for key, value in values.items():
        _refuse(key, value)
    return tuple(OutcomeLine(time, session, key, value, source) for key, value in values.items())


def _refuse(key: str, value: Any) -> None:
    if not _KEY.fullmatch(key) or key in _RESERVED:
        raise UsageError(f"{visible_line(key)!r} is no key of an outcome.", hint="Lower case, digits, '_' and '.'.")
    if isinstance(value, str) and len(value) <= _LONGEST:
        return
    if not isinstance(value, bool) and not strict_json.is_number(value):
        raise UsageError(f"{key}: is no true, false, number or short text.")


def _scalar(text: str) -> Value:
    if text in {"true", "false"}:
        return text == "true"
    try:
        found = strict_json.parse(text)
    except ValueError:
        return text
    return found if strict_json.is_number(found) else text


def _told(line: OutcomeLine) -> dict[str, Any]:
    return {"time": line.time, "session": line.session, "key": line.key, "value": line.value, "source": line.source}


def _read(record: Mapping[str, Any]) -> OutcomeLine | None:
    try:
        (one,) = _lines(record["session"], {record["key"]: record["value"]}, str(record["source"]), record["time"])
    except (KeyError, TypeError, UsageError):
        return None
    return one


def _files(records: Path, since: datetime | None) -> list[Path]:
    first = "" if since is None else f"{since.astimezone(UTC):%Y-%m-%d}"
    return [path for path in sorted((records / DIRECTORY).glob("*.jsonl")) if path.stem >= first and path.is_file()]


def _day(time: str) -> str:
    return f"{moment(time).astimezone(UTC):%Y-%m-%d}"
