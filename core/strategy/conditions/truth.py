"""True, false, unknown (STRATEGY X3)."""

from __future__ import annotations

from enum import Enum


class Truth(Enum):
    """What a condition is found to be. It has no boolean value: whoever asks must say what unknown means there."""

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"

    def __bool__(self) -> bool:
        raise TypeError("compare a Truth with Truth.TRUE, Truth.FALSE or Truth.UNKNOWN")
