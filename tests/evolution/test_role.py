"""A role's Session: held to its work, nudged a bounded number of times, resumed from its trace."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.evolution.events import EventName, Journal
from core.evolution.protocol_tool import Arguments, NoArguments, protocol_tool, schema_of
from core.evolution.role import NUDGES, RoleSetup, play
from core.models.interface import (
    Finished,
    Item,
    ModelEntry,
    ModelRef,
    ProviderError,
    Request,
    StreamEvent,
    Text,
    ToolCall,
    Usage,
)
from core.state.fresh import ensure_home, ensure_operator
from core.state.paths import ProjectPaths

MODEL = ModelRef("rehearsal", "rehearsal-1")


@dataclass
class Scripted:
    """A provider that answers each request by a function of it."""

    reply: Callable[[Request, int], Text | ToolCall]
    requests: list[Request] = field(default_factory=list)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        self.requests.append(request)
        yield Item(self.reply(request, len(self.requests)))
        yield Finished(Usage(0, 10, 5))

    async def aclose(self) -> None:
        return None


def _setup(project: ProjectPaths, journal: Journal, provider: Any) -> RoleSetup:
    async def step(arguments: NoArguments, context: Any) -> dict[str, Any]:
        journal.append(EventName.CONTRACT, call_id=context.call_id, planned_cases=[])
        return {"done": True}

    def state() -> dict[str, Any]:
        return {"phase": "contract", "next": ["step"]}

    async def fault(error: Exception) -> None:
        raise error

    tool = protocol_tool("step", "Take the one step.", NoArguments, step, state, asyncio.Lock(), journal, fault)
    return RoleSetup(
        role="builder",
        project=project,
        operator=ensure_operator(project),
        workspace=project.own / "work",
        journal=journal,
        provider=provider,
        model=MODEL,
        entry=ModelEntry(MODEL),
        seed=7,
        turns=50,
        prompt="Do the step.",
        tools=(tool,),
        background=(),
        state=state,
        over=lambda: any(e["event"] == EventName.CONTRACT for e in journal.events),
    )


def _journal(tmp_path: Path) -> tuple[ProjectPaths, Journal]:
    project = ensure_home(tmp_path)
    project.own.mkdir(exist_ok=True)
    return project, Journal(project.own / "journal.jsonl")


async def test_an_early_stop_is_nudged_with_the_newest_state_and_recovers(tmp_path: Path) -> None:
    project, journal = _journal(tmp_path)

    def reply(request: Request, number: int) -> Text | ToolCall:
        if number < 3:
            return Text("assistant", "I think that is enough.")
        return ToolCall("call_0001", "step", "{}") if number == 3 else Text("assistant", "Report.")

    provider = Scripted(reply)
    end = await play(_setup(project, journal, provider))
    assert end.gave_up is None
    assert end.text == "Report."
    nudges = [event for event in journal.events if event["event"] == EventName.NUDGE]
    assert len(nudges) == 2
    last = [m for m in provider.requests[-1].messages if isinstance(m, Text) and m.sender == "harness"][-1]
    assert json.loads(last.text.split("\n", 1)[1])["state"]["next"] == ["step"]


async def test_a_role_that_never_works_is_given_up_with_what_it_said(tmp_path: Path) -> None:
    project, journal = _journal(tmp_path)
    provider = Scripted(lambda request, number: Text("assistant", "Done, I believe."))
    end = await play(_setup(project, journal, provider))
    assert end.gave_up is not None
    assert "Done, I believe." in end.gave_up
    assert len(provider.requests) == NUDGES + 1


async def test_a_model_that_is_gone_ends_the_role_at_once(tmp_path: Path) -> None:
    project, journal = _journal(tmp_path)

    def reply(request: Request, number: int) -> Text | ToolCall:
        raise ProviderError("no such key", status="auth", permanent=True)

    provider = Scripted(reply)
    end = await play(_setup(project, journal, provider))
    assert end.gave_up is not None
    assert "no such key" in end.gave_up
    assert len(provider.requests) == 1


async def test_a_repeated_call_gives_the_journalled_answer_and_acts_once(tmp_path: Path) -> None:
    project, journal = _journal(tmp_path)

    def reply(request: Request, number: int) -> Text | ToolCall:
        return ToolCall("call_0001", "step", "{}") if number == 1 else Text("assistant", "Report.")

    setup = _setup(project, journal, Scripted(reply))
    await play(setup)
    trace = Path(next(e["trace"] for e in journal.events if e["event"] == EventName.SESSION))
    lines = trace.read_bytes().split(b"\n")
    cut = next(number for number, line in enumerate(lines) if b'"tool_call_output"' in line)
    trace.write_bytes(b"\n".join(lines[:cut]) + b"\n")  # killed after the act was journalled, before the trace had it
    provider = Scripted(lambda request, number: Text("assistant", "Report."))
    again = await play(_setup(project, Journal(journal.path), provider))
    assert again.gave_up is None
    events = Journal(journal.path).events
    assert sum(1 for e in events if e["event"] == EventName.CONTRACT) == 1
    assert sum(1 for e in events if e["event"] == EventName.SESSION) == 1


def test_schemas_have_no_references_and_no_titles() -> None:
    from core.evolution import builder_arguments, optimizer_tools

    models: list[type[Arguments]] = [
        builder_arguments.DeclareContractArguments,
        builder_arguments.SubmitRevisionArguments,
        builder_arguments.RecordReviewArguments,
        builder_arguments.RequestFreezeArguments,
        optimizer_tools.ProposeArguments,
        optimizer_tools.DecideArguments,
    ]
    for model in models:
        text = json.dumps(schema_of(model))
        assert "$ref" not in text
        assert "$defs" not in text
        assert schema_of(model)["additionalProperties"] is False
    contract = schema_of(builder_arguments.DeclareContractArguments)
    assert "title" in contract["properties"], "an argument called title is no schema word"
