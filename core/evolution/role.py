"""A Builder or Optimizer Session of a run: begun or resumed from its trace, and held to its work.

A model may end its turn before its protocol is done. It is then told where it stands, and asked to go on; a bounded
number of times in a row without any progress, after which the run stops blocked with what is true.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from core.agents.approval import ApprovalMode
from core.agents.budgets import Budgets
from core.agents.prompt import assemble_system_prompt, environment_of
from core.agents.session import Session, SessionSpec, TurnOutcome
from core.agents.spec import Mail
from core.agents.tool import BackgroundWork, Tool
from core.agents.tools.ask import AskOperator
from core.evolution.asking import RoleAsking, listening
from core.evolution.desk import Desk
from core.evolution.events import Event, EventName, Journal
from core.evolution.protocol_tool import WEEK_S
from core.foundation.clock import new_session_id
from core.models.interface import ModelEntry, ModelRef, Provider
from core.state.agents import read_agent
from core.state.paths import AgentPaths, ProjectPaths
from core.state.project import read_project
from core.traces.shards import new_trace_path
from core.traces.writer import TraceWriter

NUDGES = 6  # in a row, without a step of the protocol between them
Role = Literal["builder", "optimizer", "curator"]
_PROGRESS = frozenset(
    {
        EventName.AGENT,
        EventName.CONTRACT,
        EventName.REVISION,
        EventName.REVIEW,
        EventName.DISPATCH,
        EventName.PILOT,
        EventName.LOWEST_RESTORED,
        EventName.APPROVAL_REQUESTED,
        EventName.FROZEN,
        EventName.BASELINE,
        EventName.CANDIDATE,
        EventName.EVALUATED,
        EventName.DECISION,
        EventName.STOP_REQUESTED,
    }
)


@dataclass(frozen=True, kw_only=True)
class RoleSetup:
    """What a role's Session is made of. `over` tells that its protocol has nothing left for it to do.

    With a `desk` the Session may ask the operator, and under `approval` always-ask asks about each of its calls;
    without `questions` it has no tool to ask by itself. Where a role has several Sessions in a run, `about` tells them
    apart. `system_prompt` takes the place of the operator agent's own.
    """

    role: Role
    project: ProjectPaths
    operator: AgentPaths
    workspace: Path
    journal: Journal
    provider: Provider
    model: ModelRef
    entry: ModelEntry
    seed: int
    turns: int
    prompt: str
    tools: Sequence[Tool]
    background: Sequence[BackgroundWork]
    state: Callable[[], Mapping[str, Any]]
    over: Callable[[], bool]
    desk: Desk | None = None
    approval: ApprovalMode = "allow-all"
    questions: bool = True
    about: str = ""
    system_prompt: str | None = None


@dataclass(frozen=True, slots=True)
class RoleEnd:
    """How a role's work ended: `gave_up` says why it did not come to its end, or None.

    `cut` tells that it was cut from outside (no reply from the model, a budget): what it began waits for a resume.
    """

    text: str
    gave_up: str | None
    cut: bool = False


async def play(setup: RoleSetup) -> RoleEnd:
    """Let the role work until its protocol is over, resuming its Session where the trace has one."""
    async with _session(setup) as session:
        return await _work(setup, session)


async def answer(setup: RoleSetup) -> TurnOutcome:
    """Let the role answer its prompt in one turn, finishing it where the trace has it cut; nobody urges it on.

    A turn that brought no reply in an earlier engine's life is begun once more.
    """
    async with _session(setup) as session:
        if session.unfinished:
            await session.finish()
        turns = session.conversation.turns
        answered = bool(turns) and turns[-1].status == "completed"
        return await session.run_once(setup.prompt, turn=len(turns) - answered)


@asynccontextmanager
async def _session(setup: RoleSetup) -> AsyncIterator[Session]:
    known = role_session(setup.journal, setup.operator, setup.role, setup.about)
    with listening(
        setup.project,
        setup.journal,
        known["session_id"],
        run_id=setup.journal.path.parent.name,
        agent_id=setup.operator.id,
        role=setup.role,
    ) as mail:
        session, trace = _open(setup, known, mail)
        try:
            yield session
        finally:
            await session.aclose()
            trace.close()


def nudge_text(state: Mapping[str, Any]) -> str:
    """Return what a role that stopped early is told: the newest state and what may be called now."""
    tools = ", ".join(state.get("next", ())) or "protocol_status"
    return (
        "The run is not finished, and nothing happens unless you call a tool. Tools that may succeed now: "
        f"{tools}. If you cannot go on, call stop_run with the true reason.\n" + json.dumps({"state": dict(state)})
    )


async def _work(setup: RoleSetup, session: Session) -> RoleEnd:
    nudges = [e for e in setup.journal.events if e["event"] == EventName.NUDGE and e["session_id"] == _id(session)]
    text, turn = (nudges[-1]["text"], len(nudges)) if nudges else (setup.prompt, 0)
    idle = 0
    while True:
        before = _steps(setup.journal)
        # A turn that ended in an earlier engine's life says nothing of whether the model answers now.
        earlier = not session.unfinished and turn < len(session.conversation.turns)
        outcome = await session.run_once(text, sender="harness" if turn else "user", turn=turn)
        if setup.over():
            return RoleEnd(outcome.final_text, None)
        if not earlier and (broken := _broken(outcome)) is not None:
            return RoleEnd(outcome.final_text, f"The {setup.role} could not go on: {broken}", cut=True)
        idle = 0 if _steps(setup.journal) > before else idle + 1
        if idle > NUDGES:
            said = " ".join(outcome.final_text.split())[:300]
            return RoleEnd(
                outcome.final_text,
                f"The {setup.role} ended its turn {idle} times in a row without a step of the protocol; phase "
                f"{setup.state().get('phase')}. It last said: {said or 'nothing'}",
            )
        turn += 1
        text = nudge_text(setup.state())
        setup.journal.append(EventName.NUDGE, session_id=_id(session), turn=turn, text=text)


def _id(session: Session) -> str:
    return session.spec.session_id


def _steps(journal: Journal) -> int:
    return sum(1 for event in journal.events if event["event"] in _PROGRESS)


def _broken(outcome: TurnOutcome) -> str | None:
    """Return why another prompt would not help, or None."""
    if outcome.status == "failed":
        return f"the model gave no reply ({outcome.reason})"
    if outcome.status == "budget":
        return outcome.reason
    return None


def role_session(journal: Journal, operator: AgentPaths, role: Role, about: str = "") -> Event:
    """Return what the journal says of a role's Session (`session_id`, `trace`); a new one is journalled first."""
    known = next(
        (
            e
            for e in journal.events
            if e["event"] == EventName.SESSION and e["role"] == role and e.get("about", "") == about
        ),
        None,
    )
    if known is None:
        session_id = new_session_id()
        known = journal.append(
            EventName.SESSION,
            role=role,
            session_id=session_id,
            agent_id=operator.id,
            trace=str(new_trace_path(operator, session_id)),
            **({"about": about} if about else {}),
        )
    return known


