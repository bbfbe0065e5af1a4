"""`python -P -m trainer transfer WORLD=RUN ...`: what was learned in one world, measured in others (CURATION 1.7).

Every policy curates the same streams of every world that is named; a row of the table is a policy, a column a world.
Each cell is compared with no memory on the same tasks. Finished cells are kept, so the command goes on where it ended.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from core.curation.executors import ScriptedExecutor, check_executor
from core.curation.worlds import World
from core.foundation import strict_json
from core.foundation.errors import ExuviaError, UsageError
from core.foundation.visible import visible_line
from core.state import atomic
from core.statistics import intervals
from trainer.commands.ablate import study_root
from trainer.commands.curate import TEMPERATURE, policy_folder, run_or_path
from trainer.settings import RetrievalOptions
from trainer.study import percent, table_lines
from trainer.worlds import open_world

NEEDS = """\
Needs, for each WORLD, a policy of kind hf that was trained on it:

  exuvia train --preset smollm2-135m --set policy.path=FOLDER --set world=shop

RUN is such a run (by its id or directory: its best checkpoint is measured), a checkpoint's folder, or what
`exuvia train export` wrote. Tiny policies write phrases of their own world only and are refused. Every world must have
the executor. Nothing is trained here, but a language model answers once a task: policies x worlds x streams x tasks."""


def main(argv: list[str]) -> int:
    """Measure what isn't measured yet, print the table, and return the exit code."""
    asked = _arguments(argv)
    stream = sys.stderr if asked.json else sys.stdout

    def say(text: str) -> None:
        stream.write(text + "\n")
        stream.flush()

    try:
        document = _measured(asked, say)
    except ExuviaError as error:
        sys.stderr.write(f"{visible_line(str(error))} {visible_line(error.hint)}\n")
        return int(error.exit_code)
    except KeyboardInterrupt:
        sys.stderr.write("Stopped; the same command goes on from here.\n")
        return 130
    sys.stdout.write(strict_json.dumps(document, indent=1) + "\n" if asked.json else "\n".join(lines(document)) + "\n")
    return 0


class _Candidate:
    """A policy of the table: the world that it was trained on, and its folder. Opened when a cell needs it."""

    def __init__(self, trained: str, folder: Path) -> None:
        self.trained = trained
        self.folder = folder

    @cached_property
    def head(self) -> Mapping[str, Any]:
        """Return its policy.json. Raises UsageError where the table could say nothing true of it."""
        shown = visible_line(str(self.folder))
        try:
            head = strict_json.parse((self.folder / "policy.json").read_bytes())
            kind, worlds = head["kind"], head["worlds"] if head["kind"] == "hf" else [head.get("world")]
        except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(
                f"{shown} doesn't say which world it was trained on.", hint="Name a run, a checkpoint or an export."
            ) from error
        if kind != "hf":
            raise UsageError(
                f"{shown} is a {kind} policy: it writes phrases of its own world only.",
                hint="Transfer is for hf policies (exuvia train presets).",
            )
        if self.trained not in worlds:
            raise UsageError(
                f"{shown} was trained on {', '.join(map(str, worlds)) or 'no world'}, not on {self.trained}.",
                hint="Name the world that it was trained on.",
            )
        return dict(head)

    @cached_property
    def digest(self) -> str:
        from trainer.checkpoint import weights_hash

        return weights_hash(self.folder)

    @cached_property
    def policy(self) -> Any:
        from trainer.policies.loading import open_policy

        return open_policy(self.folder)


