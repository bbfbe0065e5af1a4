"""The speed of the console, beside a bare Textual list and harlequin, in one run: one table, and each budget.

python -m tests.perf.console [--json] [--rounds N] [--quick]

Starts are interleaved in rounds and the fastest of each counts, so that a machine that is busy for a while disturbs
no one program. Absolute times belong to the machine; the ratios are what to watch. --quick leaves out the keys.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from core.state.paths import ProjectPaths
from core.traces.listing import list_sessions
from tests.perf import big_home
from tests.perf.speed import anchors, measures
from tests.perf.speed.budgets import Verdict, verdicts
from tests.perf.speed.measures import Numbers, Place, Program
from tests.perf.speed.terminal import Terminal
from tests.tui.home import AGENT, make_home

ROUNDS = 5
LIVE_S = 15.0
BARE = Path(__file__).parent / "speed" / "bare.py"
EXUVIA = str(Path(sys.executable).parent / "exuvia")
LONG_TRACE = (":", *big_home.LONG_SESSION[-8:])
SMALL, BIG, OTHER, QUERIES = "exuvia small", "exuvia big", "bare Textual", "harlequin"


def programs(small: Path, big: ProjectPaths) -> list[Program]:
    """Return what is compared; the console is opened as an operator opens it."""
    found = [
        Program(
            SMALL,
            (EXUVIA, "--home", str(small)),
            (AGENT, "v2", "65.00", "finished"),
            (Place("scores", ("4", "home"), long=False), Place("sessions", ("1", "home"), long=False)),
        ),
        Program(
            BIG,
            (EXUVIA, "--home", str(big.root.parent)),
            (big_home.AGENT, f"v{big_home.VERSIONS}", "finished"),
            (
                Place("sessions", ("1", "home", "down")),
                Place("matrix", ("2",)),
                Place("trace", (*LONG_TRACE, "enter")),
            ),
        ),
        Program(OTHER, (sys.executable, "-P", str(BARE)), ("row 0000", "row 0039"), (Place("list"),)),
    ]
    program = anchors.harlequin()
    if program is not None:
        found.append(Program(QUERIES, (str(program),), ("Data Catalog", "Query Editor")))
    return found


def starts(compared: list[Program], rounds: int) -> dict[str, Numbers]:
    """Start every program once a round; return the fastest times and the median of everything else."""
    taken: dict[str, list[Numbers]] = {program.name: [] for program in compared}
    for _ in range(rounds):
        for program in compared:
            taken[program.name].append(measures.start(program))
    return {name: _together(several) for name, several in taken.items()}


def _together(several: list[Numbers]) -> Numbers:
    found: Numbers = {}
    for measure in several[0]:
        known = [value for numbers in several if (value := numbers[measure]) is not None]
        best = min if measure.endswith(" ms") else statistics.median
        found[measure] = best(known) if known else None
    if "first paint ms" in found:
        known = [value for numbers in several if (value := numbers["first paint ms"]) is not None]
        found["first paint median ms"] = statistics.median(known) if known else None
    return found


def open_long_trace(program: Program) -> Numbers:
    """Open the trace of 300,000 events from the palette: ms from Enter to its first records, RssAnon afterwards."""
    with program.open() as terminal:
        terminal.until_said(program.words, measures.SETTLED_S)
        terminal.read_for(6.0)
        measures.go(terminal, LONG_TRACE)
        begun = time.perf_counter() - terminal.started
        terminal.send("enter")
        terminal.until_quiet(2.0, patience_s=4.0)
        seen = terminal.shown(("3 Trace", "Step 0", "ledger 0"), since_s=begun)
        return {
            "big trace ms": None if seen is None else (seen - begun) * 1000,
            "big trace RssAnon MB": terminal.anonymous_mb(),
        }


def list_thousand(project: ProjectPaths) -> Numbers:
    """List the Sessions of the big home as the console does, cold in this process."""
    taken = []
    for _ in range(3):
        begun = time.perf_counter()
        count = len(list_sessions(project.agent(big_home.AGENT)))
        taken.append((time.perf_counter() - begun) * 1000)
        assert count == big_home.SESSIONS
    return {"1,000 Sessions listed ms": min(taken)}


def version(rounds: int) -> Numbers:
    """Run `exuvia --version`."""
    taken = []
    for _ in range(max(5, rounds)):
        begun = time.perf_counter()
        subprocess.run([EXUVIA, "--version"], capture_output=True, check=True)
        taken.append((time.perf_counter() - begun) * 1000)
    return {"exuvia --version ms": min(taken)}


def live(directory: Path) -> Numbers:
    """Watch a rehearsal's Builder and Optimizer at work, much faster than any real model, for LIVE_S seconds."""
    home = directory / "live"
    argv = [EXUVIA, "demo", "--headless", "--approve", "auto", "--home", str(home), "--seed", "7"]
    work = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30
        while not any(home.glob("*/.exuvia/runs/*/journal.jsonl")) and time.monotonic() < deadline:
            time.sleep(0.2)
        with Terminal((EXUVIA, "--home", str(home))) as terminal:
            terminal.until_said(("live",), measures.SETTLED_S)
            terminal.read_for(2.0)
            cpu, begun = terminal.cpu_s(), time.perf_counter()
            came = terminal.read_for(LIVE_S)
            gone = time.perf_counter() - begun
            return {"live B/s": came / gone, "live CPU %": 100 * (terminal.cpu_s() - cpu) / gone}
    finally:
        work.terminate()
        work.wait()
        subprocess.run([EXUVIA, "runs", "list", "--home", str(home)], capture_output=True, check=False)
        for run in sorted(home.glob("*/.exuvia/runs/*")):
            subprocess.run([EXUVIA, "runs", "stop", run.name, "--home", str(home)], capture_output=True, check=False)


