"""A run killed at any instant goes on from its journal: same result, no finished cell twice, nothing done twice.

Each test plays a protocol once, cuts its journal after every event, puts the disk where the kill left it, and plays
the cut call and the rest again as a resumed Session does: same calls, same call ids.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from core.evolution import builder_fold, optimizer_state
from core.evolution.builder_state import BuilderState, Limits
from core.evolution.events import EventName, Journal, fold, read_journal
from core.evolution.optimizer_state import Goal, OptimizerState
from core.evolution.run_view import fold_view
from core.evolution.specs import RunPaths
from core.state import ledger
from core.state.agents import read_agent
from core.state.fingerprint import state_hash
from core.state.paths import ProjectPaths
from core.state.scoreboard import read_scoreboard
from tests.evolution.bench import (
    CASES,
    MEASURED,
    Bench,
    candidate,
    decision,
    edit_agents_md,
    make_bench,
    prediction,
    review,
)

Step = tuple[str, dict[str, Any]]


@pytest.fixture(autouse=True)
def _no_power_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill loses no written byte, so these hundreds of runs need not wait for the disk."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


class KilledError(BaseException):
    """The process dies here."""


class DyingJournal(Journal):
    """A journal whose process is killed right after, or right before, its n-th event of this life."""

    def __init__(self, path: Path, left: int, *, before: bool) -> None:
        super().__init__(path)
        self.left, self.before = left, before

    def append(self, event: str, **fields: Any) -> Any:
        self.left -= 1
        if self.left < 0 and self.before:
            raise KilledError
        written = super().append(event, **fields)
        if self.left <= 0 and not self.before:
            raise KilledError
        return written


def _builder_steps(bench: Bench) -> list[Step | Callable[[Bench], None]]:
    reviews = [review(case) for case in CASES]

    def first(b: Bench) -> None:
        b.write_all("one")
        b.scores = dict.fromkeys(MEASURED, 70.0)

    def second(b: Bench) -> None:
        b.write_all("two")
        b.scores = {MEASURED[0]: 40.0, MEASURED[1]: 50.0}

    refined = {"diagnosis": "by eye", "adjustment": "digits"}
    return [
        ("declare_contract", _contract()),
        first,
        ("submit_revision", {"note": "a", "predictions": [prediction(c) for c in MEASURED]}),
        ("record_review", {"scope": "revision", "cases": reviews}),
        ("dispatch", {}),
        second,
        ("submit_revision", {"note": "b", "predictions": [prediction(c, 45.0) for c in MEASURED], **refined}),
        ("record_review", {"scope": "revision", "cases": reviews}),
        ("dispatch", {}),
        ("record_review", {"scope": "freeze", "cases": reviews}),
        ("request_freeze", {"reason": "met"}),
        ("record_baseline", {"summary_title": "Baseline", "summary": "First numbers."}),
    ]


def _contract() -> dict[str, Any]:
    from tests.evolution.bench import contract_arguments

    return contract_arguments()


async def _play(bench: Bench, steps: list[Any], call: str) -> None:
    """Play every step in order, as a Session would: each call has one id for ever."""
    door: Callable[..., Awaitable[dict[str, Any]]] = getattr(bench, call)
    for number, step in enumerate(steps):
        if callable(step):
            # Files that were written before the kill are there; only what no later call has used is written again.
            if not any(event.get("call_id") == f"call_{number + 1:04}" for event in bench.journal.events):
                step(bench)
            continue
        name, arguments = step
        known = bench.journal.of_call(f"call_{number:04}", EventName.TOOL_RESULT)
        if known:
            continue  # the Session's trace has the output
        answer = await door(name, call_id=f"call_{number:04}", **arguments)
        assert answer["ok"], (name, answer)


async def _killed_everywhere(
    make: Callable[[Path], Any], steps: Callable[[Bench], list[Any]], call: str, tmp_path: Path, *, before: bool
) -> tuple[int, list[Any]]:
    """Play once whole, then once for every event, killed there; return the number of kills and all outcomes."""
    template = await make(tmp_path / "template")
    whole = _copied(template, tmp_path / "whole")
    begun = len(whole.journal.events)
    await _play(whole, steps(whole), call)
    total = len(whole.journal.events) - begun
    outcomes = [_outcome(whole)]
    # Killed before an event, everything that led to it is done and unsaid: each place is tried. Killed after one,
    # the next differs little: every third place will do.
    for cut in range(1, total + 1, 1 if before else 3):
        bench = _copied(template, tmp_path / f"cut-{cut}")
        bench = _with_journal(bench, DyingJournal(bench.run.journal, cut, before=before))
        with contextlib.suppress(KilledError):
            await _play(bench, steps(bench), call)
        resumed = _with_journal(bench, Journal(bench.run.journal))
        await _play(resumed, steps(resumed), call)
        outcomes.append(_outcome(resumed))
        assert len(resumed.ran) <= len(whole.ran) + 1, "only the cell that was cut may have been started again"
        shutil.rmtree(tmp_path / f"cut-{cut}")
    return total, outcomes


def _copied(template: Bench, root: Path) -> Bench:
    """Return the same Project at another place: nothing in it names where it lies."""
    home = template.project.root.parent
    shutil.copytree(home, root / "home")
    project = ProjectPaths(root / "home" / template.project.id)
    run = RunPaths(project.runs / template.run.id)
    return Bench(project, run, Journal(run.journal))


def _with_journal(bench: Bench, journal: Journal) -> Bench:
    return Bench(bench.project, bench.run, journal, bench.scores, bench.failures, bench.ran)


def _outcome(bench: Bench) -> Any:
    """Everything that must come out the same (DECISIONS 16): versions, decisions, scores, predictions."""
    board = read_scoreboard(bench.desk.benchmark.scoreboard).evaluations
    state = bench.builder.state()
    scored = [e["cell"] for e in bench.journal.events if e["event"] == EventName.CELL and e["state"] == "scored"]
    assert len(scored) == len(set(scored)), "a finished cell ran twice"
    return (
        [(e.version, e.score, [(c.case, c.score) for c in e.cases]) for e in board],
        [(p.i, p.score, p.predicted, p.missed, p.valid) for p in state.pilots],
        state.frozen,
        [(r.version, r.decision, r.score) for r in ledger.read(bench.project)],
        read_agent(bench.agent).version,
        state_hash(bench.agent.state),
        sorted(path.name for path in bench.project.approvals.glob("*")) if bench.project.approvals.exists() else [],
    )


async def _fresh_builder(root: Path) -> Bench:
    return make_bench(root)


@pytest.mark.parametrize("before", [False, True])
async def test_a_builder_killed_at_every_event_comes_to_the_same_benchmark(tmp_path: Path, *, before: bool) -> None:
    total, outcomes = await _killed_everywhere(_fresh_builder, _builder_steps, "call", tmp_path, before=before)
    assert total > 30
    assert all(outcome == outcomes[0] for outcome in outcomes)


async def _fresh_optimizer(root: Path) -> Bench:
    built = make_bench(root)
    await built.frozen()
    run = RunPaths(built.project.runs / "optimize-20260101-000000-abcd")
    run.root.mkdir()
    bench = Bench(built.project, run, Journal(run.journal))
    bench.trials.establish_reference()
    return bench


def _optimizer_steps(bench: Bench) -> list[Any]:
    def worse(b: Bench) -> None:
        b.scores = dict.fromkeys(CASES, 30.0)

    def better(b: Bench) -> None:
        b.scores = dict.fromkeys(CASES, 60.0)

    return [
        worse,
        ("propose_candidate", candidate()),
        ("evaluate_candidate", {}),
        ("decide", decision(supported=False)),
        better,
        ("propose_candidate", candidate(edits=edit_agents_md("# Role\n\nTwice.\n"))),
        ("evaluate_candidate", {}),
        ("decide", decision()),
    ]


@pytest.mark.parametrize("before", [False, True])
async def test_an_optimizer_killed_at_every_event_comes_to_the_same_agent(tmp_path: Path, *, before: bool) -> None:
    total, outcomes = await _killed_everywhere(_fresh_optimizer, _optimizer_steps, "optimize", tmp_path, before=before)
    assert total > 15
    assert all(outcome == outcomes[0] for outcome in outcomes)


# The fold ------------------------------------------------------------------------------------------------


async def test_a_fold_is_the_same_at_once_and_event_by_event(tmp_path: Path) -> None:
    bench = await _fresh_builder(tmp_path)
    await _play(bench, _builder_steps(bench), "call")
    events = bench.journal.events
    initial = BuilderState(Limits(45.0, 3))
    state = initial
    for number, event in enumerate(events):
        state = builder_fold.apply(state, event)
        assert state == fold(builder_fold.apply, initial, events[: number + 1])
    assert state == bench.builder.state()


async def test_every_prefix_folds_to_a_state_and_a_view(tmp_path: Path) -> None:
    bench = await _fresh_optimizer(tmp_path)
    await _play(bench, _optimizer_steps(bench), "optimize")
    for end in range(len(bench.journal.events) + 1):
        prefix = bench.journal.events[:end]
        state = fold(optimizer_state.apply, OptimizerState(Goal(90.0, 2, 2)), prefix)
        view = fold_view("run", {"kind": "optimize", "agent_id": "a", "benchmark_id": "b"}, prefix, alive=True)
        cells = [cell.cell for cell in view.cells]
        assert len(cells) == len(set(cells))
        assert state.rounds_done <= 2
        if state.candidate is not None:
            assert state.reference is not None
            assert state.candidate.reference_version == state.reference.version


def test_a_journal_survives_torn_and_damaged_lines(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append(EventName.PHASE, phase="agent", detail="")
    with journal.path.open("ab") as file:
        file.write(b'{"event": "cut' + b"\0" * 20)
    again = Journal(journal.path)
    again.append(EventName.PHASE, phase="contract", detail="")
    events, damaged = read_journal(journal.path)
    assert [event["phase"] for event in events] == ["agent", "contract"]
    assert len(damaged) == 1


def test_a_journal_refuses_what_json_cannot_hold(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    with pytest.raises(ValueError, match="Out of range"):
        journal.append(EventName.BASELINE, score=float("nan"))
    assert journal.events == ()
