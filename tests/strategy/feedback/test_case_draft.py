"""A bad case becomes the draft of a benchmark's Case: anonymised, with what must hold (S96, S98)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.foundation.errors import ConflictError
from core.state.benchmark import case_title
from core.state.paths import CasePaths
from core.strategy.feedback.bad_cases import capture
from core.strategy.feedback.case_draft import draft_case, write_case
from tests.strategy.feedback.making import case, execution, trace


@pytest.mark.meets("S98")
def test_the_draft_has_the_question_and_an_item_for_each_thing_that_failed(tmp_path: Path) -> None:
    ran = trace(
        {"event": "called", "at": "a:plan", "skill": "refund"},
        {
            "event": "checked",
            "at": "a:plan",
            "level": "cross",
            "check": 'probe.status == "x"',
            "verdict": "failed",
            "code": "BAD",
        },
    )
    made = capture(
        execution(fallbacks=("run hand_over",), pseudo_success=True),
        ran,
        "I'm Alice Smith, 13812345678,\npay me back",
        {"arguments": {"order_id": "A001"}},
        names=["Alice Smith"],
    )
    assert made is not None
    draft = draft_case(made, 7)
    assert draft.name == "CASE-007-refund-bad"
    statement, rubric = draft.files["statement/README.md"], draft.files["rubric/README.md"]
    assert "> I'm <name-1>, <phone-1>,\n> pay me back" in statement
    assert '{"order_id": "<order-1>"}' in statement
    assert '`probe.status == "x"` holds (cross; it failed with BAD).' in rubric
    assert "without run hand_over" in rubric
    assert sum(map(int, re.findall(r"^- (\d+) pts:", rubric, re.MULTILINE))) == 100
    root = write_case(draft, tmp_path)
    assert case_title(CasePaths(root)) == "Refund: bad"
    with pytest.raises(ConflictError, match="there already"):
        write_case(draft, tmp_path)


def test_a_time_out_asks_for_an_answer_in_time() -> None:
    rubric = draft_case(case("too slow"), 1).files["rubric/README.md"]
    assert "comes in time" in rubric
    assert "does not end in TIMEOUT" in rubric
