"""The fast way to read a scoreboard says what the general YAML reader says, or nothing (EVOLUTION 2.2 no. 46)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.state import yaml12
from core.state.evaluation import Evaluation, RunScore, evaluation_of
from core.state.scoreboard import parse_scoreboard, rendered
from core.state.scoreboard_plain import read_plain

SHARED = Path(__file__).parents[1] / "fixtures" / "penguin-state"

_amounts = st.floats(0, 100).map(lambda number: round(number, 4))
_names = st.from_regex(r"session-[0-9]{4}-[a-f0-9]{2,8}", fullmatch=True) | st.sampled_from(["s", "true", "1e5", "a b"])
_runs = st.builds(
    RunScore, score=_amounts, cost=st.none() | _amounts, duration_ms=st.integers(0, 10**9), session_id=_names
)
_evaluations = st.builds(
    lambda version, cases, title, summary: evaluation_of(
        version,
        ("rehearsal", "rehearsal-1", "medium"),
        cases,
        time="2026-01-01T00:00:00Z",
        title=title,
        summary=summary,
    ),
    st.integers(1, 99),
    st.dictionaries(
        st.sampled_from(["CASE-001-a", "CASE-002-b", "no"]), st.lists(_runs, min_size=1, max_size=3), min_size=1
    ),
    st.none() | st.text(max_size=20),
    st.none() | st.sampled_from(["    cases:\n  - case: x", "one\ntwo", "cases:", "  - time: now"]),
)


def _generally(text: str) -> list[Evaluation]:
    document = yaml12.load(text)
    return [Evaluation.model_validate(record) for record in document["evaluations"]]


@given(st.lists(_evaluations, min_size=1, max_size=3))
def test_what_is_read_fast_is_what_is_written(evaluations: list[Evaluation]) -> None:
    text = "evaluations:\n" + "".join(map(rendered, evaluations))
    found = read_plain(text)
    plain = all(
        "-" in case.case and all("-" in run.session_id for run in case.runs)
        for evaluation in evaluations
        for case in evaluation.cases
    )
    assert (found is not None) == plain
    assert list(found if found is not None else _generally(text)) == evaluations


@given(st.data())
def test_a_changed_text_is_read_alike_or_left_to_the_general_reader(data: st.DataObject) -> None:
    evaluations = data.draw(st.lists(_evaluations, min_size=1, max_size=2))
    lines = ("evaluations:\n" + "".join(map(rendered, evaluations))).split("\n")
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        lines[at] = data.draw(
            st.sampled_from(
                [lines[at] + " ", " " + lines[at], lines[at][1:], "", lines[at] + " # note", "    cases:", "...", "---",
                 lines[at].replace(": ", ": 0"), lines[at].replace(": ", ":  "), "  - time: x", "    score: 1", "\t"]
            )
        )  # fmt: skip
    text = "\n".join(lines)
    found = read_plain(text)
    if found is not None:
        assert list(found) == _generally(text)


@pytest.mark.parametrize("path", sorted(SHARED.rglob("scoreboard.yaml")), ids=lambda path: path.parent.name)
def test_files_of_the_existing_system_are_plain(path: Path) -> None:
    text = path.read_text()
    found = read_plain(text)
    assert found is not None
    assert list(found) == _generally(text)


def test_what_is_not_acceptable_is_told_by_the_general_reader(tmp_path: Path) -> None:
    good = evaluation_of(
        1, ("p", "m", "t"), {"CASE-001-a": [RunScore(score=1, cost=None, duration_ms=1, session_id="s-1")]}
    )
    text = "evaluations:\n" + rendered(good) + rendered(good).replace("score: 1\n", "score: 101\n")
    assert read_plain(text) is None
    reading = parse_scoreboard(text, tmp_path / "scoreboard.yaml")
    assert len(reading.evaluations) == len(reading.dropped) == 1


def test_what_was_read_once_is_not_composed_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    good = evaluation_of(
        3, ("p", "m", "t"), {"CASE-001-a": [RunScore(score=1, cost=None, duration_ms=1, session_id="s-1")]}
    )
    path = tmp_path / "scoreboard.yaml"
    first = parse_scoreboard("evaluations:\n" + rendered(good), path)

    def refuse(text: str) -> None:
        raise AssertionError(text)

    monkeypatch.setattr(yaml12, "compose", refuse)
    assert parse_scoreboard("evaluations:\n" + rendered(good), path) == first
