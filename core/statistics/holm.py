"""Holm's correction: several arms against one control, without calling chance a finding (CURATION 1.8)."""

from __future__ import annotations

from collections.abc import Mapping


def holm(p_values: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return adjusted p-values in the given order; compare them with alpha as they are.

    Step down (Holm 1979): the i-th smallest of m is multiplied by m - i + 1, never below one before it, at most 1.
    What has no p-value (an arm that didn't run) stays None and doesn't count to m.
    """
    known = sorted((p, name) for name, p in p_values.items() if p is not None)
    adjusted: dict[str, float | None] = dict.fromkeys(p_values)
    running = 0.0
    for rank, (p, name) in enumerate(known):
        running = max(running, min(1.0, (len(known) - rank) * p))
        adjusted[name] = running
    return adjusted
