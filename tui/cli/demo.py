"""`exuvia demo`: the whole loop on a fresh home, offline, by the rehearsal model.

With a screen it starts the runs and opens the console on them; --headless waits for them and prints one document.
Called again on the same home it goes on with what is there.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from core.foundation.errors import ExitCode, ExuviaError, UsageError
from core.state.paths import DEFAULT_PROJECT, HomePaths, ProjectPaths
from tui.cli.common import demo_home, keep_read_only, named_home, note, print_json, say

if TYPE_CHECKING:
    from core.evolution.run_view import RunView

AGENT = "data_helper"
BENCHMARK = "data-chores"
REQUIREMENT = "An agent that does small data chores in a workspace: it reads the task and leaves the files asked for."
CAPABILITY = "Careful work on small data chores: following what the material says where a hurried reading goes wrong."
RUNS, ROUNDS, TARGET, PILOTS, BASELINE = 2, 5, 90.0, 4, 45.0  # DECISIONS 19


def _spec(seed: int, approve: str, *, headless: bool, allow_unisolated: bool, rehearsal: dict[str, Any]) -> Any:
    from core.evolution.specs import parse_spec

    shared = {
        "agent_id": AGENT,
        "benchmark_id": BENCHMARK,
        "seed": seed,
        "allow_unisolated": allow_unisolated,
        "rehearsal": {"seed": seed, **rehearsal},
        "model": {
            "provider": "rehearsal",
            "model_id": "rehearsal-clumsy" if rehearsal.get("clumsy") else "rehearsal-1",
        },
    }
    return parse_spec(
        {
            "kind": "build",
            **shared,
            "requirement": REQUIREMENT,
            "capability": CAPABILITY,
            "baseline_score": BASELINE,
            "pilots": PILOTS,
            "approve": approve,
            "detached_ask": "exit" if headless else "wait",
            "then_optimize": {
                "kind": "optimize",
                **shared,
                "target_score": TARGET,
                "runs": RUNS,
                "rounds": ROUNDS,
            },
        }
    )


def set_aside(home: Path) -> None:
    """Move an earlier demonstration away, whole; nothing of it is lost."""
    if home.exists():
        aside = home.with_name(home.name + datetime.now().astimezone().strftime("-%Y%m%d-%H%M%S"))
        shutil.move(home, aside)
        note(f"The earlier demonstration is kept in {aside}.")


def _newest(project: ProjectPaths, kind: str) -> RunView | None:
    from core.evolution import runs

    return next(
        (view for view in runs.list_runs(project) if view.kind == kind and view.agent_id == AGENT),
        None,
    )


def _begin(project: ProjectPaths, spec: Any) -> str:
    """Start the Builder's run, or take up the one that is there; return its id."""
    from core.evolution import runs
    from core.state import approvals

    view = _newest(project, "build")
    if view is None:
        return runs.start(project, spec)
    if view.state in {"dead", "stopped"}:
        return runs.resume(project, view.run_id)
    if view.state == "blocked" and view.approval_id is not None:
        _, decision = approvals.get(project, view.approval_id)
        if decision is not None:
            return runs.resume(project, view.run_id)
    return view.run_id


def _headless(project: ProjectPaths, run_id: str, *, as_json: bool) -> int:
    from core.evolution import runs
    from tui.cli.progress import follow

    build = follow(project, run_id)
    optimize: RunView | None = None
    if build.state == "finished":
        optimize = _newest(project, "optimize")
        if optimize is not None:
            if optimize.state in {"dead", "stopped"}:
                runs.resume(project, optimize.run_id)
            optimize = follow(project, optimize.run_id)
    document = outcome_document(project, build, optimize)
    if as_json:
        print_json(document)
    else:
        for line in _told(document):
            say(line)
    last = optimize or build
    if build.state == "finished" and optimize is None:
        return int(ExitCode.FAILED)
    return runs.exit_of(last)


