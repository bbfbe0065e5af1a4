"""The chat-completions provider against a real server on loopback."""

from __future__ import annotations

import asyncio
import json
import random
import time
import traceback
from collections.abc import AsyncIterator
from email.utils import formatdate

import pytest

from core.models import sse
from core.models.interface import (
    Finished,
    Item,
    Message,
    ModelRef,
    ProviderError,
    Request,
    StreamEvent,
    Text,
    TextDelta,
    Thinking,
    ToolCall,
    ToolOutput,
    ToolSpec,
    Usage,
)
from core.models.openai import OpenAIProvider
from core.models.openai_format import body_of, usage_of
from core.models.secret import Secret

from .chat_server import DONE, Answer, chat_server, chunk

KEY = "sk-very-secret-0123456789"
TOOL = ToolSpec("look", "Look.", {"type": "object", "properties": {}})


def request(*messages: Message, timeout_s: float = 5.0, seed: int | None = None) -> Request:
    return Request(
        ModelRef("custom", "m-1"),
        "Be brief.",
        messages or (Text("user", "hi"),),
        (TOOL,),
        timeout_s=timeout_s,
        seed=seed,
    )


async def collect(base_url: str, asked: Request | None = None, key: str | None = None) -> list[StreamEvent]:
    provider = OpenAIProvider(base_url, Secret(key) if key else None)
    try:
        return [event async for event in provider.stream(asked or request())]
    finally:
        await provider.aclose()


async def error_of(answer: Answer, key: str | None = None, timeout_s: float = 5.0) -> ProviderError:
    async with chat_server(answer) as server:
        with pytest.raises(ProviderError) as caught:
            await collect(server.base_url, request(timeout_s=timeout_s), key)
    return caught.value


