"""The files that a Target left in its workspace: listed, hashed and previewed without ever following a link out."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.agents.isolation.beneath import open_beneath
from core.agents.isolation.policy import IsolationPolicy
from core.foundation.errors import ExuviaError
from core.foundation.visible import decode
from core.state.fingerprint import file_hashes
from core.state.paths import AgentPaths

MOST_FILES = 400
MOST_HASHED = 8 << 20
"""Bytes of a file above which it is not hashed for a list."""
BUDGET = 64 << 20
"""Bytes that are hashed for one list in all."""
PREVIEW = 16 << 10


@dataclass(frozen=True, slots=True)
class Kept:
    """A file of a workspace.

    `what`: made (by the Target), changed, given (as the statement has it), removed, link or special; `digest` is the
    SHA-256, "" where it was too large to hash.
    """

    path: str
    size: int
    what: str
    digest: str = ""
    leads_to: str = ""


@dataclass(frozen=True, slots=True)
class Preview:
    """The beginning of a file: text where it is text, else why not; `more` bytes are not shown."""

    path: str
    text: str
    more: int = 0
    is_text: bool = True


def workspace_of(agent: AgentPaths, session_id: str) -> tuple[Path | None, str]:
    """Return where a Session worked, or None and why: never a place outside its agent's directory.

    A home that was moved or copied is found again by the workspace's own name.
    """
    from core.traces.listing import session_head

    try:
        head = session_head(agent, session_id)
    except (ExuviaError, OSError) as error:
        return None, f"The Target's trace cannot be read: {error}"
    told = head.workspace if head is not None else ""
    if not told:
        return None, "The Target's trace does not say where it worked."
    root = agent.root.resolve()
    for path in (agent.workspaces / Path(told).name, Path(told)):
        try:
            real = path.resolve()
            if real.is_dir() and real != root and real.is_relative_to(root):
                return real, ""
        except (OSError, RuntimeError, ValueError):
            continue
    if Path(told).is_dir():
        return None, f"It worked in {told}, outside the agent's directory; that is not listed here."
    return None, f"Its workspace {told} is gone."


def kept_files(workspace: Path, statement: Path | None) -> tuple[tuple[Kept, ...], int]:
    """Return the files below `workspace` by path, at most MOST_FILES, and how many more there are.

    They are told apart from those of the Case's statement as it is now.
    """
    given: dict[str, str] = {}
    if statement is not None:
        try:
            given = file_hashes(statement)
        except OSError:
            given = {}
    policy = IsolationPolicy(read=(workspace,))
    found: list[Kept] = []
    more, budget = 0, BUDGET
    for name, status in _walk(workspace):
        if len(found) >= MOST_FILES:
            more += 1
            continue
        if stat.S_ISLNK(status.st_mode):
            found.append(Kept(name, 0, "link", leads_to=_target(workspace / name)))
        elif not stat.S_ISREG(status.st_mode):
            found.append(Kept(name, 0, "special"))
        else:
            digest = ""
            if status.st_size <= min(MOST_HASHED, budget):
                budget -= status.st_size
                digest = _hashed(policy, workspace / name)
            what = "made" if name not in given else "given" if digest == given[name] else "changed"
            found.append(Kept(name, status.st_size, what, digest))
    seen = {kept.path for kept in found}
    if not more:
        found += [Kept(name, 0, "removed") for name in given if name not in seen]
    order = {"made": 0, "changed": 1, "link": 2, "special": 2, "removed": 3, "given": 4}
    return tuple(sorted(found, key=lambda kept: (order[kept.what], kept.path))), more


def preview(workspace: Path, name: str) -> Preview:
    """Return the beginning of a file of a workspace. What cannot be shown says why; nothing is raised."""
    try:
        with os.fdopen(open_beneath(IsolationPolicy(read=(workspace,)), workspace / name), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(PREVIEW)
    except (ExuviaError, OSError) as error:
        return Preview(name, f"It is not shown: {error}", is_text=False)
    if b"\0" in head:
        return Preview(name, f"Binary, {size} bytes.", is_text=False)
    return Preview(name, decode(head), max(0, size - len(head)))


def _walk(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield everything but directories below `root`, links as themselves, in the order of names."""
    waiting = [""]
    while waiting:
        relative = waiting.pop()
        try:
            with os.scandir(root / relative) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in listed:
            name = f"{relative}/{entry.name}" if relative else entry.name
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # gone meanwhile
            if stat.S_ISDIR(status.st_mode):
                waiting.append(name)
            else:
                yield name, status


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return "?"


def _hashed(policy: IsolationPolicy, path: Path) -> str:
    try:
        with os.fdopen(open_beneath(policy, path), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (ExuviaError, OSError):
        return ""
