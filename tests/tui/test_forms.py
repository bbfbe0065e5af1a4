"""The form that starts a run: fields explained, faults in plain words, values kept, an estimate, and a real run."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from core.evolution import runs
from core.evolution.run_view import CellView, RunView
from core.evolution.specs import BuildSpec, CurateSpec, OptimizeSpec
from core.models.interface import ModelEntry, ModelRef, Price
from core.state.paths import ProjectPaths
from tests.e2e.loop import Loop
from tests.tui.driving import console, screen_text, until
from tests.tui.home import AGENT, BENCHMARK
from tui.screens.panes.base import span_of
from tui.stores import estimates, forms, start_form
from tui.stores.start_form import Facts
from tui.stores.trace_words import duration
from tui.widgets import prompt

REAL = ModelEntry(ModelRef("openai", "gpt-x"), price=Price(0.1, 1.0, 4.0))
REHEARSAL = ModelEntry(ModelRef("rehearsal", "rehearsal-1"))
FACTS = Facts(
    {"helper": {"chores": 2, "empty": 0}, "other": {}},
    {"rehearsal/rehearsal-1": REHEARSAL, "openai/gpt-x": REAL},
    cell_s={"rehearsal/rehearsal-1": 3.0},
)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(prompt, "GUARD_S", 0.0)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    return tmp_path / "xdg" / "exuvia" / "forms.json"


def values(**given: str) -> dict[str, str]:
    return start_form.filled({"kind": "build", "agent_id": "helper", "capability": "tidy", **given}, FACTS)


# What the values make


def test_an_empty_field_is_left_to_the_spec() -> None:
    spec = start_form.spec_of(values(benchmark_id="new-chores"), FACTS)
    assert isinstance(spec, BuildSpec)
    assert (spec.pilots, spec.baseline_score, spec.seed, spec.approve) == (4, 45.0, 7, "ask")
    assert spec.then_optimize is None, "the Builder ends after its Baseline; the Optimizer is the operator's to start"
    assert (spec.budgets.cost_usd, spec.budgets.tokens, spec.budgets.wall_s) == (None, None, None)


def test_what_is_typed_is_what_the_spec_holds() -> None:
    typed = values(
        kind="optimize", benchmark_id="chores", rounds="3", runs="1", target_score="88.5", max_cost="2.5",
        max_tokens="1,000,000", max_minutes="30", concurrency="4", seed="11", model="openai/gpt-x", isolation="off",
        tool_approval="always-ask",
    )  # fmt: skip
    assert start_form.faults_of(typed, FACTS) == {}
    spec = start_form.spec_of(typed, FACTS)
    assert isinstance(spec, OptimizeSpec)
    assert (spec.agent_id, spec.benchmark_id, spec.rounds, spec.runs, spec.target_score) == (
        "helper", "chores", 3, 1, 88.5,
    )  # fmt: skip
    assert (spec.budgets.cost_usd, spec.budgets.tokens, spec.budgets.wall_s) == (2.5, 1_000_000, 1800.0)
    assert (spec.concurrency, spec.seed, spec.allow_unisolated, spec.tool_approval) == (4, 11, True, "always-ask")
    assert (spec.model.provider, spec.model.model_id) == ("openai", "gpt-x")


def test_a_curation_is_started_like_any_other_run() -> None:
    typed = values(kind="curate", benchmark_id="chores", sessions="6", rounds="3", runs="1", tool_approval="always-ask")
    assert start_form.faults_of(typed, FACTS) == {}
    spec = start_form.spec_of(typed, FACTS)
    assert isinstance(spec, CurateSpec)
    assert (spec.sessions, spec.rounds, spec.runs, spec.tool_approval) == (6, 3, 1, "always-ask")
    assert (spec.target_score, spec.dry_run, spec.in_use) == (100.0, False, True)
    expected = start_form.expected_of(typed, FACTS)
    assert expected is not None
    assert expected.sessions == 2 * (2 * 1 * 3) + 3 * 6, "the cells' Sessions, and one for each that is curated"


@pytest.mark.parametrize(
    ("given", "field", "fault"),
    [
        ({"pilots": "0"}, "pilots", "at least 1"),
        ({"pilots": "101"}, "pilots", "at most 100"),
        ({"pilots": "many"}, "pilots", "a whole number"),
        ({"pilots": "2.5"}, "pilots", "a whole number"),
        ({"baseline_score": "140"}, "baseline_score", "at most 100"),
        ({"baseline_score": "nan"}, "baseline_score", "a number"),
        ({"baseline_score": "low"}, "baseline_score", "a number"),
        ({"max_cost": "0"}, "max_cost", "more than 0"),
        ({"max_cost": "-1"}, "max_cost", "more than 0"),
        ({"max_minutes": "0"}, "max_minutes", "more than 0"),
        ({"max_tokens": "1.5"}, "max_tokens", "a whole number"),
        ({"capability": " "}, "capability", "say something here"),
        ({"agent_id": "../x"}, "agent_id", "letters, digits, _ and - only"),
        ({"agent_id": ""}, "agent_id", "name one"),
        ({"benchmark_id": "chores"}, "benchmark_id", "chores is there already"),
        ({"agent_id": "newcomer"}, "requirement", "needed: this agent does not exist yet"),
        ({"kind": "optimize", "benchmark_id": "empty"}, "benchmark_id", "it has no Case to measure"),
        ({"kind": "try", "agent_id": "other"}, "benchmark_id", "it has none yet: build one first"),
        ({"kind": "evaluate", "agent_id": "gone"}, "agent_id", "choose one: Left, Right"),
        ({"kind": "optimize", "benchmark_id": "chores", "rounds": "0"}, "rounds", "at least 1"),
        ({"model": "openai/gpt-x"}, "max_cost", "a real model needs a budget: here, or in tokens"),
    ],
)
def test_each_fault_is_said_beside_its_field(given: dict[str, str], field: str, fault: str) -> None:
    assert start_form.faults_of(values(**given), FACTS)[field] == fault


def test_a_budget_in_tokens_is_one() -> None:
    typed = values(kind="optimize", benchmark_id="chores", model="openai/gpt-x", max_tokens="500000")
    assert start_form.faults_of(typed, FACTS) == {}


def test_what_a_run_is_about_is_never_guessed() -> None:
    assert start_form.filled({"kind": "optimize", "agent_id": "gone"}, FACTS)["agent_id"] == ""
    assert start_form.filled({"kind": "optimize", "agent_id": "helper"}, FACTS)["benchmark_id"] == ""
    one = Facts({"helper": {"chores": 2}}, FACTS.models)
    assert start_form.filled({"kind": "optimize"}, one)["benchmark_id"] == "chores"
    assert start_form.filled({"kind": "nonsense", "model": "gone/gone"}, FACTS)["kind"] == "build"


# The estimate


def test_the_estimate_counts_sessions_money_and_time() -> None:
    rehearsed = start_form.expected_of(values(kind="optimize", benchmark_id="chores", runs="2", rounds="5"), FACTS)
    assert rehearsed is not None
    assert rehearsed.sessions == 1 + 2 * 2 * 5 * 2
    assert rehearsed.words() == "up to 41 sessions by the rehearsal model, 15 s to 60 s; it costs nothing"
    real = start_form.expected_of(values(kind="evaluate", benchmark_id="chores", model="openai/gpt-x"), FACTS)
    assert real is not None
    assert real.low is not None
    assert real.high is not None
    assert 0 < real.low < real.high
    assert real.words().startswith("up to 4 sessions, about ")
    assert start_form.expected_of(values(pilots="many"), FACTS) is None


def test_an_unknown_price_is_said_to_be_unknown() -> None:
    told = estimates.expected(3, ModelEntry(ModelRef("openai", "gpt-x")))
    assert told.low is None
    assert "cost unknown (no price configured)" in told.words()


def test_time_is_known_only_where_the_same_model_was_measured() -> None:
    view = RunView(
        "evaluate-1", "evaluate", "finished", AGENT, BENCHMARK, started="2026-01-01T10:00:00Z",
        updated="2026-01-01T10:01:00Z", spec={"model": {"provider": "openai", "model_id": "gpt-x"}, "concurrency": 2},
    )  # fmt: skip
    assert estimates.cell_seconds([view], "openai", "gpt-x") is None, "no cell, no measure"
    cell = CellView("CASE-001-x1", "CASE-001", 1, 1, "evaluate", 1, "scored", 70.0)
    measured = replace(view, cells=(cell,))
    assert estimates.cell_seconds([measured], "openai", "gpt-x") == 120.0
    back = replace(measured, updated="2026-01-01T09:00:00Z")
    assert estimates.cell_seconds([back], "openai", "gpt-x") is None, "the clock was set back: no measure"


def test_a_duration_that_a_clock_made_negative_is_unknown() -> None:
    assert [span_of(ms) for ms in (None, -1, 0, 400, 12_000, 185_000)] == ["-", "-", "0.0 s", "0.4 s", "12 s", "3:05"]
    assert [duration(ms) for ms in (None, -50_000, 0)] == ["", "", "0 ms"]


# What is remembered


def test_values_are_kept_per_kind_in_a_private_file(state: Path) -> None:
    forms.remember("build", {"agent_id": "helper", "capability": "tidy", "cases": ""})
    forms.remember("optimize", {"rounds": "3"})
    assert forms.remembered("build") == {"agent_id": "helper", "capability": "tidy"}
    assert forms.remembered("optimize") == {"rounds": "3"}
    assert stat.S_IMODE(state.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b'{"build": 3}', b'{"build": {"pilots": 4}}', b"\xff\xfe", b"x" * 300_000]
)
def test_an_unreadable_memory_is_none(state: Path, content: bytes) -> None:
    state.parent.mkdir(parents=True)
    state.write_bytes(content)
    assert forms.remembered("build") == {}
    forms.remember("build", {"pilots": "4"})
    assert forms.remembered("build") == {"pilots": "4"}


# On screen


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_the_form_explains_each_field_and_reaches_start(project: ProjectPaths, size: tuple[int, int]) -> None:
    async with console(project, size) as (app, pilot):
        await pilot.press("S")
        text = await until(app, pilot, lambda text: "Start: Builder" in text)
        assert "Estimate: up to 65 sessions by the rehearsal model" in text
        assert "a new name makes a new agent" in text
        await pilot.press("pagedown", "pagedown")
        await until(app, pilot, lambda text: "Enter starts it, after a y." in text)
        await pilot.press("enter")
        await until(app, pilot, lambda text: "Agent: name one" in text and "say something here" in text)


async def test_what_is_said_follows_the_cursor(project: ProjectPaths) -> None:
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("S")
        await until(app, pilot, lambda text: "a new name makes a new agent" in text)
        await pilot.press("tab")
        await until(app, pilot, lambda text: "What the agent is for, in a sentence." in text)
        await pilot.press("down")
        await until(app, pilot, lambda text: "What the benchmark shall measure" in text)
        await pilot.press("up", "up")
        await until(app, pilot, lambda text: "a new name makes a new agent" in text)


async def test_page_up_and_down_reach_both_ends_and_choices_are_seen(project: ProjectPaths) -> None:
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("S")
        await until(app, pilot, lambda text: "  What          build  or optimize, curate, try, evaluate" in text)
        await pilot.press("pagedown")
        await until(app, pilot, lambda text: "Enter starts it, after a y." in text)
        await pilot.press("pageup")
        await until(app, pilot, lambda text: "> What          < build >  or optimize, curate, try, evaluate" in text)
        await pilot.press("right")
        await until(app, pilot, lambda text: "> What          < optimize >  or build, curate, try, evaluate" in text)


async def test_the_form_is_emptied_and_brought_back(project: ProjectPaths, state: Path) -> None:
    forms.remember("build", {"agent_id": "newcomer", "pilots": "9"})
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("S")
        await until(app, pilot, lambda text: "newcomer" in text and "Ctrl-R reset" in text)
        await pilot.press("ctrl+r")
        text = await until(app, pilot, lambda text: "As it was at first." in text)
        assert "newcomer" not in text
        assert "Pilots        4" in text
        await pilot.press("ctrl+r")
        await until(app, pilot, lambda text: "newcomer" in text and "Pilots        9" in text)
        await pilot.press("ctrl+r", "escape")
        await until(app, pilot, lambda text: "1 Sess" in text)
    assert "agent_id" not in json.loads(state.read_text())["build"], "what was reset is not remembered"


async def test_a_fault_that_was_said_goes_when_the_form_changes(project: ProjectPaths) -> None:
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("S", "pagedown", "enter")
        await until(app, pilot, lambda text: "Agent: name one" in text)
        await pilot.press("pageup", "right")
        await until(app, pilot, lambda text: "Start: Optimizer" in text and "Agent: name one" not in text)


def test_the_form_says_that_the_rehearsal_model_plays_one_benchmark() -> None:
    def says(name: str, **given: str) -> str:
        return next(one.says for one in start_form.fields_of(values(**given), FACTS) if one.name == name)

    assert "data-chores" in says("capability")
    assert "data-chores" in says("model")
    assert "data-chores" not in says("capability", model="openai/gpt-x")


async def test_what_was_typed_is_there_again_after_esc(project: ProjectPaths, state: Path) -> None:
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("S")
        await until(app, pilot, lambda text: "Start: Builder" in text)
        await pilot.press(*"newcomer", "tab", *"Sorts mail [red]", "escape")
        await until(app, pilot, lambda text: "1 Sess" in text)
        await pilot.press("S")
        text = await until(app, pilot, lambda text: "newcomer" in text)
        assert "Sorts mail [red]" in text
    assert json.loads(state.read_text())["build"]["agent_id"] == "newcomer"


async def test_a_fault_is_shown_while_it_is_typed(project: ProjectPaths) -> None:
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("S")
        await until(app, pilot, lambda text: "Start: Builder" in text)
        await pilot.press(*(["down"] * 5), *"900")
        await until(app, pilot, lambda text: "900" in text and "at most 100" in text)
        await pilot.press("backspace", "backspace", "home", "5", "left", "6")
        await until(app, pilot, lambda text: "at most 100" in text and "659" in text)
        await pilot.press("delete", "end", "backspace", "ctrl+u")
        await until(app, pilot, lambda text: "at most 100" not in text)


async def test_keys_of_the_console_are_letters_in_a_field(project: ProjectPaths) -> None:
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("S")
        await until(app, pilot, lambda text: "Start: Builder" in text)
        await pilot.press("down", "down", *"qRKu1 /:?j", "left", "left", "X")
        await until(app, pilot, lambda text: "qRKu1 /:X?j" in text)


async def test_right_completes_the_name_of_an_agent_that_is_there(project: ProjectPaths) -> None:
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("S")
        await until(app, pilot, lambda text: "Start: Builder" in text)
        await pilot.press(*"hel", "right", "tab")
        text = await until(app, pilot, lambda text: "helper-benchmark" in text)
        assert "(the agent is there)" in text


async def test_read_only_has_no_form(project: ProjectPaths) -> None:
    async with console(project, (80, 24), read_only=True) as (app, pilot):
        await pilot.press("1")
        for key, label in (("S", "start"), ("C", "go on"), ("K", "stop run"), ("i", "say")):
            await pilot.press(key)
            await until(app, pilot, lambda text: f"Opened read-only: {label} is off." in text)  # noqa: B023
            assert app.screen is app.frame


# With a real engine


@pytest.fixture
def loop(tmp_path: Path) -> Loop:
    return Loop.at(tmp_path / "loop")


def seen(loop: Loop, run_id: str) -> RunView:
    return runs.read_run(loop.project, run_id)


@pytest.mark.e2e
async def test_a_run_is_started_stopped_and_continued_from_the_console(loop: Loop) -> None:
    """S starts the Optimizer that a Builder's end offers, K stops it, C goes on with it; nothing finished is redone."""
    built = await loop.build()
    assert built.state == "finished", loop.told(built.run_id)
    async with console(loop.project, (120, 40)) as (app, pilot):
        await pilot.press("1")
        await until(app, pilot, lambda text: "S starts the Optimizer" in text)
        await pilot.press("S")
        text = await until(app, pilot, lambda text: "Start: Optimizer" in text)
        assert "house_helper" in text
        assert "small-chores" in text
        await until(app, pilot, lambda text: "Enter starts it, after a y." in text)
        await pilot.press("enter")
        await until(app, pilot, lambda text: "Start the Optimizer on house_helper / small-chores?" in text)
        assert len(loop.runs()) == 1
        await pilot.press("y")
        await until(app, pilot, lambda text: "Optimizer running" in text and "1 live" in text, 20)
        run_id = next(run_id for run_id in loop.runs() if run_id.startswith("optimize"))
        await until(app, pilot, lambda text: "beat 0 s ago" in text or "beat 1 s ago" in text, 20)
        await pilot.press("K")
        await until(app, pilot, lambda text: f"Stop run {run_id}?" in text)
        await pilot.press("y")
        await until(app, pilot, lambda text: f"Run {run_id} is stopped" in text, 30)
        assert seen(loop, run_id).state == "stopped"
        await until(app, pilot, lambda text: "> Optimizer stopped" in text)
        for _ in range(20):  # the key asks the pane, and what the pane shows may be an instant ahead of what it knows
            await pilot.press("C")
            await pilot.pause(0.3)
            if "Go on with the Optimizer, stopped" in screen_text(app):
                break
        await until(app, pilot, lambda text: "Go on with the Optimizer, stopped" in text)
        await pilot.press("y")
        await until(app, pilot, lambda text: f"Run {run_id} goes on." in text, 30)
        ended = await loop.end_of(run_id)
        assert ended.state == "finished", loop.told(run_id)
        await until(app, pilot, lambda text: "Optimizer finished" in text, 20)
