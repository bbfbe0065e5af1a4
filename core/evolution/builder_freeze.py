"""The Builder's doors from a pilot to the Formal Baseline: restore, freeze, record (EVOLUTION 3.2 no. 33 to 38).

The operator decides a freeze by a file; this waits for it, however long, and holds the decision against the bytes
that were shown: what changed while it waited is not frozen.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from core.agents.tool import Tool, ToolContext
from core.evolution.builder_arguments import RecordBaselineArguments, RequestFreezeArguments
from core.evolution.builder_commands import PassFloor, RecordBaseline, RequestFreeze, RestoreLowest
from core.evolution.builder_freeze_rules import FLOOR_LIMIT
from core.evolution.builder_rules import refusal
from core.evolution.builder_state import Score
from core.evolution.builder_tools import BuilderDoors
from core.evolution.builder_view import pilot_row
from core.evolution.builder_words import BASELINE, FREEZE, RESTORE
from core.evolution.checks import null_floor
from core.evolution.events import Event, EventName
from core.evolution.freeze import approval_body, frozen_files, write_frozen
from core.evolution.protocol_tool import NoArguments, RefuseError, protocol_tool, require
from core.evolution.refusal import Refusal, listed
from core.evolution.trials import append_once
from core.state import approvals, snapshots
from core.state.approvals import Approval, Decision
from core.state.evaluation import RunScore, evaluation_of

POLL_S = 0.25
FLOORS_AT_ONCE = 4


@dataclass
class FreezeDoors:
    """The acts behind the last of the Builder's tools; they share the state of the first ones."""

    doors: BuilderDoors

    def tools(self) -> tuple[Tool, ...]:
        """Return the protocol tools of this module."""
        desk = self.doors.desk
        door = partial(
            protocol_tool, state=self.doors.view, turn=desk.turn, journal=desk.journal, fault=desk.leave_failed
        )
        return (
            door("restore_lowest", RESTORE, NoArguments, self.restore),
            door("request_freeze", FREEZE, RequestFreezeArguments, self.freeze),
            door("record_baseline", BASELINE, RecordBaselineArguments, self.baseline),
        )

    async def restore(self, arguments: NoArguments, context: ToolContext) -> dict[str, Any]:
        desk, call_id = self.doors.desk, context.call_id
        done = desk.journal.of_call(call_id, EventName.LOWEST_RESTORED)
        if not done:
            begun = desk.journal.of_call(call_id, EventName.INTENT)
            if not begun:
                require(refusal(self.doors.state(), RestoreLowest()))
            state = self.doors.state()
            lowest = state.lowest_pilot
            assert lowest is not None
            desk.intent(call_id, "restore_lowest", pilot=lowest.i)
            for case_id in state.case_ids:
                target = desk.benchmark.case(case_id).root
                shutil.rmtree(target, ignore_errors=True)
                shutil.copytree(desk.run.lowest / case_id, target, symlinks=True)
            if self.doors.hashes() != dict(lowest.hashes):
                raise RefuseError(
                    Refusal("copy_damaged", "The kept copy is not the lowest pilot any more; repair and pilot again.")
                )
            desk.journal.append(EventName.LOWEST_RESTORED, call_id=call_id, pilot=lowest.i, revision=state.revision + 1)
        present = self.doors.state().present_pilot
        return {"pilot": present.i if present else None, "score": present.score if present else None}

    # Freeze ----------------------------------------------------------------------------------------------

    async def freeze(self, arguments: RequestFreezeArguments, context: ToolContext) -> dict[str, Any]:
        journal, call_id = self.doors.desk.journal, context.call_id
        asked = journal.of_call(call_id, EventName.APPROVAL_REQUESTED)
        approval_id = asked[0]["approval_id"] if asked else await self._ask(arguments, call_id)
        decided = journal.of_call(call_id, EventName.APPROVAL_DECIDED)
        event = decided[0] if decided else await self._decision(approval_id, call_id)
        if event["decision"] != "approve":
            raise RefuseError(Refusal("rejected", event["reason"]), approval_id=approval_id)
        if not journal.of_call(call_id, EventName.FROZEN):
            self._freeze(approval_id, call_id)
        return {"approval_id": approval_id, "frozen_pilot": self.doors.state().frozen}

    async def _ask(self, arguments: RequestFreezeArguments, call_id: str) -> str:
        desk, doors = self.doors.desk, self.doors
        if not desk.journal.of_call(call_id, EventName.INTENT):
            state, present = doors.state(), desk.present()
            command = RequestFreeze(
                doors.hashes(),
                present.version,
                present.state_hash,
                arguments.known_defects,
                arguments.no_refinement_left or "",
            )
            require(refusal(state, command))
            if state.floors_of != state.revision:
                floors = await self._floors(state.case_ids)
                desk.journal.append(EventName.FLOOR, revision=state.revision, floors=floors)
            require(refusal(doors.state(), PassFloor(doors.state().floors, arguments.floor_exception or "")))
        number = sum(1 for event in desk.journal.events if event["event"] == EventName.APPROVAL_REQUESTED) + 1
        intent, _ = desk.intent(call_id, "request_freeze", approval_id=f"{desk.run.id}-freeze-{number}")
        state = doors.state()
        approval = Approval(
            id=intent["approval_id"],
            kind="freeze",
            run_id=desk.run.id,
            agent_id=desk.agent.id,
            benchmark_id=desk.benchmark.id,
            created=intent["time"],
            title=f"Freeze benchmark {desk.benchmark.id} for {desk.agent.id}: {arguments.reason}"[:300],
            body=approval_body(
                state,
                desk.benchmark,
                reason=arguments.reason,
                no_refinement_left=arguments.no_refinement_left or "",
                floor_exception=arguments.floor_exception or "",
            ),
        )
        approvals.request(desk.project, approval)
        desk.journal.append(EventName.APPROVAL_REQUESTED, call_id=call_id, approval_id=approval.id)
        return approval.id

    async def _floors(self, case_ids: Sequence[str]) -> dict[str, float]:
        """Return the points that each Case gives to a workspace in which nothing was done."""
        desk, places = self.doors.desk, asyncio.Semaphore(FLOORS_AT_ONCE)

        async def floor(case_id: str) -> float:
            async with places:
                return await null_floor(desk.benchmark.case(case_id), allow_unisolated=desk.allow_unisolated)

        return dict(zip(case_ids, await asyncio.gather(*map(floor, case_ids)), strict=True))

    async def _decision(self, approval_id: str, call_id: str) -> Event:
        desk = self.doors.desk
        _, decision = approvals.get(desk.project, approval_id)
        if decision is None and desk.approve == "auto":
            decision = approvals.decide(
                desk.project, approval_id, self._automatic(), self._automatic_reason(), actor="auto"
            )
        if decision is None and desk.detached_ask == "exit":
            await desk.leave_blocked(f"The freeze waits for the operator: exuvia approvals approve {approval_id}")
        with desk.person.waiting():
            while decision is None:
                await asyncio.sleep(POLL_S)
                _, decision = approvals.get(desk.project, approval_id)
        verdict, reason = self._verdict(decision)
        return desk.journal.append(
            EventName.APPROVAL_DECIDED,
            call_id=call_id,
            approval_id=approval_id,
            decision=verdict,
            reason=reason,
            actor=decision.actor,
            signature=decision.signature,
        )

    def _high_floors(self) -> list[str]:
        return [case_id for case_id, points in self.doors.state().floors.items() if points > FLOOR_LIMIT]

    def _automatic(self) -> approvals.Verdict:
        return "reject" if self._high_floors() else "approve"

    def _automatic_reason(self) -> str:
        high = self._high_floors()
        return (
            f"No exception for a high idle floor without a person: {listed(high)}."
            if high
            else "approved without a person"
        )

    def _verdict(self, decision: Decision) -> tuple[str, str]:
        """Return what a decision comes to: an override of the idle floor needs its reason (DECISIONS 18)."""
        if decision.verdict == "approve" and self._high_floors() and not decision.reason.strip():
            return "reject", "Approved without the reason that an exception for a high idle floor needs."
        return decision.verdict, decision.reason

    def _freeze(self, approval_id: str, call_id: str) -> None:
        desk, state = self.doors.desk, self.doors.state()
        approval, _ = approvals.get(desk.project, approval_id)
        files = frozen_files(desk.benchmark)
        if files != approval.body["files"]:
            changed = {
                name
                for name in {*files, *approval.body["files"]}
                if files.get(name) != approval.body["files"].get(name)
            }
            raise RefuseError(
                Refusal(
                    "changed_since_submission",
                    "Files changed while the operator decided, so what was approved is not what is there: "
                    f"{listed(changed)}. "
                    "Put them back or submit the revision again.",
                )
            )
        present = state.present_pilot
        assert present is not None
        write_frozen(desk.run, desk.benchmark, files, approval_id=approval_id, pilot=present.i)
        desk.journal.append(
            EventName.FROZEN,
            call_id=call_id,
            pilot=present.i,
            hashes={case_id: hashes.fields() for case_id, hashes in present.hashes.items()},
        )

    # Baseline --------------------------------------------------------------------------------------------

    async def baseline(self, arguments: RecordBaselineArguments, context: ToolContext) -> dict[str, Any]:
        desk, call_id = self.doors.desk, context.call_id
        done = desk.journal.of_call(call_id, EventName.BASELINE)
        event = done[0] if done else self._record(arguments, call_id)
        shutil.rmtree(desk.run.lowest.parent, ignore_errors=True)  # the temporary copy has served (no. 38)
        return {key: event[key] for key in ("version", "score", "evaluation_time")}

    def _record(self, arguments: RecordBaselineArguments, call_id: str) -> Event:
        desk, state = self.doors.desk, self.doors.state()
        if not desk.journal.of_call(call_id, EventName.INTENT):
            present = desk.present()
            require(refusal(state, RecordBaseline(self.doors.hashes(), present.version, present.state_hash)))
        intent, _ = desk.intent(call_id, "record_baseline")
        pilot = next(p for p in state.pilots if p.i == state.frozen)
        evaluation = evaluation_of(
            desk.present().version,
            desk.runtime(),
            {case_id: [_run(pilot.scores[case_id])] for case_id in state.measured},
            time=intent["time"][:19] + "Z",
            title=arguments.summary_title,
            summary=arguments.summary,
        )
        append_once(desk.benchmark, evaluation)
        snapshots.create(desk.agent)  # so that the baseline can be gone back to, and an edit be compared with it
        return desk.journal.append(
            EventName.BASELINE,
            call_id=call_id,
            version=evaluation.version,
            score=evaluation.score,
            evaluation_time=evaluation.time,
            pilot=pilot_row(pilot, frozen=True),
        )


def _run(score: Score) -> RunScore:
    return RunScore(score=score.score, cost=score.cost, duration_ms=score.duration_ms, session_id=score.session_id)
