"""Runs of eight words or forty characters that rubric and public files share (DECISIONS 17)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.evolution.leaks import CHARACTER_RUN, scan, shared_run

RUBRIC = "- 40 pts: every row whose order id occurs twice is kept once, the later one"


def test_eight_words_are_a_leak_whatever_their_case_and_breaks() -> None:
    assert shared_run("Note:\nEVERY row, whose order id occurs\ntwice is good", RUBRIC)


def test_seven_words_are_none() -> None:
    assert shared_run("every row whose order id occurs two", RUBRIC) is None


def test_forty_characters_without_words_are_a_leak() -> None:
    token = "=|-" * 20
    assert shared_run("x" + token, "y " + token)
    assert shared_run(token[: CHARACTER_RUN - 1], "y " + token) is None


def test_declared_material_is_no_leak_but_the_rest_is() -> None:
    shared = "every row whose order id occurs twice"
    assert shared_run(shared + " is", RUBRIC, [shared]) is None
    told = shared + " and one more thing that nobody should have told them yet"
    assert [leak.private for leak in scan({"README.md": told}, {"rubric/README.md": told}, [shared])] == [
        "rubric/README.md"
    ]


@given(st.text("ab ", max_size=120), st.text("ab ", max_size=120))
def test_a_found_run_of_characters_stands_on_both_sides(public: str, private: str) -> None:
    from core.evolution.leaks import _collapsed, _shared_characters

    left, right = _collapsed(public), _collapsed(private)
    found = _shared_characters(left, right)
    naive = any(right[i : i + CHARACTER_RUN] in left for i in range(len(right) - CHARACTER_RUN + 1))
    assert (found is not None) == naive
    assert found is None or (found in left and found in right)
