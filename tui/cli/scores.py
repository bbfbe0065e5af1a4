"""`exuvia scoreboard`: the history of a benchmark, what a strict reader drops, and the Candidates behind it."""

from __future__ import annotations

from typing import Any

import click

from tui.cli.common import Place, here, json_option, place_options, print_json, print_table, say


@click.command(epilog="Example:  exuvia scoreboard data_helper data-chores --candidates")
@click.argument("agent_id", metavar="AGENT")
@click.argument("benchmark_id", metavar="BENCH")
@click.option("--candidates", is_flag=True, help="Also the Candidates, accepted or not, from the ledger.")
@click.option("--plot", is_flag=True, help="Draw the scores over the versions, with what was not kept.")
@json_option
@place_options
def scoreboard(agent_id: str, benchmark_id: str, candidates: bool, plot: bool, as_json: bool, place: Place) -> None:
    """Show the evaluations of AGENT on BENCH in the order of the file, and what could not be read of them."""
    from core.state import ledger
    from core.state.benchmark import read_benchmark

    benchmark = read_benchmark(place.benchmark(agent_id, benchmark_id))
    reading = benchmark.reading
    tried = tuple(
        record for record in ledger.read(place.project, agent_id) if record.benchmark_id == benchmark_id and candidates
    )
    if as_json:
        document: dict[str, Any] = {
            "agent_id": agent_id,
            "benchmark_id": benchmark_id,
            "title": benchmark.title,
            "cases": [{"id": case.id, "title": case.title} for case in benchmark.cases],
            "held_out": list(benchmark.held_out),
            "evaluations": [evaluation.model_dump(mode="json") for evaluation in reading.evaluations],
            "dropped": [{"line": dropped.line, "reason": dropped.reason} for dropped in reading.dropped],
            "diagnostics": [str(found) for found in (*benchmark.diagnostics, *reading.diagnostics)],
        }
        if candidates:
            document["candidates"] = [record.model_dump(mode="json") for record in tried]
            document["damaged_candidates"] = [gap.reason for gap in ledger.gaps(place.project)]
        print_json(document)
        return
    say(f"{benchmark.title} ({benchmark_id}), {len(benchmark.cases)} Cases, {len(benchmark.held_out)} held out")
    if plot:
        _draw(place, agent_id, benchmark_id)
    if not reading.evaluations:
        say(here(f"No evaluation yet. Measure the present version: exuvia evaluate {agent_id} {benchmark_id}"))
    else:
        print_table(
            ("time", "version", "score", "cost usd", "seconds", "runs", "provider", "model", "thinking", "title"),
            [
                (
                    evaluation.time,
                    f"v{evaluation.version}",
                    _points(evaluation.score),
                    "unknown" if evaluation.cost is None else f"{evaluation.cost:.6f}",
                    f"{evaluation.duration_ms / 1000:.1f}",
                    max(len(case.runs) for case in evaluation.cases),
                    evaluation.provider,
                    evaluation.model_id,
                    evaluation.thinking_level,
                    evaluation.summary_title,
                )
                for evaluation in reading.evaluations
            ],
        )
    for dropped in reading.dropped:
        say(f"Not counted, line {dropped.line}: {dropped.reason}")
    for found in (*benchmark.diagnostics, *reading.diagnostics):
        say(f"Note: {found}")
    if candidates and not tried:
        say(here(f"No Candidates yet. Let an Optimizer propose some: exuvia optimize {agent_id} {benchmark_id}"))
        say(here(f"Or edit the agent and measure that: exuvia try {agent_id} {benchmark_id}"))
    elif candidates:
        print_table(
            ("run", "round", "version", "proposer", "decision", "score", "reference", "supported", "hypothesis"),
            [
                (
                    record.run_id,
                    record.round,
                    f"v{record.version}",
                    record.proposer,
                    record.decision,
                    _points(record.score),
                    _points(record.reference_score),
                    {True: "yes", False: "no", None: None}[record.supported],
                    record.hypothesis[:70],
                )
                for record in tried
            ],
        )
    if candidates:
        for gap in ledger.gaps(place.project):
            say(f"Note: a Candidate in the ledger cannot be read (byte {gap.start}): {gap.reason}")


def _points(score: float | None) -> str | None:
    """Return a score with two decimals, as every table here shows it; None where there is none."""
    return None if score is None else f"{score:.2f}"


def _draw(place: Place, agent_id: str, benchmark_id: str) -> None:
    """Draw what the console's Scores pane draws, as wide as the terminal, in ASCII where that is all it shows."""
    import shutil
    import sys

    from tui.characters import to_ascii
    from tui.plot import plot
    from tui.settings import load, wants_ascii
    from tui.stores import board
    from tui.stores.board_rows import series
    from tui.stores.runs import Runs, Subject

    subject = Subject(agent_id, benchmark_id)
    runs = Runs(place.project)
    runs.read()
    view = board.load(place.project, runs.of(subject), board.read(place.project, subject), subject)
    held = [(version, score) for _, version, score in view.heldout if score is not None]
    width = min(120, shutil.get_terminal_size().columns - 1)
    labels = [f"v{row.version}" for row in view.rows]
    plain = wants_ascii(load().settings) or "utf" not in (sys.stdout.encoding or "").lower()
    for line in plot(series(view.rows, held)[0], labels, width, 18, target=view.target):
        text = "".join(part for part, _ in line).rstrip()
        say(to_ascii(text) if plain else text)
