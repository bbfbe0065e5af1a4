"""A provider that plays a script, tools that note their calls, and Sessions made of both."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from core.agents.approval import ApprovalMode, Ask
from core.agents.budgets import Budgets
from core.agents.session import SessionSpec
from core.agents.tool import BackgroundWork, Tool, ToolContext, ToolResult
from core.models.interface import (
    Finished,
    Item,
    ModelEntry,
    ModelRef,
    Price,
    ProviderError,
    Request,
    StreamEvent,
    Text,
    TextDelta,
    ToolCall,
    ToolOutput,
    ToolSpec,
    Usage,
)
from core.state.command_policy import CommandPolicy
from core.state.paths import ProjectPaths
from core.traces.writer import TraceWriter

REF = ModelRef("scripted", "script-1")
TOKENS = Usage(1, 2, 3)
DOLLAR_A_MILLION = Price(1.0, 1.0, 1.0)
Step = Sequence[StreamEvent | ProviderError | float]
Script = Callable[[Request], Step]


def say(text: str, usage: Usage | None = TOKENS) -> list[StreamEvent | ProviderError | float]:
    return [TextDelta(text), Item(Text("assistant", text)), Finished(usage)]


def call(call_id: str, name: str, **arguments: Any) -> Item:
    return Item(ToolCall(call_id, name, json.dumps(arguments)))


def calls(*items: Item, usage: Usage | None = TOKENS) -> list[StreamEvent | ProviderError | float]:
    return [*items, Finished(usage)]


@dataclass
class Scripted:
    """Plays `script`: a function of the request, or one step a request. A float in a step is a pause in seconds."""

    script: Script | list[Step]
    requests: list[Request] = field(default_factory=list)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        self.requests.append(request)
        step = self.script(request) if callable(self.script) else self.script[len(self.requests) - 1]
        for event in step:
            if isinstance(event, ProviderError):
                raise event
            if isinstance(event, float):
                await asyncio.sleep(event)
                continue
            yield event

    async def aclose(self) -> None:
        pass


@dataclass
class Echo:
    """A tool that answers with its argument, after `pause` seconds."""

    name: str = "echo"
    permission: Literal["r", "rw"] = "r"
    timeout_s: float = 5.0
    max_output: int = 1000
    repeatable: bool = True
    seen: list[str] = field(default_factory=list)
    answer: Callable[[Mapping[str, Any]], str] = lambda arguments: f"heard {arguments['text']}"

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            self.name,
            "Say it back.",
            {
                "type": "object",
                "properties": {"text": {"type": "string"}, "pause": {"type": "number"}},
                "required": ["text"],
            },
        )

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        self.seen.append(context.call_id)
        await asyncio.sleep(arguments.get("pause", 0))
        return ToolResult(self.answer(arguments))


def outputs(request: Request) -> list[str]:
    return [message.output for message in request.messages if isinstance(message, ToolOutput)]


def make_spec(
    root: Path,
    provider: Any,
    tools: Sequence[Tool] = (),
    *,
    trace: Path | None = None,
    approval: ApprovalMode = "allow-all",
    ask: Ask | None = None,
    policy: CommandPolicy | None = None,
    budgets: Budgets | None = None,
    price: Price | None = DOLLAR_A_MILLION,
    waits: list[float] | None = None,
    live: Path | None = None,
    background: Sequence[BackgroundWork] = (),
    secrets: tuple[str, ...] = (),
    recall: Callable[[str], ToolResult | None] | None = None,
    remember: Callable[[str, ToolResult], None] | None = None,
) -> SessionSpec:
    async def wait(seconds: float) -> None:
        (waits if waits is not None else []).append(seconds)

    workspace = root / "workspace"
    workspace.mkdir(parents=True, exist_ok=True)
    return SessionSpec(
        project=ProjectPaths(root),
        agent_id="agent",
        session_id="session-1",
        workspace=workspace,
        agent_state=root / "agent_state",
        provider=provider,
        model=REF,
        entry=ModelEntry(REF, context_window=1000, price=price),
        system_prompt="You are scripted.",
        trace=TraceWriter(trace or root / "trace.jsonl"),
        tools=tuple(tools),
        background=tuple(background),
        approval=approval,
        ask=ask,
        command_policy=policy or CommandPolicy(),
        budgets=budgets or Budgets(),
        live=live,
        archive=root / "archive",
        secrets=secrets,
        recall=recall,
        remember=remember,
        wait=wait,
    )


def read_records(path: Path) -> list[tuple[str, dict[str, Any]]]:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [(line["type"], line["payload"]) for line in lines]


def kinds(path: Path) -> list[str]:
    """Return the records in short: type, and what tells two of a type apart."""
    told = []
    for kind, payload in read_records(path):
        name = payload.get("type", kind)
        if name == "text":
            name = f"text:{payload['role']}"
        elif name == "request_end":
            name = f"request_end:{payload['status']}"
        elif name in {"tool_call", "tool_call_output"}:
            name = f"{name}:{payload['tool_call_id']}"
        elif name == "approval_decision":
            name = f"approval:{payload['decision']}"
        told.append(name)
    return told
