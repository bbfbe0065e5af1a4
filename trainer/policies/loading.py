"""Opening and making policies by their kind; each kind's module is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from core.foundation import strict_json
from core.foundation.errors import DamagedError, NotFoundError, UsageError
from core.foundation.visible import visible_line
from trainer.policies.policy import Policy

KINDS = {"tiny": "trainer.policies.tiny", "hf": "trainer.policies.hf"}


def make_policy(kind: str, world: str, *, seed: int, **options: Any) -> Policy:
    """Return a policy that isn't trained yet: `make(world, seed=..., **options)` of the kind's module."""
    if kind not in KINDS:
        raise UsageError(f"There is no kind of policy {kind!r}.", hint=f"Kinds: {', '.join(KINDS)}.")
    policy: Policy = import_module(KINDS[kind]).make(world, seed=seed, **options)
    return policy


def open_policy(directory: Path) -> Policy:
    """Return the policy that was saved in `directory`: a policy.json, or a Hugging Face folder (config.json).

    Raises NotFoundError where there is none, DamagedError where it can't be read.
    """
    head: Any = {}
    shown = visible_line(str(directory))
    try:
        head = strict_json.parse((directory / "policy.json").read_bytes())
    except FileNotFoundError as error:
        if not (directory / "config.json").is_file():
            raise NotFoundError(
                f"There is no policy in {shown}.", hint="Name a checkpoint's folder or a Hugging Face folder."
            ) from error
        head = {"kind": "hf"}
    except ValueError as error:
        raise DamagedError(f"The policy.json in {shown} cannot be read: {error}", hint="Export it again.") from error
    kind = head.get("kind") if isinstance(head, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise DamagedError(
            f"The policy.json in {shown} names no kind that is known.", hint=f"Kinds: {', '.join(KINDS)}."
        )
    module = import_module(KINDS[kind])
    from safetensors import SafetensorError  # there where a policy is

    try:
        policy: Policy = module.open_policy(directory, head)
    except (LookupError, OSError, RuntimeError, SafetensorError, TypeError, ValueError) as error:
        raise DamagedError(
            f"The policy in {shown} cannot be opened: {visible_line(str(error))[:300]}",
            hint="Its files are torn, or those of another policy; export it again, or take another checkpoint.",
        ) from error
    return policy
