"""The first facts of a console that opens: whose Project, which version, what score, which runs (DECISIONS 29).

They are read from what stands plainly in files, in a few milliseconds and without importing what checks files whole;
the whole reading comes right after the first paint and replaces every one of them. What does not stand plainly is
left out here, never guessed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from time import monotonic
from typing import Any

from core.agents.isolation import processes
from core.evolution.events import read_journal, read_outline
from core.evolution.run_paths import run_paths
from core.evolution.run_view import RunView, fold_view
from core.foundation import strict_json
from core.foundation.errors import ExuviaError
from core.foundation.visible import decode
from core.state.paths import ProjectPaths, check_id
from tui.stores.console import ConsoleView
from tui.stores.runs import Subject, choose, subjects, trained_last
from tui.stores.session_lines import RunLine, SessionsView, line_of
from tui.stores.views import BoardRow, BoardView, VersionsView

LONGEST_S = 0.15
"""Older runs are left to the whole reading once this much time has gone."""
LONG = 128 << 10
"""Bytes from which a journal is read in outline: state, phase and start, nothing that depends on its cells."""
_ASKED, _DECIDED = ".json", ".decision.json"
# The format's own writers put these keys at these indents (EVOLUTION 2.2 no. 46); in any other file they aren't plain.
_EVALUATION, _CASES = "\n  - time: ", "\n    cases:\n"
_HEAD = re.compile(r"^    version: ([1-9][0-9]{0,8})$|^    score: ([0-9]{1,3}(?:\.[0-9]+)?)$", re.MULTILINE)
_VERSION = re.compile(r"^version: ([1-9][0-9]{0,8})$", re.MULTILINE)


def first_facts(project: ProjectPaths) -> ConsoleView:
    """Return the first facts of `project`, marked as `reading`. Never raises for what files hold."""
    runs = _runs(project)
    views = tuple(view for view, _ in runs)
    listed = subjects(project, views)
    subject = choose(project, views)
    lines = sorted((line for _, line in runs), key=lambda line: (line.is_live, line.started_ms or 0), reverse=True)
    return ConsoleView(
        project.id,
        subject,
        listed,
        sessions=SessionsView(tuple(lines), subject.agent_id if subject else ""),
        board=_board(project, subject),
        versions=_version(project, subject),
        waiting=_waiting(project),
        reading=True,
        trained_last=trained_last(project, views),
    )


def _runs(project: ProjectPaths) -> tuple[tuple[RunView, RunLine], ...]:
    """Return the newest runs, oldest first: as many as can be read in LONGEST_S, at least one."""
    started, found = monotonic(), []
    for name in sorted(_names(project), key=lambda name: name.partition("-")[2] + name, reverse=True):
        try:
            found.append(_run(project, name))
        except (ExuviaError, OSError, ValueError):
            continue  # the whole reading says what is wrong with it
        if monotonic() - started > LONGEST_S:
            break
    return tuple(reversed(found))


def _names(project: ProjectPaths) -> Iterator[str]:
    try:
        with os.scandir(project.runs) as entries:
            yield from [entry.name for entry in entries if entry.is_dir()]
    except OSError:
        return


def _run(project: ProjectPaths, name: str) -> tuple[RunView, RunLine]:
    run = run_paths(project, name)
    spec: Any = strict_json.parse(run.spec.read_bytes())
    if not isinstance(spec, dict) or not isinstance(spec.get("kind"), str):
        raise ValueError("no spec")
    if not isinstance(spec.get("then_optimize") or {}, dict):
        raise ValueError("no spec")
    check_id("agent", str(spec.get("agent_id")))
    check_id("benchmark", str(spec.get("benchmark_id")))
    is_long = run.journal.is_file() and run.journal.stat().st_size > LONG
    events = read_outline(run.journal) if is_long else read_journal(run.journal)[0]
    view = fold_view(run.id, spec, events, alive=processes.recorded(run.engine) is not None)
    return view, _without_cells(line_of(view)) if is_long else line_of(view)


def _without_cells(line: RunLine) -> RunLine:
    """Return the line of a run whose cells were not read: what they would tell is not known yet, which is not 0."""
    step = line.step if line.step.startswith("round ") else ""
    return replace(line, step=step, cases=(), cost=0.0, unknown=0, tokens=0, session_id="")


def _board(project: ProjectPaths, subject: Subject | None) -> BoardView:
    """Return the stored score of each evaluation; none where the scoreboard is not written plainly."""
    if subject is None or not subject.benchmark_id:
        return BoardView(subject.agent_id if subject else "")
    try:
        text = decode(project.agent(subject.agent_id).benchmark(subject.benchmark_id).scoreboard.read_bytes())
    except (ExuviaError, OSError):
        return BoardView(subject.agent_id, subject.benchmark_id)
    curve = _curve(text)
    rows = tuple(
        BoardRow(f"evaluation:{place}", version, "evaluation" if place else "baseline", score, None, "")
        for place, (version, score) in enumerate(curve)
    )
    return BoardView(subject.agent_id, subject.benchmark_id, rows=rows, curve=curve)


def _curve(text: str) -> tuple[tuple[int, float], ...]:
    """Return version and score of each evaluation, () where not every one of them stands plainly."""
    found: list[tuple[int, float]] = []
    at = text.find(_EVALUATION)
    while at >= 0:
        end = text.find(_CASES, at)
        told = _HEAD.findall(text, at, end) if end >= 0 else []
        versions, scores = [version for version, _ in told if version], [score for _, score in told if score]
        if len(versions) != 1 or len(scores) != 1 or float(scores[0]) > 100:
            return ()
        found.append((int(versions[0]), float(scores[0])))
        at = text.find(_EVALUATION, end)
    return tuple(found)


def _version(project: ProjectPaths, subject: Subject | None) -> VersionsView:
    if subject is None:
        return VersionsView()
    try:
        stated = _VERSION.findall(decode(project.agent(subject.agent_id).config.read_bytes()))
    except (ExuviaError, OSError):
        stated = []
    return VersionsView(subject.agent_id, int(stated[0]) if len(stated) == 1 else None)


def _waiting(project: ProjectPaths) -> int:
    """Return how many questions have no decision beside them."""
    try:
        with os.scandir(project.approvals) as entries:
            names = {entry.name for entry in entries}
    except OSError:
        return 0
    decided = {name.removesuffix(_DECIDED) for name in names if name.endswith(_DECIDED)}
    asked = {name.removesuffix(_ASKED) for name in names if name.endswith(_ASKED) and not name.endswith(_DECIDED)}
    return len(asked - decided)
