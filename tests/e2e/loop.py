"""A whole loop that takes seconds: runs over two small Cases, what they came to, and what they left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.agents.isolation import processes
from core.evolution import runs
from core.evolution.events import Event, read_journal
from core.evolution.run_view import RunView
from core.evolution.specs import BuildSpec, CurateSpec, OptimizeSpec, RunPaths, run_paths
from core.state import ledger
from core.state.agents import read_agent
from core.state.fingerprint import state_hash
from core.state.fresh import ensure_home
from core.state.paths import AgentPaths, BenchmarkPaths, ProjectPaths
from core.state.scoreboard import read_scoreboard

AGENT = "house_helper"
BENCHMARK = "small-chores"
LIBRARY = Path(__file__).parent.parent / "fixtures" / "tiny-library"
PATIENCE_S = 240.0  # a loop takes seconds; this is when it counts as endless
GRACE_S = 20.0  # for what a killed engine started to be gone


@dataclass(frozen=True)
class Loop:
    """A project in a home of its own. `settings` go into every spec of its runs."""

    project: ProjectPaths
    settings: Mapping[str, Any]

    @staticmethod
    def at(home: Path, **settings: Any) -> Loop:
        return Loop(ensure_home(home), settings)

    @property
    def agent(self) -> AgentPaths:
        return self.project.agent(AGENT)

    @property
    def benchmark(self) -> BenchmarkPaths:
        return self.agent.benchmark(BENCHMARK)

    @property
    def home(self) -> Path:
        return self.project.root.parent

    def runs(self) -> list[str]:
        """Return the ids of its runs, oldest first."""
        return [view.run_id for view in reversed(runs.list_runs(self.project))]

    def build_spec(self, **changes: Any) -> BuildSpec:
        given: dict[str, Any] = {
            "agent_id": AGENT,
            "benchmark_id": BENCHMARK,
            "requirement": "An agent that does small chores on files and leaves the table that was asked for.",
            "capability": "Settling entries that were made twice or spelled otherwise.",
            "baseline_score": 45,
            "pilots": 2,
            "cases": 2,
            "library": str(LIBRARY),
            "approve": "auto",
        }
        return BuildSpec(**{**given, **self.settings, **changes})

    def optimize_spec(self, **changes: Any) -> OptimizeSpec:
        given: dict[str, Any] = {
            "agent_id": AGENT,
            "benchmark_id": BENCHMARK,
            "target_score": 95,
            "runs": 1,
            "rounds": 2,
        }
        return OptimizeSpec(**{**given, **self.settings, **changes})

    def curate_spec(self, **changes: Any) -> CurateSpec:
        given: dict[str, Any] = {
            "agent_id": AGENT,
            "benchmark_id": BENCHMARK,
            "runs": 1,
            "rounds": 2,
            "sessions": 2,
            "seed": 5,
        }
        return CurateSpec(**{**given, **self.settings, **changes})

    def start(self, spec: BuildSpec | OptimizeSpec | CurateSpec) -> str:
        return runs.start(self.project, spec)

    async def end_of(self, run_id: str) -> RunView:
        """Wait until nothing more happens to a run: it has ended, or its engine is gone."""
        return await runs.wait(self.project, run_id, timeout_s=PATIENCE_S)

    async def build(self, **changes: Any) -> RunView:
        return await self.end_of(self.start(self.build_spec(**changes)))

    async def optimize(self, **changes: Any) -> RunView:
        return await self.end_of(self.start(self.optimize_spec(**changes)))

    async def curate(self, **changes: Any) -> RunView:
        return await self.end_of(self.start(self.curate_spec(**changes)))

    def run(self, run_id: str) -> RunPaths:
        return run_paths(self.project, run_id)

    def events(self, run_id: str) -> list[Event]:
        return read_journal(self.run(run_id).journal)[0]

    def of(self, run_id: str, event: str, **fields: Any) -> list[Event]:
        wanted = {"event": event, **fields}
        return [e for e in self.events(run_id) if all(e.get(key) == value for key, value in wanted.items())]

    def told(self, run_id: str) -> str:
        """Return what an assertion about a run should show when it fails."""
        log = self.run(run_id).log
        view = runs.read_run(self.project, run_id)
        tail = log.read_text(encoding="utf-8", errors="replace")[-2000:] if log.exists() else ""
        return f"{run_id}: {view.state}: {view.reason}\n{tail}"


# What a loop came to ---------------------------------------------------------------------------------------


def outcome(loop: Loop, *run_ids: str) -> dict[str, Any]:
    """Reduce finished runs to their result: versions, decisions, scores, predictions (DECISIONS 16)."""
    views = [runs.read_run(loop.project, run_id) for run_id in run_ids]
    present: dict[str, Any] = {
        "version": read_agent(loop.agent).version,
        "state": state_hash(loop.agent.state),
        "scoreboard": [
            {
                "version": evaluation.version,
                "score": evaluation.score,
                "cases": {case.case: case.score for case in evaluation.cases},
                "runs": {case.case: len(case.runs) for case in evaluation.cases},
            }
            for evaluation in read_scoreboard(loop.benchmark.scoreboard).evaluations
        ],
        "ledger": [
            {
                "round": entry.round,
                "version": entry.version,
                "reference": entry.reference_version,
                "decision": entry.decision,
                "score": entry.score,
                "supported": entry.supported,
                "prediction": entry.prediction,
                "hypothesis": entry.hypothesis,
                "edits": [edit.model_dump() for edit in entry.edits],
                "cells": [(cell.case, cell.run, cell.score, cell.status) for cell in entry.cells],
            }
            for entry in ledger.read(loop.project, AGENT)
        ],
    }
    return {"runs": [_run_outcome(loop, view) for view in views], "left": present}


def _run_outcome(loop: Loop, view: RunView) -> dict[str, Any]:
    events = loop.events(view.run_id)
    return {
        "kind": view.kind,
        "state": view.state,
        "pilots": [{key: pilot.get(key) for key in ("i", "score", "predicted", "missed")} for pilot in view.pilots],
        "predictions": [
            {key: e.get(key) for key in ("pilot", "case_id", "score_if_observed", "score_if_desired")}
            for e in events
            if e["event"] == "prediction"
        ],
        "frozen": view.frozen_pilot,
        "baseline": None if view.baseline is None else [view.baseline["version"], view.baseline["score"]],
        "reference": None if view.reference is None else [view.reference["version"], view.reference["score"]],
        "rounds": [
            {
                "round": entry.round,
                "version": entry.version,
                "decision": entry.decision,
                "score": entry.score,
                "prediction": dict(entry.prediction),
                "held": entry.prediction_held,
                "supported": entry.supported,
            }
            for entry in view.rounds
        ],
        "heldout": [[measured.stage, measured.version, measured.score] for measured in view.heldout],
        "cells": {
            cell.cell: [cell.case_id, cell.run, cell.version, cell.score]
            for cell in view.cells
            if cell.score is not None
        },
    }


def decided(result: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Return the decisions of an outcome in order: what was frozen, and each round's version, verdict and score."""
    return [
        (run["kind"], run["frozen"], *((r["version"], r["decision"], r["score"]) for r in run["rounds"]))
        for run in result["runs"]
    ]


