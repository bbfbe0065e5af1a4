"""`python -P -m trainer ablate`: what each part of the method is worth here (CURATION 1.7, K14).

The full method, and each part left out, over the same seeds. What the spread of the seeds does not bear is called so,
and no order is claimed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from core.foundation import strict_json
from core.foundation.errors import ExuviaError, UsageError
from core.foundation.visible import visible_line
from core.state import atomic
from core.state.paths import DEFAULT_PROJECT, HomePaths, resolve_home
from trainer.commands.run import setting
from trainer.presets import resolve
from trainer.study import Cell, contrasts, percent, plus_minus, run_cells, table_lines

ARMS: Mapping[str, Mapping[str, Any]] = {
    "full": {},
    "-content": {"reward.content": 0.0},
    "-compression": {"reward.compression": 0.0},
    "-grouping": {"group.by": "random"},
    "+std": {"grpo.std": True},
}
"""Each arm's settings over the preset; "-content" is the paper's "- r_cnt", "-compression" its "- r_comp"."""

FEWEST = 5
"""Seeds an arm, at least: one run of an arm says nothing (CURATION 2c finding 4)."""


def main(argv: list[str]) -> int:
    """Run what is left of the study, print the table, and return the exit code."""
    arguments = _arguments(argv)
    try:
        return _study(arguments)
    except ExuviaError as error:
        sys.stderr.write(f"{visible_line(str(error))} {visible_line(error.hint)}\n")
        return int(error.exit_code)
    except KeyboardInterrupt:
        sys.stderr.write("Stopped; the same command goes on from here.\n")
        return 130


def _study(arguments: argparse.Namespace) -> int:
    shared = dict(setting(text) for text in arguments.set)
    names = [name.strip() for name in arguments.arms.split(",")]
    unknown = [name for name in names if name not in ARMS]
    if unknown:
        raise UsageError(f"There is no arm {unknown[0]!r}.", hint=f"Arms: {', '.join(ARMS)}.")
    if arguments.seeds < FEWEST:
        raise UsageError(f"An arm needs {FEWEST} seeds or more.", hint="Fewer show nothing but chance.")
    arms = ["full", *(name for name in names if name != "full")]
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    for arm in arms:
        resolve(arguments.preset, settings={**shared, **ARMS[arm]})
    root = study_root(arguments.into, f"ablate-{arguments.preset}")
    # Seed by seed, so that a study that is stopped early has whole rows of pairs.
    cells = [Cell(arm, seed, {**shared, **ARMS[arm]}) for seed in seeds for arm in arms]
    found = run_cells(root, arguments.preset, cells, _say(arguments.json))
    report = {arm: [found[Cell(arm, seed, {}).name] for seed in seeds] for arm in arms}
    document = {"preset": arguments.preset, "seeds": list(seeds), **told(report)}
    atomic.write_text(root / "ablation.json", strict_json.dumps(document, indent=1) + "\n")
    sys.stdout.write(
        strict_json.dumps(document, indent=1) + "\n" if arguments.json else "\n".join(lines(document)) + "\n"
    )
    return 0


def told(report: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """Return the study as JSON: each arm's values by seed, and its contrast with the full method."""
    trained = {arm: [one["heldout"]["trained"]["sr"] for one in summaries] for arm, summaries in report.items()}
    found = contrasts(trained["full"], {arm: values for arm, values in trained.items() if arm != "full"})
    return {
        "none": [one["heldout"]["none"]["sr"] for one in report["full"]],
        "arms": {
            arm: {
                "success": trained[arm],
                "steps": [one["heldout"]["trained"]["steps"] for one in summaries],
                "grouped": [one["grouped"]["trained"]["sr"] for one in summaries],
                "update_last": [one["ops"]["update"]["last"] for one in summaries],
            }
            for arm, summaries in report.items()
        },
        "contrasts": [
            {
                "arm": one.arm,
                "difference": one.difference,
                "std": one.std,
                "interval": list(one.interval) if one.interval else None,
                "minimum_detectable": one.detectable,
                "p_holm": one.p,
                "separates": one.separates,
            }
            for one in found
        ],
    }


def lines(document: Mapping[str, Any]) -> list[str]:
    """Return the table in the paper's shape, and what it bears."""
    by_arm = {one["arm"]: one for one in document["contrasts"]}
    rows: list[list[str]] = []
    for arm, values in document["arms"].items():
        one = by_arm.get(arm)
        rows.append(
            [
                arm,
                plus_minus(values["success"]),
                plus_minus(values["steps"], scale=1.0),
                plus_minus(values["grouped"]),
                "" if one is None else f"{100 * one['difference']:+.1f}",
                "" if one is None else percent(one["minimum_detectable"]),
                "" if one is None else verdict(one),
            ]
        )
    heads = ("arm", "success, mixed", "steps", "success, grouped", "against full", "detectable", "verdict")
    seeds = document["seeds"]
    none = plus_minus(document["none"])
    return [
        f"Ablation of {document['preset']}, seeds {seeds[0]} to {seeds[-1]}: mean ± standard deviation over seeds.",
        *table_lines(heads, rows),
        f"No memory: {none}. Detectable: the smallest true difference that four of five such studies would find.",
        "Where an arm doesn't separate, nothing is claimed: neither that the part helps nor that it doesn't.",
    ]


def verdict(contrast: Mapping[str, Any]) -> str:
    """Return whether the arm differs from the full method, as far as these seeds show."""
    if not contrast["separates"]:
        return "doesn't separate"
    return f"{'better' if contrast['difference'] > 0 else 'worse'} (p {contrast['p_holm']:.3f})"


def study_root(into: str | None, name: str) -> Path:
    """Return a study's directory: `into`, or one of that name in the home's default project."""
    if into:
        return Path(into).absolute()
    return HomePaths(resolve_home()).project(DEFAULT_PROJECT).own / "studies" / name


def _say(quiet: bool) -> Any:
    stream = sys.stderr if quiet else sys.stdout

    def say(text: str) -> None:
        stream.write(text + "\n")
        stream.flush()

    return say


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("exuvia train ablate")
    parser.add_argument("--preset", default="cpu-demo")
    parser.add_argument("--seeds", type=int, default=FEWEST, help=f"seeds an arm, {FEWEST} or more")
    parser.add_argument("--first-seed", type=int, default=201)
    parser.add_argument("--arms", default=",".join(ARMS), help=f"of: {', '.join(ARMS)}")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=JSON", help="a setting of every arm")
    parser.add_argument("--into", help="the study's directory; one that is there goes on")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser.parse_args(argv)