async def test_text_thinking_tools_and_usage_come_in_order() -> None:
    pieces = [
        chunk({"role": "assistant", "content": ""}),
        chunk({"reasoning_content": "Let me "}),
        chunk({"reasoning_content": "think."}),
        chunk({"content": "Hel"}),
        chunk({"content": "lo."}),
        chunk({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": ""}}]}),
        chunk({"tool_calls": [{"index": 1, "id": "c2", "function": {"name": "look", "arguments": '{"b'}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"a": 1}'}}]}),
        chunk({"tool_calls": [{"index": 1, "function": {"arguments": '": 2}'}}]}),
        chunk({}, "tool_calls"),
        chunk(usage={"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 60}}),
        DONE,
    ]
    async with chat_server(Answer(pieces=pieces)) as server:
        told = await collect(server.base_url, request(seed=11), KEY)
        headers, body = server.seen[0]
    assert told == [
        Item(Thinking("Let me think.", {"reasoning_field": "reasoning_content"})),
        TextDelta("Hel"),
        TextDelta("lo."),
        Item(Text("assistant", "Hello.")),
        Item(ToolCall("c1", "look", '{"a": 1}')),
        Item(ToolCall("c2", "look", '{"b": 2}')),
        Finished(Usage(60, 40, 9)),
    ]
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers[":path"] == "/v1/chat/completions"
    assert body["seed"] == 11
    assert body["stream_options"] == {"include_usage": True}
    assert body["tools"][0]["function"]["name"] == "look"
    assert KEY not in json.dumps(body)


async def test_deltas_reach_the_caller_while_the_server_still_writes() -> None:
    pieces = [chunk({"content": "a"}), chunk({"content": "b"}), chunk({}, "stop"), DONE]
    async with chat_server(Answer(pieces=pieces, pause_s=0.15)) as server:
        provider = OpenAIProvider(server.base_url)
        loop = asyncio.get_running_loop()
        first, last = 0.0, 0.0
        async for event in provider.stream(request()):
            first = first or (loop.time() if isinstance(event, TextDelta) else 0.0)
            last = loop.time()
        await provider.aclose()
    assert last - first > 0.3  # the server pauses between its pieces, so the first came before the last was written


async def test_bytes_may_be_cut_anywhere() -> None:
    text = "naïve 日本 \U0001f600 end"
    whole = b"".join(
        [b": a comment\r\n\r\n", chunk({"content": text}).replace(b"\n", b"\r\n"), chunk({}, "stop"), DONE]
    )
    for seed in range(12):
        rng = random.Random(seed)
        cuts = sorted(rng.sample(range(1, len(whole)), 25))
        pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
        async with chat_server(Answer(pieces=pieces, pause_s=0.001)) as server:
            told = await collect(server.base_url)
        assert Item(Text("assistant", text)) in told


async def test_lines_split_the_same_however_the_stream_is_cut() -> None:
    whole = b"data: 1\r\ndata: 2\r\n\r\ndata: 3\n\ndata: 4\r\rdata:5"
    for step in range(1, len(whole) + 1):

        async def pieces(step: int = step) -> AsyncIterator[bytes]:
            for start in range(0, len(whole), step):
                yield whole[start : start + step]

        assert [event async for event in sse.events(pieces())] == ["1\n2", "3", "4", "5"], step


async def test_a_server_that_does_not_count_leaves_usage_unknown() -> None:
    async with chat_server(Answer(pieces=[chunk({"content": "x"}), chunk({}, "stop"), DONE])) as server:
        assert (await collect(server.base_url))[-1] == Finished(None)


def test_usage_spellings() -> None:
    assert usage_of({"prompt_tokens": 10, "completion_tokens": 2}) == Usage(0, 10, 2)
    assert usage_of({"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 4}) == Usage(4, 6, 2)
    assert usage_of(
        {"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 9}}
    ) == Usage(5, 0, 1)
    nothing: tuple[object, ...] = (None, [], {}, {"prompt_tokens": True, "completion_tokens": 1}, {"prompt_tokens": -1})
    for broken in nothing:
        assert usage_of(broken) is None


async def test_an_id_that_the_conversation_has_already_gets_a_number() -> None:
    asked = request(Text("user", "hi"), ToolCall("c1", "look", "{}"), ToolOutput("c1", "seen"))
    pieces = [
        chunk({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}}]}),
        chunk({"tool_calls": [{"index": 1, "id": "c1", "function": {"name": "look", "arguments": "{}"}}]}),
        chunk({"tool_calls": [{"index": 2, "function": {"name": "look", "arguments": "{}"}}]}),
        chunk({}, "tool_calls"),
    ]
    async with chat_server(Answer(pieces=pieces)) as server:
        told = await collect(server.base_url, asked)
    ids = [e.message.call_id for e in told if isinstance(e, Item) and isinstance(e.message, ToolCall)]
    assert ids[:2] == ["c1#2", "c1#3"]
    assert len(set(ids)) == 3


async def test_calls_are_told_apart_without_a_useful_index() -> None:
    def piece(**call: object) -> dict[str, object]:
        return {"tool_calls": [call]}

    for zero in ({}, {"index": 0}):
        pieces = [
            chunk(piece(**zero, id="x", function={"name": "look", "arguments": '{"n":'})),
            chunk(piece(**zero, function={"arguments": "1}"})),
            chunk(piece(**zero, id="y", function={"name": "look", "arguments": '{"n":2}'})),
            chunk({}, "tool_calls"),
        ]
        async with chat_server(Answer(pieces=pieces)) as server:
            told = await collect(server.base_url)
        assert [e.message for e in told if isinstance(e, Item)] == [
            ToolCall("x", "look", '{"n":1}'),
            ToolCall("y", "look", '{"n":2}'),
        ]


@pytest.mark.parametrize(
    ("status", "body", "word", "permanent"),
    [
        (401, {"error": {"message": "bad key"}}, "auth", True),
        (403, {"error": "no"}, "auth", True),
        (404, {"error": {"message": "no such model"}}, "failed", True),
        (410, {}, "failed", True),
        (400, {"error": {"message": "model was decommissioned"}}, "failed", True),
        (400, {"message": "too long"}, "failed", True),
        (422, {"detail": "x"}, "failed", True),
        (408, {}, "timeout", False),
        (429, {"error": {"message": "slow down"}}, "failed", False),
        (429, {"error": {"message": "pay", "code": "insufficient_quota"}}, "failed", True),
        (500, {}, "failed", False),
        (503, {}, "timeout", False),
        (302, {}, "failed", True),
    ],
)
async def test_statuses(status: int, body: object, word: str, permanent: bool) -> None:
    answer = Answer(status, {"Content-Type": "application/json", "Location": "http://127.0.0.1:1/"})
    answer.pieces = [json.dumps(body).encode()]
    error = await error_of(answer)
    assert (error.status, error.permanent) == (word, permanent)
    assert str(error).startswith(str(status))


async def test_retry_after_as_seconds_and_as_a_date() -> None:
    assert (await error_of(Answer(429, {"Retry-After": "7.5"}))).retry_after_s == 7.5
    assert (await error_of(Answer(429, {"retry-after-ms": "250"}))).retry_after_s == 0.25
    later = formatdate(time.time() + 60, usegmt=True)
    assert 50 < ((await error_of(Answer(429, {"Retry-After": later}))).retry_after_s or 0) < 61
    assert (await error_of(Answer(429, {"Retry-After": "soon"}))).retry_after_s is None
    assert (await error_of(Answer(429, {"Retry-After": "nan"}))).retry_after_s is None


HALF_CALL = chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "look", "arguments": '{"a'}}]})


@pytest.mark.parametrize(
    ("pieces", "cut", "word"),
    [
        ([chunk({"content": "half"})], False, "malformed"),  # closed without a finish_reason
        ([chunk({"content": "half"})], True, "failed"),  # the connection broke
        ([HALF_CALL], False, "malformed"),
        ([HALF_CALL, chunk({}, "length"), DONE], False, "malformed"),
        (
            [
                chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"arguments": "{}"}}]}),
                chunk({}, "tool_calls"),
            ],
            False,
            "malformed",
        ),
        ([chunk({"content": " \n"}), chunk({}, "stop"), DONE], False, "malformed"),
        ([chunk({"reasoning": "hm"}), chunk({}, "stop"), DONE], False, "malformed"),
        ([], False, "malformed"),
        ([b"data: {oops\n\n"], False, "malformed"),
        ([b"data: [1]\n\n"], False, "malformed"),
        ([b'data: {"error": {"message": "overloaded"}}\n\n'], False, "failed"),
    ],
)
async def test_a_reply_that_is_not_whole_is_none(pieces: list[bytes], cut: bool, word: str) -> None:
    error = await error_of(Answer(pieces=pieces, cut=cut))
    assert (error.status, error.permanent) == (word, False)


