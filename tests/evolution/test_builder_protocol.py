"""The Builder's protocol through its tools: what works, and what each tool refuses with a reason to act on."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from core.evolution.freeze import read_freeze
from core.evolution.report import render
from core.evolution.run_view import fold_view
from core.state import approvals
from core.state.scoreboard import read_scoreboard
from tests.evolution.bench import (
    CASES,
    HELD_OUT,
    MEASURED,
    Bench,
    LeftError,
    contract_arguments,
    make_bench,
    prediction,
    review,
)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path)


# Agent and contract --------------------------------------------------------------------------------------


async def test_an_agent_is_made_from_the_requirement_with_a_cautious_limit(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, with_agent=False)
    wanted: dict[str, Any] = {"name": "Clerk", "description": "sums", "agents_md": "# Role\n\nSum.\n"}
    assert await bench.refused("create_agent", agent_id="other", **wanted) == "wrong_agent"
    assert await bench.refused("declare_contract", **contract_arguments()) == "no_agent"
    answer = await bench.call("create_agent", agent_id="clerk", **wanted)
    assert answer["ok"]
    assert answer["state"]["phase"] == "contract"
    assert "max_turns: 8" in bench.agent.config.read_text(encoding="utf-8")
    assert await bench.refused("create_agent", agent_id="clerk", **wanted) == "agent_exists"


async def test_an_agent_that_stands_there_is_never_overwritten(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, with_agent=False)
    bench.agent.root.mkdir(parents=True)
    code = await bench.refused("create_agent", agent_id="clerk", name="C", description="", agents_md="# Role\n")
    assert code == "agent_exists"
    assert not bench.agent.config.exists()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"cases": [{**contract_arguments()["cases"][0], "points": [{"item": "a", "points": 99}]}]}, "points_not_100"),
        ({"held_out": ["CASE-009-unknown"]}, "unknown_case"),
        ({"held_out": list(CASES)}, "all_held_out"),
        ({"cases": [contract_arguments()["cases"][0]] * 2, "held_out": []}, "duplicate_case"),
        ({"cases": []}, "bad_arguments"),
        ({"runs": 2}, "bad_arguments"),
    ],
)
async def test_a_contract_that_cannot_hold_is_refused(bench: Bench, changes: dict[str, Any], code: str) -> None:
    assert await bench.refused("declare_contract", **contract_arguments(**changes)) == code
    assert not bench.desk.benchmark.root.exists()


async def test_a_contract_is_declared_once_and_makes_an_empty_scoreboard(bench: Bench) -> None:
    assert await bench.refused("submit_revision", note="n", predictions=[]) == "no_contract"
    await bench.contract()
    assert read_scoreboard(bench.desk.benchmark.scoreboard).evaluations == ()
    assert "runs = 1" in bench.desk.benchmark.config.read_text(encoding="utf-8")
    assert await bench.refused("declare_contract", **contract_arguments()) == "contract_declared"


# Revisions -----------------------------------------------------------------------------------------------


async def test_every_planned_case_is_part_of_the_first_revision(bench: Bench) -> None:
    await bench.contract()
    bench.write_case(CASES[0])
    assert (await bench.submit())["refused"] == "missing_case"
    bench.write_all()
    bench.write_case("CASE-099-stranger")
    assert (await bench.submit())["refused"] == "unplanned_case"


async def test_a_rubric_that_does_not_total_100_is_refused(bench: Bench) -> None:
    await bench.contract()
    bench.write_all()
    bench.write_case(CASES[1], rubric="- 60 pts: the sum\n- 39 pts: the file\n")
    answer = await bench.submit()
    assert answer["refused"] == "rubric_invalid"
    assert "99" in answer["reason"]
    assert CASES[1] in answer["reason"]


@pytest.mark.parametrize(
    ("predictions", "code"),
    [
        ([prediction(MEASURED[0])], "prediction_missing"),
        ([prediction(MEASURED[0]), prediction(MEASURED[1], 50, 50)], "prediction_equal"),
        ([prediction(MEASURED[0]), prediction(MEASURED[1], points=0)], "no_affected_points"),
        ([prediction(MEASURED[0]), prediction(MEASURED[1], points=101)], "no_affected_points"),
        ([prediction(MEASURED[0]), prediction(MEASURED[1], 50, 101)], "prediction_range"),
        ([prediction(MEASURED[0]), prediction(MEASURED[1], -1, 90)], "prediction_range"),
        ([prediction(MEASURED[0]), prediction(MEASURED[0]), prediction(MEASURED[1])], "duplicate_prediction"),
        ([*map(prediction, MEASURED), prediction("CASE-009-no")], "unknown_case"),
    ],
)
async def test_a_prediction_per_changed_case_that_separates(
    bench: Bench, predictions: list[dict[str, Any]], code: str
) -> None:
    await bench.contract()
    bench.write_all()
    assert await bench.refused("submit_revision", note="first", predictions=predictions) == code
    assert await bench.refused("dispatch") == "no_revision"
    assert bench.ran == []


async def test_non_finite_predictions_are_bad_arguments(bench: Bench) -> None:
    await bench.contract()
    bench.write_all()
    bad = [prediction(MEASURED[0], float("nan")), prediction(MEASURED[1])]
    assert await bench.refused("submit_revision", note="first", predictions=bad) == "bad_arguments"


async def test_a_held_out_case_needs_no_prediction_and_is_never_piloted(bench: Bench) -> None:
    await bench.contract()
    await bench.pilot(50.0, words="one")
    assert not any(HELD_OUT in cell for cell in bench.ran)
    assert len(bench.ran) == len(MEASURED)


async def test_an_unchanged_revision_is_nothing_new(bench: Bench) -> None:
    await bench.contract()
    await bench.pilot(50.0, words="one")
    assert (await bench.submit(cases=()))["refused"] == "nothing_changed"


# Reviews and leaks ---------------------------------------------------------------------------------------


async def test_dispatch_needs_a_complete_clean_review(bench: Bench) -> None:
    await bench.contract()
    bench.write_all()
    await bench.submit()
    assert await bench.refused("dispatch") == "not_reviewed"
    assert (await bench.review("revision", CASES[:2]))["refused"] == "review_incomplete"
    assert (await bench.review("revision", [*CASES, "CASE-009-no"]))["refused"] == "unknown_case"
    assert (await bench.review("revision", [*CASES, CASES[0]]))["refused"] == "duplicate_review"
    answer = await bench.review("revision", items_apply="item 2 asks for what nobody requested")
    assert answer["ok"]
    assert set(answer["open_findings"]) == set(CASES)
    assert await bench.refused("dispatch") == "not_reviewed"
    assert (await bench.review("revision"))["ok"]
    assert (await bench.call("dispatch"))["complete"] is True


async def test_a_review_counts_for_the_bytes_it_was_made_for(bench: Bench) -> None:
    await bench.contract()
    bench.write_all()
    await bench.submit()
    await bench.review("revision")
    bench.write_case(CASES[0], words="changed after the review")
    assert await bench.refused("dispatch") == "changed_since_submission"
    assert (await bench.review("revision"))["refused"] == "changed_since_submission"
    await bench.submit()
    assert await bench.refused("dispatch") == "not_reviewed"
    assert (await bench.review("revision", [CASES[0]]))["ok"]
    assert (await bench.call("dispatch"))["ok"]


async def test_rubric_text_in_a_statement_is_refused_until_it_is_reworded_or_waived(bench: Bench) -> None:
    secret = "the very last digit of the third column must be even"
    await bench.contract()
    bench.write_all()
    bench.write_case(CASES[0], words=f"Note that {secret}.", rubric=f"- 100 pts: {secret}\n")
    submitted = await bench.submit()
    (finding,) = submitted["findings"]
    assert finding["case_id"] == CASES[0]
    assert finding["kind"] == "leak"
    refused = await bench.review("revision")
    assert refused["refused"] == "leak"
    assert finding["finding"] in refused["reason"]
    assert await bench.refused("dispatch") == "not_reviewed"
    waived = [{"finding": finding["finding"], "reason": "both sides name the column"}]
    cases = [review(CASES[0], waivers=waived), review(CASES[1]), review(CASES[2])]
    assert (await bench.call("record_review", scope="revision", cases=cases))["ok"]
    assert (await bench.call("dispatch"))["ok"]
    assert (await bench.call("record_review", scope="freeze", cases=cases))["ok"]


async def test_declared_shared_material_is_no_finding(bench: Bench) -> None:
    secret = "the very last digit of the third column must be even"
    await bench.contract()
    bench.write_all()
    bench.write_case(CASES[0], words=f"Note that {secret}.", rubric=f"- 100 pts: {secret}\n")
    shared = [{"case_id": CASES[0], "text": secret, "reason": "the rule is public"}]
    assert (await bench.submit(shared_material=shared))["findings"] == []


async def test_a_confirmed_leak_keeps_the_door_shut(bench: Bench) -> None:
    await bench.contract()
    bench.write_all()
    await bench.submit()
    assert (await bench.review("revision", leak="the gold file's name is in the statement"))["ok"]
    assert await bench.refused("dispatch") == "not_reviewed"


# Pilots --------------------------------------------------------------------------------------------------


async def test_a_pilot_cell_is_never_run_twice_and_unchanged_results_are_reused(bench: Bench) -> None:
    await bench.contract()
    await bench.pilot(70.0, words="one")
    assert await bench.refused("dispatch") == "already_run"
    ran = list(bench.ran)
    bench.write_case(CASES[0], words="two")
    bench.scores[CASES[0]] = 30.0
    answer = await bench.submit([CASES[0]], diagnosis="by eye", adjustment="more digits")
    assert answer["changed"] == [CASES[0]]
    await bench.review("revision", [CASES[0]])
    done = await bench.call("dispatch")
    assert done["score"] == 50.0
    assert done["predicted"] == 50.0
    assert done["observed"] == 30.0
    assert done["missed"] is True
    assert [cell for cell in bench.ran if cell not in ran] == [f"pilot-2-rev-2-{CASES[0]}-1"]
    reused = [e for e in bench.journal.events if e.get("state") == "reused"]
    assert [(e["case_id"], e["score"]) for e in reused] == [(CASES[1], 70.0)]


async def test_a_refinement_needs_diagnosis_and_adjustment_and_a_pilot_that_is_left(bench: Bench) -> None:
    await bench.contract()
    for number in (1, 2, 3):
        await bench.pilot(80.0 - number, words=f"form {number}")
    bench.write_all("form 4")
    answer = await bench.submit(diagnosis="d", adjustment="a")
    assert answer["refused"] == "pilot_limit"
    assert answer["state"]["pilot"] == 3


async def test_a_refinement_without_a_diagnosis_is_refused(bench: Bench) -> None:
    await bench.contract()
    await bench.pilot(80.0, words="one")
    bench.write_all("two")
    assert (await bench.submit())["refused"] == "no_diagnosis"


async def test_a_met_score_is_frozen_not_refined(bench: Bench) -> None:
    await bench.contract()
    await bench.pilot(45.0, words="one")
    bench.write_all("two")
    assert (await bench.submit(diagnosis="d", adjustment="a"))["refused"] == "already_met"


async def test_only_held_out_changes_are_no_refinement(bench: Bench) -> None:
    await bench.contract()
    await bench.pilot(80.0, words="one")
    bench.write_case(HELD_OUT, words="two")
    assert (await bench.submit(cases=(), diagnosis="d", adjustment="a"))["refused"] == "nothing_measured"


async def test_failed_cells_are_no_zeros_and_run_again_only_with_a_new_repair(bench: Bench) -> None:
    await bench.contract()
    bench.write_all()
    bench.failures = {CASES[0]: "evaluation_failed"}
    await bench.submit()
    await bench.review("revision")
    answer = await bench.call("dispatch")
    assert answer["complete"] is False
    assert answer["score"] is None
    assert [f["case_id"] for f in answer["failed"]] == [CASES[0]]
    assert answer["state"]["pilots"] == []
    assert await bench.refused("dispatch") == "no_new_repair"
    assert (await bench.call("dispatch", repair="freed the disk"))["complete"] is False
    assert await bench.refused("dispatch", repair="freed the disk") == "no_new_repair"
    bench.failures = {}
    done = await bench.call("dispatch", repair="restarted the service")
    assert done["complete"] is True
    assert done["pilot"] == 1
    assert bench.ran.count(f"pilot-1-rev-1-{CASES[1]}-1") == 1


async def test_an_invalid_case_is_repaired_without_using_up_a_pilot(bench: Bench) -> None:
    await bench.contract()
    bench.write_all()
    bench.failures = {CASES[0]: "benchmark_invalid"}
    await bench.submit()
    await bench.review("revision")
    await bench.call("dispatch")
    assert await bench.refused("dispatch", repair="hoped for the best") == "case_invalid"
    bench.failures = {}
    bench.write_case(CASES[0], words="repaired")
    answer = await bench.submit([CASES[0]])
    assert answer["kind"] == "repair"
    await bench.review("revision", [CASES[0]])
    done = await bench.call("dispatch")
    assert done["complete"] is True
    assert done["state"]["pilot"] == 1


async def test_a_changed_agent_ends_the_calibration(bench: Bench) -> None:
    await bench.contract()
    await bench.pilot(70.0, words="one")
    bench.agent.agents_md.write_text("# Role\n\nSum better.\n", encoding="utf-8")
    bench.write_all("two")
    await bench.submit(diagnosis="d", adjustment="a")
    await bench.review("revision")
    assert await bench.refused("dispatch") == "agent_changed"


# Private standards ---------------------------------------------------------------------------------------


async def test_a_private_standard_may_not_change_after_its_first_dispatch(bench: Bench) -> None:
    await bench.contract()
    bench.write_all()
    bench.write_case(CASES[0], standard="Round half up.\n")
    await bench.submit()
    await bench.review("revision")
    await bench.call("dispatch")
    bench.write_case(CASES[0], standard="Round half down.\n")
    answer = await bench.submit([CASES[0]], diagnosis="d", adjustment="a")
    assert answer["refused"] == "standard_changed"
    restated = [{"case_id": CASES[0], "reason": "it said the opposite of what was meant"}]
    wrong = [{"case_id": CASES[1], "reason": "no"}, *restated]
    assert (await bench.submit([CASES[0]], diagnosis="d", adjustment="a", restated_standards=wrong))[
        "refused"
    ] == "standard_unchanged"
    answer = await bench.submit([CASES[0]], diagnosis="d", adjustment="a", restated_standards=restated)
    assert answer["ok"]
    assert [pilot["valid"] for pilot in answer["state"]["pilots"]] == [False]


async def test_a_standard_may_be_added_where_there_was_none(bench: Bench) -> None:
    await bench.contract()
    await bench.pilot(70.0, words="one")
    bench.write_case(CASES[0], words="two", standard="Round half up.\n")
    assert (await bench.submit([CASES[0]], diagnosis="d", adjustment="a"))["ok"]


# Freeze --------------------------------------------------------------------------------------------------


async def test_the_lowest_pilot_is_restored_byte_for_byte_and_frozen(bench: Bench) -> None:
    await bench.contract()
    await bench.pilot(60.0, words="one")
    low = await bench.pilot(50.0, words="two")
    statement = bench.desk.benchmark.case(CASES[0]).statement_readme.read_bytes()
    assert low["state"]["lowest_pilot"] == 2
    await bench.pilot(70.0, words="three")
    assert (await bench.review("freeze"))["ok"]
    assert await bench.refused("request_freeze", reason="done") == "not_lowest"
    assert (await bench.call("restore_lowest"))["pilot"] == 2
    assert bench.desk.benchmark.case(CASES[0]).statement_readme.read_bytes() == statement
    assert await bench.refused("restore_lowest") == "already_lowest"
    assert await bench.refused("request_freeze", reason="done") == "freeze_not_reviewed"
    assert (await bench.review("freeze"))["ok"]
    answer = await bench.call("request_freeze", reason="done")
    assert answer["ok"]
    assert [(p["i"], p["frozen"]) for p in answer["state"]["pilots"]] == [(1, False), (2, True), (3, False)]
    assert await bench.refused("dispatch") == "frozen"
    assert (await bench.submit())["refused"] == "frozen"


async def test_a_freeze_needs_a_pilot_a_full_review_and_no_known_defect(bench: Bench) -> None:
    await bench.contract()
    bench.write_all()
    await bench.submit()
    assert (await bench.review("freeze"))["refused"] == "no_pilot"
    assert await bench.refused("request_freeze", reason="now") == "no_pilot"
    await bench.review("revision")
    bench.scores = dict.fromkeys(MEASURED, 40.0)
    await bench.call("dispatch")
    assert await bench.refused("request_freeze", reason="now") == "freeze_not_reviewed"
    assert (await bench.review("freeze", CASES[:1]))["refused"] == "review_incomplete"
    await bench.review("freeze")
    assert await bench.refused("request_freeze", reason="now", known_defects=["CASE-002 is odd"]) == "known_defect"
    assert (await bench.call("request_freeze", reason="now"))["ok"]


async def test_a_defect_found_at_the_freeze_is_repaired_and_piloted_again(bench: Bench) -> None:
    await bench.contract()
    await bench.pilot(40.0, words="one")
    await bench.review("freeze", statement_coherent="the unit is missing")
    assert await bench.refused("request_freeze", reason="now") == "defect"
    bench.write_case(CASES[0], words="in metres")
    answer = await bench.submit([CASES[0]])
    assert answer["kind"] == "repair"
    assert [pilot["valid"] for pilot in answer["state"]["pilots"]] == [False]
    await bench.review("revision", [CASES[0]])
    done = await bench.call("dispatch")
    assert done["pilot"] == 1
    assert [pilot["valid"] for pilot in done["state"]["pilots"]] == [True]


async def test_a_repaired_held_out_case_leaves_its_pilot_standing(bench: Bench) -> None:
    await bench.contract()
    await bench.pilot(40.0, words="one")
    await bench.review("freeze", items_apply="item 2 of the hidden Case is unclear")
    bench.write_case(HELD_OUT, words="clearer")
    answer = await bench.submit(cases=())
    assert answer["ok"], answer
    assert [pilot["valid"] for pilot in answer["state"]["pilots"]] == [True]
    assert (await bench.review("freeze"))["ok"]
    assert (await bench.call("request_freeze", reason="now"))["ok"]


async def test_pilots_left_and_the_score_not_met_means_refine_on_or_say_why_not(bench: Bench) -> None:
    await bench.contract()
    await bench.pilot(60.0, words="one")
    await bench.review("freeze")
    assert await bench.refused("request_freeze", reason="tired") == "pilots_left"
    answer = await bench.call("request_freeze", reason="tired", no_refinement_left="nothing separates any more")
    assert answer["ok"]
    approval, _ = approvals.get(bench.project, answer["approval_id"])
    assert any(finding["kind"] == "pilots_left" for finding in approval.body["findings"])


async def test_an_idle_floor_above_fifteen_blocks_the_freeze(bench: Bench) -> None:
    await bench.contract()
    checks = "checks:\n  - id: always\n    item: 1\n    points: 20\n    asserts: nothing\n    command: 'true'\n"
    bench.write_all("one")
    bench.desk.benchmark.case(CASES[0]).checks.parent.mkdir(parents=True, exist_ok=True)
    bench.desk.benchmark.case(CASES[0]).checks.write_text(checks, encoding="utf-8")
    bench.scores = dict.fromkeys(MEASURED, 40.0)
    await bench.submit()
    await bench.review("revision")
    await bench.call("dispatch")
    await bench.review("freeze")
    answer = await bench.call("request_freeze", reason="met")
    assert answer["refused"] == "floor"
    assert CASES[0] in answer["reason"]
    # An exception is a person's to make: without one it is rejected.
    answer = await bench.call("request_freeze", reason="met", floor_exception="the file is given")
    assert answer["refused"] == "rejected"
    assert "idle floor" in answer["reason"]


async def test_approval_lists_bytes_pilots_and_findings_and_a_rejection_goes_back(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, approve="ask")
    await bench.contract()
    await bench.pilot(40.0, words="one")
    await bench.review("freeze")
    waiting = asyncio.ensure_future(bench.call("request_freeze", reason="met"))
    approval = await _pending(bench)
    body = approval.body
    assert {case["case_id"] for case in body["cases"]} == set(CASES)
    assert all(case["statement_sha256"].startswith("sha256:") for case in body["cases"])
    assert f"{CASES[0]}/rubric/README.md" in body["files"]
    assert body["config_sha256"]
    assert body["selected_pilot"] == 1
    assert body["pilots"][0]["predicted"] == 50.0
    assert set(body["floor"]) == set(CASES)
    approvals.decide(bench.project, approval.id, "reject", "Case 2 is too vague", actor="operator")
    answer = await waiting
    assert answer["refused"] == "rejected"
    assert answer["reason"] == "Case 2 is too vague"
    assert await bench.refused("request_freeze", reason="again") == "rejected"
    bench.write_case(CASES[1], words="precise")
    assert (await bench.submit([CASES[1]]))["kind"] == "repair"


async def test_what_was_rejected_is_still_told_when_it_is_asked_for_again(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, approve="ask")
    await bench.contract()
    await bench.pilot(40.0, words="one")
    await bench.review("freeze")
    waiting = asyncio.ensure_future(bench.call("request_freeze", reason="met"))
    approval = await _pending(bench)
    assert approval.body["rejected"] == []
    approvals.decide(bench.project, approval.id, "reject", "Case 2 is too vague", actor="operator")
    assert (await waiting)["refused"] == "rejected"
    bench.scores[CASES[1]] = 30.0
    bench.write_case(CASES[1], words="precise")
    await bench.submit([CASES[1]])
    await bench.review("revision")
    assert (await bench.call("dispatch"))["score"] == 35.0
    await bench.review("freeze")
    waiting = asyncio.ensure_future(bench.call("request_freeze", reason="mended"))
    body = (await _pending(bench)).body
    (gone,) = body["rejected"]
    assert (gone["i"], gone["score"]) == (1, 40.0), "its number is used again, and it stays what it was"
    assert (gone["reason"], gone["changed_since"]) == ("Case 2 is too vague", [CASES[1]])
    assert [(pilot["i"], pilot["score"]) for pilot in body["pilots"]] == [(1, 35.0)]
    view = fold_view("build-1", {"kind": "build"}, bench.journal.events, alive=True)
    assert [(one.pilot["score"], one.reason) for one in view.rejected_pilots] == [(40.0, "Case 2 is too vague")]
    scores = {cell.cell: cell.score for cell in view.cells}
    assert [scores[name] for name in view.rejected_pilots[0].cells] == [40.0, 40.0]
    assert "- Pilot 1 at 40: its freeze was rejected: Case 2 is too vague" in render(view)
    waiting.cancel()


async def test_what_changes_while_the_operator_decides_is_not_frozen(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, approve="ask")
    await bench.contract()
    await bench.pilot(40.0, words="one")
    await bench.review("freeze")
    waiting = asyncio.ensure_future(bench.call("request_freeze", reason="met"))
    approval = await _pending(bench)
    bench.write_case(CASES[0], words="slipped in")
    approvals.decide(bench.project, approval.id, "approve", actor="operator")
    assert (await waiting)["refused"] == "changed_since_submission"
    assert bench.builder.state().frozen is None


async def test_without_a_console_the_run_leaves_and_a_later_one_takes_the_decision(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, approve="ask", detached_ask="exit")
    await bench.contract()
    await bench.pilot(40.0, words="one")
    await bench.review("freeze")
    with pytest.raises(LeftError):
        await bench.call("request_freeze", call_id="ask", reason="met")
    (approval,) = approvals.pending(bench.project)
    assert approval.id in bench.blocked[0]
    approvals.decide(bench.project, approval.id, "approve", actor="operator")
    later = bench.again()
    answer = await later.call("request_freeze", call_id="ask", reason="met")
    assert answer["ok"]
    assert approvals.pending(bench.project) == ()


async def _pending(bench: Bench) -> approvals.Approval:
    for _ in range(200):
        if found := approvals.pending(bench.project):
            return found[0]
        await asyncio.sleep(0.02)
    raise AssertionError("nothing was asked")


# Baseline ------------------------------------------------------------------------------------------------


async def test_the_baseline_is_the_frozen_pilots_own_result(bench: Bench) -> None:
    await bench.contract()
    await bench.pilot(40.0, words="one")
    assert await bench.refused("record_baseline", summary_title="t", summary="s") == "not_frozen"
    ran = list(bench.ran)
    await bench.review("freeze")
    await bench.call("request_freeze", reason="met")
    answer = await bench.call("record_baseline", summary_title="Baseline", summary="First numbers.")
    assert answer["score"] == 40.0
    assert bench.ran == ran
    (evaluation,) = read_scoreboard(bench.desk.benchmark.scoreboard).evaluations
    assert [case.case for case in evaluation.cases] == list(MEASURED)
    assert all(len(case.runs) == 1 for case in evaluation.cases)
    assert (bench.agent.snapshots / "v1.tar.gz").is_file()
    assert not bench.run.lowest.exists()
    assert answer["state"]["next"] == []
    assert await bench.refused("dispatch") == "finished"


async def test_a_changed_byte_after_the_freeze_voids_the_benchmark_visibly(bench: Bench) -> None:
    await bench.frozen()
    benchmark = bench.desk.benchmark
    assert read_freeze(bench.project, "clerk", benchmark).status == "frozen"
    (benchmark.case(CASES[2]).rubric / "gold.txt").write_text("3", encoding="utf-8")
    found = read_freeze(bench.project, "clerk", benchmark)
    assert found.status == "void"
    assert found.changed == (f"{CASES[2]}/rubric/gold.txt",)


async def test_a_baseline_on_changed_bytes_is_refused(bench: Bench) -> None:
    await bench.contract()
    await bench.pilot(40.0, words="one")
    await bench.review("freeze")
    await bench.call("request_freeze", reason="met")
    bench.write_case(CASES[0], words="late")
    assert await bench.refused("record_baseline", summary_title="t", summary="s") == "void"


async def test_a_stop_needs_its_reason_and_ends_the_protocol(bench: Bench) -> None:
    await bench.contract()
    assert await bench.refused("stop_run", reason=" ") == "no_reason"
    assert (await bench.call("stop_run", reason="the library is empty"))["ok"]
    assert await bench.refused("submit_revision", note="n", predictions=[]) == "stopped"


async def test_unknown_arguments_are_refused_not_ignored(bench: Bench) -> None:
    answer = await bench.call("dispatch", force=True)
    assert answer["refused"] == "bad_arguments"
    assert "force" in answer["reason"]


async def test_a_fault_of_the_engine_ends_the_run_and_is_no_word_to_a_model(bench: Bench) -> None:
    await bench.contract()
    bench.write_all()
    await bench.submit()
    await bench.review("revision")

    async def broken(cells: object) -> tuple[()]:
        raise ZeroDivisionError("a fault")

    bench.desk.run_cells = broken
    with pytest.raises(ZeroDivisionError):
        await bench.call("dispatch", call_id="call")
    assert not bench.journal.of_call("call", "tool_result")
