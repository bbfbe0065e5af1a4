"""Which lines of two texts are the same: lines that are unique in both hold the rest in place.

Anchoring on unique lines keeps a moved or repeated blank line from tearing a comparison apart, and bounds the cost:
what has no such line is compared all by all only while that is cheap.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

Block = tuple[int, int, int]
"""Start in the old text, start in the new one, number of lines."""

_CHEAP = 250_000


def common(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """Return the blocks of lines that both texts share, in order, as long as they can be."""
    found: list[Block] = []
    todo = [(0, len(old), 0, len(new))]
    while todo:
        old_from, old_to, new_from, new_to = todo.pop()
        start = old_from
        while old_from < old_to and new_from < new_to and old[old_from] == new[new_from]:
            old_from, new_from = old_from + 1, new_from + 1
        if old_from > start:
            found.append((start, new_from - (old_from - start), old_from - start))
        end = old_to
        while old_from < old_to and new_from < new_to and old[old_to - 1] == new[new_to - 1]:
            old_to, new_to = old_to - 1, new_to - 1
        if end > old_to:
            found.append((old_to, new_to, end - old_to))
        if old_from == old_to or new_from == new_to:
            continue
        anchors = _anchors(old, new, old_from, old_to, new_from, new_to)
        if anchors:
            at, there = old_from, new_from
            for one, other in anchors:
                todo.append((at, one, there, other))
                found.append((one, other, 1))
                at, there = one + 1, other + 1
            todo.append((at, old_to, there, new_to))
        elif (old_to - old_from) * (new_to - new_from) <= _CHEAP:
            matcher = SequenceMatcher(None, old[old_from:old_to], new[new_from:new_to], autojunk=False)
            found += [(old_from + i, new_from + j, size) for i, j, size in matcher.get_matching_blocks() if size]
    return _joined(sorted(found))


def _anchors(
    old: Sequence[str], new: Sequence[str], old_from: int, old_to: int, new_from: int, new_to: int
) -> list[tuple[int, int]]:
    """Return the longest rising row of lines that stand once in each part."""
    here, there = Counter(old[old_from:old_to]), Counter(new[new_from:new_to])
    places = {new[at]: at for at in range(new_from, new_to) if there[new[at]] == 1}
    pairs = [(at, places[old[at]]) for at in range(old_from, old_to) if here[old[at]] == 1 and old[at] in places]
    tails: list[int] = []  # last places of the rows found so far, by their length
    heads: list[int] = []  # the pair that such a row ends with
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(tails, place)
        before.append(heads[length - 1] if length else -1)
        if length == len(tails):
            tails.append(place)
            heads.append(number)
        else:
            tails[length], heads[length] = place, number
    row: list[tuple[int, int]] = []
    number = heads[-1] if heads else -1
    while number >= 0:
        row.append(pairs[number])
        number = before[number]
    return row[::-1]


def _joined(blocks: list[Block]) -> list[Block]:
    joined: list[Block] = []
    for one, other, size in blocks:
        if joined:
            first, second, length = joined[-1]
            if (first + length, second + length) == (one, other):
                joined[-1] = (first, second, length + size)
                continue
        joined.append((one, other, size))
    return joined
