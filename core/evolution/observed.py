"""Runs that another program makes, inferred from its traces and scoreboards (EVOLUTION 2.6 no. 65 to 68, 3.2 to 3.5).

A pure fold. What it says is what the files say: a cell runs while its Evaluator has not answered, it is scored by the
answer, and the stored value of a scoreboard outranks both. Nothing is known of limits, predictions or rounds to come,
so nothing is said of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from core.evolution.gate import EvaluationRequest
from core.evolution.observed_cells import Attempt, Group, Place, Stored, cells_of, group_attempts
from core.evolution.observed_session import DESIGN, OPTIMIZATION, Seen
from core.evolution.run_paths import Kind
from core.evolution.run_view import OBSERVED, CellView, RoundView, RunState, RunView, SessionView, SpentView
from core.state.evaluation import Evaluation, mean_score
from core.traces.cost import Cost, Prices, usage_cost

INFERRED = "inferred from traces"
QUIET_S = 600.0
"""Seconds without a write after which an unfinished loop counts as quiet: the longest window that a tool of the
existing system waits in (EVOLUTION 4.1, run_subagent), and far longer than a request may take."""

Benchmark = tuple[str, str]
Boards = Mapping[Benchmark, Sequence[Evaluation]]
_WORD = re.compile(r"[A-Za-z0-9_.-]+")
_ROLES: Mapping[str, Literal["builder", "optimizer"]] = {DESIGN: "builder", OPTIMIZATION: "optimizer"}
_KINDS: Mapping[str, Kind] = {"builder": "build", "optimizer": "optimize"}


@dataclass(frozen=True, slots=True)
class Evaluating:
    """An Evaluator's Session with what it was asked for and the Target it ran, as far as they are known."""

    evaluator: Seen
    request: EvaluationRequest
    target_id: str = ""
    target: Seen | None = None


@dataclass(frozen=True, slots=True)
class Loop:
    """A Session that leads, with the Evaluators it started, oldest first; `root` is None where nobody names it."""

    root: Seen | None
    evaluations: tuple[Evaluating, ...]

    @property
    def id(self) -> str:
        """The leading Session's id, else the first Evaluator's."""
        return (self.root or self.evaluations[0].evaluator).session_id

    @property
    def members(self) -> tuple[Seen, ...]:
        """Every Session of it."""
        found = [self.root] if self.root else []
        for evaluating in self.evaluations:
            found += [evaluating.evaluator, *([evaluating.target] if evaluating.target else [])]
        return tuple(found)

    @property
    def is_over(self) -> bool:
        """Whether nobody in it has anything left to do: its last turn has ended, and every Evaluator has answered."""
        waiting = [e.evaluator for e in self.evaluations]
        return not any(seen.turn in ("open", "silent") for seen in (*([self.root] if self.root else []), *waiting))

    def is_quiet(self, now: float) -> bool:
        """Whether none of its files was written in the last `QUIET_S`; `now` and file times are of one clock."""
        return all(now - seen.written > QUIET_S for seen in self.members)


def views_of(loop: Loop, boards: Boards, agents: frozenset[str], prices: Prices, *, quiet: bool) -> list[RunView]:
    """Return a loop as runs, one for each benchmark that it measured or, so far, is at work on."""
    parts: dict[Benchmark, list[Evaluating]] = {}
    for evaluating in loop.evaluations:
        pair = (evaluating.request.test_agent_id, evaluating.request.benchmark_id)
        if pair[0] in agents and _is_name(pair[1]):
            parts.setdefault(pair, []).append(evaluating)
    if not parts:
        parts[_meant(loop, boards, agents)] = []
    last = len(parts) - 1
    return [
        _view(loop, place, pair, found, boards, prices, quiet=quiet, gone_on=place < last)
        for place, (pair, found) in enumerate(parts.items())
    ]


def _is_name(benchmark_id: str) -> bool:
    return benchmark_id not in ("", ".", "..") and not set(benchmark_id) & set("/\\\0") and len(benchmark_id) <= 128


