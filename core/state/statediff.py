"""What differs between two states, file by file."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core.foundation.errors import ConflictError
from core.foundation.visible import visible_line
from core.state import fingerprint
from core.state.archive import read_archive

_TEXT_BYTES = 512 << 10
_TEXT_LINES = 10_000


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file that differs.

    `text` is a unified diff, "" where a side is binary or too large to compare by line (`binary`); the hashes
    (SHA-256, hex) are None where the side has no such file. `added` and `removed` count lines.
    """

    path: str
    status: Literal["added", "removed", "changed"]
    text: str
    binary: bool
    before_hash: str | None
    after_hash: str | None
    added: int = 0
    removed: int = 0


def diff(before: Path, after: Path, *, with_memory: bool = False, context: int = 3) -> tuple[FileDiff, ...]:
    """Compare two states, each a directory or an archive; sorted by path, vaults never shown.

    Without `with_memory` only what makes a version is compared. Raises NotFoundError, DamagedError.
    """
    left, right = _side(before), _side(after)
    names = sorted(
        name
        for name in {*left.hashes, *right.hashes}
        if left.hashes.get(name) != right.hashes.get(name)
        and (fingerprint.counts(name) or (with_memory and not fingerprint.is_vault(name)))
    )
    old, new = left.read(names), right.read(names)
    return tuple(
        _compare(
            name, (left.hashes.get(name), old.get(name, b"")), (right.hashes.get(name), new.get(name, b"")), context
        )
        for name in names
    )


@dataclass(frozen=True, slots=True)
class _Side:
    hashes: Mapping[str, str]
    read: Callable[[Collection[str]], Mapping[str, bytes]]


def _side(place: Path) -> _Side:
    if not place.is_dir():
        archive = read_archive(place)
        return _Side(archive.file_hashes(), archive.read_many)
    hashes = fingerprint.file_hashes(place)
    return _Side(hashes, lambda names: {name: _read(place / name) for name in names if name in hashes})


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConflictError(f"{visible_line(str(path))} changed while it was compared", hint="compare again") from error


def _compare(name: str, old: tuple[str | None, bytes], new: tuple[str | None, bytes], context: int) -> FileDiff:
    status: Literal["added", "removed", "changed"] = "changed"
    if old[0] is None or new[0] is None:
        status = "added" if old[0] is None else "removed"
    before, after = _lines(old[1]), _lines(new[1])
    if before is None or after is None:
        return FileDiff(name, status, "", True, old[0], new[0])
    labels = (f"a/{name}" if old[0] else "/dev/null", f"b/{name}" if new[0] else "/dev/null")
    lines = list(difflib.unified_diff(before, after, *labels, n=context))
    text = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    added, removed = (sum(line.startswith(sign) for line in lines[2:]) for sign in "+-")
    return FileDiff(name, status, text, False, old[0], new[0], added, removed)


def _lines(raw: bytes) -> list[str] | None:
    """Return the lines with their ends (only a newline ends one), None for what is no text of a sensible size."""
    if len(raw) > _TEXT_BYTES or b"\0" in raw:
        return None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    lines = text.split("\n")
    if len(lines) > _TEXT_LINES:
        return None
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
