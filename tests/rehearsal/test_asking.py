"""The rehearsal roles talk with the operator: they hear a word that is put in, and a Builder may ask one question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from core.models.interface import Message, ModelRef, Request, Text, ToolCall, ToolOutput, ToolSpec
from core.models.rehearsal import RehearsalOptions, RehearsalProvider
from core.models.rehearsal.asking import OPTIONS
from tests.rehearsal.build_protocol import BuildProtocol, write_library
from tests.rehearsal.conversation import Conversation
from tests.rehearsal.test_builder import LIBRARY, MESSAGE, by_level


def _build(tmp_path: Path, answer: str, **options: Any) -> tuple[BuildProtocol, Conversation]:
    library = write_library(tmp_path / "library", LIBRARY, ("CASE-004-d",))
    engine = BuildProtocol(tmp_path / "project", library, score=by_level)
    provider = RehearsalProvider(RehearsalOptions(**options))
    talk = Conversation(provider.reply, {**engine.tools(), "ask_operator": lambda arguments: answer})
    talk.turn(MESSAGE)
    return engine, talk


def test_a_builder_asks_once_before_it_declares_and_the_answer_is_in_the_contract(tmp_path: Path) -> None:
    engine, talk = _build(tmp_path, "Both, if\nit says so.", asks=True)
    asked = [arguments for name, arguments in talk.called if name == "ask_operator"]
    assert len(asked) == 1
    assert "careful clerical work" in asked[0]["question"]
    assert tuple(asked[0]["options"]) == OPTIONS
    names = talk.names()
    assert names.index("ask_operator") + 1 == names.index("declare_contract")
    (contract,) = (arguments for name, arguments in talk.called if name == "declare_contract")
    assert contract["description"].endswith("Settled with the operator: Both, if it says so.")
    assert engine.baseline is not None


def test_without_the_option_or_an_answer_the_contract_is_the_librarys(tmp_path: Path) -> None:
    _, quiet = _build(tmp_path / "a", "never asked")
    assert "ask_operator" not in quiet.names()
    _, denied = _build(tmp_path / "b", "Tool call denied by user.", asks=True)
    contracts = [[a for name, a in talk.called if name == "declare_contract"] for talk in (quiet, denied)]
    assert contracts[0][0]["description"] == contracts[1][0]["description"]


def _request(*messages: Message, tools: tuple[str, ...] = ("exec_command", "read_file")) -> Request:
    specs = tuple(ToolSpec(name, name, {"type": "object"}) for name in tools)
    return Request(ModelRef("rehearsal", "rehearsal-1"), "(system)", messages, specs)


def _steering(text: str) -> Text:
    return Text("user", f"[user_steering]\n{text}\n[/user_steering]")


def test_every_role_but_the_evaluator_says_what_it_was_told() -> None:
    provider = RehearsalProvider()
    for tools in (("exec_command",), ("request_freeze", "protocol_status"), ("propose_candidate", "protocol_status")):
        said = provider.reply(_request(Text("user", "agent_id: a"), _steering("be\nbrief"), tools=tools))[0]
        assert isinstance(said, Text)
        assert said.text.startswith("The operator says: be brief.")
    evaluator = provider.reply(_request(Text("user", "x"), _steering("be brief"), tools=("launch_target",)))
    assert "operator says" not in json.dumps([getattr(part, "text", "") for part in evaluator])


def test_a_word_is_acknowledged_once_and_its_text_is_no_state_of_the_engine() -> None:
    status = ToolOutput("c1", json.dumps({"ok": True, "state": {"phase": "agent"}}))
    word = _steering('{"ok": true, "state": {"phase": "report"}}')
    before = (Text("user", "agent_id: a"), ToolCall("c1", "protocol_status", "{}"), status, word)
    tools = ("request_freeze", "protocol_status", "create_agent", "stop_run")
    reply = RehearsalProvider().reply(_request(*before, tools=tools))
    assert [part.name for part in reply if isinstance(part, ToolCall)] == ["stop_run"], "still in its phase"
    after = RehearsalProvider().reply(_request(*before, *reply, ToolOutput("call_0002", "{}"), tools=tools))
    assert not any("operator says" in part.text for part in after if isinstance(part, Text))


def test_a_chat_takes_up_its_newest_prompt_and_asks_what_is_meant() -> None:
    provider = RehearsalProvider()
    tools = ("exec_command", "ask_operator")
    past: list[Message] = [Text("user", "Tidy it up.")]

    def step(output: str = "") -> ToolCall | Text:
        if output:
            last = past[-1]
            assert isinstance(last, ToolCall)
            past.append(ToolOutput(last.call_id, output))
        (part,) = provider.reply(_request(*past, tools=tools))
        past.append(part)
        assert isinstance(part, ToolCall | Text)
        return part

    assert isinstance(look := step(), ToolCall)
    assert look.name == "exec_command"
    assert isinstance(ask := step("@file a.csv\n@file b.csv\n"), ToolCall)
    assert (ask.name, json.loads(ask.arguments)["options"]) == ("ask_operator", ["a.csv", "b.csv"])
    assert isinstance(work := step("a.csv"), ToolCall)
    assert "IN=a.csv" in json.loads(work.arguments)["cmd"]
    assert isinstance(step("1 rows"), Text)
    past.append(Text("user", "Hello?"))
    assert isinstance(step(), ToolCall), "a new prompt is looked at anew"
    assert isinstance(end := step("nothing"), Text)
    assert end.text.startswith("I am the rehearsal model")
    assert len({part.call_id for part in past if isinstance(part, ToolCall)}) == 4
