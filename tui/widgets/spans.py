"""Text with tones, and its way onto the screen. All text passes the sanitizer here, once, before it has a width.

Nothing is ever parsed as markup: a line is a tuple of (text, tone), no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from core.foundation.visible import visible_line
from tui.palette import PLAIN, TONES

Span = tuple[str, str]
Line = tuple[Span, ...]

ELLIPSIS = "…"


def clean(text: str) -> str:
    """Return `text` on one line, safe for a terminal; tabs become spaces, which have a width."""
    return visible_line(text.replace("\t", "    ") if "\t" in text else text)


def width_of(text: str) -> int:
    """Return how many cells `text` takes once it is clean."""
    return cell_len(clean(text))


def fit(text: str, width: int, *, right: bool = False) -> str:
    """Return `text` in exactly `width` cells: padded, or cut with an ellipsis."""
    text = clean(text)
    if width <= 0:
        return ""
    length = cell_len(text)
    if length > width:
        return set_cell_size(text, width - 1) + ELLIPSIS
    return " " * (width - length) + text if right else text + " " * (width - length)


def short(text: str, width: int) -> str:
    """Return `text` in at most `width` cells, cut with an ellipsis, not padded."""
    return fit(text, width).rstrip() if width_of(text) > width else clean(text)


def middle(text: str, width: int) -> str:
    """Return `text` in at most `width` cells, cut in its middle: for ids, whose end tells them apart."""
    text = clean(text)
    if cell_len(text) <= width or width < 5:
        return short(text, width)
    keep = (width - 1) // 2
    tail = text[-keep:]
    while cell_len(tail) > keep:
        tail = tail[1:]
    return set_cell_size(text, width - 1 - keep) + ELLIPSIS + tail


def strip_of(line: Line, width: int, base: Style, over: Style | None = None) -> Strip:
    """Return a strip of exactly `width` cells; `over` is laid over all of it, as for a cursor, without colours."""
    segments: list[Segment] = []
    left = width
    for text, tone in line:
        text = clean(text)
        length = cell_len(text)
        if length > left:
            text = set_cell_size(text, left - 1) + ELLIPSIS if left > 0 else ""
            length = left
        style = base + (TONES[tone] if over is None else PLAIN[tone] + over)
        if text:
            segments.append(Segment(text, style))
        left -= length
        if left <= 0:
            break
    if left > 0:
        segments.append(Segment(" " * left, base + over if over is not None else base))
    return Strip(segments, width)


def two_sided(left: Line, right: Line, width: int) -> Line:
    """Return `left` and `right` at the two ends of `width` cells; the left one is cut where both don't fit."""
    taken = sum(width_of(text) for text, _ in right)
    room = max(0, width - taken - 1)
    kept: list[Span] = []
    for text, tone in left:
        text = short(text, room)
        kept.append((text, tone))
        room -= width_of(text)
        if room <= 0:
            break
    return (*kept, (" " * (room + 1), "plain"), *right)


def wrap(line: Line, width: int, indent: int = 0) -> list[Line]:
    """Return a line broken at spaces into lines of at most `width` cells; later ones are indented."""
    if width < 4 or sum(width_of(text) for text, _ in line) <= width:
        return [line]
    indent = min(indent, width - 2)  # the widest character has room behind it
    done: list[Line] = []
    now: list[Span] = []
    room = width

    def turn() -> None:
        nonlocal now, room
        done.append(tuple(now))
        now, room = ([(" " * indent, "plain")] if indent else []), width - indent

    for text, tone in line:
        for word in _words(clean(text)):
            length = cell_len(word)
            if length > room and word.strip() and length <= width - indent:
                turn()
            if length > room:
                for piece in chop_cells(word, max(1, width - indent)) if word.strip() else ():
                    if cell_len(piece) > room:
                        turn()
                    now.append((piece, tone))
                    room -= cell_len(piece)
                continue
            now.append((word, tone))
            room -= length
    done.append(tuple(now))
    return done


def _words(text: str) -> Iterable[str]:
    start = 0
    for at in range(1, len(text)):
        if (text[at] == " ") != (text[at - 1] == " "):
            yield text[start:at]
            start = at
    if text:
        yield text[start:]


def reflow(text: str) -> list[str]:
    """Return Markdown with the lines of each paragraph joined, so that it can be wrapped for any width."""
    done: list[str] = []
    fenced = open_paragraph = False
    for line in text.split("\n"):
        fence = line.lstrip().startswith(("```", "~~~"))
        own = fenced or fence or not line.strip() or line.startswith(("#", "|", ">", "    ", "\t"))
        item = line.lstrip()[:2] in ("- ", "* ", "+ ") or line.lstrip()[:3].rstrip(".) ").isdigit()
        if open_paragraph and not own and not item:
            done[-1] += " " + line.strip()
        else:
            done.append(line)
        open_paragraph = not own
        fenced ^= fence
    return done


def plain(lines: Iterable[str], tone: str = "plain") -> list[Line]:
    """Return texts as lines of one tone."""
    return [((text, tone),) for text in lines]


def joined(parts: Sequence[Span], gap: str = "  ") -> Line:
    """Return spans with a gap between those that hold anything."""
    line: list[Span] = []
    for text, tone in parts:
        if text:
            if line:
                line.append((gap, "plain"))
            line.append((text, tone))
    return tuple(line)