def _open(setup: RoleSetup, known: Event, mail: Mail) -> tuple[Session, TraceWriter]:
    path = Path(known["trace"])
    begun = path.exists() and path.stat().st_size > 0
    trace = TraceWriter(path)
    spec = _spec(setup, known["session_id"], trace, mail)
    return (Session.resume(spec, path) if begun else Session(spec)), trace


def _spec(setup: RoleSetup, session_id: str, trace: TraceWriter, mail: Mail) -> SessionSpec:
    operator, workspace = setup.operator, setup.workspace
    workspace.mkdir(parents=True, exist_ok=True)
    config = read_agent(operator)
    environment = environment_of(
        setup.project, operator.id, workspace=workspace, model=setup.model, session_id=session_id
    )
    asking = RoleAsking(setup.desk, session_id, setup.role) if setup.desk is not None else None
    return SessionSpec(
        project=setup.project,
        agent_id=operator.id,
        session_id=session_id,
        workspace=workspace,
        agent_state=operator.state,
        provider=setup.provider,
        model=setup.model,
        entry=setup.entry,
        system_prompt=setup.system_prompt or assemble_system_prompt(operator, config, environment),
        trace=trace,
        tools=(*setup.tools, *((AskOperator(asking.question),) if asking is not None and setup.questions else ())),
        background=tuple(setup.background),
        thinking_level=config.thinking_level,
        # A role works for hours and waits for a person; what bounds it is the run's budget and its turns.
        budgets=Budgets(max_turns=setup.turns, wall_s=52 * WEEK_S, tokens=1 << 60),
        seed=setup.seed,
        live=setup.project.live / f"{session_id}.txt",
        archive=operator.scratchpad / session_id / "truncated-tool-output",
        max_tokens=config.model_max_tokens,
        request_timeout_s=config.timeout_ms / 1000,
        approval=setup.approval,
        ask=asking.tool_call if asking is not None else None,
        command_policy=read_project(setup.project).command_policy,
        mail=mail,
    )
