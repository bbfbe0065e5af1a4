"""Writing a run for verl 0.9: configuration, agent loop, task rows, launch script (CURATION 2d, K20).

Counting traps, each met by a key here:
- `data.train_batch_size` counts prompts, which are task groups: 4, not 32.
- `actor.ppo_mini_batch_size` is multiplied by `rollout.n` and then counts rows; a rollout of ours is |G| rows, so one
  optimizer step over a whole batch of 4 groups of 10 tasks needs 40, and verl accepts that only with dynamic batches.
- GRPO divides by the standard deviation unless told otherwise, and samples are shuffled by the data loader.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from core.foundation.errors import UsageError
from core.foundation.strict_json import dumps
from core.foundation.visible import visible_line
from core.state.atomic import new_folder, write_text
from trainer.settings import Training, table

VERL = "verl==0.9.1"
AGENT = "exuvia_curator"
LOOP = "trainer.verl.agent_loop.CuratorAgentLoop"


@dataclass(frozen=True, slots=True)
class Machines:
    """What verl runs on. Raises UsageError for machines that can't be."""

    nodes: int = 1
    gpus: int = 8
    tensor_parallel: int = 1
    gpu_memory: float = 0.5  # of each GPU for the rollout server, beside the actor

    def __post_init__(self) -> None:
        for name, value in (("nodes", self.nodes), ("GPUs", self.gpus), ("tensor parallel", self.tensor_parallel)):
            if value < 1:
                raise UsageError(f"{value} {name} can't be.", hint="Say 1 or more.")
        if self.nodes * self.gpus % self.tensor_parallel:
            raise UsageError(
                f"{self.nodes * self.gpus} GPUs can't be shared out in groups of {self.tensor_parallel}.",
                hint="Say a --tensor-parallel that divides nodes x GPUs.",
            )
        if not 0 < self.gpu_memory < 1:  # also what is no number
            raise UsageError(
                f"The rollout server can't have {self.gpu_memory:g} of a GPU's memory.", hint="Say a share, as 0.5."
            )


