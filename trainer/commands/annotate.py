"""`python -P -m trainer annotate ...`: annotate a world's tasks with a model, for grouping by Table 5 (CURATION 1.5).

The file grows by one line a task; started again, the command goes on with the tasks that have none. What it couldn't
reach or had to refuse is counted and said.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from core.curation.asking import Model, model_named
from core.curation.worlds import Task
from core.foundation.errors import ExitCode, ExuviaError, UsageError
from core.foundation.visible import visible_line
from core.models.interface import ProviderError
from core.state.paths import ProjectPaths
from trainer.grouping import annotation_file
from trainer.grouping.annotator import annotate
from trainer.worlds import WORLDS, open_world

_BATCH = 32


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -P -m trainer annotate", description=__doc__)
    parser.add_argument("file", type=Path, help="JSON lines, added to")
    parser.add_argument("--project", type=Path, required=True, help="project directory, whose models may be named")
    parser.add_argument("--model", required=True, metavar="PROVIDER/MODEL")
    parser.add_argument("--world", required=True, choices=sorted(WORLDS))
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="option of the world")
    parser.add_argument("--split", choices=("train", "test"), default="train")
    parser.add_argument("--count", type=int, required=True, help="tasks of the stream")
    parser.add_argument("--seed", type=int, default=0, help="seed of the stream")
    return parser


def options_of(pairs: list[str]) -> dict[str, str]:
    """Return the world's options. Raises UsageError for one without "="."""
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"--option {visible_line(pair)} is not NAME=VALUE.")
        found[name] = value
    return found


def run(path: Path, model: Model, tasks: tuple[Task, ...]) -> dict[str, int]:
    """Annotate what isn't annotated yet; return how many are kept, refused and were not reached.

    Raises ProviderError where asking on is in vain; what came until then is kept.
    """
    known = annotation_file.load(path) if path.exists() else {}
    if known and (hurt := annotation_file.torn(path)):
        sys.stderr.write(
            f"{hurt} lines of {visible_line(str(path))} can't be read; their tasks are asked about again\n"
        )
    left = [
        task for task in tasks if task.id not in known or known[task.id].text_sha256 != annotation_file.hash_of(task)
    ]
    unreached, why = 0, ""
    for at in range(0, len(left), _BATCH):
        came = annotate(model, left[at : at + _BATCH])
        for made in came:
            if isinstance(made, ProviderError):
                unreached, why = unreached + 1, str(made)
                continue
            annotation_file.append(path, made)
            known[made.task] = made
        lost = [made for made in came if isinstance(made, ProviderError)]
        if len(lost) == len(came) and any(made.permanent for made in lost):
            raise next(made for made in lost if made.permanent)  # a refused key, say: all others would be lost too
        done = len(tasks) - len(left) + min(at + _BATCH, len(left))
        sys.stderr.write(f"{done} of {len(tasks)} tasks\n")
    if unreached:
        sys.stderr.write(f"{unreached} tasks were not reached, the last one: {visible_line(why)}\n")
    ours = [known[task.id] for task in tasks if task.id in known]
    kept = sum(annotation.attributes is not None for annotation in ours)
    return {"tasks": len(tasks), "kept": kept, "refused": len(ours) - kept, "unreached": unreached}


def main(argv: list[str]) -> int:
    """Annotate; the counts go to standard output as JSON. Exit code 1 where some tasks were not reached."""
    args = _parser().parse_args(argv)
    try:
        world = open_world(args.world, **options_of(args.option))
        model = model_named(ProjectPaths(args.project.resolve()), args.model)
        counts = run(args.file, model, world.stream(args.split, args.seed, args.count))
    except ExuviaError as error:
        sys.stderr.write(visible_line(f"{error} {error.hint}".strip()) + "\n")
        return int(error.exit_code)
    sys.stdout.write(json.dumps(counts) + "\n")
    return int(ExitCode.DONE if not counts["unreached"] else ExitCode.FAILED)
