"""The status row: whose score it shows, and that a version in place was never measured."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tui.screens.lines import status_lines
from tui.stores.console import ConsoleView
from tui.stores.runs import Subject
from tui.stores.views import BoardView, VersionsView


@pytest.mark.parametrize(
    ("present", "words"),
    [(3, "v3  score 69.33"), (7, "v7 not measured  score 78.67 of v6")],
    ids=["rolled back", "an unmeasured Candidate"],
)
def test_the_status_row_says_whose_score_it_is(present: int, words: str) -> None:
    board = BoardView(curve=((1, 42.33), (3, 69.33), (6, 78.67)))
    view = replace(
        ConsoleView(project_id="p"), subject=Subject("a", "b"), versions=VersionsView("a", present), board=board
    )
    left, _ = status_lines(view, 80, isolation="", read_only=False)
    assert words in "".join(text for text, _ in left)