# What may not happen ---------------------------------------------------------------------------------------


def reruns(events: Sequence[Event]) -> list[str]:
    """Return what contradicts "no finished cell runs twice": the breaches, told.

    A cell journalled as scored is never touched again; a Target journalled as finished is never followed by another of
    its cell; each Target beyond a cell's first needs an interruption or a failure between them (DECISIONS 12, 16).
    """
    breaches: list[str] = []
    started: Counter[str] = Counter()
    excused: Counter[str] = Counter()
    finished: set[str] = set()
    scored: set[str] = set()
    for event in events:
        cell = str(event.get("cell"))
        match event["event"]:
            case "target_started":
                started[cell] += 1
                if cell in scored:
                    breaches.append(f"{cell}: a Target started after the cell was scored")
                if cell in finished:
                    breaches.append(f"{cell}: a Target started after one had finished")
                if started[cell] > 1 + excused[cell]:
                    breaches.append(f"{cell}: Target number {started[cell]} after {excused[cell]} interruptions")
            case "target_failed":
                excused[cell] += 1
            case "target_finished":
                finished.add(cell)
            case "cell" if event["state"] == "interrupted":
                excused[cell] += 1
                if "is gone" in event["reason"]:
                    finished.discard(cell)  # what it left is there no more, so it can't be scored
            case "cell" if event["state"] == "scored":
                if cell in scored:
                    breaches.append(f"{cell}: scored twice")
                scored.add(cell)
            case "cell" if cell in scored:
                breaches.append(f"{cell}: {event['state']} after it was scored")
            case _:
                pass
    return breaches


def belonging(home: Path) -> dict[int, str]:
    """Return the living processes that belong to a home: by their working directory, command line or environment."""
    mark = str(home.resolve())
    found: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        pid = int(entry.name)
        if processes.start_time(pid) is None:
            continue  # gone, or a zombie that its parent has yet to reap
        told = " ".join(_read(entry / name).replace("\0", " ") for name in ("cmdline", "environ"))
        with contextlib.suppress(OSError):
            told += f" cwd={(entry / 'cwd').readlink()}"
        if mark in told:
            found[pid] = _read(entry / "cmdline").replace("\0", " ").strip()
    return found


async def until(true: Callable[[], object], *, every_s: float = 0.005) -> None:
    """Wait until something on disk is as it should be. Raises TimeoutError."""
    async with asyncio.timeout(PATIENCE_S):
        while not true():  # noqa: ASYNC110 -- another process does it
            await asyncio.sleep(every_s)


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


async def gone(home: Path, grace_s: float = GRACE_S) -> dict[int, str]:
    """Wait until no process belongs to a home and return those that still do after the grace."""
    loop = asyncio.get_running_loop()
    end = loop.time() + grace_s
    while (left := belonging(home)) and loop.time() < end:  # noqa: ASYNC110 -- nothing tells of a foreign process's end
        await asyncio.sleep(0.1)
    return left
