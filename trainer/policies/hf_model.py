"""Opening any causal language model of transformers: where it runs, in which type, whole or through LoRA (K15)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors import SafetensorError
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

from core.foundation.errors import UsageError

Dtype = Literal["auto", "float32", "bfloat16", "mixed"]
Device = Literal["auto", "cpu", "cuda", "mps"]

# A path is opened, a hub never asked: what is not on this disk is said to be missing.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
logging.disable_progress_bar()
# Code that a folder brings along is never run; unsaid, transformers would ask whoever sits at the terminal.
_GUARDED: Mapping[str, Any] = {"local_files_only": True, "trust_remote_code": False}


@dataclass(frozen=True, slots=True)
class Lora:
    """Low-rank adapters on every linear layer. With them off, the model is the one that was opened, bit for bit."""

    rank: int = 32
    alpha: int = 64
    targets: str = "all-linear"


def pick_device(wanted: str = "auto") -> torch.device:
    """Return the device; `auto` takes cuda, then mps, then cpu. Raises UsageError where a named one isn't there."""
    here = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if wanted == "auto":
        return torch.device(next(name for name, there in here.items() if there))
    kind = wanted.partition(":")[0]
    if not here.get(kind, False):
        there = ", ".join(name for name, there in here.items() if there)
        raise UsageError(f"There is no device {wanted!r} here.", hint=f"Here: {there}; or device auto.")
    return torch.device(wanted)


def pick_dtype(wanted: Dtype, device: torch.device, *, lora: bool) -> Dtype:
    """Resolve `auto`.

    A CPU and mps compute in float32. On cuda a frozen base under LoRA is held in bfloat16, its adapters in float32;
    a model that is trained whole keeps float32 weights and computes in bfloat16 ("mixed"): at Table 4's learning
    rate of 1e-6 an update of a bfloat16 weight rounds to nothing.
    """
    if wanted != "auto":
        return wanted
    # Older GPUs emulate bfloat16, slower than they compute in float32.
    if device.type != "cuda" or not torch.cuda.is_bf16_supported(including_emulation=False):
        return "float32"
    return "bfloat16" if lora else "mixed"


def storage(dtype: Dtype) -> torch.dtype:
    """Return the type in which the weights are held."""
    return torch.bfloat16 if dtype == "bfloat16" else torch.float32


def open_model(path: Path, *, device: torch.device, dtype: Dtype, tokenizer: Path | None = None) -> tuple[Any, Any]:
    """Return the model of a Hugging Face folder, and its tokenizer or that of the folder `tokenizer`.

    Raises UsageError saying what is missing.
    """
    if not (path / "config.json").is_file():
        raise UsageError(
            f"{path} holds no model: there is no config.json.",
            hint="Give the folder of a Hugging Face model that is on this machine.",
        )
    try:
        words = AutoTokenizer.from_pretrained(tokenizer or path, **_GUARDED)
        model = AutoModelForCausalLM.from_pretrained(path, dtype=storage(dtype), **_GUARDED)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise UsageError(f"The model in {path} can't be opened: {error}.", hint="Is the folder complete?") from error
    if not words("word", add_special_tokens=False)["input_ids"]:  # what transformers gives where no file is
        raise UsageError(f"{tokenizer or path} holds no tokenizer.", hint="It has files such as tokenizer.json.")
    return model.to(device), words


def with_adapter(model: Any, lora: Lora, *, seed: int) -> PeftModel:
    """Return the model under fresh adapters, which change nothing yet; only they are trained."""
    devices = [model.device.index or 0] if model.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        config = LoraConfig(
            r=lora.rank,
            lora_alpha=lora.alpha,
            lora_dropout=0.0,
            target_modules=lora.targets,
            task_type="CAUSAL_LM",
        )
        return get_peft_model(model, config)


def open_adapter(model: Any, directory: Path) -> PeftModel:
    """Return the model under the adapters that were saved in `directory`, ready to be trained further."""
    return PeftModel.from_pretrained(model, str(directory), is_trainable=True)


def save_base(model: PeftModel, directory: Path) -> None:
    """Write the frozen model under the adapters as an ordinary folder."""
    base: Any = model.get_base_model()
    plain = {
        name.replace(".base_layer.", "."): weight for name, weight in base.state_dict().items() if ".lora_" not in name
    }
    base.save_pretrained(directory, state_dict=plain)


def compute_twice(model: Any) -> None:
    """Keep few activations and compute the others again for the backward pass."""
    # transformers 5.24 renamed it; older ones of the range know only the long name.
    enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
    enable({"use_reentrant": False})


def stop_ids(model: Any, tokenizer: Any) -> tuple[int, ...]:
    """Return every token that ends an answer. Raises UsageError where the model names none."""
    named = getattr(model.generation_config, "eos_token_id", None)
    found = {tokenizer.eos_token_id, *(named if isinstance(named, list) else [named])} - {None}
    if not found:
        raise UsageError("The model names no token that ends an answer.", hint="Set eos_token_id in its config.json.")
    return tuple(sorted(found))


def sizes(model: Any) -> Mapping[str, int]:
    """Return the numbers of all parameters and of those that are trained."""
    weights = list(model.parameters())
    return {
        "parameters": sum(weight.numel() for weight in weights),
        "trained": sum(weight.numel() for weight in weights if weight.requires_grad),
    }
