"""The files of a stream run: `<project>/.exuvia/streams/<id>/` (K6).

| file | what |
|---|---|
| `spec.json` | what was asked, resolved |
| `events.jsonl` | what happened: start, arm, position, resume, end; everything else is a fold over it |
| `episodes.jsonl` | whole attempts of model executors, which can't be had again; scripted ones can |
| `operations/ARM-SEED.jsonl` | the operation log of each repository |
| `repositories/ARM-SEED/` | the repository at the end, a folder of SKILL.md a skill |
| `judgements.jsonl` | what a model judged of contents, by hash |
| `summary.json`, `report.md` | what came out |

A line of `events.jsonl` that a kill tore is no record: the position is done again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.curation.arms import NotRun, Stream
from core.curation.fields import Fields
from core.curation.jobs import JobPaths
from core.curation.meter import Meter
from core.curation.positions import Place, place_json, read_place
from core.curation.wire import episode_json, task_json
from core.curation.worlds import Episode, World
from core.foundation import strict_json
from core.foundation.clock import now_ms
from core.state.jsonlines import append_record, read_lines


class StreamPaths(JobPaths):
    """The files of a run, beyond those of every job."""

    @property
    def episodes(self) -> Path:
        return self.root / "episodes.jsonl"

    @property
    def operations(self) -> Path:
        return self.root / "operations"

    @property
    def repositories(self) -> Path:
        return self.root / "repositories"

    @property
    def judgements(self) -> Path:
        return self.root / "judgements.jsonl"

    @property
    def report(self) -> Path:
        return self.root / "report.md"


@dataclass(frozen=True, slots=True)
class Facts:
    """What a run is over: enough to know that another one is over the same (written at its start).

    `tasks_hash` is a sha256 over every task of every stream; `lengths` the length of each stream.
    """

    world: str
    fingerprint: str
    max_steps: int
    executor: str
    judge: str
    content_judge: str
    seeds: tuple[int, ...]
    lengths: tuple[int, ...]
    tasks_hash: str


@dataclass(slots=True)
class ArmRecord:
    """An arm as recorded: its positions in order, each with a place a stream. `state` None while it is under way."""

    name: str
    positions: list[tuple[Place, ...]] = field(default_factory=list)
    seconds: float = 0.0
    state: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and USD known to be spent on models; `unknown` counts requests that told no usage or have no price."""

    tokens: int = 0
    usd: float = 0.0
    unknown: int = 0


@dataclass(slots=True)
class Journal:
    """A run's events, folded. `ended` is None while it goes; `damaged` counts lines that hold no record."""

    facts: Facts | None = None
    arms: dict[str, ArmRecord] = field(default_factory=dict)
    ended: tuple[str, str] | None = None
    lives: int = 0
    damaged: int = 0
    spent: list[Spent] = field(default_factory=list)

    @property
    def spent_at_all(self) -> Spent:
        """What the models of all lives have spent."""
        parts = self.spent
        return Spent(sum(s.tokens for s in parts), sum(s.usd for s in parts), sum(s.unknown for s in parts))


def facts_of(world: World, streams: Sequence[Stream], executor: str, judge: str, content_judge: str) -> Facts:
    tasks = [[task_json(task) for task in stream.tasks] for stream in streams]
    return Facts(
        world=world.name,
        fingerprint=world.fingerprint,
        max_steps=world.max_steps,
        executor=executor,
        judge=judge,
        content_judge=content_judge,
        seeds=tuple(stream.seed for stream in streams),
        lengths=tuple(len(stream.tasks) for stream in streams),
        tasks_hash=hashlib.sha256(strict_json.dumps(tasks).encode("utf-8")).hexdigest(),
    )