def table(columns: dict[str, Numbers]) -> str:
    """Return the measures as text: a column each, '-' where one does not apply."""
    names = list(columns)
    rows = list(dict.fromkeys(measure for numbers in columns.values() for measure in numbers))
    first, widths = max(map(len, rows)), [max(10, len(name)) for name in names]
    lines = [" " * first + "".join(f"  {name:>{width}}" for name, width in zip(names, widths, strict=True))]
    for row in rows:
        cells = [columns[name].get(row) if row in columns[name] else None for name in names]
        shown = ["-" if cell is None else f"{cell:,.1f}" if cell < 100 else f"{cell:,.0f}" for cell in cells]
        lines.append(f"{row:<{first}}" + "".join(f"  {s:>{w}}" for s, w in zip(shown, widths, strict=True)))
    return "\n".join(lines)


def judged(found: list[Verdict]) -> str:
    """Return each budget with what was measured, and met or missed."""
    width = max(len(verdict.name) for verdict in found)
    return "\n".join(
        f"{verdict.name:<{width}}  {'-' if verdict.measured is None else f'{verdict.measured:,.2f}':>10}"
        f"  of {verdict.limit:>8,g}  {verdict.word}"
        for verdict in found
    )


def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="exuvia-perf-"))
    try:
        small, big = directory / "small", big_home.cached()
        make_home(small)
        compared = programs(small, big)
        columns = starts(compared, given.rounds)
        if not given.quick:
            for program in compared:
                columns[program.name] |= measures.rest(program)
            for program in compared:
                for place in program.places:
                    columns[f"{program.name}: {place.name}"] = measures.keys(program, place)
        once = {**open_long_trace(compared[1]), **list_thousand(big), **version(given.rounds), **live(directory)}
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    found = verdicts(columns, once)
    if given.json:
        budgets = [{"name": v.name, "limit": v.limit, "measured": v.measured, "verdict": v.word} for v in found]
        print(json.dumps({"measures": columns, "once": once, "budgets": budgets, "load": os.getloadavg()}, indent=1))
        return
    print(f"120x40, xterm-256color; fastest of {given.rounds} interleaved starts; load now {os.getloadavg()[0]:.1f}")
    whole = {name: numbers for name, numbers in columns.items() if ":" not in name}
    places = {name: numbers for name, numbers in columns.items() if ":" in name}
    tables = [table(part) for part in (whole, places, {"once": once}) if part]
    print("\n\n".join((*tables, judged(found))))
    if QUERIES not in columns:
        print(f"{QUERIES}: not run, it could not be installed")


if __name__ == "__main__":
    main()