def overrides(training: Training, machines: Machines, *, model: str, data: str, agent: str) -> dict[str, Any]:
    """Return verl's keys that differ from its defaults, dotted, in a fixed order.

    `model`, `data` and `agent` are paths as the machines see them. Raises UsageError where verl can't do what is asked.
    """
    if training.grpo.ratio != "token":
        raise UsageError(
            f"verl's default loss has one ratio a token, not {training.grpo.ratio!r}.", hint="Set grpo.ratio to token."
        )
    group, longest = training.group, training.max_prompt + training.max_response
    rows = group.groups * group.largest
    lora = int(training.policy.options.get("lora_rank", 0))
    actor, rollout = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
    keys: dict[str, Any] = {
        "algorithm.adv_estimator": "grpo",
        "algorithm.norm_adv_by_std_in_grpo": training.grpo.std,
        "algorithm.use_kl_in_reward": False,
        "data.train_files": f"{data}/groups.jsonl",
        "data.val_files": f"{data}/groups.jsonl",
        "data.train_batch_size": group.groups,
        "data.max_prompt_length": training.max_prompt,
        "data.max_response_length": training.max_response,
        "data.return_raw_chat": True,
        "data.filter_overlong_prompts": False,
        "data.shuffle": False,
        "actor_rollout_ref.model.path": model,
        "actor_rollout_ref.model.enable_gradient_checkpointing": True,
        "actor_rollout_ref.model.use_remove_padding": True,
        f"{actor}.optim.lr": training.optimizer.lr,
        f"{actor}.optim.weight_decay": training.optimizer.weight_decay,
        f"{actor}.optim.lr_warmup_steps": training.optimizer.warmup,
        f"{actor}.ppo_mini_batch_size": -(-rows // training.grpo.minibatches),
        f"{actor}.use_dynamic_bsz": True,
        f"{actor}.ppo_max_token_len_per_gpu": longest,
        f"{actor}.ppo_epochs": 1,
        f"{actor}.shuffle": True,
        f"{actor}.data_loader_seed": training.seed,
        f"{actor}.clip_ratio": training.grpo.epsilon,
        f"{actor}.clip_ratio_low": training.grpo.epsilon,
        f"{actor}.clip_ratio_high": training.grpo.epsilon,
        f"{actor}.grad_clip": training.grpo.max_gradient_norm,
        f"{actor}.loss_agg_mode": "token-mean" if training.grpo.loss_mean == "token" else "seq-mean-token-mean",
        f"{actor}.entropy_coeff": 0,
        f"{actor}.use_kl_loss": training.grpo.beta > 0,
        f"{actor}.kl_loss_coef": training.grpo.beta,
        f"{actor}.kl_loss_type": "low_var_kl",
        f"{rollout}.name": "vllm",
        f"{rollout}.n": group.rollouts,
        f"{rollout}.temperature": training.grpo.temperature,
        f"{rollout}.seed": training.seed,
        f"{rollout}.calculate_log_probs": True,
        f"{rollout}.max_model_len": longest,
        f"{rollout}.max_num_batched_tokens": max(8_192, longest),
        f"{rollout}.tensor_model_parallel_size": machines.tensor_parallel,
        f"{rollout}.gpu_memory_utilization": machines.gpu_memory,
        f"{rollout}.agent.default_agent_loop": AGENT,
        f"{rollout}.agent.agent_loop_config_path": agent,
        "trainer.use_v1": True,
        "trainer.v1.trainer_mode": "sync",
        "trainer.nnodes": machines.nodes,
        "trainer.n_gpus_per_node": machines.gpus,
        "trainer.total_epochs": 1,
        "trainer.total_training_steps": training.steps,
        "trainer.save_freq": training.checkpoint_every or -1,
        "trainer.test_freq": -1,
        "trainer.val_before_train": False,
        "trainer.logger": ["console"],
        "trainer.project_name": "exuvia",
        "trainer.experiment_name": f"{training.preset or training.world}-seed{training.seed}",
    }
    if lora:
        keys |= {
            "actor_rollout_ref.model.lora_rank": lora,
            "actor_rollout_ref.model.lora_alpha": int(training.policy.options.get("lora_alpha", 0)) or 2 * lora,
            "actor_rollout_ref.model.target_modules": "all-linear",
            f"{rollout}.load_format": "safetensors",
        }
    return keys


def export(
    training: Training, directory: Path, machines: Machines, *, model: str, project: Path | None = None
) -> tuple[Path, ...]:
    """Write what verl needs into `directory`, which every machine must see under the same path; return the files.

    `project` is the folder of the Project that configures an executor or judge named PROVIDER/MODEL, as the machines
    see it.

    Raises ConflictError where something is in it already, StorageError where it can't be written, UsageError for a
    model that is no name.
    """
    if not model.strip() or not model.isprintable():
        raise UsageError(
            f"{visible_line(model)!r} is no name of a model.", hint="Say a folder or a name that the machines can load."
        )
    new_folder(directory)
    place = str(directory.resolve())
    keys = overrides(training, machines, model=model, data=place, agent=f"{place}/agent.yaml")
    files = {
        "config.yaml": _HEAD + _yaml(nested(keys)),
        "agent.yaml": _yaml(
            [
                {
                    "name": AGENT,
                    "_target_": LOOP,
                    "training": dumps(table(training)),
                    "project": str(project or directory.resolve()),
                }
            ]
        ),
        "groups.jsonl": "".join(dumps(row) + "\n" for row in rows_of(training)),
        "run.sh": _RUN,
        "README.md": _README.format(verl=VERL, groups=training.group.groups, rollouts=training.group.rollouts),
    }
    for name, text in files.items():
        write_text(directory / name, text, mode=0o755 if name == "run.sh" else None)
    return tuple(directory / name for name in files)


def rows_of(training: Training) -> list[dict[str, Any]]:
    """Return the rows of the data set: one a task group, in the order that the steps take them.

    verl wants a prompt in each; the agent loop makes its own.
    """
    count = training.group.groups
    return [
        {
            "prompt": [{"role": "user", "content": f"{training.world}: step {step}, group {group}"}],
            "data_source": "exuvia",
            "agent_name": AGENT,
            "extra_info": {"index": step * count + group},
            "step": step,
            "group": group,
        }
        for step in range(training.steps)
        for group in range(count)
    ]


def nested(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return dotted keys as the tree they name."""
    tree: dict[str, Any] = {}
    for key, value in keys.items():
        *path, last = key.split(".")
        at = tree
        for part in path:
            at = at.setdefault(part, {})
        at[last] = value
    return tree


def _yaml(value: Any) -> str:
    text: str = yaml.safe_dump(value, sort_keys=False, default_flow_style=False, allow_unicode=True, width=10_000)
    return text


_HEAD = """\
# Written by exuvia. What stands here differs from verl's own ppo_trainer.yaml; everything else is verl's default.
hydra:
  searchpath:
    - pkg://verl.trainer.config
defaults:
  - ppo_trainer
  - _self_
"""

_RUN = """\
#!/usr/bin/env bash
# Start the run from the head node of a Ray cluster, or on one machine. More keys of verl may follow.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
exec python3 -m verl.trainer.main_ppo --config-path "$here" --config-name config "$@"
"""

_README = """\
# A run for verl

In an environment of its own (verl wants another torch than exuvia's trainer) on every machine:

    pip install '{verl}' vllm
    pip install --no-deps exuvia        # the agent loop: trainer.verl.agent_loop, with the worlds and the reward
    pip install pydantic pyyaml httpx rank-bm25 tomlkit psutil jinja2

This folder must be seen under the same path by all of them. Then, on the head node:

    ./run.sh

Each step takes {groups} task groups with {rollouts} rollouts each. A rollout is one session of the agent loop with as
many outputs as its group has tasks; verl gives them one advantage. Its checkpoints are under `checkpoints/exuvia/`;
`python -m verl.model_merger merge` makes a Hugging Face folder of one, and `exuvia stream run --curator` takes that.

What verl does otherwise than exuvia's own loop: the actor recomputes the old log-probabilities; negative advantages are
clipped once more at a ratio of 3 (`clip_ratio_c`); a reward term that one rollout lacks counts nothing instead of its
group's mean; and no event reaches the console.
"""
