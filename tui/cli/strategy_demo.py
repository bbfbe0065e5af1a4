"""`exuvia strategy demo`: what strategies are worth, offline - in the simulator, and for an agent that evolves by them.

Three parts. The built-in shop clerk is measured on its benchmark, and an Optimizer tries Candidates that edit its
strategies, played by the rehearsal model in real processes; called again on the same home this goes on with what is
there. The shop's simulator serves the same visits with no strategies and with one, two and three layers. And one
strategy is followed from the failures of its first version to a release that is kept and one that is taken back.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from core.state.paths import DEFAULT_PROJECT, HomePaths, ProjectPaths
from tui.cli.common import demo_home, keep_read_only, named_home, note, print_json, say
from tui.cli.demo import confinement, set_aside

if TYPE_CHECKING:
    from core.evolution.run_view import RunView
    from core.evolution.specs import Kind

TARGET = 95.0
_ENDED = ("finished", "failed", "blocked")


@click.command(
    epilog="Example:  exuvia strategy demo --headless --home ./demo --json   |   exuvia strategy demo --seeds 40"
)
@click.option("--home", type=click.Path(file_okay=False, path_type=Path), help="Where (~/.exuvia/demo by default).")
@click.option("--fresh", is_flag=True, help="Begin anew; an earlier demonstration in that place is moved aside.")
@click.option("--seed", type=int, default=7, show_default=True, help="Of the Optimizer's run.")
@click.option("--seeds", type=click.IntRange(min=2), default=20, show_default=True, help="Of the simulator: 0 to N-1.")
@click.option("--rounds", type=click.IntRange(1, 20), default=5, show_default=True, help="Candidates at most.")
@click.option("--headless", is_flag=True, help="Progress on stderr, the outcome on stdout: as it is in any case.")
@click.option("--allow-unisolated", is_flag=True, help="Run even where the kernel cannot confine.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def demo(
    home: Path | None,
    fresh: bool,
    seed: int,
    seeds: int,
    rounds: int,
    headless: bool,
    allow_unisolated: bool,
    as_json: bool,
) -> int:
    """Watch what strategies are worth: layer by layer in a simulated shop, then for an agent that an Optimizer changes.

    No key and no network. The console shows the runs and the agent afterwards: exuvia --home DIR.
    """
    from core.evolution import runs
    from core.state.fresh import ensure_home
    from core.strategy.shop.demo import run_demo
    from tui.cli.progress import working

    del headless  # it has no screen of its own yet, and waits in any case
    unisolated = confinement(allow_unisolated)
    root = (Path(named_home(None) or demo_home()) if home is None else home).expanduser().absolute()
    keep_read_only(root)
    if fresh:
        set_aside(root)
    ensure_home(root)
    project = HomePaths(root).project(DEFAULT_PROJECT)
    note(f"Home: {root}")
    last = _evolve(project, seed=seed, rounds=rounds, allow_unisolated=unisolated)
    with working(f"the simulated shop, {seeds} seeds"):
        told = run_demo(seeds)
    with working("days in the simulated shop"):
        life = _life()
    told |= {"life": life, "optimize": optimize_document(project, last)}
    document = {"rehearsal": True, "home": str(root), **told}
    if as_json:
        print_json(document)
    else:
        for line in _told(document):
            say(line)
        say(f"Look at it: exuvia --home {shlex.quote(str(root))}")
    return runs.exit_of(last)


def _life() -> dict[str, Any]:
    """Follow a strategy through its days, in a bank that is gone afterwards: its calendar is the simulator's."""
    import asyncio
    import tempfile

    from core.models.interface import ModelRef
    from core.models.rehearsal.provider import RehearsalProvider
    from core.strategy.shop.life import live

    with tempfile.TemporaryDirectory(prefix="exuvia-shop-") as place:
        return asyncio.run(live(Path(place) / "bank", RehearsalProvider(), ModelRef("rehearsal", "rehearsal-1")))


def _evolve(project: ProjectPaths, *, seed: int, rounds: int, allow_unisolated: bool) -> RunView:
    """Make the agent with its benchmark, measure it and let the Optimizer work; return the last run's view.

    What is there already is taken up: an agent, a measurement, a run that has ended or was cut off.
    """
    from core.agents.builtin import SHOP_CLERK, make
    from core.evolution import provided

    agent = project.agent(SHOP_CLERK)
    if not agent.config.is_file():
        make(project, SHOP_CLERK)
    if not agent.benchmark(provided.SHOP_SERVICE).root.exists():
        provided.put(agent, provided.SHOP_SERVICE)
    shared = {
        "agent_id": SHOP_CLERK,
        "benchmark_id": provided.SHOP_SERVICE,
        "seed": seed,
        "allow_unisolated": allow_unisolated,
    }
    measured = _followed(project, "evaluate", {**shared, "summary": "The shop clerk as it comes."})
    if measured.state != "finished":
        return measured
    return _followed(project, "optimize", {**shared, "target_score": TARGET, "runs": 1, "rounds": rounds})


