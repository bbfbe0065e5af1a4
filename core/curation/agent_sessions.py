"""Which of an agent's finished Sessions a curator may learn from, and in what order.

Two sources. The Runs behind the Reference's evaluation: their Case and points are known. And the agent's own work
outside benchmarks, newest first: nobody scored it. Everything else that an agent's traces hold stays out: cells of
other versions and of rejected Candidates (what they show is not how the agent works now), sub-agents, and every
Session that worked on a held-out Case, whoever started it, for what a held-out Case shows must never reach the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from core.evolution.events import EventName, read_journal
from core.evolution.optimizer_state import Reference
from core.evolution.target_cell import MESSAGE
from core.foundation.visible import decode
from core.state.benchmark import read_benchmark
from core.state.paths import AgentPaths, ProjectPaths
from core.state.scoreboard import read_scoreboard
from core.traces.listing import SessionHead, read_head
from core.traces.outline import read_outline
from core.traces.shards import Shard, all_shards, session_shards

NO_REPLY = "llm request error"
"""How an abort begins whose reason is the model's provider: the agent did not fail, its Session is no evidence."""


@dataclass(frozen=True, slots=True)
class FinishedSession:
    """A Session to learn from. `case_id` and `points` (0 to 100) are None where it was the agent's own work.

    `broken_off` says why it was ended before it was done (a budget, a loop), "" where the agent had the last word.
    """

    session_id: str
    case_id: str | None = None
    points: float | None = None
    broken_off: str = ""


def choose(
    scored: Sequence[FinishedSession], own: Iterator[FinishedSession], done: Set[str], count: int
) -> tuple[FinishedSession, ...]:
    """Return up to `count` Sessions that are not in `done`: scored ones first, one a Case before a second of any.

    Among the first, the second, ... Run of each Case those with fewer points come first: there is most to learn.
    Pure but for drawing from `own`, which is asked only for what the scored ones do not fill.
    """
    seen: dict[str | None, int] = {}
    ranked: list[tuple[int, float, str, FinishedSession]] = []
    for session in sorted(scored, key=lambda one: (one.points if one.points is not None else 100.0, one.session_id)):
        place = seen.get(session.case_id, 0)
        seen[session.case_id] = place + 1
        points = session.points if session.points is not None else 100.0
        ranked.append((place, points, session.case_id or "", session))
    ranked.sort(key=lambda entry: entry[:3])
    chosen = [entry[3] for entry in ranked if entry[3].session_id not in done][:count]
    while len(chosen) < count and (found := next(own, None)) is not None:
        if found.session_id not in done:
            chosen.append(found)
    return tuple(chosen)


def scored_sessions(agent: AgentPaths, reference: Reference | None) -> tuple[FinishedSession, ...]:
    """Return the Runs of the Reference's evaluation whose traces are there; the Reference holds measured Cases only."""
    if reference is None:
        return ()
    return tuple(
        FinishedSession(run.session_id, case_id, run.score, _broken_off(shards))
        for case_id, runs in reference.cases.items()
        for run in runs
        if run.session_id and (shards := session_shards(agent, run.session_id))
    )


def own_work(agent: AgentPaths) -> Iterator[FinishedSession]:
    """Yield the agent's finished Sessions outside benchmarks, newest first; a trace is opened when it is its turn."""
    cells, secret = cell_sessions(agent.project), held_out_tasks(agent)
    listed = {run for evaluation in _evaluations(agent) for run in evaluation}
    for session_id, shards in all_shards(agent).items():
        if session_id in cells or session_id in listed:
            continue
        head = read_head(agent, shards)
        if head is None or not _is_own_work(head, secret):
            continue
        outline = read_outline(shards)
        if outline.state == "done":
            yield FinishedSession(session_id)
        elif outline.state == "failed" and not outline.reason.startswith(NO_REPLY):
            yield FinishedSession(session_id, broken_off=outline.reason)


def cell_sessions(project: ProjectPaths) -> frozenset[str]:
    """Return every Target Session that a run of this project started for a cell, whatever became of it."""
    found: set[str] = set()
    for path in sorted(project.runs.glob("*/journal.jsonl")):
        for event in read_journal(path)[0]:
            if event["event"] == EventName.TARGET_STARTED:
                found.add(event["session_id"])
    return frozenset(found)


def curated_sessions(project: ProjectPaths, agent_id: str) -> frozenset[str]:
    """Return the Sessions that earlier runs showed to a curator and made a decision of, or tried to."""
    found: set[str] = set()
    for path in sorted(project.runs.glob("curate-*/journal.jsonl")):
        events = read_journal(path)[0]
        spec: Mapping[str, object] = next((e["spec"] for e in events if e["event"] == EventName.RUN_STARTED), {})
        if spec.get("agent_id") == agent_id and not spec.get("dry_run"):
            found |= {event["about"] for event in events if event["event"] == EventName.CURATED}
    return frozenset(found)


def held_out_tasks(agent: AgentPaths) -> frozenset[str]:
    """Return the texts of all held-out statements of the agent's benchmarks, white space evened out."""
    found: set[str] = set()
    for benchmark_id in agent.benchmark_ids():
        benchmark = agent.benchmark(benchmark_id)
        for case_id in read_benchmark(benchmark).held_out:
            readme = benchmark.case(case_id).statement_readme
            if readme.is_file():
                found.add(evened(decode(readme.read_bytes())))
    return frozenset(found)


def evened(text: str) -> str:
    """Return a text with its white space evened out, for comparison."""
    return " ".join(text.split())


def _is_own_work(head: SessionHead, secret: Set[str]) -> bool:
    """Tell whether a Session is somebody's own use of the agent, and not a cell of a run that left no journal."""
    if head.category != "active" or head.fault or head.sender != "user" or not head.prompt.strip():
        return False
    prompt = evened(head.prompt)
    return prompt != evened(MESSAGE) and not any(task and task in prompt for task in secret)


def _broken_off(shards: tuple[Shard, ...]) -> str:
    outline = read_outline(shards)
    return outline.reason if outline.state == "failed" else ""


def _evaluations(agent: AgentPaths) -> Iterator[set[str]]:
    for benchmark_id in agent.benchmark_ids():
        for evaluation in read_scoreboard(agent.benchmark(benchmark_id).scoreboard).evaluations:
            yield {run.session_id for case in evaluation.cases for run in case.runs}
