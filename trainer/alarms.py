"""What a person should look at in a run, told from the steps so far (CURATION 2c finding 5, lessons 2, 7, 8). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

WINDOW = 10
"""Steps that a state must last before it is an alarm."""

INSERT_COLLAPSE_UPDATES = 0.05
FLAT_GROUPS = 0.5


@dataclass(frozen=True, slots=True)
class Found:
    kind: str
    text: str


def alarms(steps: Sequence[dict[str, Any]]) -> tuple[Found, ...]:
    """Return what is wrong after the last of `steps` (the fields of `step` records, oldest first).

    An alarm that lasts is told once a window, at the step that completes it.
    """
    found: list[Found] = []
    last = steps[-1]
    expected, measured = last["positions"]["expected"], last["positions"]["measured"]
    if measured < expected:
        text = f"{expected - measured} of {expected} positions were not measured; they are masked, not zero."
        found.append(Found("unmeasured", text))
    if last["judge_unmeasured"] and last["judge_unmeasured"] == measured:
        found.append(Found("judge", "The content judge gave no verdict at all; r_cnt has no part in the reward."))
    if _lasts(steps, _collapsed):
        found.append(
            Found(
                "insert_collapse",
                f"For {WINDOW} steps hardly any operation was an update and the repository outgrew its use "
                "(r_comp below 0): the policy is paid for inserts that help nobody.",
            )
        )
    if _lasts(steps, _flat):
        text = f"For {WINDOW} steps half of the groups or more had equal rewards, so they taught nothing."
        found.append(Found("zero_variance", text))
    return tuple(found)


def _lasts(steps: Sequence[dict[str, Any]], is_so: Any) -> bool:
    """Tell whether it has been so for a whole number of windows, this step ending one."""
    length = 0
    for step in reversed(steps):
        if not is_so(step):
            break
        length += 1
    return length > 0 and length % WINDOW == 0


def _collapsed(step: dict[str, Any]) -> bool:
    asked = sum(step["ops"].values())
    compression = step["reward"]["compression"]
    return bool(
        asked
        and step["ops"]["update"] / asked < INSERT_COLLAPSE_UPDATES
        and compression is not None
        and compression < 0
    )


def _flat(step: dict[str, Any]) -> bool:
    return bool(step["zero_variance_groups"] >= FLAT_GROUPS)
