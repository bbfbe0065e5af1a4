"""The operation log: every call a curator made, with its verdict and what it changed, append-only (K1, K2).

A line is one record. `position` counts from 1: the state at position p is the repository after the first p calls, 0
the one before any. A record holds the effect of its call, so that a later version of the rules can't change what
happened: reading a state folds changes and judges nothing again. A torn last line, which a killed writer leaves, costs
one call and is said. Behind a record that is missing no state is given: it would be a guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.foundation import strict_json
from core.foundation.clock import now_ms
from core.foundation.errors import ConflictError, DamagedError, UsageError
from core.foundation.visible import visible_line
from core.skillrepo.operations import Call, Change, Link, Verdict
from core.skillrepo.repository import Repository
from core.skillrepo.skill import Skill, read
from core.state import jsonlines
from core.state.atomic import append_line
from core.state.locks import held

FILE = "operations.jsonl"
"""The log's name in a directory that holds a repository."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One call as the log keeps it.

    `changes` are the title before and the SKILL.md after (None: there was or is none); `source` says in plain JSON
    where the call came from.
    """

    position: int
    time: str
    call: Call
    valid: bool
    reason: str
    changes: tuple[tuple[str | None, str | None], ...]
    links: tuple[Link, ...]
    source: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a log held: the repository it began with, the calls, and in `notes` what was torn or damaged."""

    base: tuple[Skill, ...]
    base_links: tuple[Link, ...]
    entries: tuple[Entry, ...]
    notes: tuple[str, ...]

    def at(self, position: int | None = None) -> Repository:
        """Return the repository after the first `position` calls (None: after all; negative: counted from the end).

        Raises UsageError where the log has no such position, DamagedError where a change doesn't fit what stands
        before it.
        """
        count = len(self.entries)
        wanted = count if position is None else position if position >= 0 else count + position
        if not 0 <= wanted <= count:
            raise UsageError(f"The log has no position {position}.", hint=f"It has 0 to {count}.")
        try:
            repository = Repository(self.base, self.base_links)
        except ConflictError as error:
            raise DamagedError(f"The log begins on what no repository holds: {error}") from error
        for entry in self.entries[:wanted]:
            try:
                repository.change([_resolved(repository, change) for change in entry.changes], entry.links)
            except UsageError as error:
                raise DamagedError(f"The change at position {entry.position} does not fit: {error}") from error
        return repository


