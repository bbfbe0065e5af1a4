"""Rows of the scoreboard as data, two of them compared, and how a reading of the stored numbers differs. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.foundation.clock import parse_ms
from tui.stores.matrix_facts import difference
from tui.stores.views import BoardRow


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """A Case of a row: what was expected of it, what came, and what the Reference had.

    `scores` are those of its Runs, `sessions` the Targets behind them; `recomputed` is the mean of the Runs where the
    stored score is another.
    """

    case_id: str
    expected: float | None
    observed: float | None
    reference: float | None
    scores: tuple[float, ...] = ()
    sessions: tuple[str, ...] = ()
    recomputed: float | None = None


@dataclass(frozen=True, slots=True)
class BoardEvent:
    """The operator's hand on the versions: a rollback or its undo, who did it, and when."""

    key: str
    time: str
    action: str
    actor: str
    from_version: int
    to_version: int


def place_of(rows: Sequence[BoardRow | BoardEvent], time: str) -> int:
    """Return where something of `time` belongs. Evaluations stay in file order (no. 39), whatever their times are."""
    moment = parse_ms(time)
    if moment is None:
        return len(rows)
    later = ((parse_ms(row.time) or 0) > moment for row in rows)
    return next((place for place, is_later in enumerate(later) if is_later), len(rows))


def timeline(
    rows: Sequence[BoardRow], dropped: Sequence[BoardRow], events: Sequence[BoardEvent], *, candidates: bool
) -> tuple[BoardRow | BoardEvent, ...]:
    """Return everything that happened to the versions, oldest first: measured, tried, dropped, gone back from.

    Without `candidates`, only what stands on the scoreboard and what is being measured.
    """
    found: list[BoardRow | BoardEvent] = [row for row in rows if candidates or row.is_stored or row.what == "measuring"]
    late: list[BoardRow | BoardEvent] = [*dropped, *events]
    for more in late:
        found.insert(place_of(found, more.time), more)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class CaseChange:
    """A Case in two rows; None where one of them has no score for it."""

    case_id: str
    old: float | None
    new: float | None
    delta: float | None


@dataclass(frozen=True, slots=True)
class Compared:
    """Two rows, older first as they were given. `why_not` says why their numbers may not be set against each other.

    The numbers stand there all the same; the differences then are None.
    """

    old: BoardRow
    new: BoardRow
    cases: tuple[CaseChange, ...]
    delta: float | None
    why_not: str = ""


def compare(old: BoardRow, new: BoardRow) -> Compared:
    """Set two rows against each other; swapping them changes only the signs (FAULTS: sign error)."""
    why_not = _why_not(old, new)
    was, now = ({case.case_id: case.observed for case in row.cases} for row in (old, new))
    cases = tuple(
        CaseChange(name, was.get(name), now.get(name), None if why_not else difference(now.get(name), was.get(name)))
        for name in dict.fromkeys((*was, *now))
    )
    return Compared(old, new, cases, None if why_not else difference(new.score, old.score), why_not)


def _why_not(old: BoardRow, new: BoardRow) -> str:
    """Return why two rows are not comparable: another runtime, or other Cases; what is not known hinders nothing."""
    for name, one, other in (
        ("provider", old.provider, new.provider),
        ("model", old.model_id, new.model_id),
        ("thinking level", old.thinking, new.thinking),
    ):
        if one and other and one != other:
            return f"Not comparable: another {name}, {one} and {other}."
    was, now = ({case.case_id for case in row.cases if case.observed is not None} for row in (old, new))
    if was and now and was != now:
        if was.isdisjoint(now):
            return "Not comparable: they share no Case."
        return f"Not comparable as a whole: only {len(was & now)} Cases are in both."
    return ""


def told(note: str, hypothesis: str) -> tuple[str, ...]:
    """Return the lines of a note that say more than the hypothesis and the table of Cases do."""
    lines: list[str] = []
    for line in note.split("\n"):
        rest = line.strip()
        if hypothesis and rest and (hypothesis.startswith(rest) or rest == hypothesis):
            continue
        rest = rest.removeprefix("Hypothesis:").strip() if rest.startswith("Hypothesis:") else rest
        rest = rest.removeprefix(hypothesis).strip() if hypothesis else rest
        rest = _SAID.sub("", rest).strip()
        if rest and not all(_CASE.fullmatch(part.strip()) for part in rest.rstrip(".").split(";")):
            lines.append(rest)
    return tuple(lines)


_SAID = re.compile(r"^The prediction (?:held|did not hold)\.?")
_CASE = re.compile(r"CASE-\S+: was [\d.]+, expected [\d.]+, got [\d.]+")


@dataclass(frozen=True, slots=True)
class Series:
    """Scores over the rows of the board: (place of the row, score), and what each is.

    Kinds: kept, tried (not kept), held out, and other (measured with another model than the newest, so no part of the
    line).
    """

    name: str
    points: tuple[tuple[int, float, str], ...]

    @property
    def kept(self) -> tuple[tuple[int, float], ...]:
        """The points that the line goes through."""
        return tuple((place, score) for place, score, kind in self.points if kind == "kept")

    @property
    def change(self) -> float | None:
        """Points from the first kept one to the last."""
        line = self.kept
        return difference(line[-1][1], line[0][1]) if len(line) > 1 else None


_KEPT = frozenset({"baseline", "evaluation", "accepted"})


def series(rows: Sequence[BoardRow], held_out: Sequence[tuple[int, float]] = ()) -> tuple[Series, ...]:
    """Return the curve of the whole first, then one of each Case, over the places of `rows`.

    `held_out` are (version, score) of the held-out Cases, which stand with the whole.
    """
    newest = next((row for row in reversed(rows) if row.is_stored), None)
    kinds = [_kind(row, newest) for row in rows]
    whole = [(at, row.score, kinds[at]) for at, row in enumerate(rows) if row.score is not None]
    for version, score in held_out:
        places = [at for at, row in enumerate(rows) if row.version == version and kinds[at] == "kept"]
        if places:
            whole.append((places[-1], score, "held out"))
    names = dict.fromkeys(case.case_id for row in rows for case in row.cases)
    return (
        Series("", tuple(whole)),
        *(
            Series(
                name,
                tuple(
                    (at, case.observed, kinds[at])
                    for at, row in enumerate(rows)
                    for case in row.cases
                    if case.case_id == name and case.observed is not None
                ),
            )
            for name in names
        ),
    )


def _kind(row: BoardRow, newest: BoardRow | None) -> str:
    if newest is not None and is_other_runtime(row, newest):
        return "other"
    return "kept" if row.what in _KEPT else "tried"


def is_other_runtime(one: BoardRow, other: BoardRow) -> bool:
    """Tell whether two rows ran on different providers, models or thinking levels, as far as is known."""
    return any(
        getattr(one, name) and getattr(other, name) and getattr(one, name) != getattr(other, name)
        for name in ("provider", "model_id", "thinking")
    )
