"""A first skill.yaml from observed calls, guesses marked."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.foundation.errors import UsageError
from core.strategy.schema.directory import read_schema
from core.strategy.schema.draft import Observed, draft_schema, observed_in
from core.strategy.schema.inputs import check_inputs
from core.strategy.schema.outputs import check_output
from core.strategy.schema.sync import compare


def seen() -> list[Observed]:
    calls = []
    for number in range(24):
        phrase = f"where is parcel {number}"
        calls.append(
            Observed(
                {"query": phrase, "carrier": ["JD", "SF"][number % 2], "amount": 5 + number, "note": None},
                {"status": "ok", "due": None if number else "2026-12-01", "price": 1 if number else 1.5},
                ms=100.0 + number,
                said=(f"Hello! {phrase}?",),
            )
        )
    return [*calls, Observed({"query": "x", "carrier": "SF"}, None, "network timeout", said=("x",))]


def test_what_was_seen_is_drafted_and_what_is_guessed_is_marked() -> None:
    draft = draft_schema("track", seen())
    inputs = draft.schema.signature.inputs
    assert (inputs["query"].role, inputs["query"].optional) == ("user_intent_phrase", False)
    assert (inputs["carrier"].role, inputs["carrier"].enum) == ("domain_constraint", ("JD", "SF"))
    assert (inputs["amount"].min, inputs["amount"].max, inputs["amount"].optional) == (5, 28, True)
    assert draft.schema.signature.outputs["required"] == ["price", "status"]
    assert draft.schema.signature.outputs["properties"]["price"] == {"type": "number"}
    assert draft.schema.typical_ms == 112
    assert [(row.code, row.auto_recovery) for row in draft.schema.failure_modes] == [
        ("NETWORK_TIMEOUT", "retry_with_backoff")
    ]
    assert draft.schema.side_effects == "write"  # the careful guess: it never runs in shadow
    text = draft.text()
    for line in ("side_effects: write  # guess: ", "    carrier: ", "  - { code: NETWORK_TIMEOUT"):
        marked = next(found for found in text.splitlines() if found.startswith(line))
        assert "# guess: " in marked
    assert "typical_ms: 112\n" in text
    written, _ = read_schema(text, "skill.yaml")
    assert compare(written, draft.schema) == ()


def test_a_draft_from_few_calls_says_so_and_one_from_none_is_refused() -> None:
    assert "Drafted from 1 calls. That is few" in draft_schema("track", [Observed({}, {})]).text()
    with pytest.raises(UsageError, match="no call of track"):
        draft_schema("track", [])


def test_calls_are_found_in_decision_traces() -> None:
    turns: list[tuple[str, list[dict[str, Any]]]] = [
        (
            "Where is parcel 7?",
            [{"event": "called", "skill": "track", "inputs": {"query": "parcel 7"}}, {"event": "skip"}],
        ),
        ("And now?", [{"event": "called", "skill": "track", "inputs": {"query": "parcel 7"}, "code": "TIMEOUT"}]),
    ]
    found = observed_in(turns)
    assert [(call.arguments, call.code, len(call.said)) for call in found["track"]] == [
        ({"query": "parcel 7"}, "", 1),
        ({"query": "parcel 7"}, "TIMEOUT", 2),
    ]
    assert [row.code for row in draft_schema("track", found["track"]).schema.failure_modes] == ["TIMEOUT"]


VALUES = st.one_of(
    st.text(max_size=12),
    st.integers(-(10**6), 10**6),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.booleans(),
    st.none(),
    st.lists(st.integers(), max_size=2),
)
NAMES = st.sampled_from(["a", "b", "yes", "c: d", "#e", "1", "x y"])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.builds(
            Observed,
            st.dictionaries(NAMES, VALUES, max_size=3),
            st.dictionaries(NAMES, VALUES, max_size=3),
            st.sampled_from(["", "", "x", "503", "ÄÖ", "rate limit"]),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_a_draft_can_be_read_and_lets_through_what_it_was_made_of(calls: list[Observed]) -> None:
    draft = draft_schema("track", calls)
    written, _ = read_schema(draft.text(), "skill.yaml")
    assert compare(written, draft.schema) == ()
    for call in calls:
        wrong = check_inputs(written, call.arguments)
        mixed = {
            name
            for name in call.arguments
            if len({type(o.arguments[name]) for o in calls if o.arguments.get(name) is not None} - {int}) > 1
            or len({type(o.arguments[name]) for o in calls if o.arguments.get(name) is not None} - {float}) > 1
        }
        assert [one for one in wrong if one.path not in mixed] == []
        if not call.code:
            assert check_output(written.signature.outputs, call.output) == ()
