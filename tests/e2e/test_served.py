"""A whole loop over provider `openai` and real HTTP gives the in-process result; a refused key stops it at once."""

from __future__ import annotations

import json
import re
import stat
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from core.evolution import runs
from core.models.rehearsal.chat import chunks, request_of
from core.models.rehearsal.options import RehearsalOptions
from core.models.rehearsal.provider import RehearsalProvider, role_of
from core.models.rehearsal.serve import served
from core.state.paths import ProjectPaths
from tests.e2e.conftest import Undisturbed
from tests.e2e.loop import Loop, gone, outcome, reruns
from tests.models.chat_server import DONE, Answer, ChatServer, chat_server

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

KEY = "sk-house-4711-not-for-anyone"
MODEL = {"provider": "custom", "model_id": "rehearsal-1"}


def _configure(project: ProjectPaths, base_url: str, key: str | None = KEY) -> None:
    """Put the served model into the project's configuration, as an operator would."""
    entry = ["", "[[models]]", 'provider = "custom"', 'model_id = "rehearsal-1"', 'client_type = "openai-chat"']
    entry += [f'base_url = "{base_url}"', "context_window = 128000"]
    entry += [f'api_key = "{key}"'] if key is not None else []
    text = re.sub(
        r"\n\[\[models\]\]\nprovider = \"custom\"\nmodel_id = \"rehearsal-1\"[^\[]*", "", project.config.read_text()
    )
    project.config.write_text(text + "\n".join(entry) + "\n", encoding="utf-8")
    assert stat.S_IMODE(project.config.stat().st_mode) == 0o600


def _files_with(text: str, root: Path) -> list[str]:
    raw = text.encode()
    return [str(p.relative_to(root)) for p in root.rglob("*") if p.is_file() and raw in p.read_bytes()]


@pytest.mark.long
@pytest.mark.parametrize("faults", [{}, {"http_429": 0.1}], ids=["plain", "throttled"])
async def test_whole_loop_gives_the_in_process_result(
    faults: dict[str, float], tmp_path: Path, undisturbed: Undisturbed
) -> None:
    with served(RehearsalOptions(faults=faults), api_key=KEY) as base_url:
        loop = Loop.at(tmp_path / "home", model=MODEL)
        _configure(loop.project, base_url)
        build = await loop.build()
        assert build.state == "finished", loop.told(build.run_id)
        optimize = await loop.optimize()
        assert optimize.state == "finished", loop.told(optimize.run_id)
    assert outcome(loop, build.run_id, optimize.run_id) == undisturbed.whole
    assert reruns([*loop.events(build.run_id), *loop.events(optimize.run_id)]) == []
    assert await gone(loop.home) == {}
    assert _files_with(KEY, loop.home) == [str(loop.project.config.relative_to(loop.home))], "the key stays where it is"
    board = loop.benchmark.scoreboard.read_text(encoding="utf-8")
    assert "provider: custom" in board
    if faults:
        traces = "".join(p.read_text(encoding="utf-8") for p in loop.project.root.rglob("traces/*/*.jsonl"))
        assert "429" in traces, "no request was throttled, so nothing was tried"


