"""How a role's Session reaches the operator, and how the operator reaches it (DECISIONS 15).

A question, and under always-ask every tool call, becomes an approval that a console or a command decides; a run that
was killed while it waited finds it again, decided meanwhile or not. The journal tells when it was asked and answered,
and each word of the operator's once it is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from core.agents.approval import Permission, Ruling
from core.agents.asking import question_of, reply_of, ruling_of, tool_call_of
from core.agents.tools.ask import Reply
from core.evolution.desk import Desk
from core.evolution.events import EventName, Journal
from core.models.interface import ToolCall
from core.state import approvals, mailbox
from core.state.approvals import Approval, Decision
from core.state.mailbox import Box, Word
from core.state.paths import ProjectPaths

POLL_S = 0.25


@dataclass(frozen=True)
class RoleAsking:
    """Asks on behalf of a role's Session and waits; while it does, no budget of time runs."""

    desk: Desk
    session_id: str
    role: str

    async def question(self, call_id: str, text: str, options: tuple[str, ...]) -> Reply:
        """Ask the operator something; return what they say. With detached_ask "exit" the run leaves to wait."""
        asked = question_of(
            self.session_id, call_id, text, options, agent_id=self.desk.agent.id, role=self.role, **self._of_run()
        )
        return reply_of(await self._decision(asked, call_id, f"exuvia approvals answer {asked.id} TEXT --resume"))

    async def tool_call(self, call: ToolCall, permission: Permission) -> Ruling:
        """Ask whether a call may run (approval mode always-ask)."""
        asked = tool_call_of(
            self.session_id, call, permission, agent_id=self.desk.agent.id, role=self.role, **self._of_run()
        )
        way_out = f"exuvia approvals approve {asked.id} --resume"
        return ruling_of(await self._decision(asked, call.call_id, way_out))

    def _of_run(self) -> dict[str, str]:
        return {"run_id": self.desk.run.id, "benchmark_id": self.desk.benchmark.id}

    async def _decision(self, approval: Approval, call_id: str, way_out: str) -> Decision:
        desk, journal = self.desk, self.desk.journal
        asked = await asyncio.to_thread(approvals.ask, desk.project, approval)
        if not _journalled(journal, EventName.ASKED, asked.id):
            journal.append(
                EventName.ASKED,
                approval_id=asked.id,
                kind=asked.kind,
                session_id=self.session_id,
                call_id=call_id,
                title=asked.title,
            )
        _, decision = approvals.get(desk.project, asked.id)
        if decision is None and desk.detached_ask == "exit":
            await desk.leave_blocked(f"The {self.role} waits for the operator: {way_out}")
        with desk.person.waiting():
            while decision is None:
                await asyncio.sleep(POLL_S)
                _, decision = approvals.get(desk.project, asked.id)
        if not _journalled(journal, EventName.ANSWERED, asked.id):
            journal.append(
                EventName.ANSWERED,
                approval_id=asked.id,
                kind=asked.kind,
                verdict=decision.verdict,
                actor=decision.actor,
                signature=decision.signature,
            )
        return decision


def _journalled(journal: Journal, event: EventName, asked: str) -> bool:
    return any(e["event"] == event and e["approval_id"] == asked for e in journal.events)


@dataclass(frozen=True)
class RoleMail:
    """The operator's words to a role's Session; the journal tells each, once, as soon as the trace has it."""

    box: Box
    journal: Journal

    def words(self) -> tuple[Word, ...]:
        """Return what waits."""
        return self.box.words()

    def taken(self, word: Word) -> None:
        """Journal that the word was read, and put it among the read ones."""
        told: Any = (EventName.TOLD, word.session_id, word.id)
        if not any((e["event"], e.get("session_id"), e.get("word")) == told for e in self.journal.events):
            self.journal.append(
                EventName.TOLD,
                session_id=word.session_id,
                word=word.id,
                text=word.text,
                actor=word.actor,
                signature=word.signature,
                sent=word.time,
            )
        self.box.taken(word)


@contextmanager
def listening(
    project: ProjectPaths, journal: Journal, session_id: str, *, run_id: str, agent_id: str, role: str
) -> Iterator[RoleMail]:
    """Let words reach a role's Session while the block runs."""
    with mailbox.opened(project, session_id, agent_id=agent_id, role=role, run_id=run_id) as box:
        yield RoleMail(box, journal)
