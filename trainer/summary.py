"""What a run came to, as one JSON object: `summary.json`, and what `exuvia train --json` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from core.curation.worlds import World
from trainer.evaluate import Measurement, compared, gap_closed
from trainer.rewards import TERMS
from trainer.settings import Training

WINDOW = 5
"""First and last values are means over this many steps."""


def summary_of(
    training: Training,
    world: World,
    measured: Sequence[Measurement],
    history: Sequence[Mapping[str, Any]],
    *,
    best: Path,
    best_step: int,
    validated: Mapping[int, float],
    wall_s: float,
    cpu_s: float,
) -> dict[str, Any]:
    """Return the summary. `measured` holds the arms none, oracle, base and trained, mixed and grouped."""
    by_name = {(one.stream, one.arm): one for one in measured}
    mixed = {arm: by_name["mixed", arm] for arm in ("none", "base", "trained", "oracle")}
    success = {arm: one.success_micro for arm, one in mixed.items()}
    return {
        "preset": training.preset,
        "seed": training.seed,
        "seeds": [training.seed],
        "world": world.name,
        "fingerprint": world.fingerprint,
        "executor": training.executor.name,
        "heldout": {arm: mixed[arm].summary() for arm in ("none", "base", "trained")},
        "oracle": mixed["oracle"].summary(),
        "grouped": {arm: one.summary() for (stream, arm), one in by_name.items() if stream == "grouped"},
        "gap_closed": gap_closed(success["none"], success["trained"], success["oracle"]),
        "trained_over_none": compared(mixed["none"], mixed["trained"]),
        "trained_over_base": compared(mixed["base"], mixed["trained"]),
        "reward": {name: _ends(history, "reward", name) for name in ("total", *TERMS)},
        "ops": {kind: _shares(history, kind) for kind in ("insert", "update", "delete", "other")},
        "steps": {"done": len(history), "asked": training.steps},
        "checkpoint": {"path": f"checkpoints/{best.name}", "step": best_step, "validation": validated.get(best_step)},
        "validation": {str(step): share for step, share in sorted(validated.items())},
        "wall_s": round(wall_s, 1),
        "cpu_s": round(cpu_s, 1),
        "step_s": _mean([step["seconds"]["total"] for step in history]),
    }


def _ends(history: Sequence[Mapping[str, Any]], group: str, name: str) -> dict[str, float | None]:
    values = [step[group][name] for step in history]
    return {
        "first": _mean([value for value in values[:WINDOW] if value is not None]),
        "last": _mean([value for value in values[-WINDOW:] if value is not None]),
    }


def _shares(history: Sequence[Mapping[str, Any]], kind: str) -> dict[str, float | None]:
    """Return the share of a kind among the operations of the first and of the last steps."""
    shares = [step["ops"][kind] / total for step in history if (total := sum(step["ops"].values()))]
    return {"first": _mean(shares[:WINDOW]), "last": _mean(shares[-WINDOW:])}


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
