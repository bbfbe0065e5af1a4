"""An operator and a run that talk: questions answered before and after a kill, calls asked about, words heard once."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from core.evolution import runs
from core.evolution.events import Event
from core.foundation import strict_json
from core.foundation.clock import parse_ms
from core.foundation.errors import ConflictError, NotFoundError
from core.models.rehearsal.asking import OPTIONS
from core.state import approvals, audit, mailbox
from tests.e2e.conftest import Undisturbed
from tests.e2e.loop import Loop, gone, outcome, reruns, until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
ASKS = {"asks": True}


def _records(loop: Loop, run_id: str) -> list[dict[str, Any]]:
    (session,) = loop.of(run_id, "session", role="builder")
    lines = Path(session["trace"]).read_bytes().splitlines()
    return [dict(strict_json.parse(line)["payload"]) for line in lines if line.strip()]


async def _asked(loop: Loop, run_id: str, kind: str = "question") -> approvals.Waiting:
    await until(lambda: [one for one in approvals.waiting(loop.project) if one.kind == kind])
    (asked,) = (one for one in approvals.waiting(loop.project) if one.kind == kind)
    assert asked.run_id == run_id
    return asked


async def _kill(loop: Loop, run_id: str) -> None:
    pid = runs.read_run(loop.project, run_id).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await until(lambda: not runs.is_alive(loop.run(run_id)))


def _session(loop: Loop, run_id: str) -> str:
    return str(loop.of(run_id, "session", role="builder")[0]["session_id"])


async def test_a_question_survives_a_kill_and_its_answer_shapes_the_contract(
    tmp_path: Path, undisturbed: Undisturbed
) -> None:
    loop = Loop.at(tmp_path / "home", rehearsal=ASKS)
    run_id = loop.start(loop.build_spec(budgets={"wall_s": 3600.0}))
    asked = await _asked(loop, run_id)
    assert "Settling entries" in asked.text
    assert asked.options == OPTIONS
    assert (asked.role, asked.session_id) == ("builder", _session(loop, run_id))
    await until(lambda: runs.read_run(loop.project, run_id).state == "waiting")
    assert runs.read_run(loop.project, run_id).approval_id == asked.id

    await _kill(loop, run_id)
    assert runs.read_run(loop.project, run_id).state == "dead"
    runs.resume(loop.project, run_id)
    await until(lambda: runs.read_run(loop.project, run_id).state == "waiting")
    assert (await _asked(loop, run_id)).id == asked.id, "the same question, not another one"

    await _kill(loop, run_id)
    approvals.answer(loop.project, asked.id, "The note, always.", actor="a person")  # while nobody runs
    runs.resume(loop.project, run_id)
    done = await loop.end_of(run_id)
    assert done.state == "finished", loop.told(run_id)
    (contract,) = loop.of(run_id, "contract")
    assert contract["description"].endswith("Settled with the operator: The note, always.")
    assert [e["approval_id"] for e in loop.of(run_id, "asked")] == [asked.id]
    assert [(e["verdict"], e["actor"]) for e in loop.of(run_id, "answered")] == [("answer", "a person")]
    assert [entry.action for entry in audit.read(loop.project)].count("answer") == 1
    assert outcome(loop, run_id) == undisturbed.build, "asking changed nothing that is measured"
    assert reruns(loop.events(run_id)) == []


async def test_what_one_waits_for_a_person_is_charged_to_nobody(tmp_path: Path) -> None:
    loop = Loop.at(tmp_path / "home", rehearsal=ASKS)
    run_id = loop.start(loop.build_spec())
    asked = await _asked(loop, run_id)
    await asyncio.sleep(4)
    approvals.answer(loop.project, asked.id, OPTIONS[1])
    done = await loop.end_of(run_id)
    assert done.state == "finished", loop.told(run_id)
    events = loop.events(run_id)
    moments = [moment for e in events if (moment := parse_ms(e["time"])) is not None]
    whole = (moments[-1] - moments[0]) / 1000
    spent = max(e["seconds"] for e in events if e["event"] == "spent")
    assert 0 < spent < whole - 3.5


async def test_a_detached_run_leaves_to_wait_for_an_answer(tmp_path: Path) -> None:
    loop = Loop.at(tmp_path / "home", rehearsal=ASKS)
    stopped = await loop.build(detached_ask="exit")
    assert stopped.state == "blocked", loop.told(stopped.run_id)
    assert runs.exit_of(stopped) == 3
    asked = await _asked(loop, stopped.run_id)
    assert f"exuvia approvals answer {asked.id}" in stopped.reason
    assert await gone(loop.home) == {}
    with pytest.raises(ConflictError) as deaf:
        mailbox.send(loop.project, stopped.run_id, "hello")
    assert f"exuvia runs resume {stopped.run_id}" in deaf.value.hint
    approvals.decide(loop.project, asked.id, "reject", "Decide as you think right.")
    done = await loop.end_of(runs.resume(loop.project, stopped.run_id))
    assert done.state == "finished", loop.told(done.run_id)
    outputs = [p["output"] for p in _records(loop, done.run_id) if p.get("type") == "tool_call_output"]
    assert "The operator gives no answer; decide by yourself. Reason: Decide as you think right." in outputs


async def test_a_word_reaches_the_builder_once_also_across_a_kill(tmp_path: Path) -> None:
    loop = Loop.at(tmp_path / "home", rehearsal=ASKS)
    run_id = loop.start(loop.build_spec())
    asked = await _asked(loop, run_id)
    word = mailbox.send(loop.project, run_id, "Keep the Cases short.", actor="a person")
    assert [one.id for one in mailbox.unread(loop.project, word.session_id)] == [word.id]
    second = mailbox.send(loop.project, word.session_id, "And plain.", actor="a person")
    await _kill(loop, run_id)  # sent, and not read yet
    await until(lambda: mailbox.address(loop.project, run_id) is None)  # its last thread lets go of the lock
    with pytest.raises(ConflictError):
        mailbox.send(loop.project, run_id, "nobody hears this")
    runs.resume(loop.project, run_id)
    await until(lambda: mailbox.address(loop.project, run_id) is not None)
    approvals.answer(loop.project, asked.id, OPTIONS[0])
    done = await loop.end_of(run_id)
    assert done.state == "finished", loop.told(run_id)
    heard = [payload["mail"] for payload in _records(loop, run_id) if "mail" in payload]
    assert heard == [word.id, second.id]
    assert [told["text"] for told in done.told] == ["Keep the Cases short.", "And plain."]
    assert mailbox.unread(loop.project, word.session_id) == ()
    said = [p["text"] for p in _records(loop, run_id) if p.get("type") == "text" and p.get("role") == "assistant"]
    assert any("The operator says: Keep the Cases short. / And plain." in text for text in said)
    tells = [entry for entry in audit.read(loop.project) if entry.action == "tell"]
    assert [entry.detail["text"] for entry in tells] == ["Keep the Cases short.", "And plain."]


def _approvals_of(events: list[Event]) -> list[str]:
    return [event["kind"] for event in events if event["event"] == "asked"]


async def test_every_call_of_an_always_ask_run_waits_for_a_person(tmp_path: Path) -> None:
    loop = Loop.at(tmp_path / "home")
    run_id = loop.start(loop.build_spec(tool_approval="always-ask"))
    first = await _asked(loop, run_id, "tool_call")
    assert (first.tool_name, first.permission) == ("protocol_status", "r")
    await _kill(loop, run_id)
    runs.resume(loop.project, run_id)
    await until(lambda: runs.read_run(loop.project, run_id).state == "waiting")
    assert (await _asked(loop, run_id, "tool_call")).id == first.id
    approvals.decide(loop.project, first.id, "approve")
    second = await _asked(loop, run_id, "tool_call")
    assert second.tool_name == "create_agent"
    assert "agent_id: house_helper" in second.arguments.splitlines()
    approvals.decide(loop.project, second.id, "reject", "Not under this name.")
    third = await _asked(loop, run_id, "tool_call")
    assert third.id != second.id
    assert not loop.agent.config.exists(), "what was denied did not happen"
    runs.stop(loop.project, run_id)
    outputs = [p["output"] for p in _records(loop, run_id) if p.get("type") == "tool_call_output"]
    assert "Tool call denied by user. Reason: Not under this name." in outputs
    assert _approvals_of(loop.events(run_id)) == ["tool_call"] * 3
    assert await gone(loop.home) == {}


async def test_what_does_not_listen_says_so(tmp_path: Path, undisturbed: Undisturbed) -> None:
    loop = undisturbed.home_after_build(tmp_path / "home")
    (run_id,) = loop.runs()
    with pytest.raises(ConflictError, match="listens now"):
        mailbox.send(loop.project, run_id, "too late")
    (target, *_) = loop.of(run_id, "target_finished")
    with pytest.raises(ConflictError, match="does not listen"):
        mailbox.send(loop.project, target["session_id"], "too late")
    with pytest.raises(NotFoundError):
        mailbox.send(loop.project, "session-of-nobody", "hello")
    assert mailbox.listeners(loop.project) == ()
