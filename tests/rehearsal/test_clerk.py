"""The rehearsal clerk: what it hears, reads and writes; a function of the request alone."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from core.models.interface import Message, Request, Text, ToolCall, ToolOutput, ToolSpec
from core.models.rehearsal.clerk import reply
from tests.rehearsal.conversation import MODEL

INTENTS = """# Role

Serve.

## Intents

- refund: money back, never arrived
- track: where a parcel is

# Another part

- weather: money parcel never arrived back
"""
SUGGEST = ToolSpec("suggest", "Say it.\n\nSkills:\n- apply_refund: Give money back\n- query_order: An order", {})
OTHERS = tuple(ToolSpec(name, "", {}) for name in ("read_file", "write_file"))
TASK = "# Desk\n\n> It never arrived,\n> my money back!\n\nAnswer a parcel of words to `answer.txt`.\n"


def request(said: str, *tools: ToolSpec, prompt: str = INTENTS) -> Request:
    return Request(MODEL, prompt, (Text("user", said),), (SUGGEST, *tools), seed=7)


def next_call(asked: Request) -> tuple[str, dict[str, Any]]:
    (message,) = reply(asked, 7)
    assert isinstance(message, ToolCall), message
    return message.name, json.loads(message.arguments)


def after(asked: Request, output: str) -> Request:
    """Return the request with the clerk's next call made, and its output."""
    said = reply(asked, 7)
    call = said[-1]
    assert isinstance(call, ToolCall)
    told: tuple[Message, ...] = (*said, ToolOutput(call.call_id, output))
    return replace(asked, messages=(*asked.messages, *told))


def test_it_hears_the_intents_that_its_rules_list_the_surer_the_more_words() -> None:
    name, said = next_call(request("My kettle never arrived, money back!"))
    assert name == "suggest"
    assert (said["intent"], said["intended_skill"], said["confidence"]) == ("refund", "apply_refund", 0.95)
    _, unsure = next_call(request("Is the parcel late?"))
    assert (unsure["intent"], unsure["confidence"]) == ("track", 0.65)
    assert "intended_skill" not in unsure


def test_without_a_list_of_intents_the_skill_is_the_intent() -> None:
    _, said = next_call(request("give money back", prompt="Serve."))
    assert (said["intent"], said["intended_skill"]) == ("apply_refund", "apply_refund")
    _, lost = next_call(request("hm", prompt="Serve."))
    assert (lost["intent"], lost["confidence"]) == ("unclear", 0.2)


def test_a_task_in_a_file_is_read_and_its_quoted_words_are_the_customers() -> None:
    asked = request("Read README.md and do the task.", *OTHERS)
    assert next_call(asked) == ("read_file", {"file_path": "README.md"})
    asked = after(asked, TASK)
    assert next_call(asked)[1]["intent"] == "refund"  # and not track, for the parcel that the customer said nothing of
    asked = after(asked, json.dumps({"result": {"status": "ok", "amount": 9}}))
    written = {"file_path": "answer.txt", "content": "Done. status: ok; amount: 9\n"}
    assert next_call(asked) == ("write_file", written)
    assert reply(after(asked, "Wrote it."), 7) == (Text("assistant", "Done. status: ok; amount: 9"),)


def test_a_task_that_can_not_be_read_is_taken_as_it_was_said() -> None:
    asked = after(
        request("Read README.md: money back, it never arrived.", *OTHERS), "Error: file not found: README.md."
    )
    assert next_call(asked)[1]["intent"] == "refund"


def test_where_nothing_can_be_written_the_answer_is_only_said() -> None:
    asked = after(request("Read README.md.", OTHERS[0]), TASK)
    asked = after(asked, json.dumps({"failed": "TIMEOUT", "message": "late"}))
    assert reply(asked, 7) == (Text("assistant", "That could not be done: TIMEOUT. late"),)
