"""What the terminal shows already is not sent again (TERMINAL 0.5, 3.8).

Textual repaints whole regions and says the whole style of every piece of text anew. Between it and the terminal
stands a model of the screen: of each frame only the cells that differ go out, each style is said once, and a frame
that changes nothing costs nothing. Whatever is not a frame of Textual's own goes through as it is, and the model
forgets what it can't be sure of.

Widths are the one thing that terminals disagree on. So text of any but plain narrow characters is never cut: it is
sent whole, as Textual would, and what stands to the right of it on its row is sent again with the next frame that
has it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len

_TOKEN = re.compile(r"\x1b\[([0-9]+);([0-9]+)H|\x1b\[([0-9;]*)m|(\n)|([^\x00-\x1f\x7f]+)|(.)", re.DOTALL)
_SAFE = re.compile(
    "[ -~\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2030-\u205e\u2190-\u21ff\u2200-\u22ff"
    "\u2500-\u25fc\u25ff\u2713\u2717\u2800-\u28ff\ufffd]*"
)
_ENTER, _SYNC, _END_SYNC = "\x1b[?1049h", "\x1b[?2026h", "\x1b[?2026l"
CLEAR = "\x1b[m\x1b[H\x1b[J"
# Modes, questions, the bell, the clipboard and the cursor's shape leave cells and styles as they are.
_HARMLESS = re.compile(r"(?:\x1b\[[?>=<]?[0-9;]*(?:[hlu]|\$p| q)|\x07|\x1b\]52;[^\x07\x1b]*(?:\x07|\x1b\\))+")
_GAP = 8
"""Cells that are sent although they are shown, where a move of the cursor over them would cost more."""


class Look(NamedTuple):
    """A style: flags such as bold, and the codes of both colours ("" the terminal's own)."""

    flags: tuple[str, ...] = ()
    ink: str = ""
    ground: str = ""


PLAIN = Look()
Cell = tuple[object, object]
"""A character and its look; or a text that is never cut, and a number of a cell in it."""
_BLANK: Cell = (" ", PLAIN)


@lru_cache(maxsize=4096)
def look_of(codes: str) -> Look:
    """Return the style that the SGR `codes` (parameters, joined by ;) lead to from the plain one."""
    flags: dict[str, None] = {}
    ink = ground = ""
    parts = iter(codes.split(";"))
    for code in parts:
        if code in ("", "0"):
            flags, ink, ground = {}, "", ""
        elif code in ("38", "48"):
            kind = next(parts, "")
            more = [next(parts, "0") for _ in range(1 if kind == "5" else 3)]
            colour = ";".join((code, kind, *more))
            ink, ground = (colour, ground) if code == "38" else (ink, colour)
        elif code == "39" or (len(code) == 2 and code[0] in "39" and code[1] in "01234567"):
            ink = "" if code == "39" else code
        elif code == "49" or (code[0] == "4" and len(code) == 2) or (code[:2] == "10" and len(code) == 3):
            ground = "" if code == "49" else code
        else:
            flags[code] = None
    return Look(tuple(sorted(flags)), ink, ground)


@lru_cache(maxsize=4096)
def _change(has: Look | None, wants: Look) -> str:
    """Return the shortest sequence that turns one style into another; `has` is None where it is not known."""
    if has == wants:
        return ""
    anew = ";".join(part for part in (*wants.flags, wants.ink, wants.ground) if part)
    whole = "\x1b[m" if not anew else f"\x1b[{anew}m" if has == PLAIN else f"\x1b[0;{anew}m"
    if has is None or not set(has.flags) <= set(wants.flags):
        return whole
    parts = [flag for flag in wants.flags if flag not in has.flags]
    parts += [wants.ink or "39"] if wants.ink != has.ink else []
    parts += [wants.ground or "49"] if wants.ground != has.ground else []
    return min(f"\x1b[{';'.join(parts)}m", whole, key=len)


class Shown:
    """What the terminal shows.

    Invariant: a cell that is not None is what stands there now; `_look` and `_at` are the terminal's style and the
    place of its cursor, None where they are not known.
    """

    def __init__(self) -> None:
        self._size = (0, 0)
        self._rows: list[list[Cell | None]] = []
        self._look: Look | None = None
        self._at: tuple[int, int] | None = None
        self._held = False

    def forget(self) -> None:
        """Be sure of nothing any more; the next frames are sent whole."""
        columns, rows = self._size
        self._rows = [[None] * columns for _ in range(rows)]
        self._look = self._at = None

    def sent(self, data: str, size: tuple[int, int]) -> str:
        """Return what to send for `data`, which Textual writes to a terminal of `size` (columns, rows)."""
        if size != self._size:
            self._size = size
            self.forget()
        if data == _SYNC:
            self._held = True  # until something follows: a frame that changes nothing needs no frame around it
            return ""
        if data == _END_SYNC and self._held:
            self._held = False
            return ""
        out = self._frame(data) if "H" in data and data.startswith("\x1b[") else None
        if out is None:
            out = self._other(data)
        if out and self._held:
            self._held = False
            return _SYNC + out
        return out

    def _other(self, data: str) -> str:
        """Return what is no frame as it is, and forget what it may have changed."""
        if data in (_ENTER, CLEAR):
            columns, rows = self._size
            self._rows = [[_BLANK] * columns for _ in range(rows)]
            self._look, self._at = PLAIN, (0, 0)
            return data if data == CLEAR else data + CLEAR
        if _HARMLESS.fullmatch(data):
            return data
        prefix = "" if self._look in (None, PLAIN) else "\x1b[m"  # Textual takes the style to be plain
        self.forget()
        return prefix + data

    def _frame(self, data: str) -> str | None:
        """Return what differs of a frame, None where `data` is no such thing."""
        runs = _runs(data)
        if runs is None:
            return None
        columns, rows = self._size
        if any(y >= rows or x + run.width > columns for y, x, run in runs):
            return None  # made for another size: a terminal puts it who knows where
        out: list[str] = []
        for y, x, run in runs[:-1]:
            self._run(out, y, x, run)
        y, x, run = runs[-1]
        if run.width:
            self._run(out, y, x, run)
        if out:  # no style is left behind for whatever else draws, and the cursor is where Textual wants it
            out.append(_change(self._look, PLAIN))
            self._look = PLAIN
            self._move(out, y, x + run.width)
        return "".join(out)

    def _run(self, out: list[str], y: int, x: int, run: _Run) -> None:
        row, width = self._rows[y], run.width
        old = row[x : x + width]
        if old == run.cells:
            return
        whole = run.odd or any(cell is None or not isinstance(cell[1], Look) for cell in old)
        spans = [(0, width)] if whole else _differing(old, run.cells)
        for start, end in spans:
            self._move(out, y, x + start)
            self._write(out, run, start, end, to_edge=x + end == self._size[0])
        row[x : x + width] = run.cells
        if run.odd:
            row[x + width :] = [None] * (len(row) - x - width)
            self._at = None

    def _move(self, out: list[str], y: int, x: int) -> None:
        if self._at == (y, x):
            return
        if self._at is not None and self._at[0] == y:
            out.append(f"\x1b[{x + 1}G")
        else:
            out.append(f"\x1b[{y + 1};{x + 1}H")
        self._at = (y, x)

    def _write(self, out: list[str], run: _Run, start: int, end: int, *, to_edge: bool) -> None:
        """Write cells of a run; blanks up to the edge of the screen are erased instead."""
        blanks = 0
        if to_edge and not run.odd:
            while end - blanks > start and run.cells[end - blanks - 1] == _BLANK:
                blanks += 1
            blanks = blanks if blanks > 3 else 0
        for text, look in run.pieces(start, end - blanks):
            out.append(_change(self._look, look))
            out.append(text)
            self._look = look
        if blanks:
            out.append(_change(self._look, PLAIN))
            out.append("\x1b[K")
            self._look = PLAIN
        assert self._at is not None
        # A cursor behind the last column is where each terminal keeps it.
        self._at = None if to_edge and not blanks else (self._at[0], self._at[1] + end - start - blanks)


class _Run:
    """Text from one place on: pieces of a style each. `odd` says that its widths may be taken otherwise."""

    def __init__(self, parts: Sequence[tuple[str, Look]]) -> None:
        self._parts = parts
        self.odd = not all(_SAFE.fullmatch(text) for text, _ in parts)
        self.cells: list[Cell | None]
        if self.odd:
            whole = tuple(parts)
            self.cells = [(whole, number) for number in range(sum(cell_len(text) for text, _ in parts))]
        else:
            self.cells = [(character, look) for text, look in parts for character in text]
        self.width = len(self.cells)

    def pieces(self, start: int, end: int) -> Sequence[tuple[str, Look]]:
        """Return the text of the cells from `start` to `end`, cut where the style changes."""
        if self.odd:
            return self._parts
        found, at = [], 0
        for text, look in self._parts:
            if piece := text[max(0, start - at) : max(0, end - at)]:
                found.append((piece, look))
            at += len(text)
        return found


def _runs(data: str) -> list[tuple[int, int, _Run]] | None:
    """Return the runs of a frame with their rows and columns from 0; None where it holds anything else."""
    runs: list[tuple[int, int, _Run]] = []
    place: tuple[int, int] | None = None
    parts: list[tuple[str, Look]] = []
    look = PLAIN
    for match in _TOKEN.finditer(data):
        kind = match.lastindex
        if kind == 5:
            if place is None:
                return None
            parts.append((match[5], look))
        elif kind == 3:
            codes = match[3]
            look = (
                PLAIN if codes in ("", "0") else look_of(codes) if look is PLAIN else look_of(f"{_codes(look)};{codes}")
            )
        elif kind in (2, 4):
            if place is not None:
                runs.append((*place, _Run(parts)))
            parts = []
            place = (int(match[1]) - 1, int(match[2]) - 1) if kind == 2 else None
        else:
            return None
    if place is not None:
        runs.append((*place, _Run(parts)))
    return runs or None


def _codes(look: Look) -> str:
    return ";".join(part for part in (*look.flags, look.ink, look.ground) if part)


def _differing(old: Sequence[Cell | None], new: Sequence[Cell | None]) -> list[tuple[int, int]]:
    """Return the ranges of cells that differ; those that stand close together are one."""
    spans: list[tuple[int, int]] = []
    for at, (before, after) in enumerate(zip(old, new, strict=True)):
        if before == after:
            continue
        if spans and at - spans[-1][1] < _GAP:
            spans[-1] = (spans[-1][0], at + 1)
        else:
            spans.append((at, at + 1))
    return spans
