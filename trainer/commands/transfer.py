"""`python -P -m trainer transfer WORLD=PATH ...`: policies of one world measured on every world (CURATION 1.7).

Each PATH is a run or checkpoint of an hf policy that was trained on WORLD. Every policy curates the same streams of
every world: the table has success and its difference to no memory on the same tasks. A finished cell is kept in `--out`
and not measured again.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from core.foundation import strict_json
from core.foundation.errors import ExuviaError, UsageError
from core.foundation.visible import visible_line
from core.state import atomic
from trainer.commands.curate import TEMPERATURE, policy_folder
from trainer.settings import RetrievalOptions
from trainer.worlds import open_world


def main(argv: list[str]) -> int:
    """Measure what isn't measured yet and print the table."""
    parser = argparse.ArgumentParser("python -P -m trainer transfer")
    parser.add_argument("policies", nargs="+", metavar="WORLD=PATH")
    parser.add_argument("--executor", default="weak")
    parser.add_argument("--streams", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=0, help="of each stream; 0 is the world's own number")
    parser.add_argument("--min-overlap", type=float, default=0.51)
    parser.add_argument("--out", type=Path, help="keep finished cells here")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(argv)
    try:
        policies = dict(map(_named, asked.policies))
        cells = [_cell(trained, path, world, asked) for trained, path in policies.items() for world in policies]
    except ExuviaError as error:
        sys.stderr.write(f"{visible_line(str(error))} {visible_line(error.hint)}\n")
        return int(error.exit_code)
    sys.stdout.write(strict_json.dumps({"cells": cells}, indent=1) + "\n" if asked.json else _table(cells))
    return 0


def _named(text: str) -> tuple[str, Path]:
    world, equals, path = text.partition("=")
    if not equals or not path:
        raise UsageError(f"{text!r} is not WORLD=PATH.", hint="For example household=RUN_DIRECTORY")
    return world, Path(path).absolute()


def _cell(trained: str, path: Path, on: str, asked: argparse.Namespace) -> dict[str, Any]:
    kept = asked.out / f"{trained}-on-{on}.json" if asked.out else None
    folder = policy_folder(path)
    asks = {
        "policy": str(folder),
        "executor": asked.executor,
        "streams": asked.streams,
        "tasks": asked.tasks,
        "min_overlap": asked.min_overlap,
    }
    if kept and kept.is_file():
        found: dict[str, Any] = strict_json.parse(kept.read_bytes())
        if found.get("asked") == asks:
            return found
    cell = {"trained": trained, "on": on, "asked": asks, **_measure(folder, on, asked)}
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_text(kept, strict_json.dumps(cell) + "\n")
    return cell


def _measure(folder: Path, on: str, asked: argparse.Namespace) -> dict[str, Any]:
    from core.curation.executors import ScriptedExecutor  # torch comes with these
    from trainer.evaluate import STREAM_SEED, Bench, compared
    from trainer.policies.loading import open_policy
    from trainer.task_groups import mixed_streams

    policy, world = open_policy(folder), open_world(on)
    if policy.kind != "hf":
        raise UsageError(
            f"{visible_line(folder.name)} is a {policy.kind} policy: it writes phrases of its own world only.",
            hint="Transfer is for hf policies.",
        )
    bench = Bench(
        world,
        ScriptedExecutor(asked.executor),
        RetrievalOptions(min_overlap=asked.min_overlap),
        temperature=TEMPERATURE,
    )
    streams = mixed_streams(world, "test", seed=STREAM_SEED, purpose="transfer", count=asked.streams, tasks=asked.tasks)
    nobody = bench.measure("none", "mixed", streams)
    curated = bench.measure("trained", "mixed", streams, policy=policy)
    return {
        "none": nobody.summary(),
        "curated": curated.summary(),
        "compared": compared(nobody, curated, seed=STREAM_SEED),
        "parameters": policy.describe()["parameters"],
    }


def _table(cells: list[dict[str, Any]]) -> str:
    lines = ["Success with the curator, and its difference to no memory on the same tasks, in points."]
    for cell in cells:
        share, difference = cell["curated"]["sr"], cell["compared"]["difference"]
        interval = cell["compared"]["interval"]
        told = "unmeasured" if share is None or difference is None else f"{100 * share:5.1f}  {100 * difference:+5.1f}"
        within = f"  [{100 * interval[0]:+.1f}, {100 * interval[1]:+.1f}]" if interval else ""
        separates = "" if not interval or interval[0] > 0 or interval[1] < 0 else "  doesn't separate"
        lines.append(f"trained on {cell['trained']:<12} measured on {cell['on']:<12} {told}{within}{separates}")
    if any(cell["parameters"] < 50_000_000 for cell in cells):
        lines.append(
            "Some of these are tiny models made on the spot: they know their own world's words and little else."
        )
    return "\n".join(lines) + "\n"