class StreamWriter:
    """Appends what happens. Invariant: a position stands in the journal whole, once, or not at all."""

    def __init__(self, paths: StreamPaths, *, keep_episodes: bool) -> None:
        self._paths = paths
        self._keep_episodes = keep_episodes

    def start(self, facts: Facts) -> None:
        self._event("start", facts=_facts_json(facts))

    def resume(self) -> None:
        self._event("resume")

    def not_run(self, arm: NotRun) -> None:
        self._event("arm", arm=arm.name, state="not run", reason=arm.reason)

    def arm_done(self, name: str) -> None:
        self._event("arm", arm=name, state="done", reason="")

    def position(
        self, arm: str, position: int, happened: Sequence[tuple[Place, Episode]], seconds: float, meter: Meter
    ) -> None:
        """Write down a position; `meter` tells what this process's models have spent by now."""
        if self._keep_episodes:
            for place, episode in happened:
                kept = {"arm": arm, "seed": place.seed, "position": position, "episode": episode_json(episode)}
                append_record(self._paths.episodes, kept, fsync=False)
        self._event(
            "position",
            fsync=False,  # a killed process loses nothing that it has written; a power cut at most the latest positions
            arm=arm,
            position=position,
            seconds=round(seconds, 6),
            spent={"tokens": meter.tokens, "usd": round(meter.usd, 6), "unknown": meter.unknown},
            places=[place_json(place) for place, _ in happened],
        )

    def end(self, state: str, reason: str) -> None:
        self._event("end", state=state, reason=reason)

    def _event(self, event: str, *, fsync: bool = True, **values: Any) -> None:
        append_record(self._paths.events, {"time": now_ms(), "event": event, **values}, fsync=fsync)


def read_journal(paths: StreamPaths) -> Journal:
    """Return a run's events, folded. A line that can't be read is counted; the positions behind it are done again."""
    found = read_lines(paths.events)
    journal = Journal(damaged=len(found.gaps))
    for record in found.records:
        try:
            _take(journal, record)
        except ValueError:
            journal.damaged += 1
    return journal


def _take(journal: Journal, record: Mapping[str, Any]) -> None:
    at = Fields(record)
    match at.text("event"):
        case "start":
            journal.facts, journal.ended = _read_facts(at.part("facts")), None
            _begin(journal)
        case "resume":
            journal.ended = None
            _begin(journal)
        case "arm":
            arm = journal.arms.setdefault(at.text("arm"), ArmRecord(at.text("arm")))
            arm.state, arm.reason = at.text("state"), at.text("reason", "")
        case "position":
            arm = journal.arms.setdefault(at.text("arm"), ArmRecord(at.text("arm")))
            places = tuple(read_place(place) for place in at.parts("places"))
            if at.whole("position") == len(arm.positions):  # one that is out of turn belongs to a life that was lost
                arm.positions.append(places)
                arm.seconds += at.amount("seconds") or 0.0
            spent = at.part("spent")
            if journal.spent:
                journal.spent[-1] = Spent(
                    spent.count("tokens") or 0, spent.amount("usd") or 0.0, spent.count("unknown") or 0
                )
        case "end":
            journal.ended = (at.text("state"), at.text("reason", ""))


def _begin(journal: Journal) -> None:
    journal.lives += 1
    journal.spent.append(Spent())


def same(facts: Facts, other: Facts) -> str:
    """Return in what two runs differ so that their tasks can't be paired; empty where they can."""
    for name in ("world", "fingerprint", "seeds", "lengths", "tasks_hash"):
        if getattr(facts, name) != getattr(other, name):
            return {"tasks_hash": "tasks", "lengths": "length of the streams"}.get(name, name)
    return ""


def _facts_json(facts: Facts) -> dict[str, Any]:
    return {
        "world": facts.world,
        "fingerprint": facts.fingerprint,
        "max_steps": facts.max_steps,
        "executor": facts.executor,
        "judge": facts.judge,
        "content_judge": facts.content_judge,
        "seeds": list(facts.seeds),
        "lengths": list(facts.lengths),
        "tasks_hash": facts.tasks_hash,
    }


def _read_facts(at: Fields) -> Facts:
    return Facts(
        world=at.text("world"),
        fingerprint=at.text("fingerprint"),
        max_steps=at.whole("max_steps"),
        executor=at.text("executor"),
        judge=at.text("judge"),
        content_judge=at.text("content_judge"),
        seeds=at.counts("seeds"),
        lengths=at.counts("lengths"),
        tasks_hash=at.text("tasks_hash"),
    )
