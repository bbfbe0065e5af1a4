"""report.md tells the numbers and nothing of a rubric; specs refuse what cannot be run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.evolution.report import LEFT_OUT, render, without_leaks
from core.evolution.run_view import fold_view
from core.evolution.specs import BuildSpec, RunBudgets, new_run_id, parse_spec, run_paths
from core.evolution.spending import Spent, granted, over, since
from core.foundation.errors import UsageError
from core.state.paths import ProjectPaths
from tests.evolution.bench import CASES, MEASURED, make_bench

SPEC = {"kind": "build", "agent_id": "clerk", "benchmark_id": "chores", "capability": "sums"}


async def test_a_report_has_a_row_for_each_pilot_and_says_what_was_frozen(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    await bench.contract()
    await bench.pilot(60.0, words="one")
    await bench.pilot(40.0, words="two")
    await bench.review("freeze")
    await bench.call("request_freeze", reason="met")
    await bench.call("record_baseline", summary_title="B", summary="s")
    spec = parse_spec(SPEC).model_dump(mode="json")
    report = render(fold_view("build-1", spec, bench.journal.events, alive=True))
    rows = [line for line in report.splitlines() if line.startswith("| ") and line[2].isdigit()]
    assert [row.split("|")[2].strip() for row in rows] == ["60", "40"]
    assert rows[1].rstrip("| ").endswith("frozen")
    assert f"session-pilot-2-rev-2-{MEASURED[0]}-1" in report
    assert "one run a Case" in report


async def test_a_line_with_rubric_text_is_left_out_and_said_so(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    await bench.contract()
    bench.write_all()
    secret = "every blank row is dropped before the second column is summed"
    bench.write_case(CASES[0], rubric=f"- 100 pts: {secret}\n")
    text = f"# Report\n\nThe gap: {secret}.\n\nScore 40.\n"
    cleaned = without_leaks(text, bench.desk.benchmark)
    assert secret not in cleaned
    assert LEFT_OUT in cleaned
    assert "Score 40." in cleaned


def test_control_characters_of_a_model_never_reach_a_report() -> None:
    events = [{"time": "t", "event": "blocked", "reason": "\x1b]0;x\x07 done"}]
    assert "\x1b" not in render(fold_view("r", SPEC, events, alive=False))


@pytest.mark.parametrize(
    "broken",
    [
        {**SPEC, "pilots": 0},
        {**SPEC, "baseline_score": 101},
        {**SPEC, "baseline_score": float("nan")},
        {**SPEC, "kind": "dance"},
        {**SPEC, "surprise": 1},
        {**SPEC, "model": {"provider": "x", "model_id": "y", "key": "z"}},
        {"kind": "optimize", "agent_id": "a", "benchmark_id": "b", "runs": 0},
    ],
)
def test_a_spec_that_makes_no_sense_is_a_usage_error(broken: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="settings"):
        parse_spec(broken)


def test_a_spec_comes_back_from_json_as_it_was() -> None:
    spec = BuildSpec.model_validate(SPEC)
    assert parse_spec(json.loads(json.dumps(spec.model_dump(mode="json")))) == spec


def test_run_ids_are_safe_names(tmp_path: Path) -> None:
    project = ProjectPaths(tmp_path)
    assert run_paths(project, new_run_id("try")).root.parent == project.runs
    with pytest.raises(UsageError):
        run_paths(project, "../elsewhere")


def test_budgets_hold_against_what_is_known() -> None:
    assert over(RunBudgets(), Spent(1e9, 3, 10**9, 1e9)) is None
    assert not RunBudgets().any
    assert "money" in str(over(RunBudgets(cost_usd=1.0), Spent(usd=1.0, unknown_requests=5)))
    assert "token" in str(over(RunBudgets(tokens=10), Spent(tokens=10)))
    assert "time" in str(over(RunBudgets(wall_s=10), Spent(seconds=11)))
    assert over(RunBudgets(cost_usd=1.0, tokens=10, wall_s=10), Spent(0.5, 1, 9, 9)) is None


def test_a_resume_grants_the_budgets_once_more() -> None:
    spent = {"event": "granted", "usd": 1.0, "unknown_requests": 2, "tokens": 10, "seconds": 11.0}
    before = granted([{"event": "spent", **spent, "tokens": 99} | {"event": "spent"}, spent])
    assert before == Spent(1.0, 2, 10, 11.0)
    assert granted([]) == Spent()
    budgets = RunBudgets(cost_usd=1.0, tokens=10, wall_s=10)
    assert over(budgets, since(Spent(1.5, 2, 15, 15.0), before)) is None
    assert "token" in str(over(budgets, since(Spent(1.5, 2, 20, 15.0), before)))


def test_a_dead_engine_is_dead_and_an_open_approval_is_waiting() -> None:
    started = {"time": "a", "event": "run_started", "pid": 1, "kind": "build", "spec": SPEC}
    asked = {"time": "b", "event": "approval_requested", "approval_id": "x"}
    decided = {"time": "c", "event": "approval_decided", "approval_id": "x", "decision": "approve"}
    ended = {"time": "d", "event": "finished", "result": {}}
    assert fold_view("r", SPEC, [started], alive=True).state == "running"
    assert fold_view("r", SPEC, [started], alive=False).state == "dead"
    assert fold_view("r", SPEC, [started, asked], alive=True).state == "waiting"
    assert fold_view("r", SPEC, [started, asked, decided], alive=True).state == "running"
    assert fold_view("r", SPEC, [started, ended], alive=False).state == "finished"
    resumed = {"time": "e", "event": "run_resumed", "pid": 2}
    blocked = {"time": "d", "event": "blocked", "reason": "x"}
    assert fold_view("r", SPEC, [started, blocked, resumed], alive=True).reason == ""
