"""One Candidate's way, whoever proposed it: put in place, measured, kept or taken back, entered in the ledger.

The Optimizer's tools and the operator's `try` go through the same acts. Each act journals what it is about to do
and looks at the journal first, so it may be cut anywhere and begun again (EVOLUTION 3.5 no. 61 to 70).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.evolution.candidate import Staged, load_staged, put_in_place, take_back
from core.evolution.cells import CellRequest
from core.evolution.desk import Desk, Folded
from core.evolution.events import Event, EventName
from core.evolution.freeze import frozen_files, read_freeze
from core.evolution.optimizer_rules import Decide, Evaluate, Present, refusal
from core.evolution.optimizer_state import Candidate, Goal, OptimizerState, apply
from core.evolution.protocol_tool import RefuseError, require
from core.evolution.refusal import Refusal
from core.evolution.verdict import complete, decide, matrix_score, prediction_held
from core.foundation.errors import BlockedError, ConflictError
from core.state import atomic, ledger, snapshots
from core.state.benchmark import read_benchmark
from core.state.evaluation import Evaluation, RunScore, evaluation_of
from core.state.ledger import CandidateRecord, Proposer
from core.state.paths import BenchmarkPaths
from core.state.scoreboard import append_evaluation, read_scoreboard


def sessions_of(evaluation: Evaluation) -> set[str]:
    """Return the Target sessions that an evaluation rests on: no two evaluations share one."""
    return {run.session_id for case in evaluation.cases for run in case.runs}


def append_once(benchmark: BenchmarkPaths, evaluation: Evaluation) -> None:
    """Append an evaluation unless it stands on the scoreboard already (a crash came after the append)."""
    present = read_scoreboard(benchmark.scoreboard).evaluations
    if not any(e.version == evaluation.version and sessions_of(e) == sessions_of(evaluation) for e in present):
        append_evaluation(benchmark, evaluation)


def measured_cases(benchmark: BenchmarkPaths) -> tuple[str, ...]:
    """Return the Cases that the loop measures: all that are not held out."""
    held_out = set(read_benchmark(benchmark).held_out)
    return tuple(case_id for case_id in benchmark.case_ids() if case_id not in held_out)


def held_out_cases(benchmark: BenchmarkPaths) -> tuple[str, ...]:
    """Return the Cases kept from the loop."""
    held_out = set(read_benchmark(benchmark).held_out)
    return tuple(case_id for case_id in benchmark.case_ids() if case_id in held_out)


@dataclass
class Trials:
    """The acts on Candidates over one desk. `state` is always the fold of the desk's journal."""

    desk: Desk
    goal: Goal
    proposer: Proposer = "optimizer"

    def __post_init__(self) -> None:
        self.state: Folded[OptimizerState] = Folded(self.desk.journal, apply, OptimizerState(self.goal))

    # Reference -------------------------------------------------------------------------------------------

    def establish_reference(self, *, state_hash: str | None = None) -> None:
        """Journal the Reference: the last evaluation of the present version and runtime (no. 57, 58).

        `state_hash` names the state that was evaluated, where what stands there now is an edit of it.
        Raises BlockedError where there is none, or where the benchmark is void.
        """
        desk = self.desk
        if self.state().reference is not None:
            return
        freeze = read_freeze(desk.project, desk.agent.id, desk.benchmark)
        if freeze.status == "void":
            raise BlockedError(
                f"Benchmark {desk.benchmark.id} changed after its freeze: {', '.join(freeze.changed[:5])}.",
                hint="Put the files back, or build a new benchmark; nothing is measured on a void one.",
            )
        present, wanted = desk.present(), measured_cases(desk.benchmark)
        evaluation = reference_evaluation(desk, present.version, wanted)
        if evaluation is None:
            raise BlockedError(
                f"Benchmark {desk.benchmark.id} has no complete evaluation of version {present.version} with "
                f"{' / '.join(desk.runtime())} over its {len(wanted)} Cases.",
                hint="Build the baseline, or evaluate the present version first: exuvia evaluate.",
            )
        atomic.write_text(self._pinned, json.dumps(frozen_files(desk.benchmark), indent=1) + "\n")
        desk.journal.append(
            EventName.REFERENCE,
            version=evaluation.version,
            score=evaluation.score,
            state_hash=state_hash or present.state_hash,
            evaluation_time=evaluation.time,
            runs=len(evaluation.cases[0].runs),
            freeze=freeze.status,
            cases=[
                {
                    "case_id": case.case,
                    "runs": [{"score": run.score, "session_id": run.session_id} for run in case.runs],
                }
                for case in evaluation.cases
            ],
        )

    @property
    def _pinned(self) -> Path:
        return self.desk.run.root / "benchmark.json"

    def present(self) -> Present:
        """Return what stands on disk, with the benchmark files that differ from those of the run's start."""
        pinned: Mapping[str, str] = json.loads(self._pinned.read_text(encoding="utf-8"))
        now = frozen_files(self.desk.benchmark)
        return self.desk.present(sorted(n for n in {*now, *pinned} if now.get(n) != pinned.get(n)))

    # Candidate -------------------------------------------------------------------------------------------

    def place(
        self,
        call_id: str,
        prepare: Callable[[], tuple[Staged, Mapping[str, Any]]],
        put: Callable[[Staged], None] | None = None,
    ) -> Event:
        """Stage a Candidate and put it in place; `prepare` checks, stages, and says what the journal should."""
        desk = self.desk
        if done := desk.journal.of_call(call_id, EventName.CANDIDATE):
            return done[0]
        if begun := desk.journal.of_call(call_id, EventName.INTENT):
            intent: Event = begun[0]
            staged = load_staged(desk.run.candidate(intent["version"]))
        else:
            staged, told = prepare()
            intent, _ = desk.intent(
                call_id,
                "propose_candidate",
                version=staged.version,
                round=self.state().round,
                before_hash=staged.before_hash,
                after_hash=staged.after_hash,
                told=dict(told),
            )
        (put or (lambda ready: put_in_place(desk.agent, ready)))(staged)
        reference = self.state().reference
        assert reference is not None
        return desk.journal.append(
            EventName.CANDIDATE,
            call_id=call_id,
            round=intent["round"],
            version=staged.version,
            reference_version=reference.version,
            proposer=self.proposer,
            state_hash=staged.after_hash,
            edits=[{**edit.fields(), "why": edit.why} for edit in staged.edits],
            **intent["told"],
        )

    async def measure(self, call_id: str, repair: str = "") -> Event:
        """Fill the Candidate's matrix; only cells without a result run. The state must stay untouched meanwhile."""
        desk = self.desk
        if done := desk.journal.of_call(call_id, EventName.EVALUATED):
            return done[0]
        if not desk.journal.of_call(call_id, EventName.INTENT):
            require(refusal(self.state(), Evaluate(self.present(), repair)))
            require(desk.budget_refusal())
        desk.intent(call_id, "evaluate_candidate")
        candidate = self.state().candidate
        assert candidate is not None
        cases = measured_cases(desk.benchmark)
        await desk.fill(round_cells(candidate, cases, self.goal.runs))
        candidate = self.state().candidate
        assert candidate is not None
        untouched = self.present()
        scores = candidate.case_runs()
        whole = complete(scores, wanted=cases, runs=self.goal.runs)
        foreign = list(untouched.void)
        if (untouched.version, untouched.state_hash) != (candidate.version, candidate.state_hash):
            foreign.append(f"the state of agent {desk.agent.id} (version {untouched.version})")
        return desk.journal.append(
            EventName.EVALUATED,
            call_id=call_id,
            round=candidate.round,
            version=candidate.version,
            complete=whole and not foreign,
            score=matrix_score(scores) if whole and not foreign else None,
            foreign_change=foreign,
            failed=[
                {"case_id": cell.case, "run": cell.run, "failure_code": cell.failure_code} for cell in candidate.failed
            ],
            repair=repair,
        )

    def conclude(self, call_id: str, *, supported: bool | None, observed: str, title: str, summary: str) -> Event:
        """Decide by the rule, keep or take back, enter in the ledger (no. 62, 66, 70)."""
        desk, state = self.desk, self.state()
        if done := desk.journal.of_call(call_id, EventName.DECISION):
            return done[0]
        if not desk.journal.of_call(call_id, EventName.INTENT):
            require(refusal(state, Decide(self.present(), title, summary)))
        candidate, reference = state.candidate, state.reference
        assert candidate is not None
        assert reference is not None
        decision = decide(candidate.score, reference.score)
        intent, _ = desk.intent(call_id, "decide", decision=decision)
        if decision == "accepted":
            append_once(desk.benchmark, self._evaluation(candidate, intent["time"], title, summary))
            snapshots.create(desk.agent)
        else:
            self._take_back(call_id, candidate)
        held = prediction_held(expected_of(candidate), candidate.case_scores(), reference.case_scores())
        note = " ".join(part for part in (title.strip(), observed.strip()) if part)
        self._enter(candidate, decision, supported, f"{title}\n{summary}\n{observed}".strip(), intent["time"])
        event = desk.journal.append(
            EventName.DECISION,
            call_id=call_id,
            round=candidate.round,
            version=candidate.version,
            decision=decision,
            score=candidate.score,
            reference_score=reference.score,
            supported=supported,
            prediction_held=held,
            note=note,
        )
        self._remember(decision)
        return event

    def give_up(self, call_id: str, note: str) -> str | None:
        """Take an undecided Candidate back where the run ends; return why that could not be done, or None."""
        desk, state = self.desk, self.state()
        candidate, reference = state.candidate, state.reference
        if candidate is None or reference is None:
            return None
        try:
            self._take_back(call_id, candidate)
        except ConflictError as error:
            return str(error)
        intent, _ = desk.intent(call_id, "give_up", decision="unevaluable")
        self._enter(candidate, "unevaluable", None, note, intent["time"])
        desk.journal.append(
            EventName.DECISION,
            call_id=call_id,
            round=candidate.round,
            version=candidate.version,
            decision="unevaluable",
            score=None,
            reference_score=reference.score,
            supported=None,
            prediction_held=None,
            note=note,
        )
        return None

    # Parts -----------------------------------------------------------------------------------------------

    def _take_back(self, call_id: str, candidate: Candidate) -> None:
        desk = self.desk
        staged = load_staged(desk.run.candidate(candidate.version))
        take_back(desk.agent, staged)
        if not desk.journal.of_call(call_id, EventName.RESTORED):
            present = desk.present()
            desk.journal.append(
                EventName.RESTORED, call_id=call_id, version=present.version, state_hash=present.state_hash
            )

    def _evaluation(self, candidate: Candidate, time: str, title: str, summary: str) -> Evaluation:
        runs: dict[str, list[RunScore]] = {}
        for cell in sorted(candidate.cells.values(), key=lambda c: (c.case, c.run)):
            if cell.score is not None and cell.session_id is not None:
                runs.setdefault(cell.case, []).append(
                    RunScore(score=cell.score, cost=cell.cost, duration_ms=cell.duration_ms, session_id=cell.session_id)
                )
        return evaluation_of(
            candidate.version, self.desk.runtime(), runs, time=time[:19] + "Z", title=title, summary=summary
        )

    def _enter(self, candidate: Candidate, decision: Any, supported: bool | None, note: str, time: str) -> None:
        desk, reference = self.desk, self.state().reference
        assert reference is not None
        if any(
            record.run_id == desk.run.id and record.version == candidate.version
            for record in ledger.read(desk.project, desk.agent.id)
        ):
            return
        staged = load_staged(desk.run.candidate(candidate.version))
        record = {
            "agent_id": desk.agent.id,
            "benchmark_id": desk.benchmark.id,
            "run_id": desk.run.id,
            "round": candidate.round,
            "version": candidate.version,
            "reference_version": reference.version,
            "proposer": self.proposer,
            "hypothesis": candidate.hypothesis,
            "prediction": dict(candidate.prediction),
            "edits": [edit.fields() for edit in staged.edits],
            "diff": staged.diff,
            "cells": [
                {
                    "case": cell.case,
                    "run": cell.run,
                    "score": cell.score,
                    "status": "ok" if cell.status == "scored" else cell.status,
                    "session_id": cell.session_id,
                    "evaluator_session_id": cell.evaluator_session_id,
                    "failure_code": cell.failure_code,
                }
                for cell in sorted(candidate.cells.values(), key=lambda cell: (cell.case, cell.run))
            ],
            "decision": decision,
            "score": candidate.score,
            "reference_score": reference.score,
            "supported": supported,
            "time": time[:19] + "Z",
            "note": note,
        }
        ledger.append(desk.project, CandidateRecord.model_validate(record))

    def _remember(self, decision: str) -> None:
        """Journal the new Reference for readers that look at references only; the decision implies it already."""
        reference = self.state().reference
        if decision != "accepted" or reference is None:
            return
        self.desk.journal.append(
            EventName.REFERENCE,
            version=reference.version,
            score=reference.score,
            state_hash=reference.state_hash,
            evaluation_time=None,
            runs=self.goal.runs,
            cases=[
                {"case_id": case, "runs": [{"score": run.score, "session_id": run.session_id} for run in runs]}
                for case, runs in reference.cases.items()
            ],
        )


