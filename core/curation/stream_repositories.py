"""The repositories that a run ended with, as folders of SKILL.md files with their operation logs (K1, K19)."""

from __future__ import annotations

import shutil
from pathlib import Path

from core.curation.fields import Fields
from core.curation.stream_files import ArmRecord, StreamPaths
from core.curation.wire import read_call
from core.skillrepo import directory as directories
from core.skillrepo.oplog import FILE, OperationLog
from core.skillrepo.repository import Repository
from core.state import readonly


def place_of(paths: StreamPaths, arm: str, seed: int) -> Path:
    """Return the directory of a stream's repository; `exuvia skill show --repo` opens it, at any position."""
    return paths.repositories / f"{arm}-{seed}"


def keep(paths: StreamPaths, record: ArmRecord, *, extra: bool = False) -> tuple[Path, ...]:
    """Write the repositories of an arm as its journal tells them; what a killed life left is made anew.

    Only arms whose changes are a curator's calls have one; for others this writes nothing.
    """
    readonly.refuse(paths.repositories)
    seeds = sorted({place.seed for places in record.positions for place in places})
    kept: list[Path] = []
    for seed in seeds:
        changes = [
            (position, place)
            for position, places in enumerate(record.positions)
            for place in places
            if place.seed == seed and place.change is not None and "calls" in place.change
        ]
        if not changes:
            continue
        directory = place_of(paths, record.name, seed)
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        repository, log = Repository(), OperationLog(directory / FILE)
        for position, place in changes:
            calls = [read_call(call) for call in Fields(place.change or {}).parts("calls")]
            source = {"arm": record.name, "stream": seed, "position": position, "task": place.task}
            log.append(repository.apply(calls, extra=extra), source, fsync=False)
        directories.save(repository, directory)
        kept.append(directory)
    return tuple(kept)
