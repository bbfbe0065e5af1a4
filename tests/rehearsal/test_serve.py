"""The rehearsal model over HTTP replies as it does in process."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from core.models.interface import (
    Finished,
    Item,
    ModelRef,
    ProviderError,
    Request,
    StreamEvent,
    Text,
    TextDelta,
    Thinking,
)
from core.models.openai import OpenAIProvider
from core.models.openai_format import body_of
from core.models.rehearsal import RehearsalOptions, RehearsalProvider
from core.models.rehearsal.chat import request_of
from core.models.rehearsal.provider import estimate_usage
from core.models.rehearsal.serve import served
from core.models.rehearsal.transcript import Reply
from tests.rehearsal.conversation import Conversation
from tests.rehearsal.test_builder import run as run_builder
from tests.rehearsal.test_evaluator import ASKED, tools


def requests_of(talk: Conversation, system: str = "(system)") -> list[Request]:
    """Return every request that a conversation led to."""
    from dataclasses import replace

    whole = replace(talk.request(), system_prompt=system)
    ends = [n for n, m in enumerate(talk.messages) if isinstance(m, Text) and m.role == "user"] + [
        n
        for n, m in enumerate(talk.messages)
        if type(m).__name__ == "ToolOutput"
        and (n + 1 == len(talk.messages) or type(talk.messages[n + 1]).__name__ != "ToolOutput")
    ]
    return [replace(whole, messages=tuple(talk.messages[: end + 1])) for end in sorted(ends)]


@pytest.fixture(scope="module")
def conversations(tmp_path_factory: pytest.TempPathFactory) -> list[Request]:
    """Return the requests of a whole Builder, plain and clumsy, and of an Evaluator."""
    requests: list[Request] = []
    for clumsy in (False, True):
        _, talk, _ = run_builder(tmp_path_factory.mktemp("build"), clumsy=clumsy, nudges=40)
        requests += requests_of(talk)
    talk = Conversation(RehearsalProvider().reply, tools())
    talk.turn(ASKED.message())
    talk.turn("Send it again.")
    return requests + requests_of(talk)


def test_a_request_survives_the_wire_as_far_as_the_roles_look(conversations: list[Request]) -> None:
    for clumsy in (False, True):
        provider = RehearsalProvider(RehearsalOptions(clumsy=clumsy))
        for request in conversations:
            sent = request_of(json.loads(json.dumps(body_of(request))))
            reply = provider.reply(request)
            assert provider.reply(sent) == reply
            assert estimate_usage(sent, reply) == estimate_usage(request, reply)


def test_thinking_and_senders_make_no_difference() -> None:
    plain = Conversation(RehearsalProvider().reply, tools())
    plain.turn(ASKED.message())
    request = plain.request()
    told = tuple(
        message
        for original in request.messages
        for message in (
            (Text("user", original.text, "parent_agent"),)
            if isinstance(original, Text) and original.role == "user"
            else (Thinking("hm"), original)
            if type(original).__name__ == "ToolCall"
            else (original,)
        )
    )
    from dataclasses import replace

    provider = RehearsalProvider()
    assert provider.reply(replace(request, messages=told)) == provider.reply(request)


async def collected(provider: Any, request: Request) -> tuple[Reply, list[StreamEvent]]:
    events = [event async for event in provider.stream(request)]
    return tuple(event.message for event in events if isinstance(event, Item)), events


def test_over_http_the_replies_and_the_usage_are_the_same(conversations: list[Request]) -> None:
    import asyncio

    async def compare() -> None:
        inside = RehearsalProvider()
        with served() as url:
            outside = OpenAIProvider(url)
            for request in conversations[:: max(1, len(conversations) // 25)]:
                expected, events = await collected(inside, request)
                got, over_http = await collected(outside, request)
                assert got == expected
                assert over_http[-1] == events[-1]
                if any(isinstance(message, Text) for message in expected):
                    assert sum(isinstance(event, TextDelta) for event in over_http) > 1
            await outside.aclose()

    asyncio.run(compare())


@pytest.fixture
def begin() -> Request:
    talk = Conversation(RehearsalProvider().reply, tools())
    talk.messages.append(Text("user", ASKED.message()))
    return talk.request()


@pytest.fixture
def url() -> Iterator[str]:
    with served(api_key="sesame") as address:
        yield address


async def test_a_wrong_key_is_an_auth_failure_and_the_right_one_is_not(url: str, begin: Request) -> None:
    wrong = OpenAIProvider(url, SecretStr("nonsense"))
    with pytest.raises(ProviderError) as refused:
        await collected(wrong, begin)
    assert refused.value.status == "auth"
    right = OpenAIProvider(url, SecretStr("sesame"))
    reply, _ = await collected(right, begin)
    assert reply == RehearsalProvider().reply(begin)
    await wrong.aclose()
    await right.aclose()


async def test_a_429_says_how_long_to_wait(begin: Request) -> None:
    with served(RehearsalOptions(faults={"http_429": 0.5}), usage=False) as url:
        provider = OpenAIProvider(url)
        waits, replies, permanent = [], [], False
        for _ in range(12):
            try:
                replies.append(await collected(provider, begin))
            except ProviderError as error:
                waits.append(error.retry_after_s)
                permanent = permanent or error.permanent
        await provider.aclose()
    assert waits
    assert all(waits)
    assert not permanent
    assert replies
    assert all(events[-1] == Finished(None) for _, events in replies), "a server that tells no tokens"


async def test_what_is_no_request_is_refused(url: str) -> None:
    headers = {"Authorization": "Bearer sesame"}
    async with httpx.AsyncClient(base_url=url, headers=headers) as client:
        assert (await client.get("/models")).json()["data"][0]["id"] == "rehearsal-1"
        assert (await client.get("/nothing")).status_code == 404
        assert (await client.post("/chat/completions", content=b"{torn")).status_code == 400
        assert (await client.post("/chat/completions", json={"model": "rehearsal-1"})).status_code == 400
        messages = [{"role": "user", "content": "hello"}]
        gone = await client.post("/chat/completions", json={"model": "rehearsal-0", "messages": messages})
        assert gone.status_code == 404
        odd = await client.post("/chat/completions", json={"model": "rehearsal-1", "messages": [{"role": "robot"}]})
        assert odd.status_code == 400
    assert (await httpx.AsyncClient().get(f"{url}/models")).status_code == 401


async def test_a_client_that_does_not_stream_gets_the_whole(url: str, begin: Request) -> None:
    body = {**body_of(begin), "stream": False}
    async with httpx.AsyncClient(headers={"Authorization": "Bearer sesame"}) as client:
        answer = (await client.post(f"{url}/chat/completions", json=body)).json()
    call = answer["choices"][0]["message"]["tool_calls"][0]
    assert call["function"]["name"] == "launch_target"
    assert answer["choices"][0]["finish_reason"] == "tool_calls"


def test_usage_counts_the_unchanged_prefix_as_cached(tmp_path: Path) -> None:
    _, talk, _ = run_builder(tmp_path)
    provider = RehearsalProvider()
    usages = [estimate_usage(request, provider.reply(request)) for request in requests_of(talk)]
    assert usages[0].cache_read == 0
    for before, after in itertools.pairwise(usages):
        assert after.cache_read == before.cache_read + before.cache_write, "all that was sent before is cached now"
        assert after.cache_write > 0
    assert ModelRef("rehearsal", "rehearsal-1") == talk.request().model