def expected_of(candidate: Candidate) -> dict[str, float]:
    """Return the scores that a Candidate's prediction names, by Case."""
    return expected_in(candidate.prediction)


def expected_in(prediction: Mapping[str, Any]) -> dict[str, float]:
    """Return the scores that a prediction names, by Case."""
    return {case["case_id"]: case["expected_score"] for case in prediction.get("cases", ())}


def round_cells(candidate: Candidate, cases: Sequence[str], runs: int) -> list[CellRequest]:
    """Return the whole Case x runs matrix of a Candidate."""
    return [
        CellRequest(
            f"round-{candidate.round}-v{candidate.version}-{case_id}-{run}",
            case_id,
            run,
            candidate.version,
            "round",
            candidate.round,
            candidate.state_hash,
        )
        for case_id in cases
        for run in range(1, runs + 1)
    ]


def reference_evaluation(desk: Desk, version: int, cases: Sequence[str]) -> Evaluation | None:
    """Return the last evaluation of `version` on the desk's runtime that covers exactly `cases`."""
    runtime = desk.runtime()
    fitting = [
        evaluation
        for evaluation in read_scoreboard(desk.benchmark.scoreboard).evaluations
        if evaluation.version == version
        and evaluation.runtime == runtime
        and {case.case for case in evaluation.cases} == set(cases)
    ]
    return fitting[-1] if fitting else None


def refused_foreign(error: ConflictError) -> RefuseError:
    """Return a foreign change as a refusal that a model can report."""
    return RefuseError(Refusal("changed_state", f"{error} {error.hint} Stop with stop_run and say so.".strip()))
