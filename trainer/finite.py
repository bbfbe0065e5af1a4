"""What keeps NaN out of weights: a gradient or a weight that isn't finite ends the run, with a word that says so.

The optimizer would spread one NaN over every weight, and a checkpoint would keep it (FAULTS: non-finite values).
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch

from core.foundation.errors import ExuviaError

_WAY_OUT = (
    "The last checkpoint is whole. Start a run with a lower optimizer.lr (or imitation.lr), a lower "
    "grpo.max_gradient_norm, or dtype float32."
)


class NotFiniteError(ExuviaError):
    """Training reached NaN or infinity; nothing of it was kept."""


def require_finite_gradient(norm: float, loss: float) -> float:
    """Return `norm`, the gradient's before it is applied. Raises NotFiniteError: the weights are as they were then."""
    if not (math.isfinite(norm) and math.isfinite(loss)):
        raise NotFiniteError(
            f"The gradient is not finite (norm {norm:g}, loss {loss:g}): no weight was changed by it.", hint=_WAY_OUT
        )
    return norm


def require_finite_weights(weights: Iterable[torch.Tensor]) -> None:
    """Raise NotFiniteError where a weight is NaN or infinite."""
    if not all(bool(torch.isfinite(weight).all()) for weight in weights):
        raise NotFiniteError("A weight is not finite any more: these weights are not kept.", hint=_WAY_OUT)