def _meant(loop: Loop, boards: Boards, agents: frozenset[str]) -> Benchmark:
    """Return what a loop without an Evaluator is about: what its tools touched, else what its first text names."""
    root = loop.root or loop.evaluations[0].evaluator
    for named in reversed(root.named):
        if named.agent_id in agents and _is_name(named.benchmark_id):
            return named.agent_id, named.benchmark_id
    words = {word.strip(".") for word in _WORD.findall(root.head.prompt[:8_000])}
    spoken = [agent_id for agent_id in agents if agent_id in words and agent_id != root.head.agent_id]
    agent_id = spoken[0] if len(spoken) == 1 else root.head.agent_id
    own = [benchmark_id for owner, benchmark_id in boards if owner == agent_id and benchmark_id in words]
    return agent_id, own[0] if len(own) == 1 else ""


def _view(
    loop: Loop,
    place: int,
    pair: Benchmark,
    found: Sequence[Evaluating],
    boards: Boards,
    prices: Prices,
    *,
    quiet: bool,
    gone_on: bool,
) -> RunView:
    roles = _roles(loop)
    kind: Kind = _KINDS[roles[0]] if roles else "evaluate"
    board = boards.get(pair, ())
    stored = {run.session_id: Stored(e.version, run) for e in board for case in e.cases for run in case.runs}
    attempts = [
        Attempt(e.evaluator, e.request, e.target_id, stored.get(e.target_id), quiet and not gone_on) for e in found
    ]
    groups = group_attempts(attempts)
    rounds = _rounds(loop, groups, board, over=loop.is_over or gone_on) if "optimizer" in roles else ()
    stages = [_stage(group, number, roles, rounds) for number, group in enumerate(groups, 1)]
    cells, of = cells_of(groups, stages)
    members = [e.evaluator for e in found] + [e.target for e in found if e.target]
    members += [loop.root] if loop.root and place == 0 else []  # what it spent is counted once
    cost = sum((usage_cost(seen.digest.usage, prices) for seen in members), Cost())
    tokens = sum(part.tokens.total for seen in members for part in seen.digest.usage)
    state, reason = _standing(loop, quiet=quiet, gone_on=gone_on)
    lead = loop.root or loop.evaluations[0].evaluator
    phase, detail = (
        ("quiet", "") if state == "stopped" else _phase(roles, groups, stages, cells, done=state != "running")
    )
    times = [seen.digest.last_ts for seen in (*members, *([loop.root] if loop.root and not gone_on else []))]
    planned = {named.case_id for named in lead.named if (named.agent_id, named.benchmark_id) == pair and named.case_id}
    return RunView(
        run_id=f"{OBSERVED}{loop.id}" + (f"-{place + 1}" if place else ""),
        kind=kind,
        state=state,
        agent_id=pair[0],
        benchmark_id=pair[1],
        phase=phase,
        phase_detail=detail,
        started=lead.first_ts if place == 0 else found[0].evaluator.first_ts,
        updated=max(times, default=""),
        spec={
            "kind": kind,
            "agent_id": pair[0],
            "benchmark_id": pair[1],
            "model": {"provider": lead.head.provider, "model_id": lead.head.model_id},
        },
        cells=cells,
        sessions=_sessions(loop, roles, found, of),
        contract={"planned_cases": sorted(planned)} if planned and kind == "build" else {},
        pilots=_pilots(groups, stages) if kind == "build" else (),
        frozen_pilot=_frozen(groups, stages),
        rounds=rounds,
        spent=SpentView(round(cost.known_usd, 6), cost.unknown_requests, tokens),
        reason=reason,
        observed=True,
    )


def _roles(loop: Loop) -> tuple[Literal["builder", "optimizer"], ...]:
    """Return what the leading Session is, by the skills that it was told to use or read; () where nobody can tell."""
    if loop.root is None:
        return ()
    roles = tuple(dict.fromkeys(_ROLES[skill] for skill in loop.root.skills))
    if roles:
        return roles
    asked = loop.root.head.prompt[:2_000].lower()
    return ("optimizer",) if "optimi" in asked else ()


def _standing(loop: Loop, *, quiet: bool, gone_on: bool) -> tuple[RunState, str]:
    """Return the state and why we think so: there is no process to ask, only files."""
    if gone_on:
        return "finished", f"{INFERRED}: it went on to another benchmark"
    root = loop.root
    if loop.is_over:
        if root is not None and root.turn == "aborted":
            return "stopped", f"{INFERRED}: its Session was aborted" + (f" ({root.fault[:200]})" if root.fault else "")
        return "finished", f"{INFERRED}: its last turn is over"
    if quiet:
        moment = datetime.fromtimestamp(max(seen.written for seen in loop.members), UTC)
        return "stopped", f"{INFERRED}: unfinished, and quiet since {moment:%Y-%m-%d %H:%M} UTC"
    return "running", INFERRED


