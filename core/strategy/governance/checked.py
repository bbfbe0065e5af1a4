"""The laws as part of the bank's check: `check_bank(..., laws=LAWS)` (STRATEGY S107, S43, S45)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from core.strategy.bank.bank import Entry
from core.strategy.bank.check import Finding, Law, Level, Subject
from core.strategy.bank.texts import text_of
from core.strategy.documents.reading import read
from core.strategy.documents.strategy import Strategy
from core.strategy.governance.laws import Lint, lint, never_failing

_ADVICE = frozenset({"lines"})
"""Laws that only warn in a check, whatever they say of themselves: the twelve lines are advice (DECISIONS 26)."""


def one_by_one(subject: Subject) -> Iterator[Finding]:
    """Find what the laws say of each strategy as it is written, with the line of the key."""
    for entry in subject.entries:
        if entry.authored is not None:
            found = lint(entry.authored, subject.compiled.schemas, subject.settings.governance)
            yield from _findings(subject, {entry.id: entry}, found)


def by_what_was_tracked(subject: Subject) -> Iterator[Finding]:
    """Find checks that never failed."""
    yield from _findings(subject, {entry.id: entry for entry in subject.entries}, never_failing(subject.executions))


LAWS: tuple[Law, ...] = (one_by_one, by_what_was_tracked)


def _findings(subject: Subject, entries: Mapping[str, Entry], found: Iterable[Lint]) -> Iterator[Finding]:
    for one in found:
        entry = entries.get(one.strategy_id)
        file = "" if entry is None else entry.file.relative_to(entry.file.parents[1]).as_posix()
        level: Level = "warning" if one.law in _ADVICE else one.severity
        line = 0 if entry is None or entry.authored is None else _line(entry, one.path)
        message = f"{one.path}: {one.text} ({one.hint})" if one.path else f"{one.text} ({one.hint})"
        yield Finding(level, f"law: {one.law}", file, line, one.strategy_id, message)


def _line(entry: Entry, path: str) -> int:
    """Return the line of a key, of the nearest one that is there; 1 for the whole."""
    _, source = read(text_of(entry.file), Strategy, entry.file.name)
    parts: tuple[str | int, ...] = tuple(part for part in path.partition(" ")[0].partition("[")[0].split(".") if part)
    return source.place(parts)[0]