def _measured(asked: argparse.Namespace, say: Callable[[str], None]) -> dict[str, Any]:
    """Return the whole table as JSON, after checking all that is named before anything is measured."""
    candidates = [_named(text) for text in asked.policies]
    names = [one.trained for one in candidates]
    if len(set(names)) < len(names):
        raise UsageError(
            "A world is named twice.", hint="One policy a world; measure another one by a call of its own."
        )
    if asked.streams < 1 or asked.tasks < 0:
        raise UsageError("--streams is 1 or more, --tasks 0 or more.", hint="0 tasks is the world's own number.")
    worlds = [open_world(name) for name in names]
    for world in worlds:
        check_executor(world, asked.executor)
    for one in candidates:
        _ = one.head
    root = study_root(asked.into, "transfer")
    nobody = {world.name: _kept(root, "none", world, None, asked) for world in worlds}
    cells = []
    for one in candidates:
        for world in worlds:
            found = _kept(root, one.trained, world, one, asked)
            cell = {"trained": one.trained, "on": world.name, **found, "compared": _compared(nobody[world.name], found)}
            cells.append(cell)
            say(f"{len(cells)}/{len(worlds) ** 2} trained on {one.trained}, measured on {world.name}: {_share(cell)}")
    return {
        "executor": asked.executor,
        "streams": asked.streams,
        "tasks": {world.name: nobody[world.name]["tasks"] // asked.streams for world in worlds},
        "min_overlap": asked.min_overlap,
        "temperature": TEMPERATURE,
        "made_on_the_spot": [one.trained for one in candidates if not one.head.get("base")],
        "none": nobody,
        "cells": cells,
    }


def _named(text: str) -> _Candidate:
    world, equals, path = text.partition("=")
    if not equals or not path:
        raise UsageError(f"{visible_line(text)!r} is not WORLD=RUN.", hint="For example household=RUN_DIRECTORY")
    return _Candidate(world, policy_folder(run_or_path(path)))


def _kept(root: Path, arm: str, world: World, one: _Candidate | None, asked: argparse.Namespace) -> dict[str, Any]:
    """Return an arm's measurement on a world: as it is kept, where the same was asked, else measured now and kept."""
    asks = {
        "policy": one.digest if one else None,
        "world": world.fingerprint,
        "executor": asked.executor,
        "streams": asked.streams,
        "tasks": asked.tasks,
        "min_overlap": asked.min_overlap,
    }
    kept = root / f"{arm}-on-{world.name}.json"
    try:
        found: dict[str, Any] = strict_json.parse(kept.read_bytes())
        if found["asked"] == asks:
            return found
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        pass  # not there, or no whole measurement
    found = {"asked": asks, **_measure(arm, world, one, asked)}
    kept.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_text(kept, strict_json.dumps(found) + "\n")
    return found


def _measure(arm: str, world: World, one: _Candidate | None, asked: argparse.Namespace) -> dict[str, Any]:
    from trainer.evaluate import STREAM_SEED, Bench  # torch comes with these
    from trainer.task_groups import mixed_streams

    gate = RetrievalOptions(min_overlap=asked.min_overlap)
    bench = Bench(world, ScriptedExecutor(asked.executor), gate, temperature=TEMPERATURE)
    streams = mixed_streams(world, "test", seed=STREAM_SEED, purpose="transfer", count=asked.streams, tasks=asked.tasks)
    measured = bench.measure(arm, "mixed", streams, policy=one.policy if one else None)
    return {**measured.summary(), "outcomes": [list(stream) for stream in measured.outcomes]}


def _compared(nobody: Mapping[str, Any], curated: Mapping[str, Any]) -> dict[str, Any]:
    """Return the difference to no memory on the same tasks, with Student's interval over streams.

    Streams are few, and the tasks of one are not independent of each other: the interval is over streams, each once.
    """
    by_stream = [
        [float(after) - float(before) for before, after in zip(*pair, strict=True) if None not in (before, after)]
        for pair in zip(nobody["outcomes"], curated["outcomes"], strict=True)
    ]
    values = [value for stream in by_stream for value in stream]
    interval = intervals.over_clusters(by_stream)
    return {
        "difference": sum(values) / len(values) if values else None,
        "interval": [interval.low, interval.high] if interval else None,
    }


def lines(document: Mapping[str, Any]) -> list[str]:
    """Return the table, world x world, and what it bears."""
    worlds = list(document["none"])
    cells = {(cell["trained"], cell["on"]): cell for cell in document["cells"]}
    tasks = ", ".join(f"{count} of {world}" for world, count in document["tasks"].items())
    rows = [["no memory", *(percent(document["none"][on]["sr"]) for on in worlds)]]
    rows += [[f"trained on {one}", *(_share(cells[one, on]) for on in worlds)] for one in worlds]
    executor, streams, gate = document["executor"], document["streams"], document["min_overlap"]
    told = [
        f"Success in percent with the executor {executor!r}, {streams} streams of {tasks}; gate {gate}.",
        *table_lines(("", *(f"on {world}" for world in worlds)), rows),
        "After each: the difference to no memory on the same tasks, in points, and its 95 % interval over streams.",
    ]
    if document["streams"] < 2:
        told.append("One stream has no interval: these differences may be chance. Take --streams 3 or more.")
    elif any(not separates(cell) for cell in cells.values()):
        told.append(
            "Where the interval holds 0 (~), nothing is claimed: neither that it carries over nor that it doesn't."
        )
    if made := document["made_on_the_spot"]:
        told.append(
            f"Made on the spot, from random weights: {', '.join(made)}. Such a model knows its own world's words and "
            "little else; that it fails elsewhere says nothing of language models."
        )
    return told


def separates(cell: Mapping[str, Any]) -> bool:
    """Whether a cell's interval leaves 0 out."""
    interval: Sequence[float] | None = cell["compared"]["interval"]
    return interval is not None and (interval[0] > 0 or interval[1] < 0)


def _share(cell: Mapping[str, Any]) -> str:
    difference, interval = cell["compared"]["difference"], cell["compared"]["interval"]
    if cell["sr"] is None or difference is None:
        return "not measured"
    told = f"{percent(cell['sr'])} ({100 * difference:+.1f}"
    if interval is None:
        return told + ")"
    mark = "" if separates(cell) else " ~"
    return f"{told}, {100 * interval[0]:+.1f} to {100 * interval[1]:+.1f}{mark})"


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "exuvia train transfer",
        description="Measure each policy on every WORLD that is named: the table world x world.",
        epilog=NEEDS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("policies", nargs="+", metavar="WORLD=RUN", help="a world, and a policy that was trained on it")
    parser.add_argument("--executor", default="weak", help="the frozen executor of every world (weak)")
    parser.add_argument("--streams", type=int, default=3, help="mixed streams of each world (3); 1 gives no interval")
    parser.add_argument("--tasks", type=int, default=0, help="of each stream; 0 is the world's own number, about 140")
    parser.add_argument("--min-overlap", type=float, default=0.51, help="the retrieval's gate (0.51)")
    parser.add_argument("--into", help="where finished cells are kept; what is there isn't measured again")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser.parse_args(argv)
