"""What changes in a Project while one looks: events of the file system, named by what they mean.

A plain observer: it opens nothing for writing and makes nothing. What a running Target does in its workspace is not
reported, nor are temporary files, locks and heartbeats.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from core.foundation.errors import NotFoundError
from core.state.atomic import LEFTOVER
from core.state.paths import ProjectPaths

if TYPE_CHECKING:
    import asyncio

Kind = Literal[
    "trace", "scoreboard", "agent", "snapshot", "run", "approval", "live", "benchmark", "training", "strategy", "other"
]
Change = Literal["added", "modified", "deleted"]

_SHARD = re.compile(r"_[0-9]{3}\.jsonl$")
_STAGING = re.compile(r"^\.(import|tmp)-")
# Files that change for their own sake, many times a minute.
_SILENT = frozenset({"lock", "heartbeat"})
_DEBOUNCE_MS = 200
_STEP_MS = 50


@dataclass(frozen=True, slots=True)
class ChangeEvent:
    """Something changed.

    `agent_id` is the agent it belongs to, if any; `subject_id` the session of a trace, the benchmark, run, approval
    or live session, the version's file of a snapshot, or for "other" the file's name without its ending; None where
    a whole directory of them came or went. A training run is named by its id, the curator in use by None; a strategy
    of the bank by its id, the bank's journal and what is tracked of it by None.
    """

    kind: Kind
    path: Path
    agent_id: str | None
    subject_id: str | None
    change: Change


async def watch(
    project: ProjectPaths, stop: asyncio.Event, *, debounce_ms: int = _DEBOUNCE_MS
) -> AsyncIterator[tuple[ChangeEvent, ...]]:
    """Yield changes in batches until `stop` is set: each at most `debounce_ms` after the first of its changes.

    Raises NotFoundError where the Project does not exist. Where the system has no watches left, files are polled.
    """
    from watchfiles import awatch  # here, as a command line that doesn't watch should not load it

    if not project.root.is_dir():
        raise NotFoundError(f"there is no project {project.root}", hint="check --home and --project")
    polling: bool | None = None
    while True:
        try:
            async for changes in awatch(
                project.root,
                watch_filter=None,
                debounce=debounce_ms,
                step=_STEP_MS,
                stop_event=stop,
                recursive=True,
                force_polling=polling,
                ignore_permission_denied=True,
            ):
                told = [(change.raw_str(), Path(path)) for change, path in changes]
                if events := classified(project, [*told, *_already_inside(project, told)]):
                    yield events
            return
        except OSError:
            if polling:
                raise
            polling = True  # out of inotify watches, or a file system without them


def _already_inside(project: ProjectPaths, told: Iterable[tuple[str, Path]]) -> Iterator[tuple[str, Path]]:
    """Yield the files of new directories: what was written before the system watched inside is told by no one."""
    for change, path in told:
        if change == "added" and path.is_dir() and _classify(project, path, "added") is not None:
            for directory, _, names in os.walk(path):
                yield from (("added", Path(directory, name)) for name in names)


def classified(project: ProjectPaths, changes: Iterable[tuple[str, Path]]) -> tuple[ChangeEvent, ...]:
    """Return the events that `changes` (change and path) mean, sorted by path, without what no one looks at. Pure."""
    names: dict[str, Change] = {"added": "added", "modified": "modified", "deleted": "deleted"}
    found = {event for change, path in changes if (event := _classify(project, path, names[change])) is not None}
    return tuple(sorted(found, key=lambda event: (str(event.path), event.change)))


def _classify(project: ProjectPaths, path: Path, change: Change) -> ChangeEvent | None:
    try:
        parts = path.relative_to(project.root).parts
    except ValueError:
        return None
    if not parts or any(_STAGING.match(part) or LEFTOVER.match(part) for part in parts):
        return None
    match parts:
        case (".exuvia", *rest):
            meant = _own(rest)
        case ("agents", agent_id, *rest):
            meant = _of_agent(agent_id, rest)
        case ("benchmarks", benchmark_id, *rest):
            meant = (_in_benchmark(rest), None, benchmark_id)
        case ("strategies", *rest):
            meant = _in_bank(rest)
        case _:
            meant = ("other", None, Path(parts[-1]).stem)
    return None if meant is None else ChangeEvent(meant[0], path, meant[1], meant[2], change)


_Meaning = tuple[Kind, str | None, str | None]


def _own(rest: list[str]) -> _Meaning | None:
    if rest and rest[-1] in _SILENT:
        return None
    match rest:
        case ["runs", run_id, *_]:
            return "run", None, run_id
        case ["training", run_id, *_]:
            return "training", None, run_id
        case ["strategies", *below]:
            return None if below[-1:] == ["bank.lock"] else ("strategy", None, None)
        case ["training"] | ["curator.json"]:
            return "training", None, None
        case ["approvals", name, *_]:
            return "approval", None, name.removesuffix(".json").removesuffix(".decision")
        case ["live", name, *_]:
            return "live", None, name.split(".")[0]
        case ["snapshots", agent_id, name, *_]:
            return "snapshot", agent_id, name.removesuffix(".tar.gz")
        case ["snapshots", *_]:
            return "snapshot", None, None
        case ["runs"]:
            return "run", None, None
        case ["approvals"]:
            return "approval", None, None
        case ["live"]:
            return "live", None, None
        case []:
            return "other", None, ".exuvia"
        case _:
            return "other", None, Path(rest[0]).stem


def _in_bank(rest: list[str]) -> _Meaning | None:
    match rest:
        case [".git", *_]:
            return None
        case [domain, name] if not domain.startswith(".") and name.endswith(".yaml"):
            return "strategy", None, name.removesuffix(".yaml").removesuffix(".release")
        case [".versions", strategy_id, *_]:
            return "strategy", None, strategy_id
        case _:
            return "strategy", None, None


def _of_agent(agent_id: str, rest: list[str]) -> _Meaning | None:
    match rest:
        case ["traces", _, name]:
            return "trace", agent_id, _SHARD.sub("", name)
        case ["traces", *_]:
            return "trace", agent_id, None
        case ["benchmarks", benchmark_id, *below]:
            return _in_benchmark(below), agent_id, benchmark_id
        case ["benchmarks"]:
            return "benchmark", agent_id, None
        case ["snapshots", *below]:
            return "snapshot", agent_id, below[0].removesuffix(".tar.gz") if below else None
        case [] | ["agent_state", *_]:
            return "agent", agent_id, agent_id
        case _:  # workspaces, scratchpads, environments: a Target at work
            return None


def _in_benchmark(below: list[str]) -> Kind:
    return "scoreboard" if below == ["scoreboard.yaml"] else "benchmark"
