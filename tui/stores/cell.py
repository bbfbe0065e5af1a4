"""Everything that is known of one cell, read when it is opened: items, checks, the Evaluator's answer, the work.

This is for the operator alone: rubric items and checks must never stand where an agent can read them (DECISIONS 4).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from core.evolution.run_paths import run_paths
from core.foundation import strict_json
from core.foundation.errors import ExuviaError
from core.foundation.visible import visible_line
from core.state.paths import OPERATOR_AGENT, AgentPaths, ProjectPaths
from tui.stores.kept_files import Kept, kept_files, workspace_of
from tui.stores.matrix_page import Cell
from tui.stores.runs import Subject

ANSWER_CHARACTERS = 16 << 10


@dataclass(frozen=True, slots=True)
class ItemResult:
    """A rubric item: what it gave of what it may give; None where that is not known. `checked` is decided by checks."""

    number: int
    points: float | None
    of: float | None = None
    text: str = ""
    reason: str = ""
    checked: float = 0.0


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """An executable check of the rubric and the end of what it said."""

    id: str
    passed: bool
    points: float
    of: float | None = None
    item: int | None = None
    asserts: str = ""
    output: str = ""


@dataclass(frozen=True, slots=True)
class CellPage:
    """What was found of a cell. `missing` says in sentences what was not, and why.

    `answer` is the Evaluator's whole text as it came, `asked_again` how often it had to send it again; `text_of_now`
    marks item texts that are those of today's rubric, as nothing tells how it was then. `stopped` is why the Target's
    last turn was broken off, "" where it ended of itself: a low score then is not what the agent is worth.
    """

    case_id: str
    run: int
    items: tuple[ItemResult, ...] = ()
    checks: tuple[CheckOutcome, ...] = ()
    score: float | None = None
    answer: str = ""
    asked_again: int = 0
    text_of_now: bool = False
    workspace: str = ""
    files: tuple[Kept, ...] = ()
    more_files: int = 0
    missing: tuple[str, ...] = ()
    stopped: str = ""


def read_cell(project: ProjectPaths, subject: Subject, cell: Cell) -> CellPage:
    """Read everything there is of a cell. What cannot be read is named in `missing`; nothing is raised for it."""
    missing: list[str] = []
    page = CellPage(cell.case_id, cell.run)
    told = _evaluator(project, cell.evaluator_id, missing)
    page = replace(page, answer=told.answer, asked_again=told.asked_again)
    page = _with_items(page, _record(project, cell), told, missing, cell)
    page = _with_texts(page, project, subject, missing)
    return replace(_with_files(page, project, subject, cell, missing), missing=tuple(missing))


# The Evaluator


@dataclass(frozen=True, slots=True)
class _Told:
    """What an Evaluator's trace tells: its answer, and what `run_checks` gave it."""

    answer: str = ""
    asked_again: int = 0
    checks: Mapping[str, Mapping[str, Any]] | None = None
    items: Mapping[int, Mapping[str, Any]] | None = None


def _evaluator(project: ProjectPaths, session_id: str, missing: list[str]) -> _Told:
    from core.traces.session_trace import SessionTrace

    if not session_id:
        missing.append("Which Session evaluated it is not known, so neither is its answer.")
        return _Told()
    agent = agent_of(project, session_id)
    if agent is None:
        missing.append(f"The Evaluator's trace {session_id} is not in this project.")
        return _Told()
    turns: list[list[str]] = [[]]
    checks: dict[str, Any] | None = None
    try:
        with SessionTrace(agent, session_id, index=False) as trace:
            for record in trace.iter_records():
                if record.kind == "text" and record.payload.get("role") == "user":
                    turns.append([])
                elif record.kind == "text":
                    turns[-1].append(record.text("text"))
                elif record.kind == "tool_call_output" and '"asserts"' in record.text("output"):
                    checks = _parsed(record.text("output")) or checks
    except (ExuviaError, OSError) as error:
        missing.append(f"The Evaluator's trace cannot be read: {error}")
    answers = [text for turn in turns if (text := "".join(turn)).strip()]
    return _Told(
        answers[-1][:ANSWER_CHARACTERS] if answers else "",
        max(0, len(answers) - 1),
        {str(entry.get("id")): entry for entry in _dicts(checks, "checks")} if checks else None,
        {number: e for e in _dicts(checks, "items") if (number := _whole(e.get("item"))) is not None}
        if checks
        else None,
    )


def agent_of(project: ProjectPaths, session_id: str) -> AgentPaths | None:
    """Return the agent in whose directory a Session's trace lies, None where none has it."""
    from core.traces.shards import session_shards

    for name in dict.fromkeys((OPERATOR_AGENT, *project.agent_ids())):
        agent = project.agent(name)
        try:
            if session_shards(agent, session_id):
                return agent
        except (ExuviaError, OSError):
            return None
    return None


# Items and checks


