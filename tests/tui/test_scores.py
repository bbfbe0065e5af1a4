"""Pane 4 and its store: what is held against what, what is noise, what does not count, and any two compared."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evolution.events import EventName, Journal
from core.evolution.specs import OptimizeSpec, RunPaths
from core.state import rollback
from core.state.paths import ProjectPaths
from core.state.scoreboard import RunScore, append_evaluation, evaluation_of
from tests.cli.program import environment, spawn
from tests.tui.driving import console, until
from tests.tui.home import AGENT, BENCHMARK, CASES, RUNTIME, start_run
from tests.tui.test_matrix import ATTACK
from tui.characters import to_ascii
from tui.plot import plot, sparkline
from tui.screens.panes.scores_table import columns, table
from tui.screens.panes.scores_words import headline, noise_words, row_lines, runs_words, verdict
from tui.stores.board import edit_words
from tui.stores.board_rows import BoardEvent, CaseOutcome, Series, compare, series, timeline, told
from tui.stores.views import BoardRow, BoardView
from tui.widgets.line_list import TRAIL_S
from tui.widgets.spans import width_of

GiveEngine = Callable[[RunPaths], "subprocess.Popen[bytes]"]
points = st.floats(min_value=0, max_value=100, allow_nan=False)


def row(version: int, score: float | None, what: str = "accepted", **more: object) -> BoardRow:
    """Return a row with two Cases around its score."""
    cases = () if score is None else tuple(CaseOutcome(case, None, score, None) for case in CASES)
    made = BoardRow(f"evaluation:{version}", version, what, score, None, f"2026-01-0{version}T00:00:00Z", cases=cases)
    return replace(made, **more)  # type: ignore[arg-type]  # a test names the fields it means


@given(points, points)
def test_comparing_two_the_other_way_round_changes_only_the_signs(one: float, other: float) -> None:
    there, back = compare(row(1, one), row(2, other)), compare(row(2, other), row(1, one))
    assert there.delta is not None
    assert there.delta == -(back.delta or 0.0)
    assert [case.delta for case in there.cases] == [-(case.delta or 0.0) for case in back.cases]
    assert there.delta * (other - one) >= 0


@pytest.mark.parametrize("field", ["provider", "model_id", "thinking"])
def test_two_runtimes_are_never_mixed_without_a_word(field: str) -> None:
    found = compare(row(1, 50.0, **{field: "a"}), row(2, 60.0, **{field: "b"}))
    assert found.why_not.startswith("Not comparable")
    assert found.delta is None
    assert all(case.delta is None for case in found.cases)
    assert [case.new for case in found.cases] == [60.0, 60.0]
    assert compare(row(1, 50.0, **{field: "a"}), row(2, 60.0)).delta == 10.0, "what is not known hinders nothing"


def test_rows_of_other_cases_are_not_compared_as_a_whole() -> None:
    other = replace(row(2, 60.0), cases=(CaseOutcome("CASE-009-else", None, 60.0, None),))
    assert "share no Case" in compare(row(1, 50.0), other).why_not
    half = replace(row(2, 60.0), cases=row(2, 60.0).cases[:1])
    assert "only 1 Cases" in compare(row(1, 50.0), half).why_not


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (row(3, 73.2, "rejected", reference=77.0, reference_version=2), "73.20 is not above the Reference v2's 77.00."),
        (row(3, 78.0, reference=77.0, reference_version=2), "Accepted: 78.00 is above the Reference v2's 77.00."),
        (row(3, None, "unevaluable", measured=3, planned=4), "Unevaluable: 1 of 4 cells have no score"),
        (row(3, None, "measuring", measured=1, planned=4), "Being measured: 1 of 4 cells"),
        (row(1, 40.0, "baseline"), "The Formal Baseline"),
    ],
)  # fmt: skip
def test_a_decision_is_said_in_plain_words(one: BoardRow, words: str) -> None:
    assert words in verdict(one)


def test_noise_is_said_where_it_is_known_and_where_it_is_not() -> None:
    one = row(2, 50.0, reference=49.0)
    assert "One Run a Case" in noise_words(one)
    twice = replace(one, cases=tuple(replace(case, scores=(40.0, 60.0)) for case in one.cases))
    assert "within noise" in noise_words(replace(twice, noise=True))
    assert "more than the Runs" in noise_words(replace(twice, noise=False))
    assert "Reference has one Run" in noise_words(twice)
    assert noise_words(row(2, 50.0)) == ""


def test_a_note_says_only_what_the_rest_does_not() -> None:
    hypothesis = "Reading notes first helps the agent."
    note = (
        "Reading notes first\nHypothesis: Reading notes first helps the agent. The prediction did not hold.\n"
        "CASE-001-a: was 80, expected 95, got 80; CASE-002-b: was 80, expected 80, got 80\nA second look is due."
    )
    assert told(note, hypothesis) == ("A second look is due.",)
    assert told("Formal Baseline\nFirst.", "") == ("Formal Baseline", "First.")
    lines = ["".join(text for text, _ in line) for line in row_lines(row(2, 50.0, hypothesis=hypothesis, note=note))]
    assert sum(hypothesis in line for line in lines) == 1


def test_the_timeline_holds_everything_in_order() -> None:
    rows = [row(1, 40.0, "baseline"), row(2, 50.0), replace(row(3, 45.0, "rejected"), key="candidate:r:3")]
    lost = [replace(row(2, None, "dropped"), key="dropped:9", time="2026-01-02T12:00:00Z")]
    events = [BoardEvent("event:0", "2026-01-03T12:00:00Z", "roll_back", "ada", 2, 1)]
    keys = [entry.key for entry in timeline(rows, lost, events, candidates=True)]
    assert keys == ["evaluation:1", "evaluation:2", "dropped:9", "candidate:r:3", "event:0"]
    keys = [entry.key for entry in timeline(rows, lost, events, candidates=False)]
    assert keys == ["evaluation:1", "evaluation:2", "dropped:9", "event:0"]


@pytest.mark.parametrize("width", [58, 76, 90, 118, 198])
def test_the_table_fits_and_shows_more_where_there_is_room(width: int) -> None:
    one = row(
        2, 50.0, provider="openai", model_id="gpt-x-2026", thinking="medium", proposer="optimizer", hypothesis="h" * 90
    )
    for made in table([one], "", width):
        assert sum(width_of(text) for text, _ in made.lines[0]) <= width
    names = {column.name for column in columns(width, [one])}
    assert {"provider", "model", "thinking"} <= names or width < 118
    assert {"cost", "when", "by"} <= names or width < 198


def test_two_models_in_one_table_are_named_even_where_it_is_narrow() -> None:
    rows = [row(1, 50.0, provider="a", model_id="m1"), row(2, 60.0, provider="a", model_id="m2")]
    assert "ran on" in {column.name for column in columns(76, rows)}
    assert "ran on" not in {column.name for column in columns(76, rows[:1])}


def test_series_hold_each_case_and_the_held_out_points() -> None:
    rows = [row(1, 40.0, "baseline"), row(2, 30.0, "rejected"), row(3, 70.0), row(4, None, "measuring")]
    whole, *each = series(rows, [(1, 20.0), (3, 60.0), (9, 1.0)])
    assert whole.points == (
        (0, 40.0, "kept"), (1, 30.0, "tried"), (2, 70.0, "kept"), (0, 20.0, "held out"), (2, 60.0, "held out"),
    )  # fmt: skip
    assert whole.change == 30.0
    assert [curve.name for curve in each] == list(CASES)
    assert sparkline(each[0], 4, 10) == "▄▃▆ "


@given(
    st.lists(st.tuples(points, st.sampled_from(["kept", "tried", "held out"])), max_size=40),
    st.integers(20, 160),
    st.integers(3, 40),
    st.none() | points,
)
def test_every_plot_fits_its_room_and_marks_its_points(
    scores: list[tuple[float, str]], width: int, height: int, target: float | None
) -> None:
    curve = Series("", tuple((at, score, kind) for at, (score, kind) in enumerate(scores)))
    lines = plot(curve, [f"v{at}" for at in range(max(1, len(scores)))], width, height, target=target)
    assert len(lines) <= max(height, 1)
    text = ["".join(part for part, _ in line) for line in lines]
    if width >= 24 and height >= 6 and scores:
        assert all(width_of(line) <= width for line in text[:-1])
        body = "\n".join(text[:-3])
        for kind, mark in (("kept", "●"), ("tried", "x"), ("held out", "h")):
            assert (mark in body) or all(of != kind for _, of in scores) or len(scores) > 1
        assert to_ascii("\n".join(text)).isascii()
    else:
        assert len(text) == 1


def test_a_plot_reads_without_colours_in_ascii() -> None:
    curve = Series("", ((0, 40.0, "kept"), (1, 20.0, "tried"), (2, 80.0, "kept"), (2, 60.0, "held out")))
    text = [
        to_ascii("".join(part for part, _ in line)) for line in plot(curve, ["v1", "v2", "v3"], 60, 14, target=90.0)
    ]
    assert text[0].startswith("  90 |")
    assert "o measured and kept   x not kept   h held-out Cases   - - wanted 90" in text[-1]
    assert text[-2].split() == ["v1", "v2", "v3"]
    assert sum(line.count("o") for line in text[:-3]) == 2


# The pane


async def test_the_pane_says_why_a_candidate_was_rejected_and_names_its_hypothesis_once(project: ProjectPaths) -> None:
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("4", "G")
        text = await until(app, pilot, lambda text: "Rejected: 45.00 is not above the Reference v2's 45.00." in text)
        detail = text[text.index("Rejected:") :]
        assert detail.count("Reading notes first helps, try 3.") == 1


async def test_enter_lists_the_cases_and_enter_there_opens_the_trace(project: ProjectPaths) -> None:
    async with console(project) as (app, pilot):
        await pilot.press("4", "home", "enter")
        await until(app, pilot, lambda text: "expected" in text and CASES[1] in text)
        assert app.focused is not None
        assert app.focused.id == "scores-cases"
        await pilot.press("down", "enter")
        await until(app, pilot, lambda text: f"Target of {CASES[1]}" in text)
        await pilot.press("4", "escape")
        await until(app, pilot, lambda text: "what was tried" in text)
        assert app.focused.id == "scores-list"


async def test_m_and_d_compare_two_and_esc_leads_back(project: ProjectPaths) -> None:
    async with console(project) as (app, pilot):
        await pilot.press("4", "home", "m", "down", "d")
        text = await until(app, pilot, lambda text: "v1 against v2" in text)
        assert "+20.00" in text
        await pilot.press("down")
        await until(app, pilot, lambda text: "v1 against v3" in text)
        await pilot.press("escape")
        await until(app, pilot, lambda text: "against v3" not in text and "m v1" in text)
        await pilot.press("escape")
        await until(app, pilot, lambda text: "o v1" in text)


async def test_d_without_a_mark_shows_the_files_of_a_candidate(project: ProjectPaths) -> None:
    async with console(project) as (app, pilot):
        await pilot.press("4", "G", "d")
        await until(app, pilot, lambda text: "7 Diff" in text and app.frame.active == "diff")
        await pilot.press("4", "home", "d")
        await until(app, pilot, lambda text: "m marks a row" in text)


async def test_c_hides_the_candidates_and_shows_them_again(project: ProjectPaths) -> None:
    async with console(project) as (app, pilot):
        await pilot.press("4")
        await until(app, pilot, lambda text: "x v3" in text)
        await pilot.press("c")
        text = await until(app, pilot, lambda text: "Candidates hidden" in text)
        table_text = text[: text.index("──")]
        assert "rejected" not in table_text
        await pilot.press("c")
        await until(app, pilot, lambda text: "rejected" in text)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)], ids=str)
async def test_p_draws_the_whole_and_each_case(project: ProjectPaths, size: tuple[int, int]) -> None:
    async with console(project, size) as (app, pilot):
        await pilot.press("4", "p")
        text = await until(app, pilot, lambda text: "Score over all Cases" in text and "measured and kept" in text)
        assert "+20.00" in text
        await pilot.press("down")
        await until(app, pilot, lambda text: f" {CASES[0]}  p: back" in text)
        await pilot.press("p")
        await until(app, pilot, lambda text: "what was tried" in text)


async def test_a_dropped_evaluation_is_a_row_with_its_reason(project: ProjectPaths) -> None:
    board = project.agent(AGENT).benchmark(BENCHMARK).scoreboard
    board.write_text(board.read_text().replace("score: 65", "score: true", 1))
    async with console(project) as (app, pilot):
        await pilot.press("4")
        await until(app, pilot, lambda text: "dropped" in text)
        await pilot.press("home")
        for _ in range(4):
            await pilot.press("down")
            await asyncio.sleep(2 * TRAIL_S)
            if "It counts for nothing" in (text := await until(app, pilot, bool)):
                break
        assert "It counts for nothing" in text
        assert "a boolean is no number" in text
        await pilot.press("enter")
        await until(app, pilot, lambda text: "Nothing is known of its Cases" in text)


async def test_a_stored_score_drives_and_a_recomputed_one_is_marked(project: ProjectPaths) -> None:
    board = project.agent(AGENT).benchmark(BENCHMARK).scoreboard
    board.write_text(board.read_text().replace("score: 65", "score: 64", 1))
    async with console(project) as (app, pilot):
        await pilot.press("4")
        text = await until(app, pilot, lambda text: "64.00!" in text)
        assert "Its Cases give 65.00; the stored 64.00 counts in every view." in text
        assert "score 64.00" in text


async def test_a_candidate_that_is_measured_shows_what_was_before(project: ProjectPaths, engine: GiveEngine) -> None:
    run = start_run(project, "optimize-20260103-100000-ffff", OptimizeSpec(agent_id=AGENT, benchmark_id=BENCHMARK))
    journal = Journal(run.journal)
    journal.append(EventName.REFERENCE, version=2, score=65.0, state_hash="s", cases=[])
    journal.append(
        EventName.CANDIDATE, round=1, version=4, reference_version=2, digest="d", state_hash="s", edits=[],
        hypothesis="h", prediction={"overall": "higher", "cases": []},
    )  # fmt: skip
    journal.append(
        EventName.CELL, cell="c", case_id=CASES[0], run=1, version=4, stage="round", index=1, state="scored",
        score=88.0, duration_ms=5, session_id="s-9",
    )  # fmt: skip
    engine(run)
    async with console(project) as (app, pilot):
        await pilot.press("4", "G")
        text = await until(app, pilot, lambda text: "Being measured: 1 of 1 cells" in text)
        line = next(line for line in text.split("\n") if CASES[0] in line and "88.00" in line)
        assert "60.00" in line
        assert "+28.00" in line


async def test_two_models_are_compared_only_with_a_warning(project: ProjectPaths) -> None:
    benchmark = project.agent(AGENT).benchmark(BENCHMARK)
    cases = {case: [RunScore(score=99.0, cost=0.1, duration_ms=9, session_id=f"s-{case}")] for case in CASES}
    append_evaluation(benchmark, evaluation_of(3, ("openai", "gpt-x", "high"), cases))
    async with console(project) as (app, pilot):
        await pilot.press("4", "home", "m", "G", "d")
        text = await until(app, pilot, lambda text: "Not comparable: another provider" in text)
        assert RUNTIME[0] in text
        assert "+54.00" not in text
        assert "older scores are of another model" in text
        assert "ran on" in text


async def test_a_rollback_stands_in_the_timeline_with_who_did_it(project: ProjectPaths) -> None:
    rollback.roll_back(project.agent(AGENT), version=1, actor="ada")
    async with console(project) as (app, pilot):
        await pilot.press("4", "G")
        await until(app, pilot, lambda text: "Rolled back from v2 to v1, by ada" in text)
        await until(app, pilot, lambda text: "see Versions (5)" in text)
        await pilot.press("enter", "m", "d", "t", "y")
        await until(app, pilot, lambda text: "Rolled back" in text)


async def test_hostile_text_on_a_scoreboard_is_shown_and_does_nothing(project: ProjectPaths) -> None:
    benchmark = project.agent(AGENT).benchmark(BENCHMARK)
    cases = {
        case: [RunScore(score=9.0, cost=None, duration_ms=9, session_id="s-1")] for case in (*CASES, f"CASE-9 {ATTACK}")
    }
    append_evaluation(benchmark, evaluation_of(3, (ATTACK, ATTACK, ATTACK), cases, title=ATTACK, summary=ATTACK))
    ledger = project.ledger
    record = json.loads(ledger.read_text().splitlines()[-1]) | {"hypothesis": ATTACK, "version": 7, "note": ATTACK}
    ledger.write_text(ledger.read_text() + json.dumps(record) + "\n")
    async with console(project) as (app, pilot):
        for keys in (("4", "G"), ("up",), ("enter",), ("escape", "m", "up", "d"), ("p",), ("down", "down", "down")):
            await pilot.press(*keys)
            text = await until(app, pilot, bool)
            assert not any(character in text for character in "\x1b\x07\x9b\u202e")


async def test_an_empty_board_says_what_to_do(tmp_path: Path) -> None:
    project = ProjectPaths(tmp_path / "default_project")
    project.agents.mkdir(parents=True)
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("4")
        await until(app, pilot, lambda text: "No score yet" in text)
        for key in ("enter", "p", "m", "d", "t", "c", "y", "Y", "escape"):
            await pilot.press(key)
        await until(app, pilot, lambda text: "No score yet" in text)


def test_the_command_line_draws_the_same_plot(project: ProjectPaths) -> None:
    arguments = ("scoreboard", AGENT, BENCHMARK, "--plot", "--home", str(project.root.parent))
    shown = spawn(*arguments).stdout.decode()
    assert "● measured and kept   x not kept" in shown
    assert "v1" in shown
    plain = spawn(*arguments, env=environment(LANG="C", LC_ALL="C", PYTHONIOENCODING="ascii")).stdout
    assert b"o measured and kept   x not kept" in plain
    assert plain.isascii()


def headline_of(board: BoardView, width: int = 200) -> str:
    return "".join(text for text, _ in headline(board, width))


def test_every_number_of_the_headline_names_its_version_and_the_held_out_baseline_is_the_first() -> None:
    rows = (row(1, 42.33, "baseline"), row(3, 69.33), row(11, 91.0))
    curve = ((1, 42.33), (3, 69.33), (11, 91.0))
    held = (("baseline", 1, 34.0), ("final", 3, 77.0), ("baseline", 3, 77.0), ("final", 11, 92.0))
    said = headline_of(BoardView(rows=rows, curve=curve, heldout=held))
    assert "score v11 91.00" in said
    assert "+48.67 since v1 42.33" in said
    assert "held out v1 34.00, v11 92.00" in said
    begun = headline_of(BoardView(rows=rows[:2], curve=curve[:2], heldout=held[:1]))
    assert begun.endswith("held out v1 34.00"), "a run has only begun: it is still v1's"


@pytest.mark.parametrize("width", [24, 60, 80, 120])
def test_the_headline_fits_and_never_loses_a_warning_to_numbers(width: int) -> None:
    rows = tuple(row(at, 40.0 + at, what="baseline" if at == 1 else "accepted") for at in range(1, 10))
    curve = tuple((at, 40.0 + at) for at in range(1, 10))
    held = (("baseline", 1, 34.0), ("final", 9, 77.0))
    said = headline_of(BoardView(rows=rows, curve=curve, heldout=held, is_example=True), width)
    assert "example numbers, not measured" in said
    assert width < 60 or width_of(said) <= width


def test_how_often_a_case_was_run_is_said() -> None:
    once = row(1, 40.0, "baseline", cases=tuple(CaseOutcome(case, None, 40.0, None, (40.0,)) for case in CASES))
    twice = row(2, 50.0, cases=tuple(CaseOutcome(case, None, 50.0, None, (50.0, 50.0)) for case in CASES))
    mixed = row(3, 50.0, cases=(once.cases[0], twice.cases[1]))
    assert [runs_words(one) for one in (once, twice, mixed)] == ["1 Run a Case", "2 Runs a Case", "1 to 2 Runs a Case"]
    assert "1 Run a Case" in "".join(text for text, _ in row_lines(once)[0])
    assert runs_words(row(4, None, "measuring")) == ""


def test_the_lines_of_a_changed_file_are_those_that_the_diff_counts() -> None:
    assert edit_words("AGENTS.md", 29, 0) == "AGENTS.md +29 -0"
    assert edit_words("system_config.yaml", 1, 1) == "system_config.yaml +2 -2, its version with it"
