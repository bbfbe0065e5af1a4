"""Make pictures of the console from a real rehearsal run: `make screenshots`, or `make.py --home DIR` for a home.

Writes screenshots/<pane>-<size>.svg, and .png beside each where rsvg-convert is installed (with the font Fira Code).
Without a home it runs the whole demonstration in a temporary one first; that takes some minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from core.curation import jobs, training
from core.evolution import runs
from core.evolution.run_view import RunView
from core.state import approvals
from core.state.fresh import ensure_home, ensure_operator
from core.state.paths import DEFAULT_PROJECT, HomePaths, ProjectPaths
from tui import boot
from tui.cli import demo

OUT = Path(__file__).parent
SIZES = ((80, 24), (120, 40))
WAITING: dict[str, Sequence[str]] = {"inbox": ("6",)}
LIVE: dict[str, Sequence[str]] = {"live": ("2",), "sessions": ("1",)}
ENDED: dict[str, Sequence[str]] = {
    "matrix": ("2", "left_square_bracket"),
    "cell": ("2", "left_square_bracket", "enter"),
    "tree": ("3",),
    "trace": ("2", "left_square_bracket", "t", *["down"] * 7),
    "lanes": ("2", "left_square_bracket", "t", "w"),
    "scores": ("4", "up"),
    "plot": ("4", "p"),
    "versions": ("5",),
    "diff": ("5", "d"),
    "form": ("S",),
    "palette": ("colon", "v"),
    "settings": ("comma",),
    "help": ("question_mark",),
}
TRAINING: dict[str, Sequence[str]] = {
    "training": ("8",),
    "training-curves": ("8", "p", "down"),
    "training-samples": ("8", "e", "down"),
}
MID_STEP = 34
"""A training run that is shown at work is at this step or a little later."""
COLOURS = 160
"""Enough for a terminal's text, and a picture is a third as large."""
LONGEST_S = 1800


def main() -> None:
    """Make the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, help="a home to open as it is, instead of a fresh demonstration")
    parser.add_argument("--size", action="append", help="only this size, for example 120x40")
    given = parser.parse_args()
    sizes = tuple(tuple(map(int, size.split("x"))) for size in given.size) if given.size else SIZES
    boot.prepare()
    os.environ["XDG_CONFIG_HOME"] = "/home/ada/.config"  # whose pictures they are is nobody's business
    if given.home is not None:
        project = HomePaths(given.home).project(DEFAULT_PROJECT)
        trained = bool(training.list_runs(project))
        looped = {**ENDED, **(WAITING if approvals.pending(project) else {})} if runs.list_runs(project) else {}
        asyncio.run(_all(project, {**looped, **(TRAINING if trained else {})}, sizes))
        return
    with tempfile.TemporaryDirectory(prefix="exuvia-") as directory:
        project = ensure_home(Path(directory))
        ensure_operator(project)
        build = _start(project)
        try:
            view = _until(project, build, lambda view: view.approval_id is not None)
            asyncio.run(_all(project, WAITING, sizes))
            assert view.approval_id is not None
            approvals.decide(project, view.approval_id, "approve", actor="pictures")
            _until(project, build, lambda view: view.state == "finished")
            _until(project, "optimize", lambda view: bool(view.rounds) and view.state == "running")
            asyncio.run(_all(project, LIVE, sizes))
            _until(project, "optimize", lambda view: view.state == "finished")
            asyncio.run(_all(project, ENDED, sizes))
            _train(project, sizes)
        finally:
            for view in runs.list_runs(project):
                if view.state in ("running", "waiting"):
                    runs.stop(project, view.run_id)


def _train(project: ProjectPaths, sizes: Sequence[tuple[int, ...]]) -> None:
    """Show a training run at work; without torch there is none."""
    if not training.can_train():
        print("training: torch is not installed, no picture")  # noqa: T201  # a script tells what it does
        return
    run_id = training.start(project, "cpu-demo")
    try:
        deadline = time.monotonic() + LONGEST_S
        while (last := training.read_run(project, run_id).last) is None or last.step < MID_STEP:
            if time.monotonic() > deadline or not jobs.alive(project.training / run_id):
                sys.exit(f"{run_id} did not get to step {MID_STEP}: {training.read_run(project, run_id).reason}")
            time.sleep(0.3)
        asyncio.run(_all(project, TRAINING, sizes))
    finally:
        training.stop(project, run_id)


def _start(project: ProjectPaths) -> str:
    shared: dict[str, Any] = {"agent_id": demo.AGENT, "benchmark_id": demo.BENCHMARK}
    improve = runs.OptimizeSpec(**shared, runs=demo.RUNS, rounds=demo.ROUNDS, target_score=demo.TARGET)
    return runs.start(
        project,
        runs.BuildSpec(
            **shared,
            requirement=demo.REQUIREMENT,
            capability=demo.CAPABILITY,
            baseline_score=demo.BASELINE,
            pilots=demo.PILOTS,
            then_optimize=improve,
        ),
    )


def _until(project: ProjectPaths, which: str, met: Callable[[RunView], bool]) -> RunView:
    """Wait until a run, named by its id or its kind, meets a condition."""
    deadline = time.monotonic() + LONGEST_S
    while time.monotonic() < deadline:
        for view in runs.list_runs(project):
            if which not in (view.run_id, view.kind):
                continue
            if met(view):
                return view
            if view.state in ("failed", "blocked", "dead", "stopped"):
                sys.exit(f"run {view.run_id} is {view.state}: {view.reason}")
        time.sleep(0.3)
    sys.exit(f"{which}: not reached in {LONGEST_S} s")


async def _all(project: ProjectPaths, pictures: dict[str, Sequence[str]], sizes: Sequence[tuple[int, ...]]) -> None:
    for name, keys in pictures.items():
        for columns, rows in sizes:
            await _picture(project, keys, (columns, rows), OUT / f"{name}-{columns}x{rows}.svg")


async def _picture(project: ProjectPaths, keys: Sequence[str], size: tuple[int, int], path: Path) -> None:
    from tui.console import Console
    from tui.stores.console import ConsoleStore

    store = ConsoleStore(project)
    store.load()
    app = Console(project, store)
    async with app.run_test(size=size) as pilot:
        await pilot.pause(1.5)
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.4)
        svg = app.export_screenshot(title="exuvia")
    # Leading blanks of a text are kept by every reader only where the document says so.
    svg = svg.replace("<svg ", '<svg xml:space="preserve" ', 1).replace("&#160;", " ")
    path.write_text(svg, encoding="utf-8")
    _convert(path)
    print(path.name)  # noqa: T201  # a script tells what it does


def _convert(path: Path) -> None:
    converter = shutil.which("rsvg-convert")
    if converter is not None:
        picture = path.with_suffix(".png")
        subprocess.run([converter, "-z", "1", str(path), "-o", str(picture)], check=True)
        from PIL import Image

        with Image.open(picture) as image:
            small = image.convert("RGB").quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        small.save(picture, optimize=True)


if __name__ == "__main__":
    main()
