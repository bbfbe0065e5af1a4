"""The curator's doors: its operations, judged one by one and gathered for one Candidate (CURATION 1.2).

An operation is carried out on a copy of the agent's skills, never on the agent. It is valid where the repository
takes it and where what the Candidate would then change stays inside the edit surface, small enough, general and free
of private text (EVOLUTION 3.5 no. 61 to 63). The journal has each with its verdict, so a run that was killed holds
the same skills again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from core.agents.tool import ToolContext, ToolResult
from core.curation.skill_edits import edits_of, files_of, state_skills
from core.evolution.candidate import contents
from core.evolution.desk import Desk
from core.evolution.edits import Edit
from core.evolution.events import Event, EventName
from core.evolution.proposing import edit_problem
from core.foundation.errors import UsageError
from core.models.interface import ToolSpec
from core.skillrepo.calls import from_native
from core.skillrepo.operations import TOOLS, UPDATE, Call, Verdict
from core.skillrepo.repository import Repository

_CALL_S = 120.0
_OUTPUT_CHARS = 8_000


@dataclass
class Batch:
    """The operations that become one Candidate. Invariant: `repository()` is the fold of the journal's valid ones.

    `number` counts the batches of a run from 1. `present` are the files of the agent's state that they begin from.
    """

    desk: Desk
    number: int
    present: Mapping[str, bytes]

    @classmethod
    def of(cls, desk: Desk, number: int) -> Batch:
        """Return a batch that begins from the agent's state as it stands."""
        return cls(desk, number, contents(desk.agent.state))

    def __post_init__(self) -> None:
        self.before = state_skills(self.present)

    def operations(self) -> tuple[Event, ...]:
        """Return what was called so far, valid or not, in order."""
        return tuple(
            event
            for event in self.desk.journal.events
            if event["event"] == EventName.OPERATION and event["batch"] == self.number
        )

    def repository(self) -> Repository:
        """Return the skills as the valid operations left them."""
        repository = Repository(self.before)
        repository.apply([call_of(event) for event in self.operations() if event["valid"]])
        return repository

    def edits(self) -> tuple[Edit, ...]:
        """Return the edits that the Candidate makes, each with what led to it."""
        why: dict[str, str] = {}
        for event in self.operations():
            for title in {event["title"], event.get("new_title") or event["title"]} if event["valid"] else ():
                why[title] = event["why"]
        return edits_of(self.before, self.repository().skills, self.present, why)

    def act(self, call: Call, *, about: str, why: str, session_id: str, call_id: str) -> Verdict:
        """Carry out a call, once: one that the journal has is answered again as it was."""
        known = next(
            (e for e in self.operations() if (e["session_id"], e["call_id"]) == (session_id, call_id)),
            None,
        )
        if known is not None:
            return Verdict(call, known["valid"], known.get("reason") or "")
        verdict = self.judged(call)
        self.journal(verdict, about=about, why=why, session_id=session_id, call_id=call_id)
        return verdict

    def judged(self, call: Call) -> Verdict:
        """Return what the call comes to now, without doing it."""
        repository = self.repository()
        verdict = repository.apply([call])[0]
        if not verdict.valid:
            return verdict
        if reason := self._refused(verdict, repository):
            return Verdict(call, False, reason)
        return verdict

    def journal(self, verdict: Verdict, *, about: str, why: str, session_id: str, call_id: str) -> None:
        """Write down a call with its verdict."""
        call, after = verdict.call, verdict.after
        self.desk.journal.append(
            EventName.OPERATION,
            batch=self.number,
            about=about,
            session_id=session_id,
            call_id=call_id,
            op=call.name,
            title=_title(call),
            new_title=after.title if after is not None else None,
            arguments=dict(call.arguments) if call.arguments is not None else None,
            style=call.style,
            valid=verdict.valid,
            reason=verdict.reason,
            why=why,
        )

    def _refused(self, verdict: Verdict, repository: Repository) -> str:
        before, after = verdict.before, verdict.after
        renamed = (
            verdict.call.name == UPDATE and before is not None and after is not None and before.title != after.title
        )
        if renamed and before is not None and len(files_of(before.title, self.present)) > 1:
            return f"the folder of {before.title} holds more than its SKILL.md: it can be updated, not renamed"
        try:
            edits = edits_of(self.before, repository.skills, self.present, {})
        except UsageError as error:
            return str(error)
        problem = edit_problem(self.desk, edits) if edits else None
        return problem.reason if problem is not None else ""


def call_of(event: Event) -> Call:
    """Return the call that a journalled operation was."""
    arguments = event["arguments"]
    return Call(event["op"], arguments, json.dumps(arguments, ensure_ascii=False), event.get("style") or "native")


def _title(call: Call) -> str:
    title = (call.arguments or {}).get("skill_name")
    return title if isinstance(title, str) else ""


@dataclass(frozen=True)
class OperationTool:
    """One of the three operations as a tool of a curator's Session; it writes to nothing but the batch."""

    spec: ToolSpec
    batch: Batch
    about: str
    why: str
    turn: asyncio.Lock
    permission: Literal["r", "rw"] = "rw"
    timeout_s: float = _CALL_S
    max_output: int = _OUTPUT_CHARS
    repeatable: bool = True

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Carry out the operation and tell its verdict."""
        call = from_native(self.spec.name, arguments)
        async with self.turn:
            verdict = await asyncio.to_thread(
                self.batch.act,
                call,
                about=self.about,
                why=self.why,
                session_id=context.session_id,
                call_id=context.call_id,
            )
        return ToolResult(told(verdict))


def told(verdict: Verdict) -> str:
    """Return what a curator is told of its call."""
    answer: dict[str, Any] = {"valid": verdict.valid}
    if not verdict.valid:
        answer["reason"] = verdict.reason
    return json.dumps(answer, ensure_ascii=False)


def operation_tools(batch: Batch, *, about: str, why: str) -> Iterator[OperationTool]:
    """Yield the three tools for one curation: `about` names the Session that is curated, `why` says what it shows."""
    turn = asyncio.Lock()
    for tool in TOOLS:
        spec = ToolSpec(str(tool["name"]), str(tool["description"]), dict(tool["parameters"]))
        yield OperationTool(spec, batch, about, why, turn)