def _rounds(loop: Loop, groups: Sequence[Group], board: Sequence[Evaluation], *, over: bool) -> tuple[RoundView, ...]:
    """Return the Candidates: versions above one that was measured before. Accepted is what the scoreboard has (no. 70).

    One that is not there once the Optimizer has gone on or ended was not kept; whether by its own decision or for
    want of a score, only its cells can tell.
    """
    rounds: list[RoundView] = []
    for place, group in enumerate(groups):
        lower = [e for e in board if e.version < group.version]
        if not lower and not any(before.version < group.version for before in groups[:place]):
            continue
        if any(entry.version == group.version for entry in rounds):
            continue
        decision: str | None = None
        if group.stored:
            decision = "accepted"
        elif over or any(later.version > group.version for later in groups[place + 1 :]):
            decision = "rejected" if group.complete else "unevaluable"
        reference = max(lower, key=lambda e: e.version).score if lower else None
        note = "" if decision in (None, "accepted") else f"{INFERRED}: it is not on the scoreboard"
        rounds.append(
            RoundView(
                len(rounds) + 1,
                group.version,
                (),
                "",
                {},
                decision=decision,
                score=group.score,
                reference_score=reference,
                note=note,
            )
        )
    return tuple(rounds)


def _stage(group: Group, number: int, roles: Sequence[str], rounds: Sequence[RoundView]) -> Place:
    entry = next((entry for entry in rounds if entry.version == group.version), None)
    if entry is not None:
        return Place("round", entry.round)
    return Place("pilot", number) if roles[:1] == ("builder",) else Place("evaluation", number)


def _frozen(groups: Sequence[Group], places: Sequence[Place]) -> int | None:
    """Return the newest pilot that the scoreboard has whole."""
    kept = [p.index for g, p in zip(groups, places, strict=True) if p.stage == "pilot" and g.kept]
    return kept[-1] if kept else None


def _pilots(groups: Sequence[Group], places: Sequence[Place]) -> tuple[Mapping[str, object], ...]:
    """Return the pilots whose every cell has a score, in the fields of a journal's; predictions are nowhere written.

    Cases that a pilot did not measure anew count with the score they had (no. 32).
    """
    frozen = _frozen(groups, places)
    known: dict[str, float] = {}
    rows: list[Mapping[str, object]] = []
    for group, place in zip(groups, places, strict=True):
        if place.stage != "pilot" or not group.complete:
            continue
        known |= group.case_scores
        score = mean_score(known.values())
        told = {"i": place.index, "score": score, "predicted": None, "observed": score, "missed": False}
        rows.append({**told, "frozen": place.index == frozen, "valid": True})
    return tuple(rows)


def _phase(
    roles: Sequence[str], groups: Sequence[Group], stages: Sequence[Place], cells: Sequence[CellView], *, done: bool
) -> tuple[str, str]:
    """Return what the loop is at, in words, and which part of it where they don't say."""
    if done:
        return "done", ""
    if not groups:
        return "designing", ""
    group, place = groups[-1], stages[-1]
    what = {
        "pilot": f"pilot {place.index}",
        "round": f"Candidate v{group.version}",
        "evaluation": f"v{group.version}",
    }[place.stage]
    if any(cell.state in ("running", "repairing") for cell in cells):
        return ("piloting", what) if place.stage == "pilot" else (f"evaluating {what}", "")
    if group.stored:
        return f"{what} is on the scoreboard", ""
    return f"deciding on {what}", ""


def _sessions(
    loop: Loop, roles: Sequence[str], found: Sequence[Evaluating], of: Mapping[str, str]
) -> tuple[SessionView, ...]:
    sessions: list[SessionView] = []
    if loop.root is not None:
        head = loop.root.head
        sessions += [SessionView(role, head.session_id, head.agent_id) for role in roles or ("session",)]
    for evaluating in found:
        evaluator = evaluating.evaluator
        cell = of.get(evaluator.session_id)
        sessions.append(SessionView("evaluator", evaluator.session_id, evaluator.head.agent_id, cell))
        if evaluating.target_id:
            sessions.append(SessionView("target", evaluating.target_id, evaluating.request.test_agent_id, cell))
    return tuple(sessions)
