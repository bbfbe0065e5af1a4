"""The presets by name, and Table 4 of the paper to compare a run with (CURATION 1.4, K12)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.foundation.errors import UsageError
from trainer.settings import AMBIGUOUS, Training, problem_of, table, with_settings


@dataclass(frozen=True, slots=True)
class Preset:
    """A named run. `settings` are flat keys over the defaults; `needs` says what must be there beside torch."""

    name: str
    summary: str
    settings: Mapping[str, Any]
    needs: str = ""


_TABLE4: Mapping[str, Any] = {
    "optimizer.lr": 1e-6,
    "group.batch": 32,
    "group.rollouts": 8,
    "grpo.temperature": 1.0,
    "grpo.beta": 0.001,
    "max_prompt": 16_384,
    "max_response": 4_096,
    "retrieval.top_k": 5,
}
TABLE4: Mapping[str, Mapping[str, Any]] = {
    "alfworld": {
        **_TABLE4,
        "steps": 60,
        "group.smallest": 10,
        "group.largest": 10,
        "executor.max_turns": 30,
        "executor.history": 3,
    },
    "webshop": {
        **_TABLE4,
        "steps": 50,
        "group.smallest": 10,
        "group.largest": 10,
        "executor.max_turns": 30,
        "executor.history": 3,
    },
    # One turn a problem: no history of actions.
    "reasoning": {**_TABLE4, "steps": 100, "group.smallest": 5, "group.largest": 12, "executor.max_turns": 1},
}
"""Table 4, column by column, in our keys."""

_PAPER: Mapping[str, Any] = {
    "policy.kind": "hf",
    "reward.task": 1.0,
    "reward.calls": 1.0,
    "reward.content": 0.1,
    "reward.compression": 0.05,
    "grpo.epsilon": 0.2,
    "grpo.std": False,
    "retrieval.min_overlap": 0.0,
    "evaluate_every": 5,
    "checkpoint_every": 5,
    "device": "cuda",
    # Trained whole, a model keeps float32 weights and computes in bfloat16: a step of 1e-6 is lost in a bfloat16
    # weight. Under adapters its frozen weights are bfloat16.
    "dtype": "auto",
}

PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "cpu-demo",
            "A tiny curator learns the household world from scratch, in minutes, on two cores and without a download.",
            {
                "world": "household",
                "executor.name": "weak",
                "policy.kind": "tiny",
                "policy.options.width": 96,
                "policy.options.layers": 2,
                "imitation.steps": 160,
                "imitation.demonstrations": 4_000,
                "steps": 100,
                # Three tasks of ten are of any family, as in the mixed streams that it will serve: without them some
                # seeds keep one skill for everything.
                "group.strangers": 0.3,
                "optimizer.lr": 5e-4,
                # Adam's first steps are as long as its later ones, and as noisy as one batch: without a gentle start
                # they unlearn how an update is spelt, and only inserts are left to be paid for.
                "optimizer.warmup": 5,
                "optimizer.beta2": 0.99,
                "retrieval.min_overlap": 0.51,
                "max_prompt": 136,
                "max_response": 34,
                "threads": 1,  # its matrices are too small for more
            },
        ),
        Preset(
            "qwen3-tiny-ci",
            "A small random Qwen3 is trained to make valid calls: the path of large models, in small.",
            {
                "world": "household",
                "executor.name": "weak",
                "policy.kind": "hf",
                "policy.path": "tiny",
                "policy.options.hidden": 128,
                "policy.options.layers": 3,
                "policy.options.heads": 2,
                "policy.options.intermediate": 384,
                # Long enough that calls are well formed: what is left to learn is to update what is there, not to
                # insert it again. After fewer, some seeds copy titles badly yet, and rewards of 0 ruin them.
                "imitation.steps": 450,
                "imitation.updates": 0.3,
                "imitation.demonstrations": 4_000,
                "imitation.batch": 16,
                "imitation.lr": 2e-3,
                "imitation.decay": 0.1,
                "imitation.beta2": 0.95,
                "steps": 30,
                "group.batch": 32,
                "group.rollouts": 8,
                "group.smallest": 4,
                "group.largest": 4,
                # Four tasks say little of a skill's worth: at its full weight their luck drowns what is to be learnt.
                "reward.task": 0.2,
                # Twice as much breaks the form of calls.
                "optimizer.lr": 5e-4,
                "optimizer.warmup": 3,
                "optimizer.beta2": 0.99,
                "optimizer.decay": 0.5,
                "retrieval.min_overlap": 0.51,
                "evaluate_every": 0,
                "checkpoint_every": 10,
                # Measured as it is rolled out: at the same temperature, in groups of the same size.
                "evaluation.temperature": 1.0,
                "evaluation.streams": 8,
                "evaluation.tasks": 6,
                "evaluation.groups": 48,
                # Room for the skills in view and the two ends of a trajectory.
                "max_prompt": 432,
                "max_response": 96,
                "threads": 1,
            },
        ),
        Preset(
            "smollm2-135m",
            "SmolLM2-135M by its folder: a small real language model as curator, for a GPU or for patience.",
            {
                "world": "household",
                "executor.name": "weak",
                "policy.kind": "hf",
                "steps": 40,
                "optimizer.lr": 1e-5,
                "retrieval.min_overlap": 0.51,
                "max_prompt": 2_048,
                "max_response": 384,
            },
            needs="policy.path, the folder of SmolLM2-135M-Instruct",
        ),
        Preset(
            "qwen3-8b-lora-1gpu",
            "Qwen3-8B with LoRA on one large GPU: adapter on it curates, adapter off it is the reference.",
            {
                **_PAPER,
                "world": "household",
                "executor.name": "weak",
                "policy.options.lora_rank": 32,
                # Of 80 GiB 17 hold weights and adapters; as much as the cache takes, reading eight long prompts takes.
                "policy.options.memory_gb": 24.0,
                "policy.options.checkpointing": True,
                "optimizer.lr": 1e-5,
                "steps": 60,
                "max_prompt": 16_384,
                "max_response": 4_096,
            },
            needs="a GPU with 80 GiB or more, and policy.path, the folder of Qwen3-8B",
        ),
        Preset(
            "alfworld-table4",
            "The paper's ALFWorld run, Table 4 to the letter.",
            {**_PAPER, **TABLE4["alfworld"], "world": "alfworld"},
            needs="GPUs, the extra alfworld, policy.path (Qwen3-8B), and executor.name PROVIDER/MODEL",
        ),
        Preset(
            "webshop-table4",
            "The paper's WebShop run, Table 4 to the letter, on the shop world.",
            {**_PAPER, **TABLE4["webshop"], "world": "shop"},
            needs="GPUs, policy.path (Qwen3-8B), and executor.name PROVIDER/MODEL",
        ),
        Preset(
            "reasoning-table4",
            "The paper's reasoning run, Table 4 to the letter, with groups of Table 5's pipeline.",
            {**_PAPER, **TABLE4["reasoning"], "world": "reasoning", "group.by": "pipeline"},
            needs="GPUs, the extra reasoning, policy.path (Qwen3-8B), executor.name PROVIDER/MODEL, and group.file",
        ),
    )
}


def resolve(name: str, *, seed: int | None = None, settings: Mapping[str, Any] | None = None) -> Training:
    """Return a preset with other values of some keys. Raises UsageError naming what can't be."""
    if name not in PRESETS:
        raise UsageError(f"There is no preset {name!r}.", hint=f"Presets: {', '.join(PRESETS)}.")
    training = with_settings(Training(), PRESETS[name].settings)
    training = with_settings(training, {"preset": name, **(settings or {})})
    if seed is not None:
        training = with_settings(training, {"seed": seed})
    if problem := problem_of(training):
        raise UsageError(f"This can't be trained: {problem}.", hint=f"It began from the preset {name}.")
    return training


def column_of(training: Training) -> str:
    """Return which column of Table 4 a run is nearest to."""
    return {"shop": "webshop", "webshop": "webshop", "reasoning": "reasoning"}.get(training.world, "alfworld")


def differences(training: Training) -> dict[str, tuple[Any, Any]]:
    """Return where a run departs from its column of Table 4: key to (its value, the table's)."""
    ours = table(training)
    return {key: (ours[key], value) for key, value in TABLE4[column_of(training)].items() if ours[key] != value}


def resolved_lines(training: Training) -> list[str]:
    """Return what is printed before a run: every key, marked where the paper leaves it open or has another value."""
    changed, open_keys = differences(training), {one.key for one in AMBIGUOUS}
    lines = [f"Preset {training.preset}, seed {training.seed}. Compared with Table 4, column {column_of(training)}."]
    for key, value in table(training).items():
        mark = "[amb]" if key in open_keys else ""
        other = f"   Table 4: {changed[key][1]}" if key in changed else ""
        lines.append(f"  {key:30} {value!s:22} {mark:5}{other}".rstrip())
    return lines
