"""`python -P -m trainer curate PATH`: a trained policy that answers another process, a line of JSON each.

PATH is a training run (its best checkpoint answers), a checkpoint, or an exported folder. The protocol is
core.curation.curator_serving's.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from core.curation.curator_serving import serve_pipes
from core.foundation import strict_json
from core.foundation.errors import ExuviaError, NotFoundError
from core.foundation.visible import visible_line
from core.state.paths import DEFAULT_PROJECT, HomePaths, resolve_home

TEMPERATURE = 0.7
"""What a policy answers with where nobody says; the same as in a run's own measurements."""


def main(argv: list[str]) -> int:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser("python -P -m trainer curate")
    parser.add_argument("path")
    parser.add_argument("--temperature", type=float, default=TEMPERATURE)
    arguments = parser.parse_args(argv)
    try:
        folder = policy_folder(run_or_path(arguments.path))
        from trainer.policies.curator import PolicyCurator  # torch: only once there is something to load
        from trainer.policies.loading import open_policy

        policy = open_policy(folder)
    except ExuviaError as error:
        sys.stderr.write(f"{visible_line(str(error))} {visible_line(error.hint)}\n")
        return 2
    serve_pipes(PolicyCurator(policy, folder.name, temperature=arguments.temperature))
    return 0


def run_or_path(text: str) -> Path:
    """Return the path that `text` is, or the directory of the run in the home's default project that it names."""
    path = Path(text).absolute()
    if path.exists() or Path(text).name != text:
        return path
    run = HomePaths(resolve_home()).project(DEFAULT_PROJECT).training / text
    return run if run.is_dir() else path


def policy_folder(path: Path) -> Path:
    """Return the folder of weights that `path` means: of a run its best checkpoint, else the path itself.

    The best is the one that a finished run measured as "trained", of another run the newest. Raises NotFoundError.
    """
    checkpoints = path / "checkpoints"
    if not checkpoints.is_dir():
        if path.is_dir():
            return path
        raise NotFoundError(f"There is nothing at {visible_line(str(path))}.", hint="Name a run or a checkpoint.")
    try:
        summary = strict_json.parse((path / "summary.json").read_bytes())
        best = path / str(summary["checkpoint"]["path"])
        if best.is_dir():
            return best
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        pass  # the run isn't finished: its newest weights answer
    kept = sorted(one for one in checkpoints.iterdir() if one.name.startswith("step-"))
    if not kept:
        raise NotFoundError(f"The run {visible_line(path.name)} has no checkpoint yet.", hint="Wait for its first one.")
    return kept[-1]
