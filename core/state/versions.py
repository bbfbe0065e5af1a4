"""Which version an Agent State is, and which number comes next: versions only increase (EVOLUTION 3.5 no. 64)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.foundation.errors import DamagedError
from core.foundation.visible import decode
from core.state import ledger, yaml12
from core.state.paths import AgentPaths, BenchmarkPaths
from core.state.scoreboard import read_scoreboard

SHARED_NAME = re.compile(r"v([1-9][0-9]{0,8})\.tar\.gz")
"""Name of a snapshot in the shared format."""
KEPT_NAME = re.compile(r"v([0-9]{1,9})-[0-9a-f]{64}\.tar\.gz")
"""Name of a copy that we keep by content; version 0 where the state had no readable config."""

_WRITTEN_VERSION = re.compile(r"^[\s-]*version:\s*([1-9][0-9]{0,8})(?:\.0+)?\s*(?:#.*)?$", re.MULTILINE)


def version_of(config: str) -> int | None:
    """Return the version a system_config.yaml states; 1 where it is missing or invalid (EVOLUTION 1.4), None where
    the text is no YAML mapping at all.
    """
    try:
        raw = yaml12.load(config)
    except yaml12.YamlError:
        return None
    return (_whole(raw.get("version")) or 1) if isinstance(raw, dict) else None


def checked_version(config: str) -> int:
    """Return the version of a config that is about to be imported. Raises DamagedError by the strict rule of
    EVOLUTION 2.7 no. 72: a mapping, `system_prompt` a string, `version` missing or a whole number from 1 on.
    """
    try:
        raw: Any = yaml12.load(config)
    except yaml12.YamlError as error:
        raise DamagedError(f"agent_state/system_config.yaml can't be read: {error}") from error
    if not isinstance(raw, dict) or not isinstance(raw.get("system_prompt"), str):
        raise DamagedError("agent_state/system_config.yaml has no system_prompt")
    if "version" not in raw:
        return 1
    version = _whole(raw["version"])
    if version is None:
        raise DamagedError(f"the version {raw['version']!r} is not a whole number from 1 on")
    return version


def current_version(agent: AgentPaths) -> int | None:
    """Return the version of the present state, None where its config is missing or can't be read."""
    try:
        return version_of(decode(agent.config.read_bytes()))
    except OSError:
        return None


def next_version(agent: AgentPaths) -> int:
    """Return the number for the next Candidate: 1 + the largest one ever used (EVOLUTION 2.7 no. 76).

    Used are the present version, every snapshot's, every evaluation's (also of evaluations too damaged to be
    shown) and every Candidate's, rejected ones included. Two callers at the same time get the same number; who
    writes the version holds the agent's lock.
    """
    present = current_version(agent) or 0
    return 1 + max(
        (
            present,
            *(version for version, _, _ in snapshot_files(agent)),
            *_evaluations(agent),
            *ledger.versions(agent.project, agent.id),
        )
    )


def kept_dir(agent: AgentPaths) -> Path:
    """Return where we keep what the shared format has no place for: index, copies by content, swaps."""
    return agent.project.own / "snapshots" / agent.id


def snapshot_files(agent: AgentPaths) -> Iterator[tuple[int, Path, bool]]:
    """Yield version, archive, and whether it is one of our copies, of everything named like a snapshot."""
    for directory, pattern, beside in ((agent.snapshots, SHARED_NAME, False), (kept_dir(agent), KEPT_NAME, True)):
        for path in directory.iterdir() if directory.is_dir() else ():
            if (match := pattern.fullmatch(path.name)) and path.is_file():
                yield int(match[1]), path, beside


def _evaluations(agent: AgentPaths) -> Iterator[int]:
    boards = [agent.benchmark(name) for name in agent.benchmark_ids()]
    if (shared := agent.project.root / "benchmarks").is_dir():  # later layouts keep them beside the agents
        boards += [BenchmarkPaths(path) for path in shared.iterdir() if path.is_dir()]
    for board in boards:
        reading = read_scoreboard(board.scoreboard)
        yield from (evaluation.version for evaluation in reading.evaluations)
        for dropped in reading.dropped:  # a number stays used where its evaluation is damaged
            yield from (int(found) for found in _WRITTEN_VERSION.findall(dropped.raw))


def _whole(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or value in (_INF, -_INF):
        return None
    return int(value) if value >= 1 and value == int(value) else None


_INF = float("inf")
