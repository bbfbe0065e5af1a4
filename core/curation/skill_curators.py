"""Who curates an agent: a model, in a Session of its own for each Episode, or a trained policy.

A model's Session is an ordinary one of the role `curator`: traced, paid for, spoken to and resumed like an
Optimizer's, with the skill `skill-curation` as its instructions and the three operations as its only tools. A policy
answers once; its answer is put down as a Session too, so that whoever looks sees what it was shown and what it said.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from core.agents.approval import ApprovalMode
from core.curation.curator_process import CuratorProcessError, trained
from core.curation.curators import Curation, CurationInput, Curator
from core.curation.prompt import messages
from core.curation.self_judgement import question, read_verdict
from core.curation.skill_doors import Batch, operation_tools, told
from core.curation.worlds import Episode
from core.evolution.desk import Desk
from core.evolution.events import EventName
from core.evolution.role import RoleSetup, answer, role_session
from core.foundation.errors import BlockedError, NotFoundError
from core.models.interface import ModelEntry, ModelRef, Provider, ToolSpec, Usage
from core.skillrepo.calls import parse
from core.skillrepo.operations import TOOLS, Call, Verdict
from core.state.fresh import ensure_operator
from core.state.paths import AgentPaths
from core.traces import records
from core.traces.session_trace import SessionTrace
from core.traces.writer import TraceWriter

TURNS = 12  # requests of one curation: the calls, and what is mended after a verdict
_OPERATIONS = frozenset(str(tool["name"]) for tool in TOOLS)
REHEARSAL = "rehearsal"
WORLD = "agent"  # under which a judge is told what kind of task it judges: any
POLICY = "policy"
"""What stands in the place of the provider in the trace of a policy's Session."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One Episode put before a curator: what it sees, the Session it tells of, and what it shows in a few words."""

    given: CurationInput
    about: str
    why: str


class SkillCurator(Protocol):
    """Answers one Episode at a time, through the doors of a batch."""

    @property
    def name(self) -> str: ...

    async def curate(self, shown: Shown, batch: Batch) -> str:
        """Let its operations into the batch and return what it said. Raises BlockedError where it gave no answer."""
        ...


@dataclass(frozen=True)
class ModelCurator:
    """A model of any provider, by native tool calls; calls that it writes into its text count as well."""

    desk: Desk
    provider: Provider
    model: ModelRef
    entry: ModelEntry
    approval: ApprovalMode = "allow-all"

    @property
    def name(self) -> str:
        return f"{self.model.provider}/{self.model.model_id}"

    async def curate(self, shown: Shown, batch: Batch) -> str:
        """Open a Session for the Episode, or go on with the one that a killed engine left."""
        setup = self._setup(shown, batch)
        session_id = role_session(self.desk.journal, setup.operator, "curator", setup.about)["session_id"]
        outcome = await answer(setup)
        if outcome.status == "failed":
            raise BlockedError(
                f"The curator got no reply from {self.model.provider} / {self.model.model_id}: {outcome.reason}",
                hint="Mend the key or the model, then resume the run; what was curated stays.",
            )
        _unheard(setup.operator, session_id, shown, batch)
        for number, call in enumerate(parse(outcome.final_text), 1):
            batch.act(call, about=shown.about, why=shown.why, session_id=session_id, call_id=f"text-{number}")
        return outcome.final_text

    def _setup(self, shown: Shown, batch: Batch) -> RoleSetup:
        system, user = messages(shown.given, native=True)
        tools = tuple(operation_tools(batch, about=shown.about, why=shown.why))
        asks = self.approval == "always-ask"
        return replace(
            self._alone(system, user, _about(shown, batch), shown.given.seed),
            tools=tools,
            desk=self.desk if asks else None,
            approval=self.approval,
        )

    async def judged(self, episode: Episode, about: str) -> Episode:
        """Return the Episode with the model's own opinion of it where nobody knows how it ended (K5)."""
        if episode.judged is not None or self.model.provider == REHEARSAL:  # which judges nothing that has no rubric
            return episode
        outcome = await answer(self._alone(*question(WORLD, episode), f"opinion/{about}", seed=0))
        return replace(episode, judged=read_verdict(outcome.final_text) if outcome.status == "completed" else None)

    def _alone(self, system: str, prompt: str, about: str, seed: int) -> RoleSetup:
        """Return a Session of one question, without tools."""
        return RoleSetup(
            role="curator",
            project=self.desk.project,
            operator=ensure_operator(self.desk.project),
            workspace=self.desk.run.workspace,
            journal=self.desk.journal,
            provider=self.provider,
            model=self.model,
            entry=self.entry,
            seed=seed,
            turns=TURNS,
            prompt=prompt,
            tools=(),
            background=(),
            state=dict,
            over=lambda: True,
            questions=False,
            about=about,
            system_prompt=system,
        )


