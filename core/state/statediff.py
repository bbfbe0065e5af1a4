"""What differs between two states, file by file."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core.foundation.errors import ConflictError
from core.foundation.visible import visible_line
from core.state import fingerprint, secrets
from core.state.archive import read_archive
from core.state.hunks import Hunk, hunks
from core.state.snapshot_index import CONFIG

TEXT_BYTES = 512 << 10
TEXT_LINES = 10_000

_VERSION = re.compile(r"version:\s*([1-9][0-9]{0,8})\s*(?:#.*)?")

Status = Literal["added", "removed", "changed"]
Unread = Literal["", "binary", "too large", "not kept"]


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file that differs.

    `text` is a unified diff with secrets hidden (`hidden` says that there are some), `hunks` the same in parts. Both
    are empty where a side can't be compared by line (`binary`); `unread` says why: it is no text, it is too large, or
    its content is kept nowhere and only its hash is known. The hashes (SHA-256, hex) and sizes (bytes) are None where
    a side has no such file, or nobody knows its size. `added` and `removed` count lines.
    """

    path: str
    status: Status
    text: str
    binary: bool
    before_hash: str | None
    after_hash: str | None
    added: int = 0
    removed: int = 0
    hunks: tuple[Hunk, ...] = ()
    unread: Unread = ""
    before_size: int | None = None
    after_size: int | None = None
    hidden: bool = False

    @property
    def only_version(self) -> tuple[int, int] | None:
        """Return the agent's version number before and after, where nothing else of its configuration differs.

        A Candidate raises that number with whatever it changes, so such a line is no change of its own. A
        configuration that states no version is version 1. None for every other difference.
        """
        if self.path != CONFIG or self.status != "changed":
            return None
        numbers = {"-": 1, "+": 1}
        lines = [line for part in self.hunks for line in part.lines if line.sign != " "]
        for line in lines:
            found = _VERSION.fullmatch(line.text)
            if found is None:
                return None
            numbers[line.sign] = int(found[1])
        few = 0 < len(lines) == len({line.sign for line in lines})
        return (numbers["-"], numbers["+"]) if few else None

    @property
    def note(self) -> str:
        """Return in plain words what this difference amounts to, where its lines don't tell; "" where they do."""
        raised = self.only_version
        return "" if raised is None else f"only the version number, {raised[0]} -> {raised[1]}"


@dataclass(frozen=True, slots=True)
class Files:
    """Files to compare: relative path to hash, and a way to the content of some; what is kept nowhere is missing."""

    hashes: Mapping[str, str]
    read: Callable[[Collection[str]], Mapping[str, bytes]]


def diff(before: Path, after: Path, *, with_memory: bool = False, context: int = 3) -> tuple[FileDiff, ...]:
    """Compare two states, each a directory or an archive; sorted by path, vaults never shown.

    Without `with_memory` only what makes a version is compared. Raises NotFoundError, DamagedError.
    """
    return compare(files_of(before), files_of(after), with_memory=with_memory, context=context)


def compare(before: Files, after: Files, *, with_memory: bool = False, context: int = 3) -> tuple[FileDiff, ...]:
    """Compare two sets of files as `diff` does. Raises ConflictError where one changes while it is read."""
    names = sorted(
        name
        for name in {*before.hashes, *after.hashes}
        if before.hashes.get(name) != after.hashes.get(name)
        and (fingerprint.counts(name) or (with_memory and not fingerprint.is_vault(name)))
    )
    old = before.read([name for name in names if name in before.hashes])
    new = after.read([name for name in names if name in after.hashes])
    return tuple(
        _compare(
            name, _Half(before.hashes.get(name), old.get(name)), _Half(after.hashes.get(name), new.get(name)), context
        )
        for name in names
    )


def files_of(place: Path) -> Files:
    """Return the files of a state: a directory, or a snapshot's archive. Raises NotFoundError, DamagedError."""
    if not place.is_dir():
        archive = read_archive(place)
        return Files(archive.file_hashes(), archive.read_many)
    hashes = fingerprint.file_hashes(place)
    return Files(hashes, lambda names: {name: _read(place / name) for name in names if name in hashes})


def patch(files: Collection[FileDiff]) -> str:
    """Return a comparison as one unified diff; what can't be told by line is told in a line of its own."""
    parts: list[str] = []
    for file in files:
        if file.text:
            parts.append(file.text)
        else:
            old, new = file.before_hash or "none", file.after_hash or "none"
            parts.append(f"# {file.status} {quoted(file.path)}: {file.unread or 'empty'}, sha256 {old} -> {new}\n")
    return "".join(parts)


def quoted(name: str) -> str:
    """Return a path as a patch writes it: in quotes, with escapes, where it holds what would end the line."""
    if name.isprintable() and '"' not in name and "\\" not in name:
        return name
    raw = name.encode("utf-8", "surrogateescape")
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:03o}" for b in raw) + '"'


@dataclass(frozen=True, slots=True)
class _Half:
    """One side of a file: no hash where it is not there, no content where it is not kept."""

    digest: str | None
    content: bytes | None

    @property
    def size(self) -> int | None:
        return None if self.digest is None or self.content is None else len(self.content)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConflictError(f"{visible_line(str(path))} changed while it was compared", hint="compare again") from error


def _compare(name: str, old: _Half, new: _Half, context: int) -> FileDiff:
    status: Status = "changed"
    if old.digest is None or new.digest is None:
        status = "added" if old.digest is None else "removed"
    unread = _unread(old) or _unread(new)
    if unread:
        return FileDiff(name, status, "", True, old.digest, new.digest, 0, 0, (), unread, old.size, new.size)
    before, after = _lines(old.content or b""), _lines(new.content or b"")
    shown = secrets.hidden(name, before), secrets.hidden(name, after)
    parts = hunks(before, after, shown=shown, context=context)
    labels = (_label("a", name, old.digest), _label("b", name, new.digest))
    text = "".join(part.text() for part in parts)
    return FileDiff(
        name,
        status,
        f"--- {labels[0]}\n+++ {labels[1]}\n{text}" if text else "",
        False,
        old.digest,
        new.digest,
        sum(part.counted("+") for part in parts),
        sum(part.counted("-") for part in parts),
        parts,
        "",
        old.size,
        new.size,
        any(line.hidden for part in parts for line in part.lines),
    )


def _label(side: str, name: str, digest: str | None) -> str:
    if digest is None:
        return "/dev/null"
    label = quoted(f"{side}/{name}")
    return f"{label}\t" if " " in label else label  # else patch(1) takes the first word for the name


def _unread(half: _Half) -> Unread:
    """Return why a side can't be compared by line, "" where it can."""
    if half.digest is None:
        return ""
    if half.content is None:
        return "not kept"
    if len(half.content) > TEXT_BYTES or half.content.count(b"\n") > TEXT_LINES:
        return "too large"
    try:
        half.content.decode("utf-8")
    except UnicodeDecodeError:
        return "binary"
    return "binary" if b"\0" in half.content else ""


def _lines(raw: bytes) -> list[str]:
    """Return the lines of a text with their ends; only a newline ends one."""
    lines = raw.decode("utf-8").split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