def _record(project: ProjectPaths, cell: Cell) -> dict[str, Any] | None:
    """Return the newest record of the cell in its run's items, which hold a line for each time items were recorded."""
    if not cell.run_id:
        return None
    sought = (cell.session_id or cell.cell_id).encode()
    found: dict[str, Any] | None = None
    try:
        with run_paths(project, cell.run_id).items.open("rb") as lines:
            for line in lines:
                if not sought or sought not in line:
                    continue
                record = _parsed(line.decode("utf-8", "replace"))
                if record and cell.session_id in ("", record.get("session_id")):
                    if cell.cell_id != record.get("cell") and not cell.session_id:
                        continue
                    found = record
    except OSError:
        return None
    return found


def _with_items(page: CellPage, record: dict[str, Any] | None, told: _Told, missing: list[str], cell: Cell) -> CellPage:
    if record is None:
        if cell.run_id and cell.state in ("scored", "reused"):
            missing.append("The run recorded no rubric items for this cell.")
        elif not cell.run_id:
            missing.append("The scoreboard tells scores alone: which rubric items gave them, nobody recorded.")
        return page
    then = told.items or {}
    items = tuple(
        ItemResult(
            number,
            _number(entry.get("points")),
            _number(then.get(number, {}).get("points")),
            str(then.get(number, {}).get("text", "")),
            str(entry.get("reason", "")),
            _number(then.get(number, {}).get("earned")) or 0.0,
        )
        for entry in _dicts(record, "items")
        if (number := _whole(entry.get("item"))) is not None
    )
    known = told.checks or {}
    checks = tuple(
        CheckOutcome(
            name,
            entry.get("passed") is True,
            _number(entry.get("points")) or 0.0,
            _number(known.get(name, {}).get("points")),
            _whole(known.get(name, {}).get("item")),
            str(known.get(name, {}).get("asserts", "")),
            str(entry.get("output", "")),
        )
        for entry in _dicts(record, "checks")
        if (name := str(entry.get("id", "?")))
    )
    return replace(page, items=items, checks=checks, score=_number(record.get("score")))


def _with_texts(page: CellPage, project: ProjectPaths, subject: Subject, missing: list[str]) -> CellPage:
    """Fill texts that the Evaluator's trace did not tell from today's rubric, and say so."""
    if not page.items or all(item.text for item in page.items):
        return page
    from core.evolution.rubric import read_rubric

    try:
        rubric = read_rubric(project.agent(subject.agent_id).benchmark(subject.benchmark_id).case(page.case_id))
    except (ExuviaError, OSError) as error:
        missing.append(f"The rubric cannot be read: {error}")
        return page
    now = {item.number: item for item in rubric.items}
    items = tuple(
        item
        if item.text or item.number not in now
        else replace(item, text=now[item.number].text, of=now[item.number].points)
        for item in page.items
    )
    of_check = {check.id: check for check in rubric.checks}
    checks = tuple(
        check
        if check.asserts or check.id not in of_check
        else replace(
            check, asserts=of_check[check.id].asserts, of=of_check[check.id].points, item=of_check[check.id].item
        )
        for check in page.checks
    )
    return replace(page, items=items, checks=checks, text_of_now=True)


# The work


def _with_files(page: CellPage, project: ProjectPaths, subject: Subject, cell: Cell, missing: list[str]) -> CellPage:
    if not cell.session_id:
        waits = cell.state in ("queued", "planned", "running")
        missing.append("No Target has worked on it yet." if waits else "No Target's Session is known for it.")
        return page
    agent = agent_of(project, cell.session_id)
    if agent is None:
        missing.append(f"The Target's trace {cell.session_id} is not in this project, so its workspace is unknown.")
        return page
    stopped = _stopped(agent, cell.session_id)
    workspace, why = workspace_of(agent, cell.session_id)
    if workspace is None:
        missing.append(why)
        return replace(page, stopped=stopped)
    try:
        statement: Path | None = (
            project.agent(subject.agent_id).benchmark(subject.benchmark_id).case(cell.case_id).statement
        )
    except ExuviaError:
        statement = None
    files, more = kept_files(workspace, statement)
    return replace(page, workspace=str(workspace), files=files, more_files=more, stopped=stopped)


def _stopped(agent: AgentPaths, session_id: str) -> str:
    """Return why the last turn of a Session was broken off, "" where it was not or its trace cannot be read."""
    from core.traces.session_trace import SessionTrace

    reason = ""
    try:
        with SessionTrace(agent, session_id, index=False) as trace:
            for record in trace.iter_records():
                if record.kind == "abort":
                    reason = record.text("reason") or "no reason was given"
                elif record.kind == "text" and record.payload.get("role") == "user":
                    reason = ""
    except (ExuviaError, OSError):
        return ""
    return visible_line(reason)


# Reading what others wrote


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _dicts(record: Mapping[str, Any] | None, key: str) -> Iterable[dict[str, Any]]:
    listed = record.get(key) if record else None
    return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []


def _number(value: object) -> float | None:
    return float(value) if strict_json.is_number(value) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
