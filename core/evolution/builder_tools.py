"""The Builder's doors up to a complete pilot: agent, contract, revision, review, dispatch (EVOLUTION 3.2)."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from core.agents.tool import Tool, ToolContext
from core.evolution import canary
from core.evolution.builder_arguments import (
    CaseReviewArguments,
    CreateAgentArguments,
    DeclareContractArguments,
    DispatchArguments,
    RecordReviewArguments,
    StopRunArguments,
    SubmitRevisionArguments,
)
from core.evolution.builder_commands import (
    CasePrediction,
    CaseReview,
    CreateAgent,
    DeclareContract,
    Dispatch,
    PlannedCase,
    RecordReview,
    StopRun,
    SubmitRevision,
)
from core.evolution.builder_fold import apply
from core.evolution.builder_rules import refusal
from core.evolution.builder_state import BuilderState, CaseHashes, Limits, changed_cases, revision_kind, unwaived
from core.evolution.builder_view import view
from core.evolution.builder_words import CONTRACT, CREATE, DISPATCH, FAILURE_ADVICE, REVIEW, STATUS, STOP, SUBMIT
from core.evolution.case_files import benchmark_hashes, leak_findings, problems
from core.evolution.cells import CellRequest
from core.evolution.desk import Desk, Folded, announce_child
from core.evolution.events import Event, EventName
from core.evolution.protocol_tool import NoArguments, protocol_tool, require
from core.evolution.verdict import missed
from core.state import atomic
from core.state.agents import create_agent
from core.state.benchmark import write_benchmark_config
from core.state.evaluation import mean_score

AGENT_TURNS = 8
"""`max_turns` of a new agent: a cautious limit that an Optimizer may raise."""


@dataclass
class BuilderDoors:
    """The acts behind the Builder's tools, over one desk. `state` is always the fold of the desk's journal."""

    desk: Desk
    limits: Limits
    library: Path | None = None

    def __post_init__(self) -> None:
        self.state: Folded[BuilderState] = Folded(self.desk.journal, apply, BuilderState(self.limits))

    def tools(self) -> tuple[Tool, ...]:
        """Return the protocol tools of this module."""
        desk = self.desk
        door = partial(protocol_tool, state=self.view, turn=desk.turn, journal=desk.journal, fault=desk.leave_failed)
        return (
            door("protocol_status", STATUS, NoArguments, self.status, permission="r"),
            door("create_agent", CREATE, CreateAgentArguments, self.create),
            door("declare_contract", CONTRACT, DeclareContractArguments, self.contract),
            door("submit_revision", SUBMIT, SubmitRevisionArguments, self.submit),
            door("record_review", REVIEW, RecordReviewArguments, self.review),
            door("dispatch", DISPATCH, DispatchArguments, self.dispatch),
            door("stop_run", STOP, StopRunArguments, self.stop),
        )

    def view(self) -> Mapping[str, Any]:
        """Return the state as answers carry it."""
        paths = {
            "benchmark": str(self.desk.benchmark.root),
            "agent_state": str(self.desk.agent.state),
            "library": str(self.library or ""),
            "workspace": str(self.desk.run.workspace),
        }
        return view(self.state(), paths, self.desk.agent.id, self.desk.benchmark.id)

    def hashes(self) -> dict[str, CaseHashes]:
        """Return the planned Cases' hashes as they are on disk."""
        return benchmark_hashes(self.desk.benchmark, self.state().case_ids)

    # Acts ------------------------------------------------------------------------------------------------

    async def status(self, arguments: NoArguments, context: ToolContext) -> dict[str, Any]:
        return {}

    async def create(self, arguments: CreateAgentArguments, context: ToolContext) -> dict[str, Any]:
        agent, call_id = self.desk.agent, context.call_id
        if not self.desk.journal.of_call(call_id, EventName.AGENT):
            begun = bool(self.desk.journal.of_call(call_id, EventName.INTENT))
            if not begun:
                require(refusal(self.state(), CreateAgent(arguments.agent_id, agent.id, exists=agent.root.exists())))
            self.desk.intent(call_id, "create_agent")
            if not (begun and agent.config.is_file()):
                create_agent(
                    self.desk.project,
                    agent.id,
                    name=arguments.name,
                    description=arguments.description,
                    agents_md=arguments.agents_md,
                    thinking_level=arguments.thinking_level or "medium",
                    max_turns=arguments.max_turns or AGENT_TURNS,
                    skills=arguments.skills,
                )
            self.desk.journal.append(
                EventName.AGENT, call_id=call_id, agent_id=agent.id, created=True, version=self.desk.present().version
            )
        runtime = self.desk.runtime()
        return {"agent_id": agent.id, "path": str(agent.root), "version": 1, "runtime": runtime._asdict()}

    async def contract(self, arguments: DeclareContractArguments, context: ToolContext) -> dict[str, Any]:
        desk, call_id = self.desk, context.call_id
        if not desk.journal.of_call(call_id, EventName.CONTRACT):
            planned = [PlannedCase(case.case_id, [item.points for item in case.points]) for case in arguments.cases]
            require(refusal(self.state(), DeclareContract(planned, arguments.held_out)))
            write_benchmark_config(
                desk.benchmark, arguments.title, arguments.description, runs=1, held_out=list(arguments.held_out)
            )
            if not desk.benchmark.scoreboard.exists():
                atomic.write_text(desk.benchmark.scoreboard, "evaluations: []\n")
            desk.journal.append(
                EventName.CONTRACT,
                call_id=call_id,
                planned_cases=[case.case_id for case in arguments.cases],
                **arguments.model_dump(mode="json"),
            )
        return {"planned_cases": list(self.state().case_ids), "held_out": list(arguments.held_out), "runs": 1}

    async def submit(self, arguments: SubmitRevisionArguments, context: ToolContext) -> dict[str, Any]:
        desk, call_id = self.desk, context.call_id
        done = desk.journal.of_call(call_id, EventName.REVISION)
        event = done[0] if done else await self._new_revision(arguments, call_id)
        told = {entry["case_id"] for entry in desk.journal.of_call(call_id, EventName.PREDICTION)}
        for prediction in arguments.predictions:
            if prediction.case_id not in told:
                desk.journal.append(
                    EventName.PREDICTION, call_id=call_id, pilot=event["pilot"], **prediction.model_dump(mode="json")
                )
        self.keep_lowest(call_id)  # a repair of a held-out Case alone leaves its pilot standing
        expected = [p.score_if_observed for p in arguments.predictions]
        return {
            "revision": event["revision"],
            "pilot": event["pilot"],
            "kind": event["kind"],
            "changed": event["changed"],
            "findings": [finding for found in event["findings"].values() for finding in found],
            "predicted": mean_score(expected) if expected else None,
        }

    async def _new_revision(self, arguments: SubmitRevisionArguments, call_id: str) -> Event:
        state, benchmark = self.state(), self.desk.benchmark
        if state.frozen is None:
            for case_id in state.case_ids:
                canary.ensure(benchmark.case(case_id))
        hashes = self.hashes()
        command = SubmitRevision(
            hashes=hashes,
            problems={case_id: problems(benchmark.case(case_id)) for case_id in hashes},
            predictions=[
                CasePrediction(p.case_id, p.score_if_observed, p.score_if_desired, p.affected_points)
                for p in arguments.predictions
            ],
            diagnosis=arguments.diagnosis or "",
            adjustment=arguments.adjustment or "",
            restated=[item.case_id for item in arguments.restated_standards],
            strangers=[case_id for case_id in benchmark.case_ids() if case_id not in state.case_ids],
        )
        require(refusal(state, command))
        kind, pilot = revision_kind(state)
        findings: dict[str, list[dict[str, str]]] = {}
        for case_id in state.case_ids:
            shared = [*state.shared.get(case_id, ())]
            declared = [item.model_dump() for item in arguments.shared_material if item.case_id == case_id]
            if state.hashes.get(case_id) == hashes[case_id] and not declared:
                if case_id in state.findings:  # the same bytes hold the same findings
                    findings[case_id] = [dict(finding) for finding in state.findings[case_id]]
                continue
            shared += declared
            found = await asyncio.to_thread(leak_findings, benchmark.case(case_id), shared)
            if found:
                findings[case_id] = [finding.fields() for finding in found]
        return self.desk.journal.append(
            EventName.REVISION,
            call_id=call_id,
            revision=state.revision + 1,
            pilot=pilot,
            kind=kind,
            changed=list(changed_cases(state, hashes)),
            hashes={case_id: case.fields() for case_id, case in hashes.items()},
            findings=findings,
            note=arguments.note,
            diagnosis=arguments.diagnosis,
            adjustment=arguments.adjustment,
            restated_standards=[item.model_dump() for item in arguments.restated_standards],
            shared_material=[item.model_dump() for item in arguments.shared_material],
        )

    async def review(self, arguments: RecordReviewArguments, context: ToolContext) -> dict[str, Any]:
        journal, call_id = self.desk.journal, context.call_id
        done = {event["case_id"] for event in journal.of_call(call_id, EventName.REVIEW)}
        state = self.state()
        if not done:
            reviews = [
                CaseReview(case.case_id, verdicts_of(case), case.leak, [waiver.finding for waiver in case.waivers])
                for case in arguments.cases
            ]
            require(refusal(state, RecordReview(arguments.scope, reviews, self.hashes())))
        for case in arguments.cases:
            if case.case_id in done:
                continue
            verdicts = verdicts_of(case)
            waived = [waiver.finding for waiver in case.waivers]
            found = [f"{name}: {verdict}" for name, verdict in verdicts.items() if verdict != "ok"]
            found += [f"leak: {case.leak}"] if case.leak != "none" else []
            assert not unwaived(state, case.case_id, case.leak, waived)
            journal.append(
                EventName.REVIEW,
                call_id=call_id,
                scope=arguments.scope,
                revision=state.revision,
                case_id=case.case_id,
                verdicts=verdicts,
                leaks=[] if case.leak == "none" else [case.leak],
                waivers=[waiver.model_dump() for waiver in case.waivers],
                open=found,
                clean=not found,
            )
        after = self.state()
        reviewed = after.freeze_reviews if arguments.scope == "freeze" else after.reviews
        return {
            "scope": arguments.scope,
            "open_findings": {
                case.case_id: list(reviewed[case.case_id].open_findings)
                for case in arguments.cases
                if case.case_id in reviewed and not reviewed[case.case_id].clean
            },
        }

    async def dispatch(self, arguments: DispatchArguments, context: ToolContext) -> dict[str, Any]:
        desk, call_id = self.desk, context.call_id
        done = desk.journal.of_call(call_id, EventName.DISPATCH)
        event = done[0] if done else self._new_dispatch(arguments, call_id)
        requests = [CellRequest(**request, state_hash=event["state_hash"]) for request in event["requests"]]
        announce_child.set(context.announce_child)
        await desk.fill(requests)
        self._complete_pilot(event, call_id)
        self.keep_lowest(call_id)
        return self._outcome(event)

    def _new_dispatch(self, arguments: DispatchArguments, call_id: str) -> Event:
        state, present = self.state(), self.desk.present()
        hashes, repair = self.hashes(), (arguments.repair or "").strip()
        require(refusal(state, Dispatch(hashes, present.version, present.state_hash, repair)))
        require(self.desk.budget_refusal())
        return self.desk.journal.append(
            EventName.DISPATCH,
            call_id=call_id,
            pilot=state.current,
            revision=state.revision,
            version=present.version,
            state_hash=present.state_hash,
            standards={case_id: hashes[case_id].standard for case_id in state.pending},
            repair=repair,
            requests=[
                {
                    "cell_id": pilot_cell(state.current, state.revision, case_id),
                    "case_id": case_id,
                    "run": 1,
                    "version": present.version,
                    "stage": "pilot",
                    "index": state.current,
                }
                for case_id in state.pending
            ],
        )

    def _complete_pilot(self, event: Event, call_id: str) -> None:
        """Journal the pilot once every measured Case has its valid run."""
        journal, state = self.desk.journal, self.state()
        if state.pending or journal.of_call(call_id, EventName.PILOT):
            return
        ran = {request["case_id"] for request in event["requests"]}
        reused = {entry["case_id"] for entry in journal.of_call(call_id, EventName.CELL)}
        for case_id in state.measured:
            score = state.scores[case_id]
            if case_id not in state.affected and case_id not in ran | reused:
                cell_id = pilot_cell(event["pilot"], event["revision"], case_id)
                request = CellRequest(cell_id, case_id, 1, score.version, "pilot", event["pilot"])
                facts = {
                    "score": score.score,
                    "cost": score.cost,
                    "duration_ms": score.duration_ms,
                    "session_id": score.session_id,
                    "evaluator_session_id": score.evaluator_session_id,
                }
                journal.append(EventName.CELL, call_id=call_id, **request.fields(), state="reused", **facts)
        scores = {case_id: state.scores[case_id].score for case_id in state.measured}
        rows: list[dict[str, Any]] = []
        for case_id in state.measured:
            if case_id not in state.affected:
                continue
            prediction = state.predictions[case_id].scores
            rows.append(
                {
                    "case_id": case_id,
                    "predicted": prediction.score_if_observed,
                    "desired": prediction.score_if_desired,
                    "observed": scores[case_id],
                    "missed": missed(prediction, scores[case_id]),
                }
            )
        journal.append(
            EventName.PILOT,
            call_id=call_id,
            i=event["pilot"],
            revision=event["revision"],
            score=mean_score(scores.values()),
            predicted=mean_score(row["predicted"] for row in rows),
            observed=mean_score(row["observed"] for row in rows),
            missed=any(row["missed"] for row in rows),
            frozen=False,
            cases=rows,
        )

    def keep_lowest(self, call_id: str) -> None:
        """Keep the one restorable copy: of the lowest valid pilot, when it is the one that stands now (no. 29)."""
        state, run = self.state(), self.desk.run
        lowest = state.lowest_pilot
        if lowest is None or state.present_pilot is not lowest:
            return
        kept = [event for event in self.desk.journal.events if event["event"] == EventName.LOWEST]
        if kept and (kept[-1]["pilot"], kept[-1]["revision"]) == (lowest.i, state.revision):
            return
        incoming = run.lowest.with_name("incoming")
        shutil.rmtree(incoming, ignore_errors=True)
        for case_id in state.case_ids:
            shutil.copytree(self.desk.benchmark.case(case_id).root, incoming / case_id, symlinks=True)
        shutil.rmtree(run.lowest, ignore_errors=True)
        incoming.rename(run.lowest)
        self.desk.journal.append(EventName.LOWEST, call_id=call_id, pilot=lowest.i, revision=state.revision)

    def _outcome(self, event: Event) -> dict[str, Any]:
        state = self.state()
        pilot = next((p for p in state.pilots if p.i == event["pilot"] and p.revision == event["revision"]), None)
        ran = [request["case_id"] for request in event["requests"]]
        return {
            "pilot": event["pilot"],
            "complete": pilot is not None,
            "score": pilot.score if pilot else None,
            "predicted": pilot.predicted if pilot else None,
            "observed": pilot.observed if pilot else None,
            "missed": pilot.missed if pilot else None,
            "cases": [
                {
                    "case_id": case_id,
                    "score": state.scores[case_id].score,
                    "session_id": state.scores[case_id].session_id,
                    "ran": case_id in ran,
                }
                for case_id in state.measured
                if case_id not in state.pending
            ],
            "failed": [
                {"case_id": case_id, "failure_code": code, "reason": FAILURE_ADVICE.get(code, "")}
                for case_id, code in state.failed.items()
            ],
        }

    async def stop(self, arguments: StopRunArguments, context: ToolContext) -> dict[str, Any]:
        if not self.desk.journal.of_call(context.call_id, EventName.STOP_REQUESTED):
            require(refusal(self.state(), StopRun(arguments.reason)))
            self.desk.journal.append(EventName.STOP_REQUESTED, call_id=context.call_id, reason=arguments.reason)
        return {"stopped": True}


def pilot_cell(pilot: int, revision: int, case_id: str) -> str:
    """Return the id of a pilot cell; it changes with the revision and stays for a retry of a failed cell."""
    return f"pilot-{pilot}-rev-{revision}-{case_id}-1"


def verdicts_of(case: CaseReviewArguments) -> dict[str, str]:
    """Return a review's verdicts by question."""
    return {
        "statement_coherent": case.statement_coherent,
        "rubric_consistent": case.rubric_consistent,
        "rubric_self_contained": case.rubric_self_contained,
        "items_apply": case.items_apply,
    }
