"""`exuvia train annotate`: describe tasks by phrases with a model, so that a run can group them (CURATION 1.5, K7)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click

from tui.cli.common import Place, json_option, place_options, print_json, say
from tui.cli.train import train


@train.command(
    "annotate",
    epilog="Example:  exuvia train annotate notes.jsonl --world reasoning --count 500 --model openai/gpt-5",
)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--model", required=True, metavar="PROVIDER/MODEL", help="Who describes the tasks.")
@click.option("--world", required=True, metavar="NAME", help="Whose tasks: reasoning, shop, household, alfworld.")
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="Of the world; repeatable.")
@click.option("--split", type=click.Choice(["train", "test"]), default="train", show_default=True, help="Of the world.")
@click.option("--count", type=click.IntRange(min=1), required=True, metavar="N", help="Tasks.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the stream that they are taken from.")
@json_option
@place_options
def annotate(
    file: Path,
    model: str,
    world: str,
    options: tuple[str, ...],
    split: str,
    count: int,
    seed: int,
    as_json: bool,
    place: Place,
) -> int:
    """Describe tasks by short phrases, for training on groups of tasks that need the same.

    FILE grows by a line a task; started again, the command goes on with the tasks that have none. Train on it with
    --set group.by=pipeline --set group.file=FILE.
    """
    from core.foundation import strict_json
    from core.state import readonly

    readonly.refuse(place.home)
    argv = [str(file), "--project", str(place.project.root), "--model", model, "--world", world, "--split", split]
    argv += ["--count", str(count), "--seed", str(seed)]
    argv += [part for pair in options for part in ("--option", pair)]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "trainer", "annotate", *argv], stdout=subprocess.PIPE, check=False
    )
    if not done.stdout.strip():
        return done.returncode
    counts = strict_json.parse(done.stdout)
    if as_json:
        print_json(counts)
    else:
        say(
            f"{counts['kept']} of {counts['tasks']} tasks are described in {file}; for {counts['refused']} no "
            f"description could be used, and for {counts['unreached']} the model was not reached."
        )
    return done.returncode
