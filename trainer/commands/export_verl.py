"""`python -P -m trainer export-verl`: write a run for verl on Ray."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from core.foundation import strict_json
from core.foundation.errors import ExuviaError, UsageError
from trainer.presets import resolve
from trainer.verl.config import Machines, export


def main(argv: list[str]) -> int:
    """Write the folder and name its files; exit code 2 with a reason where it can't be."""
    parser = argparse.ArgumentParser(prog="trainer export-verl")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--preset", required=True)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--model", required=True, help="the base model: a folder or a name that the machines can load")
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=JSON")
    parser.add_argument("--project", type=Path, help="the Project's folder that names an executor PROVIDER/MODEL")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--gpus", type=int, default=8, help="GPUs of each node")
    parser.add_argument("--tensor-parallel", type=int, default=1)
    parser.add_argument("--gpu-memory", type=float, default=0.5, help="share of each GPU for the rollout server")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(argv)
    try:
        training = resolve(asked.preset, seed=asked.seed, settings=dict(map(_setting, asked.settings)))
        machines = Machines(asked.nodes, asked.gpus, asked.tensor_parallel, asked.gpu_memory)
        files = export(training, asked.directory, machines, model=asked.model, project=asked.project)
    except ExuviaError as error:
        sys.stderr.write(f"{error}\n{error.hint}\n" if error.hint else f"{error}\n")
        return int(error.exit_code)
    if asked.json:
        sys.stdout.write(strict_json.dumps({"files": [str(file) for file in files]}) + "\n")
    else:
        sys.stdout.write("".join(f"wrote {file}\n" for file in files))
        sys.stdout.write(f"On the head node of the cluster: {asked.directory / 'run.sh'}\n")
    return 0


def _setting(text: str) -> tuple[str, object]:
    key, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--set takes KEY=VALUE, not {text!r}.", hint="For example --set grpo.beta=0.001")
    try:
        return key, strict_json.parse(value)
    except ValueError:
        return key, value
