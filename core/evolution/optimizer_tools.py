"""The Optimizer's doors: read what is public, propose one Candidate, have it measured, decide (EVOLUTION 3.5)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StrictInt

from core.agents.tool import Tool, ToolContext
from core.evolution import edits as surface
from core.evolution.candidate import Staged
from core.evolution.desk import announce_child
from core.evolution.events import EventName
from core.evolution.optimizer_rules import Stop, refusal
from core.evolution.optimizer_view import view, visible_sessions
from core.evolution.proposing import prepare
from core.evolution.protocol_tool import Arguments, NoArguments, RefuseError, protocol_tool, require
from core.evolution.refusal import Refusal, listed
from core.evolution.trials import Trials, measured_cases
from core.foundation.errors import ConflictError
from core.state.scoreboard import read_scoreboard
from core.traces.parsing import TraceRecord
from core.traces.reader import TraceFile
from core.traces.shards import session_shards

RECORDS_LIMIT = 200
RECORDS_BYTES = 120_000
CHANGE_TAG = "changed while it was measured"
Said = Annotated[str, Field(min_length=1, max_length=4_000)]


class ReadTraceArguments(Arguments):
    session_id: str
    start: Annotated[int, Field(ge=0, alias="from", description="First record, from 0.")] = 0
    count: Annotated[int, Field(ge=1, le=RECORDS_LIMIT)] = 50


class ExpectedScore(Arguments):
    case_id: str
    expected_score: Annotated[float, Field(ge=0, le=100)]


class CandidatePrediction(Arguments):
    overall: Literal["higher"] = "higher"
    cases: Annotated[list[ExpectedScore], Field(min_length=1)]


class EditArguments(Arguments):
    path: Annotated[str, Field(min_length=1, max_length=300, description="Relative to the agent's state.")]
    content: Annotated[str | None, Field(description="The whole new file.")] = None
    set: Annotated[
        dict[str, StrictInt] | None,
        Field(description="system_config.yaml only: limits to set (" + ", ".join(surface.SETTABLE) + ")."),
    ] = None
    delete: bool = False
    why: Said

    def edit(self) -> surface.Edit:
        """Return it as the edit surface reads it."""
        return surface.Edit(self.path, self.content, self.set or {}, self.delete, self.why)


class ProposeArguments(Arguments):
    hypothesis: Annotated[str, Field(min_length=1, max_length=4_000, description="Falsifiable: what changes, and why.")]
    prediction: CandidatePrediction
    edits: Annotated[list[EditArguments], Field(min_length=1)]


class EvaluateArguments(Arguments):
    repair: Annotated[str | None, Field(description="Only after failed cells: what new thing was corrected.")] = None


class DecideArguments(Arguments):
    supported: Annotated[bool, Field(description="Whether the observations support the hypothesis.")]
    observed: Said
    summary_title: Annotated[str, Field(min_length=1, max_length=200)]
    summary: Said


class StopArguments(Arguments):
    reason: Said


@dataclass
class OptimizerDoors:
    """The acts behind the Optimizer's tools. `statements` is a directory with the public statements only."""

    trials: Trials
    statements: Path

    def tools(self) -> tuple[Tool, ...]:
        """Return the protocol tools."""
        desk = self.trials.desk
        door = partial(protocol_tool, state=self.view, turn=desk.turn, journal=desk.journal, fault=desk.leave_failed)
        return (
            door("protocol_status", STATUS, NoArguments, self.status, permission="r"),
            door("read_scoreboard", SCOREBOARD, NoArguments, self.scoreboard, permission="r"),
            door("read_trace", TRACE, ReadTraceArguments, self.trace, permission="r"),
            door("propose_candidate", PROPOSE, ProposeArguments, self.propose),
            door("evaluate_candidate", EVALUATE, EvaluateArguments, self.evaluate),
            door("decide", DECIDE, DecideArguments, self.decide),
            door("stop_run", STOP, StopArguments, self.stop),
        )

    def view(self) -> Mapping[str, Any]:
        """Return the state as answers carry it."""
        desk = self.trials.desk
        paths = {"agent_state": str(desk.agent.state), "statements": str(self.statements)}
        return view(self.trials.state(), paths, desk.agent.id, desk.benchmark.id)

    # Reading ---------------------------------------------------------------------------------------------

    async def status(self, arguments: NoArguments, context: ToolContext) -> dict[str, Any]:
        return {}

    async def scoreboard(self, arguments: NoArguments, context: ToolContext) -> dict[str, Any]:
        desk = self.trials.desk
        shown = set(measured_cases(desk.benchmark))
        return {
            "evaluations": [
                {
                    "time": evaluation.time,
                    "version": evaluation.version,
                    "score": evaluation.score,
                    "summary_title": evaluation.summary_title,
                    "cases": [
                        {
                            "case": case.case,
                            "score": case.score,
                            "runs": [{"score": run.score, "session_id": run.session_id} for run in case.runs],
                        }
                        for case in evaluation.cases
                    ],
                }
                for evaluation in read_scoreboard(desk.benchmark.scoreboard).evaluations
                if {case.case for case in evaluation.cases} <= shown
            ]
        }

    async def trace(self, arguments: ReadTraceArguments, context: ToolContext) -> dict[str, Any]:
        state, agent = self.trials.state(), self.trials.desk.agent
        if arguments.session_id not in visible_sessions(state):
            raise RefuseError(
                Refusal("not_visible", "You may read the Target's sessions behind scores of this run, and no other.")
            )
        records: list[dict[str, Any]] = []
        total = size = 0
        for shard in session_shards(agent, arguments.session_id):
            with TraceFile(shard.path) as trace:
                for record in trace.iter_records():
                    if total >= arguments.start and len(records) < arguments.count and size < RECORDS_BYTES:
                        records.append(shortened(record))
                        size += len(str(records[-1]))
                    total += 1
        return {"session_id": arguments.session_id, "from": arguments.start, "total": total, "records": records}

    # Trying ----------------------------------------------------------------------------------------------

    async def propose(self, arguments: ProposeArguments, context: ToolContext) -> dict[str, Any]:
        try:
            event = await asyncio.to_thread(self.trials.place, context.call_id, lambda: self._prepare(arguments))
        except ConflictError as error:
            raise RefuseError(Refusal("changed_state", f"{error} Stop with stop_run and say so.")) from error
        return {"version": event["version"], "round": event["round"], "edits": event["edits"]}

    def _prepare(self, arguments: ProposeArguments) -> tuple[Staged, Mapping[str, Any]]:
        edits = [edit.edit() for edit in arguments.edits]
        return prepare(self.trials, edits, arguments.hypothesis, arguments.prediction.model_dump(mode="json"))

    async def evaluate(self, arguments: EvaluateArguments, context: ToolContext) -> dict[str, Any]:
        announce_child.set(context.announce_child)
        event = await self.trials.measure(context.call_id, (arguments.repair or "").strip())
        state = self.trials.state()
        reference, candidate = state.reference, state.candidate
        if event.get("foreign_change"):
            what = listed(event["foreign_change"])
            raise RefuseError(
                Refusal("changed_state", f"{what} {CHANGE_TAG}: nothing of it counts. Stop with stop_run and say so.")
            )
        assert reference is not None
        cells = candidate.cells.values() if candidate is not None else ()
        scores = candidate.case_scores() if candidate is not None else {}
        better = event["complete"] and event["score"] > reference.score
        return {
            "version": event["version"],
            "complete": event["complete"],
            "score": event["score"],
            "reference_score": reference.score,
            "outcome": "unevaluable" if not event["complete"] else "better" if better else "not_better",
            "cases": [
                {
                    "case_id": case_id,
                    "score": scores[case_id],
                    "runs": [
                        {"score": cell.score, "session_id": cell.session_id}
                        for cell in sorted(cells, key=lambda c: c.run)
                        if cell.case == case_id and cell.score is not None
                    ],
                }
                for case_id in scores
            ],
            "failed": event["failed"],
        }

    async def decide(self, arguments: DecideArguments, context: ToolContext) -> dict[str, Any]:
        try:
            event = self.trials.conclude(
                context.call_id,
                supported=arguments.supported,
                observed=arguments.observed,
                title=arguments.summary_title,
                summary=arguments.summary,
            )
        except ConflictError as error:
            raise RefuseError(Refusal("changed_state", f"{error} Stop with stop_run and say so.")) from error
        told = ("round", "version", "decision", "score", "reference_score", "supported", "prediction_held")
        return {key: event[key] for key in told}

    async def stop(self, arguments: StopArguments, context: ToolContext) -> dict[str, Any]:
        journal, call_id = self.trials.desk.journal, context.call_id
        if journal.of_call(call_id, EventName.STOP_REQUESTED):
            return {"stopped": True}
        require(refusal(self.trials.state(), Stop(arguments.reason)))
        trouble = self.trials.give_up(call_id, f"The run was stopped: {arguments.reason}")
        journal.append(EventName.STOP_REQUESTED, call_id=call_id, reason=arguments.reason, foreign_change=trouble or "")
        return {"stopped": True, **({"left_as_it_is": trouble} if trouble else {})}


