"""`python -P -m trainer export PATH OUT`: what was learned, for use elsewhere (K19).

PATH is a run (its best checkpoint), or a checkpoint. OUT becomes an ordinary Hugging Face folder that `Auto*` opens;
adapters are merged into their base unless `--adapter` keeps them apart. A tiny policy has no such form: its own folder
is copied, and that is said. With `--skills` OUT becomes the repository of a sample rollout, a SKILL.md folder a skill.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import Any

from core.curation import training_samples
from core.foundation import strict_json
from core.foundation.errors import ExuviaError, NotFoundError, UsageError
from core.foundation.visible import visible_line
from core.skillrepo.exchange import export_skills
from core.skillrepo.skill import Skill, read
from core.state.atomic import new_folder
from trainer.commands.curate import policy_folder, run_or_path

WEIGHTS_LEFT_OUT = ("optimizer.pt", "state.json")


def main(argv: list[str]) -> int:
    """Export and say what came out; the exit code is that of the error otherwise."""
    parser = argparse.ArgumentParser("python -P -m trainer export")
    parser.add_argument("path")
    parser.add_argument("out")
    parser.add_argument("--step", type=int, help="of a run: this step's checkpoint or sample, not the best or last")
    parser.add_argument("--adapter", action="store_true", help="keep LoRA adapters apart from their base")
    parser.add_argument("--skills", action="store_true", help="export the skills of a sample rollout, not the policy")
    parser.add_argument("--group", type=int, help="with --skills: the task group whose rollout it is")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(argv)
    path, out = run_or_path(asked.path), Path(asked.out).absolute()
    try:
        if asked.skills:
            told = _skills(path, out, step=asked.step, group=asked.group)
        else:
            told = _policy(path, out, step=asked.step, merged=not asked.adapter)
    except ExuviaError as error:
        sys.stderr.write(f"{visible_line(str(error))} {visible_line(error.hint)}\n")
        return int(error.exit_code)
    sys.stdout.write(strict_json.dumps(told) + "\n" if asked.json else f"{told['says']}\n")
    return 0


def _policy(path: Path, out: Path, *, step: int | None, merged: bool) -> dict[str, Any]:
    folder = policy_folder(path if step is None else path / "checkpoints" / f"step-{step:05d}")
    new_folder(out)  # before the weights are loaded, which may take minutes
    from trainer.policies.loading import open_policy  # torch: only once there is something to export

    policy = open_policy(folder)
    if policy.kind == "hf":
        from trainer.policies.hf_export import export

        export(policy, out, merged=merged)  # type: ignore[arg-type]  # its kind says that it is an HfPolicy
        form = "a Hugging Face folder"
    else:
        shutil.copytree(folder, out, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*WEIGHTS_LEFT_OUT))
        form = "a folder that only Exuvia opens: a tiny policy writes phrases of its world and is no language model"
    return {
        "out": str(out),
        "from": str(folder),
        "kind": policy.kind,
        "worlds": list(policy.worlds),
        "says": f"{visible_line(str(out))} is {form}.",
    }


def _skills(path: Path, out: Path, *, step: int | None, group: int | None) -> dict[str, Any]:
    files = sorted((path / "samples").glob("step-*.json"))
    if step is not None:
        files = [file for file in files if file.stem == f"step-{step:05d}"]
    if not files:
        raise NotFoundError(
            f"{visible_line(path.name)} has no sample{'' if step is None else f' of step {step}'}.",
            hint="Samples are written every `sample_every` steps.",
        )
    found = training_samples.read_samples(files[-1])
    groups = {rollout.group: rollout for rollout in found.rollouts}
    if group is not None and group not in groups:
        raise UsageError(f"There is no group {group}.", hint=f"Groups: {', '.join(map(str, sorted(groups)))}.")
    rollout = groups[min(groups) if group is None else group]
    skills: list[Skill] = [read(skill.content) for skill in rollout.positions[-1].repository]
    export_skills(skills, out)
    return {
        "out": str(out),
        "from": str(files[-1]),
        "skills": [skill.title for skill in skills],
        "says": f"{visible_line(str(out))} holds {len(skills)} skills of step {found.step}, group {rollout.group} "
        f"(groups: {', '.join(map(str, sorted(groups)))}; --step and --group choose).",
    }
