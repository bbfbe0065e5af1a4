"""What one may set on the rehearsal model: its seed, whether it is clumsy, and which faults it plays at what rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from core.foundation.errors import UsageError
from core.foundation.strict_json import is_number

Fault = Literal["fenced", "narration", "crash_before_launch", "crash_after_target", "slow", "http_429"]
FAULTS: tuple[str, ...] = get_args(Fault)
DEFAULT_SEED = 7  # DECISIONS 19


@dataclass(frozen=True, slots=True)
class RehearsalOptions:
    """Settings of a RehearsalProvider.

    `faults` maps a fault to its rate from 0 to 1; `slow_s` is how many seconds the fault "slow" takes. With `asks` the
    Builder asks the operator one question before it declares its contract. A request's own seed wins over `seed`.
    Raises UsageError for an unknown fault or a rate out of range.
    """

    seed: int = DEFAULT_SEED
    clumsy: bool = False
    faults: Mapping[str, float] = field(default_factory=dict)
    slow_s: float = 2.0
    asks: bool = False

    def __post_init__(self) -> None:
        for name, rate in self.faults.items():
            if name not in FAULTS:
                raise UsageError(f"The rehearsal model knows no fault {name!r}.", hint="Known: " + ", ".join(FAULTS))
            if not 0 <= rate <= 1:
                raise UsageError(f"The rate of fault {name} is {rate}.", hint="Give a number from 0 to 1.")

    def as_json(self) -> dict[str, Any]:
        """Return the options as plain JSON values."""
        return {
            "seed": self.seed,
            "clumsy": self.clumsy,
            "faults": dict(self.faults),
            "slow_s": self.slow_s,
            "asks": self.asks,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> RehearsalOptions:
        """Return the options that `as_json` wrote; what is missing takes its default. Raises UsageError."""
        seed, clumsy = document.get("seed", DEFAULT_SEED), document.get("clumsy", False)
        asks = document.get("asks", False)
        faults, slow_s = document.get("faults", {}), document.get("slow_s", 2.0)
        if (
            isinstance(seed, bool)
            or not isinstance(seed, int)
            or not isinstance(clumsy, bool)
            or not isinstance(asks, bool)
            or not isinstance(faults, Mapping)
            or not all(is_number(number) for number in (slow_s, *faults.values()))
        ):
            raise UsageError(
                "The options of the rehearsal model are not usable.",
                hint="seed is a whole number, clumsy and asks are true or false, slow_s and each rate in faults a "
                "finite number.",
            )
        return cls(
            seed=seed,
            clumsy=clumsy,
            faults={str(name): float(rate) for name, rate in faults.items()},
            slow_s=float(slow_s),
            asks=asks,
        )
