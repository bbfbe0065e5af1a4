"""A curator's calls, read out of its answer: every valid and every broken kind, never an exception (CURATION K2)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.skillrepo.calls import from_native, parse, render
from core.skillrepo.operations import DELETE, INSERT, UPDATE, Call

ONE = {"skill_name": "put hot", "content": "x"}


def block(inner: str) -> str:
    return f"<tool_call>\n{inner}\n</tool_call>"


def call_text(name: str = DELETE, **arguments: Any) -> str:
    return json.dumps({"name": name, "arguments": arguments or {"skill_name": "a"}})


def only(text: str) -> Call:
    (call,) = parse(text)
    return call


@pytest.mark.meets("K2")
@pytest.mark.parametrize(
    "text",
    [
        block(call_text()),
        "I delete it.\n" + block(call_text()) + "\nDone.",
        "<tool_call>" + call_text() + "</tool_call>",
        "<think>I could write <tool_call>{}</tool_call> here.</think>\n" + block(call_text()),
        "✿FUNCTION✿: skill_delete\n✿ARGS✿: " + json.dumps({"skill_name": "a"}),
        "✿FUNCTION✿：skill_delete\n✿ARGS✿：" + json.dumps({"skill_name": "a"}) + "\n✿RESULT✿: ok",
        "Text.\n✿FUNCTION✿ skill_delete\n✿ARGS✿\n" + json.dumps({"skill_name": "a"}, indent=2),
    ],
)
def test_a_call_is_read_in_either_style(text: str) -> None:
    call = only(text)
    assert (call.name, call.arguments, call.problem) == (DELETE, {"skill_name": "a"}, "")
    assert call.raw in text


@pytest.mark.meets("K2")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (block("{'name': 'skill_delete'}"), "no JSON"),
        (block('{"name": "skill_delete", "arguments": {"skill_name": "a"}'), "no JSON"),
        (block('{"name": "skill_delete", "arguments": {"skill_name": "a\n"}}'), "no JSON"),  # a raw line end
        (block('```json\n{"name": "skill_delete"}\n```'), "no JSON"),
        (block('{"name": "skill_delete", "arguments": {"skill_name": "a", "skill_name": "b"}}'), "'skill_name'"),
        (block('{"name": "a", "name": "b", "arguments": {}}'), "'name'"),
        (block('{"name": "skill_delete", "arguments": {"n": NaN}}'), "NaN"),
        (block("[" * 100_000), "nested too deep"),
        (block(call_text() + " and more"), "text follows"),
        (block(call_text() + "\n" + call_text()), "text follows"),
        (block('["skill_delete", {}]'), "no JSON object"),
        (block('{"arguments": {}}'), "no name"),
        (block('{"name": 3, "arguments": {}}'), "no name"),
        (block('{"name": "skill_delete"}'), "no JSON object"),
        (block('{"name": "skill_delete", "arguments": "{}"}'), "no JSON object"),
        (block('{"name": "skill_delete", "arguments": {}, "id": 1}'), "'id'"),
        ("<tool_call>\n" + call_text(), "not closed"),
        ("<tool_call>\n" + call_text()[:-5], "not closed"),
        ("<tool_call>", "not closed"),
        ("✿FUNCTION✿: skill_delete", "no ✿ARGS✿"),
        ("✿FUNCTION✿: skill_delete\n✿RESULT✿: x", "no ✿ARGS✿"),
        ("✿FUNCTION✿: skill_delete\n✿ARGS✿: {oops", "no JSON"),
        ("✿FUNCTION✿: skill_delete\n✿ARGS✿: [1]", "no JSON object"),
        ("✿FUNCTION✿: skill_delete\n✿ARGS✿: {} so there", "text follows"),
    ],
)
def test_what_does_not_parse_is_one_invalid_call_with_the_reason(text: str, problem: str) -> None:
    call = only(text)
    assert problem in call.problem
    assert call.arguments is None


@pytest.mark.meets("K2")
def test_a_broken_block_costs_itself_and_not_its_neighbours() -> None:
    text = block(call_text()) + "<tool_call>{broken" + block(call_text(INSERT, **ONE)) + "✿FUNCTION✿: x\n" + block("{}")
    assert [(call.name, bool(call.problem)) for call in parse(text)] == [
        (DELETE, False), ("", True), (INSERT, False), ("x", True), ("", True),
    ]  # fmt: skip


def test_tags_and_braces_inside_a_text_are_text() -> None:
    content = '---\nname: a\n---\n</tool_call> {nested {braces}} <tool_call> ✿ARGS✿ \\ " \u2028'
    for text in (render(INSERT, {"skill_name": "a", "content": content}), "✿FUNCTION✿: new_skill_insert\n✿ARGS✿: "
                 + json.dumps({"skill_name": "a", "content": content})):  # fmt: skip
        call = only(text)
        assert call.arguments == {"skill_name": "a", "content": content}


def test_no_call_is_no_call() -> None:
    for text in ("", "Nothing to do.", "</tool_call>", "tool_call {}", "<think>" + block(call_text())):
        assert parse(text) == ()


@pytest.mark.meets("K2")
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ('{"skill_name": "a"}', ""),
        ({"skill_name": "a"}, ""),
        ("", "no JSON"),
        (None, "no JSON"),
        ("[1]", "no JSON object"),
        ('{"skill_name": "a"} x', "no JSON"),
        ('{"a": 1, "a": 2}', "'a'"),
        ({"a": float("nan")}, "no JSON"),
        ({"a": object()}, "no JSON"),
    ],
)
def test_native_calls(arguments: Any, problem: str) -> None:
    call = from_native(DELETE, arguments)
    assert call.style == "native"
    assert problem in call.problem
    assert bool(call.problem) is bool(problem)
    assert (call.arguments == {"skill_name": "a"}) is not bool(problem)


PIECES = st.sampled_from(
    ["<tool_call>", "</tool_call>", "✿FUNCTION✿", "✿ARGS✿", "✿RESULT✿", ":", "{", "}", "[", '"', "\\", "\\ud800",
     '"name"', '"arguments"', "skill_update", "<think>", "</think>", " ", "\n", "1e999", "null", "\ud800", "é"]
)  # fmt: skip


@pytest.mark.meets("K2")
@given(st.lists(PIECES | st.text(max_size=5), max_size=40).map("".join))
def test_no_text_breaks_the_parser(text: str) -> None:
    calls = parse(text)
    assert len(calls) <= text.count("<tool_call>") + text.count("✿FUNCTION✿")
    for call in calls:
        assert call.raw in text
        assert (call.arguments is None) is bool(call.problem)
    from_native(UPDATE, text)


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=4))
def test_what_is_rendered_reads_back(arguments: dict[str, str]) -> None:
    call = only(render(UPDATE, arguments))
    assert (call.name, call.arguments, call.problem) == (UPDATE, arguments, "")
