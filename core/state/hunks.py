"""The parts of two texts that differ, with a few lines around each: to show, to pair side by side, to write as a patch.

Pure: lines in, lines out. A line of a text is a str with its newline; only the last may have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from core.state.linematch import common
from core.state.words import Spans, alike, changed

Sign = Literal[" ", "-", "+"]
_PAIRED_BY_LIKENESS = 1_600
_LIKE_ENOUGH = 0.3


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a hunk. `old` and `new` are its numbers, from 1, None on the side that has no such line.

    `ended` is False for a last line without a newline. `hidden` says that a secret in it is not shown.
    """

    sign: Sign
    text: str
    old: int | None
    new: int | None
    ended: bool = True
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that differ, with context. `old` and `new` are (first line, number of lines) as a patch writes them."""

    old: tuple[int, int]
    new: tuple[int, int]
    lines: tuple[DiffLine, ...]

    @property
    def head(self) -> str:
        """Return its `@@` line."""
        return f"@@ -{_range(self.old)} +{_range(self.new)} @@"

    def counted(self, sign: Sign) -> int:
        """Return how many lines of a kind it has."""
        return sum(line.sign == sign for line in self.lines)

    def text(self) -> str:
        """Return it as a patch writes it, with a newline at its end."""
        lines = [self.head]
        for line in self.lines:
            lines.append(f"{line.sign}{line.text}")
            if not line.ended:
                lines.append("\\ No newline at end of file")
        return "\n".join(lines) + "\n"


def hunks(
    old: Sequence[str],
    new: Sequence[str],
    *,
    shown: tuple[Sequence[str], Sequence[str]] | None = None,
    context: int = 3,
) -> tuple[Hunk, ...]:
    """Compare two texts; `shown` are the same lines as they may be shown, with secrets hidden.

    What differs is decided by the lines themselves, so that a changed secret is seen to have changed.
    """
    shown_old, shown_new = shown or (old, new)
    made: list[Hunk] = []
    for group in _groups(_changes(old, new), context, len(old)):
        old_from, old_to = max(0, group[0][0] - context), min(len(old), group[-1][1] + context)
        new_from = group[0][2] - (group[0][0] - old_from)
        lines: list[DiffLine] = []
        at, there = old_from, new_from
        for first, last, new_first, new_last in (*group, (old_to, old_to, -1, -1)):
            while at < first:
                text = shown_old[at] if shown_old[at] != old[at] else shown_new[there]
                lines.append(_line(" ", text, old[at], at + 1, there + 1))
                at, there = at + 1, there + 1
            lines += [_line("-", shown_old[number], old[number], number + 1, None) for number in range(first, last)]
            lines += [
                _line("+", shown_new[number], new[number], None, number + 1) for number in range(new_first, new_last)
            ]
            if new_first >= 0:
                at, there = last, new_last
        made.append(Hunk(_place(old_from, at), _place(new_from, there), tuple(lines)))
    return tuple(made)


def paired(hunk: Hunk) -> tuple[tuple[DiffLine | None, DiffLine | None], ...]:
    """Return the lines of a hunk side by side: lines that are much alike stand beside each other, in order."""
    rows: list[tuple[DiffLine | None, DiffLine | None]] = []
    gone: list[DiffLine] = []
    come: list[DiffLine] = []
    for line in (*hunk.lines, None):
        if line is not None and line.sign == "-" and not come:
            gone.append(line)
            continue
        if line is not None and line.sign == "+":
            come.append(line)
            continue
        rows += _beside(gone, come)
        gone, come = [], []
        if line is not None and line.sign == "-":
            gone.append(line)
        elif line is not None:
            rows.append((line, line))
    return tuple(rows)


def partners(hunk: Hunk) -> dict[DiffLine, DiffLine]:
    """Return, for each line of a hunk that stands beside another one, that line."""
    found: dict[DiffLine, DiffLine] = {}
    for left, right in paired(hunk):
        if left is not None and right is not None and left is not right:
            found |= {left: right, right: left}
    return found


def marks(line: DiffLine, partner: DiffLine) -> Spans:
    """Return which words of a line are not in its partner; nothing where either differs as a whole."""
    gone, come = changed(*((line.text, partner.text) if line.sign == "-" else (partner.text, line.text)))
    left, right = (line, partner) if line.sign == "-" else (partner, line)
    if gone == ((0, len(left.text)),) or come == ((0, len(right.text)),):
        return ()
    return gone if line.sign == "-" else come


def _changes(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    changes: list[tuple[int, int, int, int]] = []
    at = there = 0
    for one, other, size in (*common(old, new), (len(old), len(new), 0)):
        if at < one or there < other:
            changes.append((at, one, there, other))
        at, there = one + size, other + size
    return changes


def _groups(
    changes: list[tuple[int, int, int, int]], context: int, length: int
) -> list[list[tuple[int, int, int, int]]]:
    groups: list[list[tuple[int, int, int, int]]] = []
    for change in changes:
        if groups and change[0] - groups[-1][-1][1] <= 2 * context:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _line(sign: Sign, shown: str, raw: str, old: int | None, new: int | None) -> DiffLine:
    return DiffLine(sign, shown.removesuffix("\n"), old, new, raw.endswith("\n"), shown != raw)


def _place(start: int, end: int) -> tuple[int, int]:
    """Return lines `start` to `end` (exclusive, from 0) as a patch writes them: an empty range stands behind a line."""
    return (start + 1 if end > start else start, end - start)


def _range(place: tuple[int, int]) -> str:
    return f"{place[0]}" if place[1] == 1 else f"{place[0]},{place[1]}"


def _beside(gone: list[DiffLine], come: list[DiffLine]) -> list[tuple[DiffLine | None, DiffLine | None]]:
    """Pair removed with added lines in order, so that the pairs are as much alike as possible."""
    pairs: list[tuple[int, int]]
    if len(gone) * len(come) <= _PAIRED_BY_LIKENESS:
        pairs = _alike_pairs(gone, come)
    else:
        pairs = [(number, number) for number in range(min(len(gone), len(come)))]
    rows: list[tuple[DiffLine | None, DiffLine | None]] = []
    at = there = 0
    for one, other in (*pairs, (len(gone), len(come))):
        # What has no partner stands beside what has none either: fewer rows, and nothing is claimed of them.
        between = max(one - at, other - there)
        rows += [
            (
                gone[at + number] if at + number < one else None,
                come[there + number] if there + number < other else None,
            )
            for number in range(between)
        ]
        if one < len(gone) and other < len(come):
            rows.append((gone[one], come[other]))
        at, there = one + 1, other + 1
    return rows


def _alike_pairs(gone: list[DiffLine], come: list[DiffLine]) -> list[tuple[int, int]]:
    likeness = [[alike(one.text, other.text) for other in come] for one in gone]
    best = [[0.0] * (len(come) + 1) for _ in range(len(gone) + 1)]
    for at in range(len(gone) - 1, -1, -1):
        for there in range(len(come) - 1, -1, -1):
            like = likeness[at][there]
            both = best[at + 1][there + 1] + like if like >= _LIKE_ENOUGH else -1.0
            best[at][there] = max(both, best[at + 1][there], best[at][there + 1])
    pairs: list[tuple[int, int]] = []
    at = there = 0
    while at < len(gone) and there < len(come):
        like = likeness[at][there]
        if like >= _LIKE_ENOUGH and best[at][there] == best[at + 1][there + 1] + like:
            pairs.append((at, there))
            at, there = at + 1, there + 1
        elif best[at][there] == best[at + 1][there]:
            at += 1
        else:
            there += 1
    return pairs
