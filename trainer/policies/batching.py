"""How sequences of many lengths are put together: shared beginnings, sorted batches, a byte budget. No torch here.

Three savings that a padded whole-step batch misses (CURATION 2d, 2e): tokens that all rows begin with are computed
once, rows of like length share a batch so that little of it is padding, and no batch is larger than memory allows.
"""

from __future__ import annotations

from collections.abc import Sequence

Tokens = Sequence[int]


def common_prefix(rows: Sequence[Tokens]) -> int:
    """Return how many tokens all rows begin with; never a whole row, so that every row has a token of its own left."""
    if not rows:
        return 0
    low, high = min(rows, key=tuple), max(rows, key=tuple)
    longest = min(len(row) for row in rows) - 1
    for position in range(min(len(low), len(high), longest)):
        if low[position] != high[position]:
            return position
    return max(longest, 0)


def distinct(rows: Sequence[Tokens]) -> tuple[list[Tokens], list[int]]:
    """Return the different rows in order of first sight, and for every row which of them it is."""
    seen: dict[tuple[int, ...], int] = {}
    kinds: list[Tokens] = []
    which: list[int] = []
    for row in rows:
        key = tuple(row)
        if key not in seen:
            seen[key] = len(kinds)
            kinds.append(row)
        which.append(seen[key])
    return kinds, which


def sorted_batches(costs: Sequence[int], *, budget: float, limit: int) -> list[list[int]]:
    """Split row numbers into batches of like length.

    `costs[i]` is the length of row i. A batch holds at most `limit` rows, and its rows times its longest length stay
    within `budget`, except that a row longer than the budget goes alone. Longest first: what doesn't fit fails early.
    """
    order = sorted(range(len(costs)), key=lambda row: (-costs[row], row))
    batches: list[list[int]] = []
    for row in order:
        batch = batches[-1] if batches else None
        if batch is None or len(batch) >= limit or costs[batch[0]] * (len(batch) + 1) > budget:
            batches.append([row])
        else:
            batch.append(row)
    return batches


def scoring_batches(
    prompts: Sequence[Tokens], answers: Sequence[Tokens], *, budget: float, limit: int
) -> list[list[int]]:
    """Split (prompt, answer) rows into batches for the backward pass.

    Rows with the same prompt stay together, so that the prompt is computed once for all of them (position 1 of a
    group); the others go by length. `budget` is how many row-tokens a batch may hold, not counting what all prompts
    begin with.
    """
    kinds, which = distinct(prompts)
    shared = common_prefix(kinds) if len(kinds) > 1 else 0
    lengths = [len(prompt) - shared + len(answer) for prompt, answer in zip(prompts, answers, strict=True)]
    members: list[list[int]] = [[] for _ in kinds]
    for row, kind in enumerate(which):
        members[kind].append(row)
    together = [rows for rows in members if len(rows) > 1]
    singles = [row for rows in members if len(rows) == 1 for row in rows]
    return [
        [rows[index] for index in batch]
        for rows in (*together, singles)
        for batch in sorted_batches([lengths[row] for row in rows], budget=budget, limit=limit)
    ]