async def test_silence_is_a_timeout_and_nobody_there_a_failure() -> None:
    error = await error_of(Answer(pieces=[chunk({"content": "x"}), chunk({}, "stop")], pause_s=2), timeout_s=0.2)
    assert error.status == "timeout"
    with pytest.raises(ProviderError) as caught:
        await collect("http://127.0.0.1:1/v1")
    assert (caught.value.status, caught.value.permanent) == ("failed", False)


async def test_the_key_is_nowhere_but_in_its_header() -> None:
    echo = Answer(
        401, {"Content-Type": "application/json"}, [json.dumps({"error": {"message": f"bad {KEY}"}}).encode()]
    )
    error = await error_of(echo, KEY)
    assert KEY not in str(error)
    assert "[redacted]" in str(error)
    for key in ("kéy-1234", "line\nbreak-key"):
        with pytest.raises(ProviderError) as caught:
            await collect("http://127.0.0.1:1/v1", key=key)
        shown = "".join(traceback.format_exception(caught.value)) + str(caught.value.hint)
        assert "1234" not in shown
        assert "break-key" not in shown
        assert caught.value.status == "auth"
    assert KEY not in repr(OpenAIProvider("http://x", Secret(KEY)))
    assert KEY not in f"{Secret(KEY)} {Secret(KEY)!r}"


async def test_a_server_that_does_not_stream_is_understood() -> None:
    whole = {
        "choices": [{"message": {"content": "all at once"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    }
    answer = Answer(200, {"Content-Type": "application/json"}, [json.dumps(whole).encode()])
    async with chat_server(answer) as server:
        told = await collect(server.base_url)
    assert told[-2:] == [Item(Text("assistant", "all at once")), Finished(Usage(0, 3, 2))]


def test_a_conversation_is_sent_back_as_the_format_wants_it() -> None:
    thought = Thinking("old", {"reasoning_field": "reasoning_content"})
    body = body_of(
        request(
            Text("user", "one"),
            thought,
            Text("assistant", "Calling."),
            ToolCall("a", "look", '{"x": 1}'),
            ToolCall("b", "look", ""),
            ToolOutput("a", "A"),
            ToolOutput("b", "B"),
            Text("assistant", "Done."),
            Text("user", "two", "harness"),
            Thinking("new", {"reasoning_field": "reasoning"}),
            ToolCall("c", "look", "{}"),
            ToolOutput("c", "C"),
        ),
        {"max_tokens": None, "max_completion_tokens": 5},
    )
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "one"},
        {
            "role": "assistant",
            "content": "Calling.",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "look", "arguments": '{"x": 1}'}},
                {"id": "b", "type": "function", "function": {"name": "look", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "A"},
        {"role": "tool", "tool_call_id": "b", "content": "B"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "two"},
        {
            "role": "assistant",
            "content": None,
            "reasoning": "new",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "C"},
    ]
    assert "max_tokens" not in body
    assert body["max_completion_tokens"] == 5
