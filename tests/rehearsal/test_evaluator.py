"""The rehearsal Evaluator against tools that answer as the engine's do."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from core.evolution.gate import EvaluationRequest, Failed, Scored, read_answer
from core.models.interface import ModelRef, ProviderError, Request, Text
from core.models.rehearsal import RehearsalOptions, RehearsalProvider
from core.models.rehearsal.judging import artefacts_named, judge, last_words
from tests.rehearsal.conversation import Conversation

ASKED = EvaluationRequest("CASE-001-orders", 1, 3, "clerk", "chores", ModelRef("rehearsal", "rehearsal-1"))
FILES = {
    "/rubric/README.md": "- 60 pts: rows\n- 40 pts: `notes.md` explains which duplicates were dropped\n",
    "/statement/README.md": "# Orders\nWrite `clean.csv` and `notes.md`.\n",
    "/ws/notes.md": "Two duplicates dropped, the older row each time; the reason explains itself.\n",
}


def tools(files: Mapping[str, str] = FILES, **changes: Any) -> dict[str, Any]:
    launched: list[int] = []

    def launch(_: Mapping[str, Any]) -> Any:
        launched.append(1)
        return changes.get("launch") or {
            "ok": True,
            "session_id": "session-2026-12-01-10-00-00-0123abcd",
            "workspace": "/ws",
            "duration_ms": 1234,
            "cost": None,
            "provider": "rehearsal",
            "model_id": "rehearsal-1",
            "thinking_level": "medium",
            "reused": len(launched) > 1,
            "paths": {"workspace": "/ws", "rubric": "/rubric", "statement": "/statement", "trace": "/trace.jsonl"},
        }

    def checks(_: Mapping[str, Any]) -> Any:
        if not launched:
            return {"ok": False, "refused": "not_now", "reason": "launch first"}
        return changes.get("checks") or {
            "ok": True,
            "checks": [{"id": "rows", "item": 1, "points": 60, "passed": True}],
            "items": [
                {"item": 1, "points": 60, "text": "rows", "earned": 60, "remainder": 0},
                {
                    "item": 2,
                    "points": 40,
                    "text": "`notes.md` explains which duplicates were dropped",
                    "earned": 0,
                    "remainder": 40,
                },
            ],
        }

    def record(arguments: Mapping[str, Any]) -> Any:
        return {"ok": True, "score": round(sum(item["points"] for item in arguments["items"]), 2)}

    return {
        "read_file": lambda arguments: files.get(arguments["file_path"], "Error: no such file"),
        "launch_target": launch,
        "run_checks": checks,
        "record_items": record,
    }


def evaluator(**options: Any) -> RehearsalProvider:
    return RehearsalProvider(RehearsalOptions(**options))


def test_one_execution_is_scored_in_order_and_silently() -> None:
    talk = Conversation(evaluator().reply, tools())
    text = talk.turn(ASKED.message())
    answer = read_answer(text, ASKED)
    assert isinstance(answer, Scored)
    assert answer.score == 100
    assert [name for name in talk.names() if name != "read_file"] == ["launch_target", "run_checks", "record_items"]
    assert text.startswith("protocol_version: 1\nstatus: ok\ncase_id: CASE-001-orders\nrun: 1\nexpected_version: 3\n")


def test_a_resend_gives_the_same_yaml_and_calls_nothing() -> None:
    talk = Conversation(evaluator().reply, tools())
    first = talk.turn(ASKED.message())
    calls = len(talk.called)
    assert talk.turn("Your answer was not accepted: it is fenced. Send your existing result again.") == first
    assert len(talk.called) == calls


def test_a_missing_artefact_earns_nothing_and_is_no_failure() -> None:
    files = {path: text for path, text in FILES.items() if path != "/ws/notes.md"}
    answer = read_answer(Conversation(evaluator().reply, tools(files)).turn(ASKED.message()), ASKED)
    assert isinstance(answer, Scored)
    assert answer.score == 60


@pytest.mark.parametrize("code", ["version_changed", "benchmark_invalid", "evaluation_failed", "invalid_request"])
def test_a_refused_launch_is_reported_by_its_code(code: str) -> None:
    talk = Conversation(evaluator().reply, tools(launch={"ok": False, "refused": code, "reason": "because"}))
    assert read_answer(talk.turn(ASKED.message()), ASKED) == Failed(code)  # type: ignore[arg-type] # parametrized str
    assert talk.names() == ["launch_target"]


@pytest.mark.parametrize("change", ["run: 1\nrun: 2", "run: 0", "run:", "run: ../1"])
def test_an_unusable_request_starts_nothing(change: str) -> None:
    talk = Conversation(evaluator().reply, tools())
    text = talk.turn(ASKED.message().replace("run: 1", change))
    assert "failure_code: invalid_request" in text
    assert "run: null" in text
    assert talk.names() == []


def test_a_model_id_that_yaml_would_retype_is_quoted() -> None:
    asked = EvaluationRequest("CASE-1", 1, 1, "a", "b", ModelRef("on", "5e3"))
    answers = tools()
    given = answers["launch_target"]({}) | {"provider": "on", "model_id": "5e3"}
    text = Conversation(evaluator().reply, tools(launch=given)).turn(asked.message())
    assert isinstance(read_answer(text, asked), Scored)


def test_a_text_instead_of_an_answer_ends_in_evaluation_failed() -> None:
    talk = Conversation(evaluator().reply, tools(launch="Tool call denied by user."))
    assert read_answer(talk.turn(ASKED.message()), ASKED) == Failed("evaluation_failed")


def test_judging_is_lenient_but_gives_nothing_for_nothing() -> None:
    assert judge("`a.md` names the conflict and the rule applied", {"a.md": None})[0] == 0
    assert judge("`a.md` names the conflict and the rule applied", {"a.md": "conflict of rules"})[0] == 1
    assert judge("`a.md` names the conflict and the rule applied", {"a.md": "done"})[0] == 0.5
    assert judge("`a.md`, `b.md` name the conflict", {"a.md": "conflict", "b.md": ""})[0] == 0.5
    assert artefacts_named("`a.md`, `../x.md`, `no file`, `rm -rf`, `a.md`, `out/b.json`") == ["a.md", "out/b.json"]
    line = '{"type":"model_msg","payload":{"type":"text","role":"assistant","text":"bye"}}'
    assert last_words(line + '\n{"torn') == "bye"


async def said(provider: RehearsalProvider, request: Request) -> str:
    events = [event async for event in provider.stream(request)]
    messages = [getattr(event, "message", None) for event in events]
    return "\n".join(message.text for message in messages if isinstance(message, Text))


async def test_faults_fence_the_yaml_once_and_crash_where_they_should() -> None:
    talk = Conversation(evaluator().reply, tools())
    plain = talk.turn(ASKED.message())
    final = Request(MODEL_REF, "", tuple(talk.messages[:-1]), talk.request().tools)
    begin = Request(MODEL_REF, "", (Text("user", ASKED.message()),), talk.request().tools)
    assert (await said(evaluator(faults={"fenced": 1.0}), final)) == f"```yaml\n{plain}```\n"
    with pytest.raises(ProviderError) as crash:
        await said(evaluator(faults={"crash_before_launch": 1.0}), begin)
    assert crash.value.permanent
    after = Request(MODEL_REF, "", tuple(talk.messages[:3]), talk.request().tools)
    await said(evaluator(faults={"crash_after_target": 1.0}), begin)
    with pytest.raises(ProviderError):
        await said(evaluator(faults={"crash_after_target": 1.0}), after)
    assert await said(evaluator(faults={"narration": 1.0}), begin)
    with pytest.raises(ProviderError) as limited:
        await said(evaluator(faults={"http_429": 1.0}), begin)
    assert limited.value.retry_after_s
    assert not limited.value.permanent


async def test_a_fault_below_one_never_strikes_a_cell_twice_in_a_row_and_is_the_same_each_time() -> None:
    talk = Conversation(evaluator().reply, tools())
    begin = Request(MODEL_REF, "", (Text("user", ASKED.message()),), talk.request().tools)

    async def strikes(provider: RehearsalProvider) -> list[bool]:
        struck = []
        for _ in range(60):
            try:
                await said(provider, begin)
                struck.append(False)
            except ProviderError:
                struck.append(True)
        return struck

    first = await strikes(evaluator(faults={"crash_before_launch": 0.5}))
    assert first == await strikes(evaluator(faults={"crash_before_launch": 0.5}))
    assert any(first)
    assert not any(a and b for a, b in itertools.pairwise(first))
    assert first != await strikes(evaluator(seed=8, faults={"crash_before_launch": 0.5}))


MODEL_REF = ModelRef("rehearsal", "rehearsal-1")