async def test_key_from_the_environment(
    tmp_path: Path, undisturbed: Undisturbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with served(api_key=KEY, usage=False) as base_url:
        loop = Loop.at(tmp_path / "home", model={"provider": "openai", "model_id": "rehearsal-1"})
        _configure(loop.project, base_url, None)
        loop.project.config.write_text(
            loop.project.config.read_text().replace(
                'provider = "custom"\nmodel_id = "rehearsal-1"', 'provider = "openai"\nmodel_id = "rehearsal-1"'
            )
        )
        build = await loop.build()
    assert build.state == "finished", loop.told(build.run_id)
    assert outcome(loop, build.run_id) == undisturbed.build
    assert _files_with(KEY, loop.home) == []


# A server that refuses ----------------------------------------------------------------------------------------


Counted = Counter[tuple[str, int]]  # requests by role and HTTP status; ("open", 0) lets every request through
Gate = Callable[[str, Counted], int]  # which status a role's next request gets


def _closing(role: str, answered: int) -> Gate:
    """Refuse the key of a role once so many of its requests were answered, until the gate is opened."""
    return lambda asking, counted: (
        401 if asking == role and counted[role, 200] >= answered and not counted["open", 0] else 200
    )


@asynccontextmanager
async def _gated(gate: Gate) -> AsyncIterator[tuple[ChatServer, Counted]]:
    """Serve the rehearsal model, except where `gate` answers a role with another status; counts both."""
    provider, counted = RehearsalProvider(), Counted()

    def answer(body: dict[str, Any]) -> Answer:
        request = request_of(body)
        role = role_of(request)
        status = gate(role, counted)
        counted[role, status] += 1
        if status != 200:
            said = json.dumps({"error": {"message": "The API key was withdrawn.", "type": "invalid_api_key"}}).encode()
            return Answer(status, {"Content-Type": "application/json"}, [said])
        lines = chunks("chatcmpl-1", request.model.model_id, provider.reply(request), None, with_usage=False)
        return Answer(pieces=[*(f"data: {line}\n\n".encode() for line in lines), DONE])

    async with chat_server(of=answer) as server:
        yield server, counted


@pytest.mark.parametrize(
    ("role", "answered"), [("builder", 0), ("builder", 9), ("evaluator", 0), ("target", 0), ("target", 3)]
)
async def test_refused_key_blocks_a_build_and_a_good_one_lets_it_go_on(
    role: str, answered: int, tmp_path: Path, undisturbed: Undisturbed
) -> None:
    """401 for one role only: a handful of requests, cells pending, a true reason; then the same result."""
    async with _gated(_closing(role, answered)) as (server, counted):
        loop = Loop.at(tmp_path / "home", model=MODEL)
        _configure(loop.project, server.base_url)
        view = await loop.build()
        assert view.state == "blocked", loop.told(view.run_id)
        assert runs.exit_of(view) == 3
        assert "401" in view.reason
        assert 1 <= counted[role, 401] <= 2, "each of two cells at once may ask once; nothing is tried again"
        assert not [cell for cell in view.cells if cell.state in {"scored", "failed"}], "cells wait, none has a verdict"
        assert await gone(loop.home) == {}
        counted["open", 0] = 1
        done = await loop.end_of(runs.resume(loop.project, view.run_id))
        assert done.state == "finished", loop.told(done.run_id)
    assert outcome(loop, done.run_id) == undisturbed.build
    assert reruns(loop.events(done.run_id)) == []


@pytest.mark.long
async def test_refused_key_leaves_the_candidate_for_the_resume(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """401 for the Optimizer when its first Candidate is measured: nothing is given up, nothing decided twice."""
    async with _gated(_closing("optimizer", 7)) as (server, counted):
        loop = Loop.at(tmp_path / "home", model=MODEL)
        _configure(loop.project, server.base_url)
        build = await loop.build()
        view = await loop.optimize()
        assert view.state == "blocked", loop.told(view.run_id)
        assert "401" in view.reason
        assert counted["optimizer", 401] == 1
        assert [entry.decision for entry in view.rounds] == [None], "the Candidate waits"
        counted["open", 0] = 1
        done = await loop.end_of(runs.resume(loop.project, view.run_id))
        assert done.state == "finished", loop.told(done.run_id)
    assert outcome(loop, build.run_id, done.run_id) == undisturbed.whole
    assert reruns(loop.events(done.run_id)) == []


@pytest.mark.long
async def test_model_that_is_gone_stops_the_round(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """404 in the middle of a matrix: blocked, finished cells stay, and the resume ends as if undisturbed."""
    left = 1_000_000  # Target requests that are still answered

    def gate(asking: str, counted: Counted) -> int:
        nonlocal left
        left -= asking == "target"
        return 404 if left < 0 and asking == "target" else 200

    async with _gated(gate) as (server, counted):
        loop = Loop.at(tmp_path / "home", model=MODEL, concurrency=1)
        _configure(loop.project, server.base_url)
        build = await loop.build()
        assert build.state == "finished", loop.told(build.run_id)
        before = counted["target", 200]
        left = 12  # the first cell of the round and a part of the second
        view = await loop.optimize()
        assert view.state == "blocked", loop.told(view.run_id)
        assert "404" in view.reason
        assert counted["target", 404] == 1, "what is gone is not asked again"
        assert counted["target", 200] - before == 12
        assert [cell.state for cell in view.cells].count("scored") == 1
        left = 1_000_000
        done = await loop.end_of(runs.resume(loop.project, view.run_id))
        assert done.state == "finished", loop.told(done.run_id)
    assert outcome(loop, build.run_id, done.run_id) == undisturbed.whole
    assert reruns(loop.events(done.run_id)) == []