def _followed(project: ProjectPaths, kind: Kind, settings: dict[str, Any]) -> RunView:
    """Start the agent's run of this kind, or take up the newest, and tell of it until it has ended."""
    from core.evolution import runs
    from core.evolution.specs import parse_spec
    from tui.cli.progress import follow

    agent = settings["agent_id"]
    view = next((one for one in runs.list_runs(project) if one.kind == kind and one.agent_id == agent), None)
    if view is None:
        return follow(project, runs.start(project, parse_spec({"kind": kind, **settings})))
    if view.state in _ENDED:
        return view
    if view.state in {"dead", "stopped"}:
        runs.resume(project, view.run_id)
    return follow(project, view.run_id)


def optimize_document(project: ProjectPaths, view: RunView) -> dict[str, Any]:
    """Return what came of the Optimizer's run: Candidates by decision, scores, the held-out Cases; unmeasured is null.

    A Candidate that could not be measured is in neither list.
    """
    from core.evolution.specs import run_paths

    agent, run = project.agent(view.agent_id), run_paths(project, view.run_id)
    heldout = {one.stage: one.score for one in view.heldout}
    reference = view.reference
    return {
        "agent": view.agent_id,
        "benchmark": view.benchmark_id,
        "run": view.run_id,
        "state": view.state,
        "reason": view.reason,
        **{decision: [_candidate(one) for one in view.rounds if one.decision == decision] for decision in _DECISIONS},
        "final": None if reference is None else {"version": reference["version"], "score": reference["score"]},
        "heldout": {stage: heldout.get(stage) for stage in ("baseline", "final")},
        "paths": {
            "scoreboard": str(agent.benchmark(view.benchmark_id).scoreboard),
            "report": str(run.report) if run.report.exists() else None,
        },
    }


_DECISIONS = ("accepted", "rejected")


def _candidate(one: Any) -> dict[str, Any]:
    return {
        "version": one.version,
        "score": one.score,
        "hypothesis": one.hypothesis,
        "supported": one.supported,
        "edits": [dict(edit) for edit in one.edits],
    }


def _told(document: dict[str, Any]) -> list[str]:
    lines = [f"A simulated shop, {document['visits']} visits over {document['seeds']} seeds, utterances held out:"]
    lines.append(f"  {'layers':<8} {'success':>8} {'95 % of it':>16} {'mis-triggers':>13} {'pseudo':>7} {'latency':>9}")
    lines += [
        f"  {row['layers']!s:<8} {row['success']:>8.1%} {_interval(row['interval']):>16} {row['mistriggers']:>13.1%} "
        f"{_share(row['pseudo_success']):>7} {row['latency_ms']:>6.0f} ms"
        for row in document["ablation"]
    ]
    lines += _life_told(document["life"])
    found = document["optimize"]
    reason = f": {found['reason']}" if found["reason"] else ""
    lines.append(f"{found['agent']} on {found['benchmark']} (rehearsal): {found['state']}{reason}")
    tried = [(one["version"], decision, one) for decision in _DECISIONS for one in found[decision]]
    for version, decision, one in sorted(tried, key=lambda row: row[0]):
        paths = ", ".join(edit["path"] for edit in one["edits"])
        lines.append(f"  v{version} {decision}: {_points(one['score'])} ({paths})")
    held = found["heldout"]
    if found["final"]:
        lines.append(
            f"  final v{found['final']['version']}: {_points(found['final']['score'])}, held out "
            f"{_points(held['baseline'])} -> {_points(held['final'])}"
        )
    return lines


def _life_told(life: dict[str, Any]) -> list[str]:
    lines = [f"{life['days']} days of its customers who want a refund, {life['bad_cases']} bad cases of version 1:"]
    lines += [f"  {text}" for text in life["suggestions"]]
    for draft in life["drafts"]:
        share = f"{draft['success_with']:.1%} served well with it, {draft['success_without']:.1%} without"
        lines.append(f"  draft {draft['id']}: {share} -> {draft['outcome']}")
    for one in life["releases"]:
        old, new = one["customers"]["old"], one["customers"]["new"]
        lines.append(
            f"  version {one['version']}, {one['gray']['days']} days beside version {one['against']}: served well "
            f"{new['well']} of {new['customers']}, by the old one {old['well']} of {old['customers']}: {one['outcome']}"
        )
        lines.append(f"    {one['why']}")
    return lines


def _interval(ends: list[float] | None) -> str:
    return "-" if ends is None else f"{ends[0]:.1%} to {ends[1]:.1%}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _points(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"
