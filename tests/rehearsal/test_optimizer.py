"""The rehearsal Optimizer against a small engine, with a small library of lessons of the test's own."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.models.rehearsal import RehearsalOptions, RehearsalProvider, choosing, optimizer, optimizer_texts
from core.models.rehearsal.choosing import Proposal, Record, Seen, affected, choose, effects, expectations, supported
from core.models.rehearsal.lesson_library import Lesson, parse
from tests.rehearsal.conversation import Conversation
from tests.rehearsal.optimize_protocol import OptimizeProtocol, State

STATEMENTS = {
    "CASE-001-x": "# Register\n\nTidy the rows of `in.csv` into `out.csv`, one row for each member.\n",
    "CASE-002-y": "# Stock\n\nClean the list `stock.csv`; write `tidy.csv`, duplicate rows once.\n",
    "CASE-003-z": "# Incidents\n\nThe log `app.log` holds errors; write `triage.json` by severity.\n",
}
MESSAGE = "Use the skill agent-optimization.\nagent_id: a\nbenchmark_id: b\ntarget_score: 90\nruns: 2\nrounds: 5\n"


def lesson(name: str, edit: str, kinds: str, gain: int, body: str = "", symptoms: str = "") -> Lesson:
    skill = f"skill: {name}\n" if edit == "skill" else ""
    text = f"---\nid: {name}\nedit: {edit}\nkinds: [{kinds}]\nsymptoms: [{symptoms}]\n{skill}"
    text += f"hypothesis: With {name} the result changes.\nexpected_gain: {gain}\n---\n"
    return parse(text + (body or f"## {name}\n\nDo {name}.\n"))


LESSONS = (
    lesson("tidy-tables", "skill", "table", 15),
    lesson("read-logs", "skill", "log", 12),
    lesson("look-twice", "agents_md", "table, log", 8),
    lesson("hurry", "agents_md", "table, log", 9),
    lesson("less-time", "config", "table, log", 6, "max_turns: 4\n"),
    lesson("more-time", "config", "table, log", 6, "max_turns: 40\n", "turn-limit"),
)


def score(case: str, files: State) -> float:
    """Two lessons help, one helps a little, two do harm and one does nothing."""
    table = not case.startswith("CASE-003")
    points = 30.0
    points += 35 if table and "skills/tidy-tables/SKILL.md" in files else 0
    points += 40 if not table and "skills/read-logs/SKILL.md" in files else 0
    points += 10 if "look-twice" in files["AGENTS.md"] else 0
    points -= 12 if "hurry" in files["AGENTS.md"] else 0
    points -= 20 if "'max_turns': 4}" in files.get("system_config.yaml", "") else 0
    return points


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimizer, "lessons", lambda: LESSONS)


def run(
    tmp_path: Path, *, seed: int = 7, clumsy: bool = False, nudges: int = 0, **options: Any
) -> tuple[OptimizeProtocol, Conversation, str]:
    fail_once = options.pop("fail_once", False)
    aborts = options.pop("aborts", set())
    engine = OptimizeProtocol(tmp_path, options.pop("statements", STATEMENTS), options.pop("score", score), **options)
    engine.fail_once, engine.aborts = fail_once, aborts
    talk = Conversation(RehearsalProvider(RehearsalOptions(seed=seed, clumsy=clumsy)).reply, engine.tools(), seed=seed)
    text = talk.turn(MESSAGE)
    for _ in range(nudges):
        if engine.phase() == "report":
            break
        text = talk.turn("The protocol has not finished. " + json.dumps({"state": engine.state()}))
    return engine, talk, text


def decisions(engine: OptimizeProtocol) -> list[tuple[str, str]]:
    return [(entry["hypothesis"], entry["decision"]) for entry in engine.history]


def test_scores_rise_and_all_kinds_of_edit_are_tried(tmp_path: Path) -> None:
    for seed in range(12):
        engine, _, text = run(tmp_path / str(seed), seed=seed)
        assert engine.refusals == []
        assert len(engine.history) == 5
        assert {edit["kind"] for entry in engine.history for edit in entry["edits"]} == {"agents_md", "skill", "config"}
        assert "accepted" in {entry["decision"] for entry in engine.history}
        assert "rejected" in {entry["decision"] for entry in engine.history}
        assert "Report of the Optimizer" in text


def test_nothing_is_tried_twice_and_with_nothing_left_it_stops(tmp_path: Path) -> None:
    engine, _, _ = run(tmp_path, rounds=20)
    tried = [entry["hypothesis"] for entry in engine.history]
    assert len(tried) == len(set(tried))
    assert all(any(lesson.hypothesis in hypothesis for hypothesis in tried) for lesson in LESSONS)
    assert engine.stopped is not None


def test_seeds_vary_the_sequence_and_one_seed_repeats_it(tmp_path: Path) -> None:
    sequences = {seed: decisions(run(tmp_path / str(seed), seed=seed)[0]) for seed in range(3)}
    assert len({json.dumps(sequence) for sequence in sequences.values()}) >= 2
    assert decisions(run(tmp_path / "again", seed=1)[0]) == sequences[1]


def test_it_stops_at_the_target(tmp_path: Path) -> None:
    engine, _, _ = run(tmp_path, target=31)
    assert engine.history[-1]["decision"] == "accepted"
    assert len(engine.history) < 5


def test_failed_cells_are_tried_again_before_it_decides(tmp_path: Path) -> None:
    engine, talk, _ = run(tmp_path, fail_once=True)
    assert len(engine.history) == 5
    assert [a["repair"] for name, a in talk.called if name == "evaluate_candidate" and a.get("repair")]


def test_a_trace_that_hit_its_limit_calls_for_another_limit(tmp_path: Path) -> None:
    weakest = {f"s-1-{case}-0" for case in STATEMENTS}
    with_symptom = run(tmp_path / "a", aborts=weakest, rounds=1, seed=3)[0]
    seen = Seen(
        dict.fromkeys(STATEMENTS, 30.0), STATEMENTS, dict.fromkeys(STATEMENTS, "table"), frozenset({"turn-limit"})
    )
    without = Seen(seen.scores, seen.statements, seen.kinds, frozenset())
    more = LESSONS[-1]
    assert choosing.appeal(more, seen, set(), 3) > choosing.appeal(more, without, set(), 3)
    assert with_symptom.history


def test_predictions_are_held_against_what_was_measured() -> None:
    before = {"a": 40.0, "b": 60.0}
    assert supported({"a": 70, "b": 60}, {"a": 60, "b": 58}, before)
    assert not supported({"a": 70, "b": 60}, {"a": 45, "b": 60}, before), "less than half of what was said"
    assert not supported({"a": 70, "b": 60}, {"a": 70, "b": 40}, before), "another Case fell"
    assert not supported({"a": 70}, {}, before)


SEEN = Seen({"a": 95.0, "b": 20.0, "c": 100.0}, dict.fromkeys("abc", ""), {"a": "table", "b": "log", "c": "table"})


def test_a_lesson_expects_no_more_than_there_is_to_gain() -> None:
    assert affected(LESSONS[0], SEEN) == ["a"]
    rows = expectations(Proposal((LESSONS[0],)), SEEN, Record())
    assert {row["case_id"]: row["expected_score"] for row in rows} == {"a": 100.0, "b": 20.0, "c": 100.0}


def test_skills_for_different_tasks_go_together_and_others_alone() -> None:
    seen = replace(SEEN, scores={"a": 30.0, "b": 20.0, "c": 40.0})
    for seed in range(20):
        proposal = choose(LESSONS, seen, Record(), rounds_left=5, seed=seed)
        assert proposal is not None
        kinds = {lesson.edit for lesson in proposal.lessons}
        assert len(kinds) == 1
        assert len(proposal.lessons) == (2 if kinds == {"skill"} else 1)
        cases = [case for lesson in proposal.lessons for case in affected(lesson, seen)]
        assert len(cases) == len(set(cases))


def test_what_was_measured_decides_what_may_be_tried_again() -> None:
    tables, logs = LESSONS[:2]
    seen = replace(SEEN, scores={"a": 30.0, "b": 20.0, "c": 40.0})
    found = effects([tables, logs], seen, {"a": 50.0, "b": 12.0, "c": 60.0}, seen.scores)
    assert found == {"tidy-tables": 20.0, "read-logs": -8.0}
    record = Record(effect=found)
    assert record.open(tables)
    assert not record.open(logs)
    assert not Record(in_force=frozenset({"tidy-tables"})).open(tables)


def test_a_skill_that_did_harm_is_taken_out_again() -> None:
    seen = replace(SEEN, scores={"a": 30.0, "b": 12.0, "c": 40.0})
    record = Record(frozenset({"read-logs"}), {"read-logs": -8.0}, kinds=frozenset({"skill", "agents_md", "config"}))
    proposal = choose(LESSONS[:2], seen, record, rounds_left=3, seed=1)
    assert proposal is not None
    assert [lesson.id for lesson in proposal.lessons] == ["tidy-tables"]
    assert [lesson.id for lesson in proposal.removed] == ["read-logs"]
    rows = {row["case_id"]: row["expected_score"] for row in expectations(proposal, seen, record)}
    assert rows["b"] == 20.0
    assert "undoes the loss" in proposal.hypothesis


def test_it_reads_public_statements_its_own_traces_and_the_agent_only(tmp_path: Path) -> None:
    _, talk, _ = run(tmp_path)
    for name, arguments in talk.called:
        if name == "read_file":
            assert str(tmp_path) in arguments["file_path"]
            assert "rubric" not in arguments["file_path"]


def test_no_case_occurs_in_its_code() -> None:
    for module in (optimizer, choosing, optimizer_texts):
        assert "CASE-" not in inspect.getsource(module)


@pytest.mark.parametrize("seed", range(20))
def test_the_clumsy_optimizer_completes_or_stops_with_a_reason(tmp_path: Path, seed: int) -> None:
    engine, _, _ = run(tmp_path, seed=seed, clumsy=True, nudges=40)
    assert engine.phase() == "report"
    assert engine.stopped or len(engine.history) == 5
