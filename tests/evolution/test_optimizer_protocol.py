"""The Optimizer's protocol through its tools: strict improvement, exact restoration, versions that only grow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.evolution.events import EventName
from core.evolution.role_tools import publish_statements
from core.evolution.specs import RunPaths
from core.foundation.errors import BlockedError
from core.state import ledger, snapshots
from core.state.agents import edit_config, read_agent
from core.state.fingerprint import state_hash
from core.state.scoreboard import read_scoreboard
from tests.evolution.bench import (
    CASES,
    HELD_OUT,
    MEASURED,
    Bench,
    candidate,
    decision,
    edit_agents_md,
    make_bench,
)


@pytest.fixture
async def bench(tmp_path: Path) -> Bench:
    """A frozen benchmark with a baseline of 40, and an optimize run that has its Reference."""
    built = make_bench(tmp_path)
    await built.frozen()
    run = RunPaths(built.project.runs / "optimize-20260101-000000-abcd")
    run.root.mkdir()
    fresh = Bench(built.project, run, type(built.journal)(run.journal))
    fresh.trials.establish_reference()
    publish_statements(fresh.desk.benchmark, run.root / "statements")
    return fresh


async def _round(bench: Bench, score: float, **changes: Any) -> dict[str, Any]:
    proposed = await bench.optimize("propose_candidate", **candidate(**changes))
    assert proposed["ok"], proposed
    bench.scores = dict.fromkeys(CASES, score)
    measured = await bench.optimize("evaluate_candidate")
    assert measured["ok"], measured
    decided = await bench.optimize("decide", **decision())
    assert decided["ok"], decided
    return decided


async def test_a_strictly_better_candidate_is_kept_with_its_version(bench: Bench) -> None:
    answer = await _round(bench, 60.0)
    assert answer["decision"] == "accepted"
    assert answer["version"] == 2
    assert answer["prediction_held"] is True
    assert read_agent(bench.agent).version == 2
    evaluations = read_scoreboard(bench.desk.benchmark.scoreboard).evaluations
    assert [(e.version, e.score, len(e.cases[0].runs)) for e in evaluations] == [(1, 40.0, 1), (2, 60.0, 2)]
    assert {case.case for case in evaluations[-1].cases} == set(MEASURED)
    assert answer["state"]["reference"]["version"] == 2
    (record,) = ledger.read(bench.project, "clerk")
    assert (record.decision, record.proposer, record.supported) == ("accepted", "optimizer", True)
    assert "+Sum by a script." in record.diff
    assert (bench.agent.snapshots / "v2.tar.gz").is_file()


@pytest.mark.parametrize("score", [40.0, 39.0, 0.0])
async def test_an_equal_or_lower_candidate_is_taken_back_byte_for_byte(bench: Bench, score: float) -> None:
    before, files = state_hash(bench.agent.state), sorted(bench.agent.state.rglob("*"))
    skill = {
        "path": "skills/sum-well/SKILL.md",
        "content": "---\nname: sum-well\ndescription: Sum columns exactly.\n---\n\n# Sum\n",
        "why": "reusable",
    }
    answer = await _round(bench, score, edits=[*edit_agents_md(), skill])
    assert answer["decision"] == "rejected"
    assert state_hash(bench.agent.state) == before
    assert sorted(bench.agent.state.rglob("*")) == files
    assert read_agent(bench.agent).version == 1
    assert len(read_scoreboard(bench.desk.benchmark.scoreboard).evaluations) == 1
    (record,) = ledger.read(bench.project, "clerk")
    assert record.decision == "rejected"
    assert record.score == score
    assert {edit.kind for edit in record.edits} == {"agents_md", "skill"}


async def test_versions_only_grow_and_a_rejected_number_is_never_reused(bench: Bench) -> None:
    assert (await _round(bench, 30.0))["version"] == 2
    assert snapshots.next_version(bench.agent) == 3
    assert (await _round(bench, 50.0, edits=edit_agents_md("# Role\n\nSum twice.\n")))["version"] == 3
    assert snapshots.next_version(bench.agent) == 4


async def test_the_state_before_is_kept_as_a_snapshot_before_anything_changes(bench: Bench) -> None:
    (bench.agent.snapshots / "v1.tar.gz").unlink()
    await bench.optimize("propose_candidate", **candidate())
    assert (bench.agent.snapshots / "v1.tar.gz").is_file()


async def test_order_is_propose_evaluate_decide(bench: Bench) -> None:
    assert await bench.optimizer_refused("evaluate_candidate") == "no_candidate"
    assert await bench.optimizer_refused("decide", **decision()) == "no_candidate"
    await bench.optimize("propose_candidate", **candidate())
    assert await bench.optimizer_refused("propose_candidate", **candidate()) == "candidate_pending"
    assert await bench.optimizer_refused("decide", **decision()) == "not_evaluated"
    bench.scores = dict.fromkeys(CASES, 60.0)
    await bench.optimize("evaluate_candidate")
    assert await bench.optimizer_refused("evaluate_candidate") == "already_evaluated"
    assert len(bench.ran) == len(set(bench.ran)) == len(MEASURED) * 2


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"hypothesis": " "}, "no_hypothesis"),
        ({"prediction": {"cases": [{"case_id": "CASE-009-no", "expected_score": 90}]}}, "unknown_case"),
        ({"prediction": {"cases": [{"case_id": HELD_OUT, "expected_score": 90}]}}, "unknown_case"),
        ({"prediction": {"cases": [{"case_id": MEASURED[0], "expected_score": 40}]}}, "no_gain_predicted"),
        ({"prediction": {"cases": [{"case_id": MEASURED[0], "expected_score": 101}]}}, "bad_arguments"),
        ({"prediction": {"cases": []}}, "bad_arguments"),
        ({"edits": []}, "bad_arguments"),
        ({"edits": [{"path": "../../x", "content": "x", "why": "w"}]}, "outside_surface"),
        ({"edits": [{"path": "/etc/passwd", "content": "x", "why": "w"}]}, "outside_surface"),
        ({"edits": [{"path": "skills/../AGENTS.md", "content": "x", "why": "w"}]}, "outside_surface"),
        ({"edits": [{"path": ".vault.toml", "content": "K='v'", "why": "w"}]}, "outside_surface"),
        ({"edits": [{"path": "memory/user/MEMORY.md", "content": "x", "why": "w"}]}, "outside_surface"),
        ({"edits": [{"path": "system_config.yaml", "content": "x", "why": "w"}]}, "outside_surface"),
        ({"edits": [{"path": "system_config.yaml", "set": {"version": 9}, "why": "w"}]}, "outside_surface"),
        ({"edits": [{"path": "system_config.yaml", "set": {"system_prompt": 1}, "why": "w"}]}, "outside_surface"),
        ({"edits": [{"path": "system_config.yaml", "set": {"max_turns": 100000}, "why": "w"}]}, "limit_range"),
        ({"edits": [{"path": "system_config.yaml", "set": {"max_turns": True}, "why": "w"}]}, "bad_arguments"),
        ({"edits": [{"path": "AGENTS.md", "delete": True, "why": "w"}]}, "outside_surface"),
        ({"edits": [{"path": "AGENTS.md", "content": "# Role\n\nSum.\n", "why": "w"}]}, "no_change"),
        ({"edits": [{"path": "AGENTS.md", "content": "x" * 30_000, "why": "w"}]}, "too_large"),
        ({"edits": [{"path": "AGENTS.md", "content": "\x1b]0;x\x07", "why": "w"}]}, "not_text"),
        ({"edits": [{"path": "AGENTS.md", "content": f"For {MEASURED[0]}: 3", "why": "w"}]}, "not_general"),
        (
            {"edits": [{"path": "skills/agent-evaluation/SKILL.md", "content": "x", "why": "w"}]},
            "library_skill",
        ),
        ({"edits": [{"path": "skills/own/SKILL.md", "content": "no head", "why": "w"}]}, "skill_invalid"),
        ({"edits": [{"path": "skills/own/notes.md", "content": "x", "why": "w"}]}, "skill_invalid"),
    ],
)
async def test_what_the_protocol_forbids_of_a_candidate(bench: Bench, changes: dict[str, Any], code: str) -> None:
    before = state_hash(bench.agent.state)
    assert await bench.optimizer_refused("propose_candidate", **candidate(**changes)) == code
    assert state_hash(bench.agent.state) == before
    assert not any(event["event"] == EventName.CANDIDATE for event in bench.journal.events)


async def test_text_of_a_rubric_in_an_edit_is_refused(bench: Bench) -> None:
    rubric = bench.desk.benchmark.case(HELD_OUT).rubric_readme
    rubric.write_text("- 100 pts: every blank row is dropped before the second column is summed\n", encoding="utf-8")
    text = "Mind that every blank row is dropped before the second column is summed.\n"
    (bench.run.root / "benchmark.json").write_text(
        json.dumps(_frozen(bench)), encoding="utf-8"
    )  # as if it had been so from the start
    code = await bench.optimizer_refused("propose_candidate", **candidate(edits=edit_agents_md(text)))
    assert code == "private_text"


def _frozen(bench: Bench) -> dict[str, str]:
    from core.evolution.freeze import frozen_files

    return frozen_files(bench.desk.benchmark)


async def test_a_round_on_a_changed_state_is_refused_and_nothing_is_overwritten(bench: Bench) -> None:
    bench.agent.agents_md.write_text("# Role\n\nSomebody else's.\n", encoding="utf-8")
    assert await bench.optimizer_refused("propose_candidate", **candidate()) == "changed_state"
    assert "Somebody else" in bench.agent.agents_md.read_text(encoding="utf-8")


async def test_a_foreign_change_under_a_candidate_stops_without_overwriting(bench: Bench) -> None:
    await bench.optimize("propose_candidate", **candidate())
    bench.agent.agents_md.write_text("# Role\n\nSomebody else's.\n", encoding="utf-8")
    assert await bench.optimizer_refused("evaluate_candidate") == "changed_state"
    stopped = await bench.optimize("stop_run", reason="something else writes there")
    assert stopped["ok"]
    assert "changed by something else" in stopped["left_as_it_is"]
    assert "Somebody else" in bench.agent.agents_md.read_text(encoding="utf-8")


async def test_a_changed_benchmark_voids_what_would_be_measured_on_it(bench: Bench) -> None:
    (bench.desk.benchmark.case(MEASURED[0]).statement / "data.csv").write_text("n\n9\n", encoding="utf-8")
    assert await bench.optimizer_refused("propose_candidate", **candidate()) == "void"


async def test_a_void_benchmark_gives_no_reference(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    await bench.frozen()
    bench.write_case(CASES[0], words="slipped in")
    with pytest.raises(BlockedError, match="changed after its freeze"):
        bench.again().trials.establish_reference()


async def test_without_an_evaluation_of_the_present_version_there_is_no_reference(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    await bench.frozen()
    edit_config(bench.agent, {"version": 7})
    with pytest.raises(BlockedError, match="no complete evaluation of version 7"):
        bench.again().trials.establish_reference()


async def test_failed_cells_leave_a_candidate_unevaluable_never_zero_and_uncounted(bench: Bench) -> None:
    bench.failures = {MEASURED[1]: "evaluation_failed"}
    await bench.optimize("propose_candidate", **candidate())
    answer = await bench.optimize("evaluate_candidate")
    assert answer["outcome"] == "unevaluable"
    assert answer["score"] is None
    assert await bench.optimizer_refused("evaluate_candidate") == "no_new_repair"
    decided = await bench.optimize("decide", **decision())
    assert decided["decision"] == "unevaluable"
    assert decided["state"]["rounds_done"] == 0
    assert read_agent(bench.agent).version == 1
    (record,) = ledger.read(bench.project, "clerk")
    assert record.score is None
    assert {cell.status for cell in record.cells} == {"ok", "failed"}


async def test_only_failed_cells_run_again_after_a_repair(bench: Bench) -> None:
    bench.failures = {MEASURED[1]: "evaluation_failed"}
    bench.scores = dict.fromkeys(CASES, 60.0)
    await bench.optimize("propose_candidate", **candidate())
    await bench.optimize("evaluate_candidate")
    first = list(bench.ran)
    bench.failures = {}
    answer = await bench.optimize("evaluate_candidate", repair="restarted the service")
    assert answer["complete"] is True
    assert all(MEASURED[1] in cell for cell in bench.ran[len(first) :])


async def test_a_changed_version_or_invalid_case_is_not_run_again(bench: Bench) -> None:
    bench.failures = {MEASURED[1]: "version_changed"}
    await bench.optimize("propose_candidate", **candidate())
    await bench.optimize("evaluate_candidate")
    assert await bench.optimizer_refused("evaluate_candidate", repair="hope") == "unevaluable"


async def test_three_unmeasurable_candidates_in_a_row_mean_the_harness_is_broken(bench: Bench) -> None:
    bench.failures = {MEASURED[1]: "evaluation_failed"}
    for number in range(3):
        await bench.optimize("propose_candidate", **candidate(edits=edit_agents_md(f"# Role\n\n{number}\n")))
        await bench.optimize("evaluate_candidate")
        await bench.optimize("decide", **decision())
    assert await bench.optimizer_refused("propose_candidate", **candidate()) == "harness_broken"


async def test_a_rejected_change_is_not_tried_twice(bench: Bench) -> None:
    await _round(bench, 30.0)
    assert await bench.optimizer_refused("propose_candidate", **candidate()) == "already_tried"


async def test_rounds_end_at_the_limit_and_at_the_target(bench: Bench) -> None:
    await _round(bench, 30.0)
    answer = await _round(bench, 50.0, edits=edit_agents_md("# Role\n\nTwice.\n"))
    assert answer["state"]["next"] == []
    assert await bench.optimizer_refused("propose_candidate", **candidate()) == "over"


async def test_the_target_ends_the_run(bench: Bench) -> None:
    answer = await _round(bench, 95.0)
    assert answer["state"]["over"].startswith("The Reference reaches the target")
    assert await bench.optimizer_refused("propose_candidate", **candidate()) == "over"


async def test_a_stop_takes_an_undecided_candidate_back(bench: Bench) -> None:
    before = state_hash(bench.agent.state)
    await bench.optimize("propose_candidate", **candidate())
    assert await bench.optimizer_refused("stop_run", reason=" ") == "no_reason"
    assert (await bench.optimize("stop_run", reason="no idea is left"))["ok"]
    assert state_hash(bench.agent.state) == before
    (record,) = ledger.read(bench.project, "clerk")
    assert record.decision == "unevaluable"
    assert await bench.optimizer_refused("propose_candidate", **candidate()) == "stopped"


async def test_an_optimizer_sees_no_held_out_case_and_no_foreign_session(bench: Bench) -> None:
    status = await bench.optimize("protocol_status")
    board = await bench.optimize("read_scoreboard")
    assert HELD_OUT not in json.dumps([status, board])
    assert sorted(path.name for path in (bench.run.root / "statements").iterdir()) == list(MEASURED)
    assert await bench.optimizer_refused("read_trace", session_id="session-of-an-evaluator") == "not_visible"
    session = status["state"]["reference"]["cases"][0]["runs"][0]["session_id"]
    trace = await bench.optimize("read_trace", session_id=session)
    assert trace["ok"]
    assert trace["records"] == []  # visible; the test's cells leave no trace


async def test_all_three_kinds_of_edit_go_in_and_come_out(bench: Bench) -> None:
    edits = [
        *edit_agents_md(),
        {"path": "system_config.yaml", "set": {"max_turns": 40}, "why": "room"},
        {
            "path": "skills/sum-well/SKILL.md",
            "content": "---\nname: sum-well\ndescription: Sum columns exactly.\n---\n\n# Sum\n",
            "why": "reusable",
        },
    ]
    answer = await bench.optimize("propose_candidate", **candidate(edits=edits))
    assert {edit["kind"] for edit in answer["edits"]} == {"agents_md", "config", "skill"}
    assert read_agent(bench.agent).max_turns == 40
    bench.scores = dict.fromkeys(CASES, 60.0)
    await bench.optimize("evaluate_candidate")
    assert (await bench.optimize("decide", **decision()))["decision"] == "accepted"
    assert read_agent(bench.agent).max_turns == 40


async def test_a_budget_that_is_used_up_runs_nothing_more(bench: Bench) -> None:
    bench.desk.over_budget = lambda: "The run's money budget is used: 1 of 1 USD."
    assert await bench.optimizer_refused("propose_candidate", **candidate()) == "budget"
