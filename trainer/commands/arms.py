"""`python -P -m trainer arms`: arms x executors, success and steps: the paper's main table in shape (CURATION 1.7).

A curator is trained with the weakest executor only; its skills then serve every executor of the world, on the same
tasks. Arms that need a language model which isn't here are named and not run: no stand-in's number fills their place.
A second table has the valid calls of each seed, before GRPO and after it, on the run's own held-out streams.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from core.curation.executors import ScriptedExecutor
from core.curation.worlds import World
from core.foundation import strict_json
from core.foundation.errors import ExuviaError, UsageError
from core.foundation.visible import visible_line
from core.state import atomic
from trainer.commands.ablate import study_root
from trainer.commands.run import setting
from trainer.presets import resolve
from trainer.settings import Training
from trainer.study import Cell, percent, plus_minus, run_cells, table_lines
from trainer.worlds import open_world

ARMS = ("none", "base", "trained", "oracle")
NOT_RUN = {
    "reasoningbank": "needs a model: exuvia stream run --arms reasoningbank --model PROVIDER/MODEL",
    "memp": "needs a model: exuvia stream run --arms memp --model PROVIDER/MODEL",
    "prompted": "needs a large model: exuvia stream run --arms prompted --model PROVIDER/MODEL",
}


def main(argv: list[str]) -> int:
    """Run what is left, print the table, and return the exit code."""
    arguments = _arguments(argv)
    try:
        return _table(arguments)
    except ExuviaError as error:
        sys.stderr.write(f"{visible_line(str(error))} {visible_line(error.hint)}\n")
        return int(error.exit_code)
    except KeyboardInterrupt:
        sys.stderr.write("Stopped; the same command goes on from here.\n")
        return 130


def _table(arguments: argparse.Namespace) -> int:
    shared = {**dict(setting(text) for text in arguments.set), "world": arguments.world}
    training = resolve(arguments.preset, settings=shared)
    world = open_world(training.world, **training.world_options)
    if not world.executors:
        raise UsageError(
            f"The world {world.name!r} has no executors of its own.", hint="Measure it with exuvia stream run."
        )
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    root = study_root(arguments.into, f"arms-{arguments.preset}-{world.name}")
    shared["executor.name"] = world.executors[0]
    stream = sys.stderr if arguments.json else sys.stdout

    def say(text: str) -> None:
        stream.write(text + "\n")
        stream.flush()

    cells = [Cell("run", seed, shared) for seed in seeds]
    summaries = run_cells(root, arguments.preset, cells, say)
    found = {
        cell.name: _measured(root, cell, training, world, root / cell.name / summaries[cell.name]["checkpoint"]["path"])
        for cell in cells
    }
    document = {
        "preset": arguments.preset,
        "world": world.name,
        "seeds": list(seeds),
        "trained_with": world.executors[0],
        "executors": list(world.executors),
        "not_run": dict(NOT_RUN),
        "valid_calls": valid_calls([summaries[cell.name] for cell in cells]),
        "arms": {
            arm: {
                executor: {
                    name: [found[cell.name][arm][executor][name] for cell in cells] for name in ("sr", "steps", "score")
                }
                for executor in world.executors
            }
            for arm in ARMS
        },
    }
    atomic.write_text(root / "arms.json", strict_json.dumps(document, indent=1) + "\n")
    sys.stdout.write(
        strict_json.dumps(document, indent=1) + "\n" if arguments.json else "\n".join(lines(document)) + "\n"
    )
    return 0


def _measured(root: Path, cell: Cell, training: Training, world: World, best: Path) -> dict[str, Any]:
    """Return every arm with every executor for one seed, measured once and kept."""
    kept = root / cell.name / "arms.json"
    if kept.is_file():
        document: dict[str, Any] = strict_json.parse(kept.read_bytes())
        return document
    from trainer.evaluate import STREAM_SEED, Bench
    from trainer.policies.loading import open_policy
    from trainer.task_groups import mixed_streams

    options = training.evaluation
    # Each seed has streams of its own, the same for every arm and executor: three seeds, three draws of tasks.
    streams = mixed_streams(
        world, "test", seed=STREAM_SEED, purpose=f"arms-{cell.seed}", count=options.streams, tasks=options.tasks
    )
    policies = {"base": open_policy(root / cell.name / "checkpoints" / "step-00000"), "trained": open_policy(best)}
    found: dict[str, Any] = {arm: {} for arm in ARMS}
    for executor in world.executors:
        bench = Bench(world, ScriptedExecutor(executor), training.retrieval, options.temperature)
        for arm in ARMS:
            skills = world.oracle() if arm == "oracle" else ()
            found[arm][executor] = bench.measure(
                arm, "mixed", streams, policy=policies.get(arm), skills=skills
            ).summary()
    atomic.write_text(kept, strict_json.dumps(found) + "\n")
    return found


def valid_calls(summaries: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, list[float | None]]]:
    """Return the share of valid calls by kind of stream ("grouped", "mixed") and arm ("base", "trained"), a seed each.

    None where a run's summary doesn't tell it.
    """
    return {
        stream: {arm: [one[part].get(arm, {}).get("valid_calls") for one in summaries] for arm in ("base", "trained")}
        for stream, part in (("grouped", "grouped"), ("mixed", "heldout"))
    }


def _valid_lines(document: Mapping[str, Any]) -> list[str]:
    """Return the table of valid calls: a row for each seed and kind of stream."""
    rows: list[list[str]] = []
    for stream, by_arm in document["valid_calls"].items():
        for seed, before, after in zip(document["seeds"], by_arm["base"], by_arm["trained"], strict=True):
            rise = "-" if before is None or after is None else f"{100 * (after - before):+.1f}"
            rows.append([stream, str(seed), percent(before), percent(after), rise])
    return [
        "Valid calls in percent of all calls, a mean over answers (one without a call counts 0), same tasks and draws:",
        *table_lines(("held-out streams", "seed", "base", "trained", "rise"), rows),
    ]


def lines(document: Mapping[str, Any]) -> list[str]:
    """Return the tables: success (steps) of each arm with each executor, mean ± standard deviation over seeds, and the
    valid calls of each seed.
    """
    executors: Sequence[str] = document["executors"]
    rows: list[list[str]] = []
    for arm, by_executor in document["arms"].items():
        cells = [
            f"{plus_minus(by_executor[one]['sr'])} ({plus_minus(by_executor[one]['steps'], scale=1.0)})"
            for one in executors
        ]
        scores = [by_executor[one]["score"] for one in executors]
        if any(value is not None for values in scores for value in values):
            cells = [f"{cell}, score {plus_minus(values)}" for cell, values in zip(cells, scores, strict=True)]
        rows.append([arm, *cells])
    rows += [[arm, *("not run" for _ in executors)] for arm in document["not_run"]]
    seeds = document["seeds"]
    return [
        f"{document['world']}: success in percent (steps), seeds {seeds[0]} to {seeds[-1]}, mean ± standard deviation.",
        f"Curators were trained with the executor {document['trained_with']!r} only.",
        *table_lines(("arm", *executors), rows),
        *(_valid_lines(document) if "valid_calls" in document else ()),
        *(f"Not run: {arm}, {why}." for arm, why in document["not_run"].items()),
    ]


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("exuvia train arms")
    parser.add_argument("--preset", default="cpu-demo")
    parser.add_argument("--world", default="household")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=301)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=JSON", help="another value of a setting")
    parser.add_argument("--into", help="the study's directory; one that is there goes on")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser.parse_args(argv)
