"""The loop: order of records, parallel calls, faults of calls and requests, budgets, interrupts."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from core.agents.approval import Ruling
from core.agents.budgets import Budgets
from core.agents.session import Session
from core.agents.tool import ToolResult
from core.foundation.errors import ConflictError
from core.models.interface import Finished, Item, Price, ProviderError, Text, TextDelta, Thinking, ToolCall, Usage
from core.state.command_policy import CommandPolicy, command_rule

from .scripted import Echo, Scripted, call, calls, kinds, make_spec, outputs, read_records, say


async def test_the_records_stand_in_the_order_of_the_shared_format(tmp_path: Path) -> None:
    provider = Scripted(
        [
            [
                Item(Thinking("hm", {"reasoning_field": "reasoning_content"})),
                Item(Text("assistant", "Two at once.")),
                call("c1", "echo", text="slow", pause=0.05),
                call("c2", "echo", text="fast"),
                Finished(Usage(10, 20, 30)),
            ],
            say("Done."),
        ]
    )
    outcome = await Session(make_spec(tmp_path, provider, [Echo()])).run("go")
    assert kinds(tmp_path / "trace.jsonl") == [
        "session_meta",
        "text:user",
        "tool_list_ready",
        "request_begin",
        "thinking",
        "text:assistant",
        "tool_call:c1",
        "approval:allow",
        "tool_call:c2",
        "approval:allow",
        "token_usage",
        "request_end:completed",
        "tool_call_output:c2",  # completion order in the trace
        "tool_call_output:c1",
        "request_begin",
        "text:assistant",
        "token_usage",
        "request_end:completed",
    ]
    assert outputs(provider.requests[1]) == ["heard slow", "heard fast"]  # call order for the model
    assert (outcome.text, outcome.final_text, outcome.status, outcome.turns) == (
        "Two at once.\nDone.",
        "Done.",
        "completed",
        2,
    )
    assert outcome.usage == Usage(11, 22, 33)
    assert outcome.cost == pytest.approx(66e-6)


async def test_calls_run_in_parallel(tmp_path: Path) -> None:
    provider = Scripted([calls(*(call(f"c{i}", "echo", text="x", pause=0.3) for i in range(4))), say("ok")])
    began = time.monotonic()
    await Session(make_spec(tmp_path, provider, [Echo()])).run("go")
    assert time.monotonic() - began < 0.9


async def test_a_second_prompt_goes_on_with_the_same_conversation(tmp_path: Path) -> None:
    provider = Scripted([say("one"), say("two")])
    session = Session(make_spec(tmp_path, provider))
    await session.run("first")
    outcome = await session.run("second", sender="parent_agent")
    assert outcome.text == "two"
    assert [m.text for m in provider.requests[1].messages if isinstance(m, Text)] == ["first", "one", "second"]
    assert kinds(tmp_path / "trace.jsonl").count("session_meta") == 1


@pytest.mark.parametrize(
    ("item", "told"),
    [
        (Item(ToolCall("c", "nosuch", "{}")), 'no tool "nosuch"'),
        (Item(ToolCall("c", "echo", '{"text": ')), "not valid JSON"),
        (Item(ToolCall("c", "echo", "[1]")), "must be a JSON object"),
        (Item(ToolCall("c", "echo", "{}")), "missing: text"),
        (Item(ToolCall("c", "echo", '{"text": 5}')), "text must be string, not number"),
        (Item(ToolCall("c", "echo", "[" * 100_000)), "not valid JSON"),
    ],
)
async def test_a_call_that_cannot_be_made_is_told_to_the_model(tmp_path: Path, item: Item, told: str) -> None:
    provider = Scripted([[item, Finished(None)], say("sorry")])
    outcome = await Session(make_spec(tmp_path, provider, [Echo()])).run("go")
    assert told in outputs(provider.requests[1])[0]
    output = next(p for _, p in read_records(tmp_path / "trace.jsonl") if p.get("type") == "tool_call_output")
    assert output["stop_reason"] == "malformed"
    assert outcome.status == "completed"
    assert outcome.usage is None  # one request's tokens are unknown, so the sum is
    assert outcome.cost is None


async def test_a_tool_that_raises_or_hangs_ends_the_call_only(tmp_path: Path) -> None:
    def boom(arguments: object) -> str:
        raise RuntimeError("inside")

    slow = Echo(name="slow", timeout_s=0.05)
    provider = Scripted([calls(call("c1", "boom", text="x"), call("c2", "slow", text="x", pause=9)), say("I see.")])
    session = Session(make_spec(tmp_path, provider, [Echo(name="boom", answer=boom), slow]))
    outcome = await session.run("go")
    assert outcome.status == "completed"
    assert "RuntimeError: inside" in outputs(provider.requests[1])[0]
    assert "did not finish within 0.05 s" in outputs(provider.requests[1])[1]
    assert any("boom" in notice for notice in session.notices)


async def test_retries_wait_as_told_and_show_in_the_trace(tmp_path: Path) -> None:
    waits: list[float] = []
    provider = Scripted(
        [
            [ProviderError("503 busy", status="timeout")],
            [TextDelta("half"), ProviderError("429", retry_after_s=7)],
            [call("c1", "echo", text="lost"), ProviderError("cut", status="malformed", usage=Usage(0, 5, 5))],
            say("Recovered."),
        ]
    )
    tool = Echo()
    outcome = await Session(make_spec(tmp_path, provider, [tool], waits=waits)).run("go")
    assert waits == [2, 7, 8]
    assert tool.seen == []  # a call of a reply that broke off is not made
    ends = [p for _, p in read_records(tmp_path / "trace.jsonl") if p.get("type") == "request_end"]
    assert ends == [
        {"type": "request_end", "status": "timeout", "error_message": "503 busy", "attempt": 1, "retry_in_ms": 2000},
        {"type": "request_end", "status": "failed", "error_message": "429", "attempt": 2, "retry_in_ms": 7000},
        {"type": "request_end", "status": "malformed", "error_message": "cut", "attempt": 3, "retry_in_ms": 8000},
        {"type": "request_end", "status": "completed", "attempt": 4},
    ]
    assert outcome.text == "Recovered."
    assert outcome.usage == Usage(1, 7, 8)  # what the broken reply cost is counted


async def test_six_failures_end_the_turn(tmp_path: Path) -> None:
    waits: list[float] = []
    provider = Scripted([[ProviderError("500")]] * 6)
    outcome = await Session(make_spec(tmp_path, provider, waits=waits)).run("go")
    assert waits == [2, 4, 8, 16, 30]
    assert (outcome.status, outcome.failure, outcome.permanent) == ("failed", "failed", False)
    assert outcome.reason == "llm request error: 500"
    assert kinds(tmp_path / "trace.jsonl")[-1] == "abort"


@pytest.mark.parametrize(
    "error",
    [
        ProviderError("401", status="auth", permanent=True),
        ProviderError("gone", permanent=True),
        ProviderError("429", retry_after_s=86_400),
    ],
)
async def test_what_will_not_pass_is_not_tried_again(tmp_path: Path, error: ProviderError) -> None:
    provider = Scripted([[error]])
    outcome = await Session(make_spec(tmp_path, provider)).run("go")
    assert len(provider.requests) == 1
    assert (outcome.status, outcome.permanent) == ("failed", error.permanent)


async def test_an_empty_reply_is_malformed_and_tried_again(tmp_path: Path) -> None:
    provider = Scripted([[Finished(Usage(1, 1, 0))], [Item(Text("assistant", " \n")), Finished(None)], [], say("now")])
    outcome = await Session(make_spec(tmp_path, provider)).run("go")
    assert outcome.text == "now"
    assert kinds(tmp_path / "trace.jsonl").count("request_end:malformed") == 3


async def test_budgets_end_a_turn_between_requests(tmp_path: Path) -> None:
    count = iter(range(1000))
    provider = Scripted(lambda _: calls(call(f"c{next(count)}", "echo", text=str(next(count)))))
    cases = [
        (Budgets(max_turns=3), "budget: 3 requests in this turn, the limit is 3"),
        (Budgets(tokens=12), "budget: 12 tokens, the limit is 12"),
        (Budgets(cost_usd=15e-6), "budget: 0.0000 USD, the limit is 0.0000"),
    ]
    for index, (budgets, reason) in enumerate(cases):
        root = tmp_path / str(index)
        outcome = await Session(make_spec(root, provider, [Echo()], budgets=budgets)).run("go")
        assert (outcome.status, outcome.reason) == ("budget", reason)
        assert kinds(root / "trace.jsonl")[-2].startswith("tool_call_output")
        assert kinds(root / "trace.jsonl")[-1] == "abort"


async def test_the_wall_budget_stops_a_running_call_and_leaves_a_whole_trace(tmp_path: Path) -> None:
    provider = Scripted([calls(call("c1", "echo", text="x", pause=30)), say("after")])
    session = Session(make_spec(tmp_path, provider, [Echo(timeout_s=60)], budgets=Budgets(wall_s=0.2)))
    outcome = await session.run("go")
    assert outcome.status == "budget"
    assert "the time is up" in outcome.reason
    assert kinds(tmp_path / "trace.jsonl")[-2:] == ["tool_call_output:c1", "abort"]


async def test_the_same_call_with_the_same_output_again_and_again_is_a_loop(tmp_path: Path) -> None:
    ids = iter(range(1000))
    provider = Scripted(lambda _: calls(call(f"c{next(ids)}", "echo", text="again")))
    outcome = await Session(make_spec(tmp_path, provider, [Echo()], budgets=Budgets(repeats=4))).run("go")
    assert (outcome.status, outcome.turns) == ("loop", 4)


async def test_a_call_whose_output_changes_is_no_loop(tmp_path: Path) -> None:
    ids, ticks = iter(range(1000)), iter(range(1000))
    provider = Scripted(
        lambda request: calls(call(f"c{next(ids)}", "echo", text="poll")) if len(outputs(request)) < 9 else say("ok")
    )
    tool = Echo(answer=lambda _: f"tick {next(ticks)}")
    outcome = await Session(make_spec(tmp_path, provider, [tool], budgets=Budgets(repeats=3))).run("go")
    assert outcome.status == "completed"


async def test_an_interrupt_keeps_what_streamed_and_the_session_goes_on(tmp_path: Path) -> None:
    provider = Scripted([[TextDelta("This answer "), 30.0], say("Second.")])
    session = Session(make_spec(tmp_path, provider))
    running = asyncio.ensure_future(session.run("go"))
    await asyncio.sleep(0.05)
    session.interrupt()
    outcome = await running
    assert (outcome.status, outcome.reason, outcome.text) == ("aborted", "aborted by user", "")
    assert kinds(tmp_path / "trace.jsonl")[-3:] == ["text:assistant", "request_end:aborted", "abort"]
    assert (await session.run("and now")).text == "Second."
    told = [m.text for m in provider.requests[1].messages if isinstance(m, Text)]
    assert told == ["go", "[turn_aborted]\nThis answer \n[/turn_aborted]", "and now"]


async def test_cancelling_the_caller_leaves_the_tail_to_be_resumed(tmp_path: Path) -> None:
    provider = Scripted([calls(call("c1", "echo", text="x", pause=30))])
    session = Session(make_spec(tmp_path, provider, [Echo(timeout_s=60)]))
    running = asyncio.ensure_future(session.run("go"))
    await asyncio.sleep(0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert kinds(tmp_path / "trace.jsonl")[-1] == "request_end:completed"
    assert session.unfinished
    with pytest.raises(ConflictError):
        await session.run("another")


async def test_steering_reaches_the_model_before_its_next_request(tmp_path: Path) -> None:
    provider = Scripted([calls(call("c1", "echo", text="x", pause=0.1)), say("Turned.")])
    session = Session(make_spec(tmp_path, provider, [Echo()]))
    running = asyncio.ensure_future(session.run("go"))
    await asyncio.sleep(0.05)
    session.steer("left")
    assert (await running).text == "Turned."
    last = provider.requests[1].messages[-1]
    assert isinstance(last, Text)
    assert last.text == "[user_steering]\nleft\n[/user_steering]"


async def test_approval_modes(tmp_path: Path) -> None:
    reader, writer = Echo(name="look"), Echo(name="change", permission="rw")

    async def ask(asked: ToolCall, permission: str) -> Ruling:
        return Ruling("allow") if asked.name == "change" else Ruling("deny")

    expected = {
        "allow-all": ["heard a", "heard b"],
        "deny-all": ["Tool call denied by user.", "Tool call denied by user."],
        "read-only": ["heard a", "Tool call denied by user."],
        "always-ask": ["Tool call denied by user.", "heard b"],
    }
    for mode, told in expected.items():
        provider = Scripted([calls(call("c1", "look", text="a"), call("c2", "change", text="b")), say("ok")])
        spec = make_spec(tmp_path / mode, provider, [reader, writer], approval=mode, ask=ask)  # type: ignore[arg-type]  # a Literal from a dict's keys
        await Session(spec).run("go")
        assert outputs(provider.requests[1]) == told, mode
    denied = [p for _, p in read_records(tmp_path / "deny-all/trace.jsonl") if p.get("type") == "tool_call_output"]
    assert {p["stop_reason"] for p in denied} == {"aborted"}


async def test_the_command_policy_outranks_allow_all(tmp_path: Path) -> None:
    policy = CommandPolicy(rules=(command_rule("rm", r"(?:^|[;&|\s])rm\s+-(?:rf|fr)\b"),))
    tool = Echo(name="exec_command", permission="rw")
    provider = Scripted(
        [
            calls(call("c1", "exec_command", text="x", cmd="rm -rf /"), call("c2", "exec_command", text="y", cmd="ls")),
            say("ok"),
        ]
    )
    await Session(make_spec(tmp_path, provider, [tool], policy=policy)).run("go")
    assert outputs(provider.requests[1]) == ["Tool call denied by policy.", "heard y"]
    assert tool.seen == ["c2"]
    assert "approval:forbidden" in kinds(tmp_path / "trace.jsonl")


async def test_a_rule_that_python_cannot_take_fails_closed_and_is_told(tmp_path: Path) -> None:
    policy = CommandPolicy(rules=(command_rule("odd", r"\p{L}+["),))
    tool = Echo(name="exec_command", permission="rw")
    provider = Scripted([calls(call("c1", "exec_command", text="x", cmd="ls")), say("ok")])
    session = Session(make_spec(tmp_path, provider, [tool], policy=policy))
    await session.run("go")
    assert outputs(provider.requests[1]) == ["Tool call denied by policy."]
    assert any("'odd'" in notice for notice in session.notices)


async def test_an_overlong_output_is_cut_and_kept_whole_elsewhere(tmp_path: Path) -> None:
    long = "".join(f"{number:06d} " for number in range(2000))
    provider = Scripted([calls(call("c1", "echo", text="x")), say("ok")])
    await Session(make_spec(tmp_path, provider, [Echo(answer=lambda _: long)])).run("go")
    told = outputs(provider.requests[1])[0]
    assert len(told) <= 1000
    assert told.startswith("000000")
    assert told.endswith("001999 ")
    assert (tmp_path / "archive" / "c1.txt").read_text() == long
    assert str(tmp_path / "archive" / "c1.txt") in told


async def test_secrets_never_reach_the_model_or_the_trace(tmp_path: Path) -> None:
    provider = Scripted([calls(call("c1", "echo", text="x")), say("ok")])
    tool = Echo(answer=lambda _: "token=hunter2-value end")
    await Session(make_spec(tmp_path, provider, [tool], secrets=("hunter2-value",))).run("go")
    assert outputs(provider.requests[1]) == ["token=[redacted] end"]
    assert "hunter2" not in (tmp_path / "trace.jsonl").read_text()


async def test_streamed_text_is_live_while_it_runs_and_gone_after(tmp_path: Path) -> None:
    live = tmp_path / "live" / "session-1.txt"
    provider = Scripted([[TextDelta("Half a "), 0.2, TextDelta("word"), *say("Half a word")]])
    running = asyncio.ensure_future(Session(make_spec(tmp_path, provider, live=live)).run("go"))
    await asyncio.sleep(0.1)
    assert live.read_text() == "Half a "
    await running
    assert live.read_text() == ""


async def test_a_flood_of_text_keeps_the_live_file_small(tmp_path: Path) -> None:
    live = tmp_path / "live.txt"
    deltas = [TextDelta("x" * 10_000)] * 50
    provider = Scripted([[*deltas, 0.2, *say("end")]])
    running = asyncio.ensure_future(Session(make_spec(tmp_path, provider, live=live)).run("go"))
    await asyncio.sleep(0.1)
    assert 0 < live.stat().st_size <= 64 * 1024
    await running


async def test_a_remembered_result_is_not_made_again(tmp_path: Path) -> None:
    kept: dict[str, ToolResult] = {"c1": ToolResult("from the journal")}
    tool = Echo()
    provider = Scripted([calls(call("c1", "echo", text="a"), call("c2", "echo", text="b")), say("ok")])
    spec = make_spec(tmp_path, provider, [tool], recall=kept.get, remember=kept.__setitem__)
    await Session(spec).run("go")
    assert outputs(provider.requests[1]) == ["from the journal", "heard b"]
    assert tool.seen == ["c2"]
    assert kept["c2"] == ToolResult("heard b")


async def test_lone_surrogates_are_mended_before_they_are_written(tmp_path: Path) -> None:
    provider = Scripted([calls(call("c1", "echo", text="x")), say("bad \ud800 end")])
    outcome = await Session(make_spec(tmp_path, provider, [Echo(answer=lambda _: "\ud83d\ude00 \udc00")])).run("go")
    assert outcome.text == "bad \ufffd end"
    assert outputs(provider.requests[1]) == ["\U0001f600 \ufffd"]


async def test_without_a_price_the_cost_is_unknown_not_zero(tmp_path: Path) -> None:
    outcome = await Session(make_spec(tmp_path, Scripted([say("ok")]), price=None)).run("go")
    assert outcome.cost is None
    free = await Session(make_spec(tmp_path / "free", Scripted([say("ok")]), price=Price(0, 0, 0))).run("go")
    assert free.cost == 0