class OperationLog:
    """The log in the file `path`, which the first word written to it makes.

    Invariant: `_next` and `_end` tell how far this object has seen the file. Every write looks again, under a lock, so
    that two processes never give one position to two calls.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._end = 0
        self._next = 1
        self._begun = False

    def begin(self, repository: Repository, source: Mapping[str, Any] | None = None) -> None:
        """Write down what the repository held before the first call; needed where it was not empty.

        Raises ConflictError where the log has begun already.
        """
        skills = [skill.content for skill in repository]
        links = [_link_record(link) for link in repository.links]
        with self._writing():
            if self._begun:
                raise ConflictError(f"{visible_line(str(self.path))} has begun already.", hint="Append to it.")
            self._append({"time": now_ms(), "base": skills, "links": links, "source": dict(source or {})})

    def append(
        self, verdicts: Sequence[Verdict], source: Mapping[str, Any] | None = None, *, fsync: bool = True
    ) -> int:
        """Write down what became of some calls; return the position after the last of them.

        `source` says in plain JSON where they came from, such as task, step and policy. Raises StorageError.
        """
        with self._writing():
            for verdict in verdicts:
                self._append(_record(self._next, verdict, source or {}), fsync=fsync)
                self._next += 1
            return self._next - 1

    def read(self) -> Reading:
        """Read the whole log; a missing one is empty. Raises DamagedError where a record is not what it should be."""
        return read_log(self.path)

    def at(self, position: int | None = None) -> Repository:
        """Return the repository after the first `position` calls; see `Reading.at`."""
        return self.read().at(position)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with held(self.path.with_name(f".{self.path.name}.lock")):
            lines = jsonlines.read_lines(self.path, start=self._end)
            if lines.torn:  # close the line first: it may be a whole record that lacks nothing but its end
                append_line(self.path, "")
                lines = jsonlines.read_lines(self.path, start=self._end)
            self._end = lines.end
            self._begun = self._begun or bool(lines.lines or lines.gaps)
            for record in lines.records:
                if isinstance(position := record.get("position"), int):
                    self._next = position + 1
            yield

    def _append(self, record: Mapping[str, Any], *, fsync: bool = True) -> None:
        jsonlines.append_record(self.path, record, fsync=fsync)
        self._begun = True


def read_log(path: Path) -> Reading:
    """Read the operation log at `path`; see `OperationLog.read`."""
    lines = jsonlines.read_lines(path)
    notes = [f"bytes {gap.start} to {gap.end} hold no record: {gap.reason}" for gap in lines.gaps]
    found = list(lines.lines)
    if lines.torn:
        last = _whole(path, lines.end)
        if last is None:
            notes.append(f"the last line is torn ({lines.torn} bytes): its call did not happen")
        else:
            found.append(last)
    base: tuple[Skill, ...] = ()
    links: tuple[Link, ...] = ()
    entries: list[Entry] = []
    for line in found:
        if "position" not in line.record and "base" not in line.record:
            notes.append(f"the line at byte {line.start} is no record of ours")
            continue
        try:
            if "base" in line.record and not entries:
                base = tuple(read(content) for content in line.record["base"])
                links = tuple(_link(link) for link in line.record["links"])
                continue
            entry = _entry(line.record)
        except (AttributeError, KeyError, TypeError, ValueError, UsageError) as error:
            what = f"the record at byte {line.start} can't be read"
            raise DamagedError(
                f"{visible_line(str(path))}: {what}: {visible_line(str(error))}",
                hint="The skills are not hurt. Move the log away: a new one begins with them as they stand.",
            ) from error
        if entry.position != len(entries) + 1:
            notes.append(f"position {len(entries) + 1} is missing; states behind position {len(entries)} are unknown")
            break
        entries.append(entry)
    return Reading(base, links, tuple(entries), tuple(notes))


def _whole(path: Path, start: int) -> jsonlines.Line | None:
    """Return the record behind the last line end, if it is whole: a writer was killed before that end only."""
    with path.open("rb") as file:
        file.seek(start)
        raw = file.read()
    try:
        record = strict_json.parse(raw)
    except ValueError:  # a half character too
        return None
    return jsonlines.Line(start, record) if isinstance(record, dict) else None


def _record(position: int, verdict: Verdict, source: Mapping[str, Any]) -> dict[str, Any]:
    call = verdict.call
    changes = [
        {"before": before.title if before else None, "after": after.content if after else None}
        for before, after in verdict.changes
    ]
    return {
        "position": position,
        "time": now_ms(),
        "tool": call.name,
        "arguments": None if call.arguments is None else dict(call.arguments),
        "style": call.style,
        "raw": call.raw if call.problem else "",  # a call that parsed is told by its arguments
        "problem": call.problem,
        "valid": verdict.valid,
        "reason": verdict.reason,
        "changes": changes,
        "links": [_link_record(link) for link in verdict.links],
        "source": dict(source),
    }


def _entry(record: Mapping[str, Any]) -> Entry:
    texts = [record[key] for key in ("tool", "raw", "style", "problem", "reason", "time")]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("tool, raw, style, problem, reason or time is no text")
    arguments, source = record["arguments"], record["source"]
    if not isinstance(arguments, dict | None) or not isinstance(source, dict):
        raise TypeError("arguments or source is no object")
    position, valid = record["position"], record["valid"]
    if not isinstance(position, int) or isinstance(position, bool) or not isinstance(valid, bool):
        raise TypeError("position is no whole number or valid no boolean")
    changes = tuple((change["before"], change["after"]) for change in record["changes"])
    if not all(isinstance(part, str | None) for change in changes for part in change):
        raise TypeError("a change is no text")
    call = Call(record["tool"], arguments, record["raw"], record["style"], record["problem"])
    links = tuple(_link(link) for link in record["links"])
    return Entry(position, record["time"], call, valid, record["reason"], changes, links, source)


def _resolved(repository: Repository, change: tuple[str | None, str | None]) -> Change:
    title, content = change
    before = repository.get(title) if title is not None else None
    if title is not None and before is None:
        raise UsageError(f"there is no skill {visible_line(title)!r}")
    return before, None if content is None else read(content)


def _link_record(link: Link) -> dict[str, str]:
    return {"source": link.source, "target": link.target, "relation": link.relation}


def _link(record: Mapping[str, str]) -> Link:
    link = Link(record["source"], record["target"], record["relation"])
    if not all(isinstance(part, str) for part in (link.source, link.target, link.relation)):
        raise TypeError("a link is no text")
    return link