def _unheard(operator: AgentPaths, session_id: str, shown: Shown, batch: Batch) -> None:
    """Journal calls that never reached a door: malformed, or refused by the operator. They were made, and count."""
    heard = {event["call_id"] for event in batch.operations() if event["session_id"] == session_id}
    made: dict[str, tuple[str, str]] = {}
    with SessionTrace(operator, session_id, index=False) as trace:
        for record in trace.iter_records():
            call_id = record.text("tool_call_id")
            if record.kind == "tool_call" and record.text("name") in _OPERATIONS and call_id not in heard:
                made[call_id] = (record.text("name"), record.text("arguments"))
            elif record.kind == "tool_call_output" and call_id in made:
                name, raw = made.pop(call_id)
                verdict = Verdict(Call(name, None, raw, "native"), False, record.text("output")[:400])
                batch.journal(verdict, about=shown.about, why=shown.why, session_id=session_id, call_id=call_id)


@dataclass(frozen=True)
class PolicyCurator:
    """A trained policy behind the Curator protocol."""

    desk: Desk
    curator: Curator

    @property
    def name(self) -> str:
        return self.curator.name

    async def curate(self, shown: Shown, batch: Batch) -> str:
        """Ask once and put the answer down as a Session."""
        (curation,) = await asyncio.to_thread(self.curator.curate, [shown.given])
        if curation.failure:
            raise BlockedError(
                f"The curator {self.curator.name} gave no answer: {curation.failure}",
                hint="Resume the run to ask it again; what was curated stays.",
            )
        operator = ensure_operator(self.desk.project)
        known = role_session(self.desk.journal, operator, "curator", _about(shown, batch))
        verdicts = [
            batch.act(
                call, about=shown.about, why=shown.why, session_id=known["session_id"], call_id=f"policy-{number}"
            )
            for number, call in enumerate(curation.calls, 1)
        ]
        self._put_down(operator, known["session_id"], Path(known["trace"]), shown, curation, verdicts)
        return curation.text

    def _put_down(
        self,
        operator: AgentPaths,
        session_id: str,
        path: Path,
        shown: Shown,
        curation: Curation,
        verdicts: Sequence[Verdict],
    ) -> None:
        path.unlink(missing_ok=True)  # what a killed engine left of it
        system, user = messages(shown.given)
        trace = TraceWriter(path)
        try:
            for record in self._records(operator, session_id, (system, user), curation, verdicts):
                trace.append(record)
        finally:
            trace.close()

    def _records(
        self,
        operator: AgentPaths,
        session_id: str,
        prompt: tuple[str, str],
        curation: Curation,
        verdicts: Sequence[Verdict],
    ) -> Sequence[records.Record]:
        meta = records.session_meta(
            session_id=session_id,
            provider=POLICY,
            model_id=self.curator.name,
            model_context_window=None,
            system_prompt=prompt[0],
            agent_state=operator.state,
            workspace=self.desk.run.workspace,
        )
        tools = records.tool_list_ready(
            [ToolSpec(str(tool["name"]), str(tool["description"]), dict(tool["parameters"])) for tool in TOOLS]
        )
        found = [meta, records.user_text(prompt[1]), tools, records.request_begin()]
        found.append(records.assistant_text(curation.text or "(no text)"))
        if curation.prompt_tokens is not None and curation.answer_tokens is not None:
            usage = Usage(0, curation.prompt_tokens, curation.answer_tokens)
            found.append(records.token_usage(usage, usage))
        found.append(records.request_end("completed"))
        found += [records.user_text(told(verdict), sender="harness") for verdict in verdicts]
        return found


def _about(shown: Shown, batch: Batch) -> str:
    """Return what tells the Sessions of one run's curations apart."""
    return f"{batch.number}/{shown.about}"


@dataclass(frozen=True, slots=True)
class Wish:
    """Which policy shall curate: its path, None for the model. Where it is `optional` the model may take its place.

    `trouble` says what keeps the curator in use from being asked at all.
    """

    path: str | None
    optional: bool = False
    trouble: str = ""


@asynccontextmanager
async def opened(desk: Desk, model: ModelCurator, wish: Wish) -> AsyncIterator[SkillCurator]:
    """Open who curates: the policy where there is one and it may, else the model. The journal says who, and why.

    Raises BlockedError where a policy that isn't optional may not curate this agent, or can't be started.
    """
    world = f"benchmark:{desk.agent.id}/{desk.benchmark.id}"
    with ExitStack() as stack:
        policy, why = await asyncio.to_thread(_started, stack, wish, world)
        if why and not wish.optional:
            raise BlockedError(
                f"The curator {wish.path} does not curate this agent: {why}", hint="Name another curator."
            )
        chosen: SkillCurator = PolicyCurator(desk, policy) if policy is not None else model
        last = next((e for e in reversed(desk.journal.events) if e["event"] == EventName.CURATOR), None)
        if last is None or last["name"] != chosen.name:
            told = {"instead_of": wish.path or "the curator in use", "why": why} if why else {}
            desk.journal.append(EventName.CURATOR, name=chosen.name, **told)
        yield chosen


def _started(stack: ExitStack, wish: Wish, world: str) -> tuple[Curator | None, str]:
    """Return the policy, running until the stack ends, or None and why it does not curate ("" where none is asked)."""
    if wish.path is None:
        return None, wish.trouble
    try:
        policy = stack.enter_context(trained(Path(wish.path)))
        if not (why := policy.refuses(world)):
            return policy, ""
    except (CuratorProcessError, NotFoundError) as error:
        why = f"{error} {error.hint}".strip()
    stack.close()
    return None, why