def _heldout(view: RunView | None, stage: str) -> float | None:
    found = [measured for measured in view.heldout if measured.stage == stage] if view is not None else []
    return found[-1].score if found else None


def outcome_document(project: ProjectPaths, build: RunView, optimize: RunView | None) -> dict[str, Any]:
    """Return the loop's outcome as one document; what was not measured is null."""
    from core.evolution.specs import run_paths

    views = [view for view in (build, optimize) if view is not None]
    baseline = None if build.baseline is None else dict(build.baseline)
    reference = optimize.reference if optimize is not None else None
    final = dict(reference) if reference is not None else baseline
    benchmark = project.agent(AGENT).benchmark(BENCHMARK)
    last = optimize or build
    return {
        "state": last.state,
        "reason": last.reason,
        "waiting_for": build.approval_id if build.state in {"blocked", "waiting"} else None,
        "rehearsal": True,
        "agent": AGENT,
        "benchmark": BENCHMARK,
        "pilots": [
            {
                "i": pilot["i"],
                "score": pilot["score"],
                "predicted": pilot.get("predicted"),
                "observed": pilot.get("observed", pilot["score"]),
                "missed": pilot.get("missed"),
                "frozen": pilot["i"] == build.frozen_pilot,
            }
            for pilot in build.pilots
        ],
        "baseline": None
        if baseline is None
        else {
            "version": baseline["version"],
            "score": baseline["score"],
            "heldout": _heldout(build, "baseline")
            if _heldout(build, "baseline") is not None
            else _heldout(optimize, "baseline"),
        },
        "rounds": [
            {
                "version": entry.version,
                "decision": entry.decision,
                "score": entry.score,
                "prediction": dict(entry.prediction),
                "supported": entry.supported,
                "edits": [dict(edit) for edit in entry.edits],
            }
            for entry in (optimize.rounds if optimize is not None else ())
            if entry.decision is not None
        ],
        "final": None
        if final is None
        else {"version": final["version"], "score": final["score"], "heldout": _heldout(optimize, "final")},
        "paths": {
            "home": str(project.root.parent),
            "scoreboard": str(benchmark.scoreboard),
            "runs": [str(run_paths(project, view.run_id).root) for view in views],
            "reports": [str(path) for view in views if (path := run_paths(project, view.run_id).report).exists()],
        },
    }


