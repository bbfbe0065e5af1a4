"""What a directory holds, as hashes: the identity of an Agent State, of a benchmark, of a snapshot (DECISIONS 13)."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from core.state.atomic import LEFTOVER

VAULT = ".vault.toml"
KEPT = ("memory", "schedule")
"""Directories of the state that are the agent's own life, not its version."""


def state_hash(agent_state: Path) -> str:
    """Return `sha256:<hex>` of the regular files that make a version of the agent.

    `.vault.toml` (at any depth), `memory/` and `schedule/` don't count, nor do empty directories, times and
    modes. Symlinks don't count either: they are a finding, see `irregular`.
    """
    return hash_of(versioned(file_hashes(agent_state)))


def whole_hash(agent_state: Path) -> str:
    """Return `sha256:<hex>` of everything a snapshot holds: memory and schedule too, and which files are executable.

    Vaults are in no snapshot, so they don't count.
    """
    return hash_of(
        {
            name: marked(file_hash(agent_state / name), status.st_mode)
            for name, status in _walk(agent_state)
            if stat.S_ISREG(status.st_mode) and not is_vault(name)
        }
    )


def marked(digest: str, mode: int) -> str:
    """Return a file's hash with a mark where its owner may execute it. Pure."""
    return digest + ("x" if mode & stat.S_IXUSR else "")


def versioned(files: Mapping[str, str]) -> dict[str, str]:
    """Return those of `files` (relative path to hash) that count for `state_hash`."""
    return {name: digest for name, digest in files.items() if counts(name)}


def counts(name: str) -> bool:
    """Tell whether the file at `name`, relative to the state, is part of a version."""
    parts = name.split("/")
    return parts[0] not in KEPT and not is_vault(name)


def is_vault(name: str) -> bool:
    """Tell whether `name` lies in or is a vault file; on a file system that ignores case, `.Vault.toml` is one too."""
    return any(part.casefold() == VAULT for part in name.split("/"))


def hash_of(files: Mapping[str, str]) -> str:
    """Return `sha256:<hex>` over names and hashes, in the order of the names' bytes. Pure."""
    digest = hashlib.sha256()
    for name in sorted(files, key=os.fsencode):
        digest.update(os.fsencode(name) + b"\0" + files[name].encode("ascii") + b"\n")
    return f"sha256:{digest.hexdigest()}"


def file_hashes(directory: Path) -> dict[str, str]:
    """Return relative posix path to SHA-256 (64 hex digits) of every regular file below `directory`, sorted.

    Nothing is left out but temporary files of an interrupted write. Raises FileNotFoundError where there is no
    such directory.
    """
    return {name: file_hash(directory / name) for name, status in _walk(directory) if stat.S_ISREG(status.st_mode)}


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file's bytes as 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def symlinks(directory: Path) -> list[str]:
    """Return the relative paths of all symlinks below `directory`; `.` where it is one itself."""
    found = [name for name, status in _walk(directory) if stat.S_ISLNK(status.st_mode)]
    return ["."] if directory.is_symlink() else found


def irregular(directory: Path) -> list[str]:
    """Return what must not be in a state: symlinks, devices, pipes, sockets, as relative paths."""
    if directory.is_symlink():
        return ["."]
    return [name for name, status in _walk(directory) if not stat.S_ISREG(status.st_mode)]


def vaults(agent_state: Path) -> list[str]:
    """Return the relative paths of the regular files that are vaults."""
    return [name for name, status in _walk(agent_state) if stat.S_ISREG(status.st_mode) and is_vault(name)]


def _walk(directory: Path, prefix: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Yield everything that is no directory, by name; links are reported, never followed."""
    with os.scandir(directory) as entries:
        ordered = sorted(entries, key=lambda entry: os.fsencode(entry.name))
    for entry in ordered:
        name = prefix + entry.name
        if LEFTOVER.match(entry.name):
            continue
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            yield from _walk(Path(entry.path), name + "/")
        else:
            yield name, status
