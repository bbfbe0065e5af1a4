"""A Session killed at any instant and resumed comes to what it would have come to (EVOLUTION 2.6 no. 64)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.agents.budgets import Budgets
from core.agents.conversation import INTERRUPTED
from core.agents.session import Session, TurnOutcome
from core.agents.tool import ToolResult
from core.foundation.errors import UsageError
from core.models.interface import (
    Finished,
    Item,
    ProviderError,
    Request,
    StreamEvent,
    Text,
    Thinking,
    ToolOutput,
    Usage,
)

from .scripted import Echo, Scripted, call, kinds, make_spec, outputs, read_records, say

PROMPTS = ("first prompt", "second prompt")


def deterministic(request: Request) -> list[StreamEvent | ProviderError | float]:
    """A pure function of the request: two rounds of calls, then an answer that tells all it was shown."""
    n = len(request.messages)
    last = request.messages[-1]
    prompts = sum(1 for message in request.messages if isinstance(message, Text) and message.role == "user")
    told = sum(1 for message in request.messages if isinstance(message, ToolOutput))
    if isinstance(last, Text) or told < 4 * prompts - 1:
        return [
            Item(Thinking(f"at {n}")),
            Item(Text("assistant", f"Calling at {n}.")),
            call(f"a{n}", "echo", text=f"slow {n}", pause=0.002),
            call(f"b{n}", "echo", text=f"fast {n}"),
            Finished(Usage(n, 2, 3)),
        ]
    return say(f"Heard {outputs(request)}", Usage(n, 1, 1))


async def whole(root: Path) -> tuple[list[TurnOutcome], list[Request]]:
    provider = Scripted(deterministic)
    session = Session(make_spec(root, provider, [Echo()]))
    return [await session.run(prompt) for prompt in PROMPTS], provider.requests


async def test_resuming_at_every_record_and_inside_each_gives_the_same_result(tmp_path: Path) -> None:
    expected, requests = await whole(tmp_path / "whole")
    lines = (tmp_path / "whole" / "trace.jsonl").read_bytes().splitlines(keepends=True)
    assert len(lines) > 40
    for cut in range(len(lines) + 1):
        for torn in (0, 1, 2):
            root = tmp_path / f"cut-{cut}-{torn}"
            root.mkdir()
            trace = root / "trace.jsonl"
            rest = lines[cut] if cut < len(lines) else b""
            # Killed between two writes, in the middle of one, or just before its newline.
            trace.write_bytes(b"".join(lines[:cut]) + {0: b"", 1: rest[: len(rest) // 2], 2: rest[:-1]}[torn])
            provider = Scripted(deterministic)
            session = Session.resume(make_spec(root, provider, [Echo()]), trace)
            outcomes = [await session.run_once(prompt) for prompt in PROMPTS]
            # Tokens of a reply that the crash cut before its request_end were paid for, so they stay counted.
            written = rest if torn == 2 else b"".join(lines[max(cut - 1, 0) : cut])
            twice = b"token_usage" in written
            for outcome, wanted in zip(outcomes, expected, strict=True):
                if twice:
                    outcome = replace(outcome, usage=wanted.usage, cost=wanted.cost)
                assert outcome == wanted, (cut, torn)
            if provider.requests:
                assert provider.requests[-1] == requests[-1], (cut, torn)
            again = Session.resume(make_spec(root, Scripted(deterministic), [Echo()]), trace)
            assert await again.run_once(PROMPTS[1]) == outcomes[1]  # and what is finished stays finished


async def test_a_call_that_is_not_repeatable_is_reported_not_repeated(tmp_path: Path) -> None:
    provider = Scripted(
        lambda request: say("ok") if outputs(request) else [call("c1", "echo", text="x"), Finished(None)]
    )
    tool = Echo(repeatable=False)
    await Session(make_spec(tmp_path, provider, [tool])).run("go")
    trace = tmp_path / "trace.jsonl"
    lines = trace.read_bytes().splitlines(keepends=True)
    position = kinds(trace).index("tool_call_output:c1")
    trace.write_bytes(b"".join(lines[:position]))
    provider.requests.clear()
    resumed = Session.resume(make_spec(tmp_path, provider, [tool]), trace)
    assert resumed.unfinished
    assert (await resumed.finish()).status == "completed"
    assert outputs(provider.requests[0]) == [INTERRUPTED]
    assert tool.seen == ["c1"]
    # The calls of later requests are this engine's own, and run.
    provider.script = lambda request: (
        say("two") if len(outputs(request)) > 1 else [call("c2", "echo", text="y"), Finished(None)]
    )
    await resumed.run("more")
    assert tool.seen == ["c1", "c2"]


async def test_a_journalled_result_outranks_repeating_and_reporting(tmp_path: Path) -> None:
    provider = Scripted(
        lambda request: say("ok") if outputs(request) else [call("c1", "echo", text="x"), Finished(None)]
    )
    journal: dict[str, ToolResult] = {}
    tool = Echo(repeatable=False)
    spec = make_spec(tmp_path, provider, [tool], recall=journal.get, remember=journal.__setitem__)
    await Session(spec).run("go")
    trace = tmp_path / "trace.jsonl"
    lines = trace.read_bytes().splitlines(keepends=True)
    trace.write_bytes(b"".join(lines[: kinds(trace).index("tool_call_output:c1")]))
    spec = make_spec(tmp_path, provider, [tool], recall=journal.get, remember=journal.__setitem__)
    await Session.resume(spec, trace).finish()
    assert outputs(provider.requests[-1]) == ["heard x"]
    assert tool.seen == ["c1"]


async def test_a_turn_that_ended_by_budget_is_told_the_same_after_a_restart(tmp_path: Path) -> None:
    ids = iter(range(100))
    provider = Scripted(lambda _: [call(f"c{next(ids)}", "echo", text="x"), Finished(Usage(1, 1, 1))])
    spec = make_spec(tmp_path, provider, [Echo()], budgets=Budgets(max_turns=2))
    outcome = await Session(spec).run("go")
    resumed = Session.resume(make_spec(tmp_path, provider, [Echo()]), tmp_path / "trace.jsonl")
    assert await resumed.run_once("go") == outcome
    assert outcome.status == "budget"


async def test_a_cut_request_gets_its_end_in_the_trace(tmp_path: Path) -> None:
    provider = Scripted([say("ok")])
    await Session(make_spec(tmp_path, provider)).run("go")
    trace = tmp_path / "trace.jsonl"
    lines = trace.read_bytes().splitlines(keepends=True)
    trace.write_bytes(b"".join(lines[: kinds(trace).index("text:assistant") + 1]))
    await Session.resume(make_spec(tmp_path, Scripted([say("ok")])), trace).finish()
    assert kinds(trace).count("request_begin") == 2
    ends = [payload for _, payload in read_records(trace) if payload.get("type") == "request_end"]
    assert ends[0]["status"] == "failed"
    assert "restarted" in ends[0]["error_message"]


async def test_an_empty_trace_has_no_turn_to_finish(tmp_path: Path) -> None:
    (tmp_path / "trace.jsonl").write_text("")
    session = Session.resume(make_spec(tmp_path, Scripted([])), tmp_path / "trace.jsonl")
    with pytest.raises(UsageError):
        await session.finish()