def shortened(record: TraceRecord, limit: int = 6_000) -> dict[str, Any]:
    """Return a trace record as it stands in the file, with overlong texts cut so that an answer stays readable."""

    def cut(value: Any) -> Any:
        if isinstance(value, str):
            return value if len(value) <= limit else f"{value[:limit]} [{len(value) - limit} characters more]"
        if isinstance(value, list):
            return [cut(item) for item in value]
        if isinstance(value, dict):
            return {key: cut(item) for key, item in value.items()}
        return value

    return {"timestamp": record.timestamp, "type": record.type, "payload": cut(record.payload)}


STATUS = "Return where the protocol stands: Reference, Candidate, rounds, history, and which tools may succeed now."
SCOREBOARD = "Return the score history: per evaluation the Cases' scores and the Target session of each run."
TRACE = "Return records of a Target session behind a score of this run, rejected Candidates included."
PROPOSE = (
    "Put one Candidate in place: a falsifiable hypothesis, the score you expect of each Case it should change, and the "
    "edits. Allowed are AGENTS.md, skills/<own skill>/..., strategies/<domain>/<id>.yaml (its version raised by one) "
    "and settings of system_config.yaml by `set`. It gets the next version number; the state before it is kept."
)
EVALUATE = "Have the whole Case x runs matrix of the Candidate measured. Waits until the cells are done."
DECIDE = (
    "Decide the measured Candidate. Kept only if every cell is valid and its score is strictly greater than the "
    "Reference's; else the Reference is restored byte for byte. Say apart from that whether the hypothesis held."
)
STOP = "End the run with the true reason. An undecided Candidate is taken back first."