def _points(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _told(document: dict[str, Any]) -> list[str]:
    reason = f": {document['reason']}" if document["reason"] else ""
    lines = [f"{document['agent']} on {document['benchmark']} (rehearsal): {document['state']}{reason}"]
    lines.extend(
        f"  pilot {pilot['i']}: {_points(pilot['score'])}, what changed was predicted "
        f"{_points(pilot['predicted'])}, observed {_points(pilot['observed'])}"
        f"{' (missed)' if pilot['missed'] else ''}{'  <- frozen' if pilot['frozen'] else ''}"
        for pilot in document["pilots"]
    )
    if document["baseline"]:
        baseline = document["baseline"]
        held_out = _points(baseline["heldout"])
        lines.append(f"  baseline v{baseline['version']}: {_points(baseline['score'])}, held out {held_out}")
    for entry in document["rounds"]:
        kinds = ", ".join(sorted({edit["kind"] for edit in entry["edits"]}))
        lines.append(f"  v{entry['version']} {entry['decision']}: {_points(entry['score'])} ({kinds})")
    if document["final"]:
        final = document["final"]
        lines.append(f"  final v{final['version']}: {_points(final['score'])}, held out {_points(final['heldout'])}")
    home = document["paths"]["home"]
    if document["waiting_for"]:
        lines.append(f"Waits for you: exuvia approvals show {document['waiting_for']} --home {home}")
    lines.append(f"Look at it: exuvia --home {home}")
    return lines


def confinement(allow_unisolated: bool) -> bool:
    """Return whether to run unisolated: asked for, or agreed to where this machine cannot confine (DECISIONS 5)."""
    from core.agents.isolation.support import probe

    support = probe()
    if support.layer != "none" or allow_unisolated:
        return allow_unisolated
    for reason in support.reasons:
        note(reason)
    if sys.stdin.isatty() and click.confirm(
        "This machine cannot confine agents. Run the demonstration anyway?", err=True
    ):
        return True
    raise ExuviaError("This machine cannot confine agents.", hint="See 'exuvia doctor', or say --allow-unisolated.")


@click.command(
    epilog="Examples:  exuvia demo --headless --approve auto --home ./demo --seed 7 --json   |   exuvia --plain demo"
)
@click.option("--home", type=click.Path(file_okay=False, path_type=Path), help="Where (~/.exuvia/demo by default).")
@click.option("--fresh", is_flag=True, help="Begin anew; an earlier demonstration in that place is moved aside.")
@click.option("--seed", type=int, default=7, show_default=True, help="The same seed gives the same numbers.")
@click.option("--approve", type=click.Choice(["ask", "auto"]), default="ask", show_default=True, help="Who freezes.")
@click.option("--headless", is_flag=True, help="Without a screen: progress on stderr, the outcome on stdout.")
@click.option("--asks", is_flag=True, help="A Builder that asks you one question before it drafts.")
@click.option("--clumsy", is_flag=True, help="A rehearsal model that breaks protocol in a quarter of its turns.")
@click.option(
    "--fault", "faults", multiple=True, metavar="NAME=RATE", help="Inject a fault at a rate; may be repeated."
)
@click.option("--allow-unisolated", is_flag=True, help="Run even where the kernel cannot confine.")
@click.option("--mouse", is_flag=True, help="Let the console take the mouse.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (with --headless).")
def demo(
    home: Path | None,
    fresh: bool,
    seed: int,
    approve: str,
    headless: bool,
    asks: bool,
    clumsy: bool,
    faults: tuple[str, ...],
    allow_unisolated: bool,
    mouse: bool,
    as_json: bool,
) -> int:
    """Watch a Builder make an agent and its benchmark, approve the freeze, and watch an Optimizer improve it.

    No key and no network: the rehearsal model plays all roles, by real commands in real workspaces, scored by real
    checks. Quit the console whenever you like; the runs go on, and 'exuvia demo' finds them again.
    """
    from core.state.fresh import ensure_home

    rehearsal: dict[str, Any] = {"asks": asks, "clumsy": clumsy, "faults": dict(_fault(text) for text in faults)}
    if as_json and not headless:
        raise UsageError("--json needs --headless.", hint="exuvia demo --headless --json")
    plain = not headless and bool(click.get_current_context().find_root().params.get("plain"))
    if not headless and not plain:
        from tui.boot import check_terminal

        check_terminal()
    unisolated = confinement(allow_unisolated)
    root = (Path(named_home(None) or demo_home()) if home is None else home).expanduser().absolute()
    read_only = keep_read_only(root)
    if fresh:
        set_aside(root)
    ensure_home(root)
    project = HomePaths(root).project(DEFAULT_PROJECT)
    run_id = _begin(project, _spec(seed, approve, headless=headless, allow_unisolated=unisolated, rehearsal=rehearsal))
    if headless:
        note(f"Home: {root}   run: {run_id}")
        try:
            return _headless(project, run_id, as_json=as_json)
        except KeyboardInterrupt:
            note(f"The runs go on. Find them again: exuvia demo --headless --home {root}")
            raise
    if plain:
        from tui.cli.plain import tell

        return tell(project, home=f" --home {shlex.quote(str(root))}")
    from tui.app import run_console

    return run_console(project, mouse=mouse, read_only=read_only, demo=True)


def _fault(text: str) -> tuple[str, float]:
    name, equals, rate = text.partition("=")
    try:
        return name, float(rate) if equals else 0.2
    except ValueError as error:
        raise UsageError(f"{text!r} is no fault.", hint="Say NAME=RATE, for example fenced=0.2") from error
