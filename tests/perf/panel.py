"""What watching a training run costs: bytes and processor a second on each page while it writes ten records a second.

python -m tests.perf.panel [--json]
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path

from tests.curation.training_files import TrainingFiles, whole_run
from tests.e2e.test_training_bytes import A_SECOND, at_work
from tests.perf.console import EXUVIA
from tests.perf.speed import measures
from tests.perf.speed.terminal import Terminal
from tests.tui.home import AGENT, give_trainer, make_home

WATCHED_S = 10.0
PAGES = {"overview": ("8",), "figures": ("8", "enter"), "curves": ("8", "p", "down"), "samples": ("8", "e")}


def main() -> None:
    """Measure each page and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="exuvia-perf-"))
    try:
        found = {name: watched(directory / name, keys) for name, keys in PAGES.items()}
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    if given.json:
        print(json.dumps({"limit B/s": A_SECOND, "pages": found}, indent=1))
        return
    print(f"{'page':<10}{'B/s':>8}{'CPU %':>8}   of {A_SECOND:,} B/s")
    for name, numbers in found.items():
        verdict = "met" if numbers["B/s"] <= A_SECOND else "MISSED"
        print(f"{name:<10}{numbers['B/s']:>8,.0f}{numbers['CPU %']:>8.1f}   {verdict}")


def watched(home: Path, keys: tuple[str, ...]) -> dict[str, float]:
    """Watch a run at work on one page."""
    project = make_home(home)
    whole_run(project, "cpu-demo-20251231-100000-bbbb", seed=1)
    files = TrainingFiles(project, steps=600)
    files.begin()
    files.train(1, 30)
    trainer = give_trainer(files.job)
    try:
        with Terminal((EXUVIA, "--home", str(home))) as terminal:
            terminal.until_said((AGENT,), measures.SETTLED_S)
            terminal.read_for(2.0)
            measures.go(terminal, keys)
            terminal.read_for(2.0)
            with at_work(files):
                terminal.read_for(1.5)
                cpu, begun = terminal.cpu_s(), time.perf_counter()
                came = terminal.read_for(WATCHED_S)
                took = time.perf_counter() - begun
                return {"B/s": came / took, "CPU %": 100 * (terminal.cpu_s() - cpu) / took}
    finally:
        trainer.kill()
        trainer.wait()


if __name__ == "__main__":
    main()
