"""`exuvia runs`: what works, what waits, what ended, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from core.foundation.visible import decode
from tui.cli.common import (
    Place,
    group_options,
    here,
    json_option,
    note,
    place_options,
    print_json,
    print_table,
    say,
    say_text,
)

if TYPE_CHECKING:
    from core.evolution.run_view import RunView
    from core.state.paths import ProjectPaths

_OBSERVE_S = 3.0
"""Seconds that a list may take to look into other programs' traces."""


@click.group(epilog="Example:  exuvia runs list")
@group_options
def runs() -> None:
    """List, show, stop and resume runs."""


def run_facts(project: ProjectPaths, view: RunView) -> dict[str, Any]:
    """Return a run as plain facts, without a word of any rubric."""
    from core.evolution.specs import run_paths

    paths = run_paths(project, view.run_id)
    return {
        "run_id": view.run_id,
        "kind": view.kind,
        "state": view.state,
        "phase": view.phase,
        "agent_id": view.agent_id,
        "benchmark_id": view.benchmark_id,
        "started": view.started,
        "updated": view.updated,
        "pid": view.pid,
        "reason": view.reason,
        "approval_id": view.approval_id,
        "pilots": [dict(pilot) for pilot in view.pilots],
        "baseline": None if view.baseline is None else dict(view.baseline),
        "rounds": [
            {
                "round": entry.round,
                "version": entry.version,
                "decision": entry.decision,
                "score": entry.score,
                "reference_score": entry.reference_score,
                "hypothesis": entry.hypothesis,
                "prediction": dict(entry.prediction),
                "supported": entry.supported,
                "edits": [dict(edit) for edit in entry.edits],
            }
            for entry in view.rounds
        ],
        "heldout": [
            {"stage": measured.stage, "version": measured.version, "score": measured.score} for measured in view.heldout
        ],
        "cells": [
            {
                "cell": cell.cell,
                "state": cell.state,
                "score": cell.score,
                "session_id": cell.session_id,
                "evaluator_session_id": cell.evaluator_session_id,
                "failure_code": cell.failure_code,
                "reason": cell.reason,
            }
            for cell in view.cells
        ],
        "cost_known_usd": view.spent.usd,
        "requests_of_unknown_cost": view.spent.unknown_requests,
        "tokens": view.spent.tokens,
        "result": None if view.result is None else dict(view.result),
        "report": str(paths.report) if paths.report.exists() else None,
        "journal": str(paths.journal),
        "damaged_lines": view.damaged_lines,
    }


@runs.command("list", epilog="Example:  exuvia runs list --json")
@json_option
@place_options
def list_all(as_json: bool, place: Place) -> None:
    """List runs, newest first; those of other programs too, as far as their traces tell (observed)."""
    views = _all_runs(place.project)
    if as_json:
        print_json(
            {
                "runs": [
                    {
                        "run_id": view.run_id,
                        "kind": view.kind,
                        "state": view.state,
                        "phase": view.phase,
                        "agent_id": view.agent_id,
                        "benchmark_id": view.benchmark_id,
                        "reason": view.reason,
                        "observed": view.observed,
                    }
                    for view in views
                ]
            }
        )
    elif not views:
        say(here("No runs yet. Start one: exuvia build, or watch the loop: exuvia demo"))
    else:
        print_table(
            ("run", "state", "phase", "agent", "benchmark", "reason"),
            [
                (
                    v.run_id,
                    f"{v.state}, observed" if v.observed else v.state,
                    v.phase or None,
                    v.agent_id,
                    v.benchmark_id,
                    v.reason[:60] or None,
                )
                for v in views
            ],
        )


def _all_runs(project: ProjectPaths) -> list[RunView]:
    """Return the runs with a journal and the observed ones, newest first."""
    from core.evolution import runs as engine
    from core.evolution.observed_project import Observer, told_sessions

    ours = engine.list_runs(project)
    observer = Observer(project, read_s=_OBSERVE_S)
    observed = observer.read(told_sessions(ours))
    if observer.is_behind:
        note("Other programs left more traces here than could be read at once; the console reads on.")
    return sorted((*ours, *observed), key=lambda view: view.started, reverse=True)


@runs.command("show", epilog="Example:  exuvia runs show optimize-20260101-120000-ab12")
@click.argument("run_id", metavar="RUN")
@click.option("--follow", "-f", is_flag=True, help="Tell what happens until it ends.")
@json_option
@place_options
def show(run_id: str, follow: bool, as_json: bool, place: Place) -> int | None:
    """Show RUN: its pilots or rounds, its cells, its cost and its report."""
    from core.evolution import runs as engine
    from core.evolution.specs import run_paths
    from tui.cli.lines import Teller
    from tui.cli.progress import follow as tell

    paths = run_paths(place.project, run_id)
    view = tell(place.project, run_id) if follow else engine.read_run(place.project, run_id)
    if as_json:
        print_json(run_facts(place.project, view))
        return engine.exit_of(view) if follow else None
    say(f"{view.run_id}  {view.kind}  {view.state}  {view.agent_id} on {view.benchmark_id}")
    if not follow:
        for line in Teller().news(view):
            say(line)
    unknown = f", {view.spent.unknown_requests} requests of unknown cost" if view.spent.unknown_requests else ""
    if view.damaged_lines:
        say(f"Note: {view.damaged_lines} lines of its journal cannot be read and are not counted: {paths.journal}")
    say(f"spent: {view.spent.tokens:,} tokens, at least ${view.spent.usd:.4f}{unknown}")
    if view.approval_id and view.state in {"blocked", "waiting"}:
        say(here(f"Waits for you: exuvia approvals show {view.approval_id}"))
    if paths.report.exists():
        say("")
        say_text(decode(paths.report.read_bytes()))
    return engine.exit_of(view) if follow else None


@runs.command("stop", epilog="Example:  exuvia runs stop RUN")
@click.argument("run_id", metavar="RUN")
@json_option
@place_options
def stop(run_id: str, as_json: bool, place: Place) -> None:
    """Stop RUN and everything it started: TERM, then KILL. What is finished stays."""
    from core.evolution import runs as engine

    view = engine.stop(place.project, run_id, actor="cli")
    if as_json:
        print_json(run_facts(place.project, view))
    else:
        say(here(f"{run_id}: {view.state}. Go on later: exuvia runs resume {run_id}"))


@runs.command("resume", epilog="Example:  exuvia runs resume RUN --follow")
@click.argument("run_id", metavar="RUN")
@click.option("--follow", "-f", is_flag=True, help="Tell what happens until it ends.")
@click.option("--beside", is_flag=True, help="Also where another program seems to work on its agent.")
@json_option
@place_options
def resume(run_id: str, follow: bool, beside: bool, as_json: bool, place: Place) -> int | None:
    """Go on with RUN where it stopped, was killed or waited; no finished cell is run again."""
    from core.evolution import runs as engine
    from tui.cli.progress import follow as tell

    engine.resume(place.project, run_id, beside=beside)
    if follow:
        view = tell(place.project, run_id)
        if as_json:
            print_json(run_facts(place.project, view))
        return engine.exit_of(view)
    if as_json:
        print_json({"run_id": run_id, "resumed": True})
    else:
        say(here(f"Resumed {run_id}. Follow it: exuvia runs show {run_id} --follow"))
    return None
