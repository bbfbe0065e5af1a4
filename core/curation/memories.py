"""What one stream of one arm remembers: skills, found for a task, changed by what was learned (K6).

A memory is a fold: the same changes in the same order give the same memory, so that a stream which was killed is
rebuilt from its journal. A change is plain JSON; finding is deterministic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from core.curation.behaviour import operation_kind
from core.curation.fields import Fields
from core.curation.wire import call_json, read_call
from core.curation.worlds import Task
from core.skillrepo.operations import Call, Verdict
from core.skillrepo.repository import Repository
from core.skillrepo.retrieval import retrieve
from core.skillrepo.skill import Skill


@dataclass(frozen=True, slots=True)
class Retrieval:
    """How skills are found for a task: BM25, the best `top_k`, and the relevance gate (off in the paper)."""

    top_k: int = 5
    min_overlap: float = 0.0

    def of(self, skills: Sequence[Skill], query: str) -> tuple[Skill, ...]:
        return tuple(hit.skill for hit in retrieve(skills, query, top_k=self.top_k, min_overlap=self.min_overlap))


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation as it came out. `title` is the skill's afterwards, where it is; `content` what was written."""

    kind: str
    title: str
    valid: bool
    reason: str = ""
    content: str = ""


class Memory(Protocol):
    """The memory of one stream."""

    @property
    def skills(self) -> tuple[Skill, ...]:
        """All that it holds now, in a fixed order."""
        ...

    def find(self, position: int, task: Task) -> tuple[Skill, ...]:
        """Return what the executor is given for the task at `position` (from 0) of the stream, best first."""
        ...

    def take(self, change: Mapping[str, Any]) -> tuple[Operation, ...]:
        """Apply what was learned. Raises ValueError where the change is none of this memory's."""
        ...


@dataclass(frozen=True, slots=True)
class FixedMemory:
    """Skills that nobody changes: none at all, or those written by hand."""

    skills: tuple[Skill, ...]
    retrieval: Retrieval

    def find(self, position: int, task: Task) -> tuple[Skill, ...]:
        del position
        return self.retrieval.of(self.skills, task.text)

    def take(self, change: Mapping[str, Any]) -> tuple[Operation, ...]:
        raise ValueError("a fixed memory takes no change")


@dataclass(frozen=True, slots=True)
class ShuffledMemory:
    """The right skills for the wrong tasks: each task is given what was found for another one of the stream."""

    skills: tuple[Skill, ...]
    retrieval: Retrieval
    stands_for: tuple[Task, ...]

    def find(self, position: int, task: Task) -> tuple[Skill, ...]:
        del task
        return self.retrieval.of(self.skills, self.stands_for[position].text)

    def take(self, change: Mapping[str, Any]) -> tuple[Operation, ...]:
        raise ValueError("a fixed memory takes no change")


class RepositoryMemory:
    """A skill repository, from empty, changed by a curator's calls (CURATION 1.1)."""

    def __init__(self, retrieval: Retrieval, *, extra: bool = False) -> None:
        self._retrieval = retrieval
        self._extra = extra
        self._repository = Repository()

    @property
    def skills(self) -> tuple[Skill, ...]:
        return self._repository.skills

    def find(self, position: int, task: Task) -> tuple[Skill, ...]:
        del position
        return self._retrieval.of(self._repository.skills, task.text)

    def take(self, change: Mapping[str, Any]) -> tuple[Operation, ...]:
        calls = [read_call(call) for call in Fields(change).parts("calls")]
        return tuple(_operation(verdict) for verdict in self._repository.apply(calls, extra=self._extra))


def calls_change(calls: Sequence[Call]) -> dict[str, Any]:
    """Return a curator's calls as a change of a RepositoryMemory."""
    return {"calls": [call_json(call) for call in calls]}


def _operation(verdict: Verdict) -> Operation:
    asked = (verdict.call.arguments or {}).get("skill_name", "")
    title = verdict.after.title if verdict.valid and verdict.after is not None else asked
    written = verdict.after.content if verdict.valid and verdict.after is not None else ""
    return Operation(
        operation_kind(verdict.call.name),
        title if isinstance(title, str) else "",
        verdict.valid,
        verdict.reason,
        written if written and (verdict.before is None or verdict.before.content != written) else "",
    )
