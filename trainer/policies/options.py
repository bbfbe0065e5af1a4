"""What `policy.options.NAME` may be, by kind of policy: looked at before a run is made, so without torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.foundation.errors import UsageError

LARGEST = 4_096  # of a tiny network's width, layers and heads
WIDTH, HEADS = 128, 4
"""Of a tiny network, where the options name none."""

_Range = tuple[float, float]
_TINY: Mapping[str, _Range] = dict.fromkeys(("width", "layers", "heads"), (1, LARGEST))
_HF: Mapping[str, _Range] = {
    "lora_rank": (0, 4_096),
    "lora_alpha": (0, 65_536),
    "rows": (1, 65_536),
    "hidden": (1, 65_536),
    "layers": (1, 1_024),
    "heads": (1, 1_024),
    "key_value_heads": (1, 1_024),
    "head_size": (1, 4_096),
    "intermediate": (1, 1_048_576),
    "vocabulary": (256, 1_048_576),
    "positions": (1, 1_048_576),
}
_SWITCHES = ("checkpointing", "thinking")
_GIGABYTES = "memory_gb"


def check(kind: str, options: Mapping[str, Any]) -> None:
    """Raise UsageError for an option that the kind of policy doesn't have, or that can't have this value."""
    whole = _TINY if kind == "tiny" else _HF
    known = [*whole] if kind == "tiny" else [*whole, *_SWITCHES, _GIGABYTES]
    for name, value in sorted(options.items()):
        key = f"policy.options.{name}"
        if name not in known:
            raise UsageError(
                f"A policy of kind {kind} has no option {name!r} ({key}).", hint=f"Known: {', '.join(known)}."
            )
        if name in _SWITCHES:
            if not isinstance(value, bool):
                raise UsageError(f"{key} can't be {value!r}.", hint="It is true or false.")
        elif name == _GIGABYTES:
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 65_536:
                raise UsageError(f"{key} can't be {value!r}.", hint="Gigabytes, above 0.")
        else:
            least, most = whole[name]
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise UsageError(f"{key} can't be {value!r}.", hint=f"A whole number from {least:g} to {most:.0f}.")
    if kind == "tiny":
        width, heads = options.get("width", WIDTH), options.get("heads", HEADS)
        if width % heads:
            raise UsageError(
                f"A width of {width} can't be shared by {heads} heads.",
                hint="Take a multiple of policy.options.heads.",
            )
