"""Checkpoints: written whole or not at all, resumed bit for bit, all weights kept (K16, lesson 10).

`checkpoints/step-NNNNN/` holds the policy's own folder (model.safetensors and its head), `state.json` and, in the
newest one, `optimizer.pt`. A directory appears under its name by one rename, when everything in it is on disk.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from pickle import PickleError
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from core.curation.fields import Fields
from core.foundation import strict_json
from core.foundation.errors import DamagedError
from core.foundation.visible import visible_line
from core.state import atomic
from core.state.atomic import StorageError
from trainer.finite import require_finite_weights
from trainer.policies.policy import Policy

_NAME = re.compile(r"step-(\d{5,})")
STATE, OPTIMIZER = "state.json", "optimizer.pt"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A complete checkpoint. `state` is what the loop wrote down: step, history and the like, plain JSON."""

    path: Path
    step: int
    state: Mapping[str, Any]

    @property
    def can_resume(self) -> bool:
        return (self.path / OPTIMIZER).is_file()


def directory(root: Path, step: int) -> Path:
    """Return where the checkpoint of a step stands in a run."""
    return root / "checkpoints" / f"step-{step:05d}"


def write(
    root: Path, step: int, policy: Policy, optimizer: torch.optim.Optimizer, state: Mapping[str, Any]
) -> tuple[Path, str]:
    """Write a checkpoint and return its path and the sha256 of its weights.

    A complete one of that step with the same weights stays as it is. Raises StorageError where the disk doesn't take
    it: what stood there stands. Raises NotFiniteError for weights that are NaN.
    """
    require_finite_weights(policy.parameters())
    target = directory(root, step)
    target.parent.mkdir(parents=True, exist_ok=True)
    for left in target.parent.glob(".tmp-step-*"):  # of a kill or a full disk, whatever its step
        shutil.rmtree(left, ignore_errors=True)
    incoming = target.with_name(f".tmp-{target.name}")
    try:
        digest = _fill(incoming, step, policy, optimizer, state)
    except (OSError, RuntimeError, SafetensorError, StorageError) as error:  # torch and safetensors have their own
        shutil.rmtree(incoming, ignore_errors=True)
        told = visible_line(str(error)).partition(" (file system")[0] or type(error).__name__
        raise StorageError(
            f"The checkpoint of step {step} cannot be written (file system {atomic.file_system_of(target)}): {told}",
            hint="Free space there, then resume the run; its earlier checkpoints are whole.",
        ) from error
    if (target / OPTIMIZER).is_file() and _state(target).get("sha256") == digest:
        shutil.rmtree(incoming)
        return target, digest
    shutil.rmtree(target, ignore_errors=True)
    incoming.rename(target)
    atomic.sync_directory(target.parent)
    for other in complete(root):
        if other.step != step:
            (other.path / OPTIMIZER).unlink(missing_ok=True)  # the weights are small and stay; this is not
    return target, digest


def _fill(incoming: Path, step: int, policy: Policy, optimizer: torch.optim.Optimizer, state: Mapping[str, Any]) -> str:
    incoming.mkdir()
    policy.save(incoming)
    torch.save({"optimizer": optimizer.state_dict(), "rng": torch.get_rng_state()}, incoming / OPTIMIZER)
    digest = weights_hash(incoming)
    atomic.write_text(incoming / STATE, strict_json.dumps({"step": step, "sha256": digest, **state}) + "\n")
    _sync(incoming)
    return digest


def complete(root: Path) -> list[Checkpoint]:
    """Return a run's complete checkpoints, oldest first."""
    found: list[Checkpoint] = []
    folder = root / "checkpoints"
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        named = _NAME.fullmatch(path.name)
        if named and (path / STATE).is_file():
            found.append(Checkpoint(path, int(named.group(1)), _state(path)))
    return sorted(found, key=lambda one: one.step)


def latest(root: Path) -> Checkpoint | None:
    """Return the newest checkpoint that a run can go on from."""
    return next((one for one in reversed(complete(root)) if one.can_resume), None)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """Return the tensors of a checkpoint's folder, by name. Raises DamagedError where it has none, or torn ones."""
    found: dict[str, torch.Tensor] = {}
    try:
        for path in sorted(folder.glob("*.safetensors")):
            found.update(load_file(path))
    except (OSError, SafetensorError) as error:
        raise DamagedError(f"The weights in {visible_line(str(folder))} cannot be read: {error}") from error
    if not found:
        raise DamagedError(
            f"There are no weights in {visible_line(str(folder))}.", hint="Was it removed? Start a new run."
        )
    return found


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run was: a record a step, held-out success by step, seconds and processor seconds that were spent."""

    history: list[dict[str, Any]]
    validated: dict[int, float]
    seconds: float
    cpu_seconds: float


def restore(checkpoint: Checkpoint, policy: Policy, optimizer: torch.optim.Optimizer) -> Progress:
    """Be where the run was when it wrote `checkpoint`: weights, optimizer, random state.

    Raises DamagedError where it is torn, was changed, or is another policy's.
    """
    try:
        state = Fields(checkpoint.state)
        if weights_hash(checkpoint.path) != state.text("sha256"):
            raise ValueError("its weights are not those that were written")
        progress = Progress(
            history=[dict(step) for step in state.items("history")],
            validated={int(step): float(share) for step, share in state.mapping("validated").items()},
            seconds=state.amount("seconds") or 0.0,
            cpu_seconds=state.amount("cpu_seconds") or 0.0,
        )
        if len(progress.history) != checkpoint.step:
            raise ValueError(f"it tells of {len(progress.history)} steps")
        policy.restore(weights(checkpoint.path))
        restore_optimizer(checkpoint, optimizer)
    except (ArithmeticError, EOFError, LookupError, OSError, PickleError, RuntimeError, SafetensorError, TypeError,
            ValueError) as error:  # fmt: skip  # what torch and safetensors say of files that aren't theirs
        told = visible_line(str(error))[:300] or type(error).__name__
        raise DamagedError(
            f"The checkpoint of step {checkpoint.step} can't be gone on from: {told}",
            hint=f"Remove {visible_line(str(checkpoint.path))} and resume, or start a new run.",
        ) from error
    return progress


def restore_optimizer(checkpoint: Checkpoint, optimizer: torch.optim.Optimizer) -> None:
    """Give the optimizer and torch's random state what they had when it was written.

    Read to the CPU first: what a GPU wrote is resumed on another one, or by several processes, each on its own; the
    optimizer then takes its state to where its parameters are.
    """
    try:
        kept = torch.load(checkpoint.path / OPTIMIZER, map_location="cpu", weights_only=True)
    except (EOFError, PickleError, RuntimeError) as error:  # whose words advise to read it unguarded
        raise ValueError(f"its {OPTIMIZER} is torn, or holds other things than tensors") from error
    optimizer.load_state_dict(kept["optimizer"])
    torch.set_rng_state(kept["rng"])


def weights_hash(folder: Path) -> str:
    """Return "sha256:..." over the weight files of a policy's folder, by name."""
    digest = sha256()
    for path in sorted(folder.glob("*.safetensors")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return f"sha256:{digest.hexdigest()}"


def _state(path: Path) -> Mapping[str, Any]:
    try:
        document = strict_json.parse((path / STATE).read_bytes())
    except ValueError as error:
        raise DamagedError(
            f"{visible_line(str(path / STATE))} cannot be read: {error}", hint="Remove this checkpoint and resume."
        ) from error
    if not isinstance(document, dict):
        raise DamagedError(f"{visible_line(str(path / STATE))} is no JSON object.", hint="Remove this checkpoint.")
    return document


def _sync(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
    atomic.sync_directory(folder)
