"""Runs of another program, inferred from its files: nothing is claimed that they don't say (EVOLUTION 2.6, 3)."""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.evolution import observed_files, runs
from core.evolution.observed import QUIET_S
from core.evolution.observed_project import Observer
from core.evolution.run_view import CellView, RunView
from core.foundation.errors import UsageError
from core.state.paths import ProjectPaths
from core.traces import records
from core.traces.parsing import Entry, parse_line
from tests.cli.program import tree_hash
from tests.evolution.foreign import BENCHMARK, BUILDER, CASES, FAILURE, SOLVER, World
from tests.evolution.replay import FIXTURE, Replay

DESIGN = "Use the benchmark-design Skill for solver: make riddles."
OPTIMIZE = "Use the agent-optimization Skill on solver with riddles."
SECOND_EVALUATOR = "session-2026-11-30-20-19-35-87db1ee0"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "home")


def only(views: tuple[RunView, ...]) -> RunView:
    assert len(views) == 1, [view.run_id for view in views]
    return views[0]


def states(view: RunView) -> dict[tuple[str, int, int], tuple[str, float | None]]:
    return {(cell.case_id, cell.version, cell.run): (cell.state, cell.score) for cell in view.cells}


# A whole loop, played again


def _key(cell: CellView) -> tuple[int, str, int]:
    return cell.version, cell.case_id, cell.run


_RANK = {"running": 1, "repairing": 1, "failed": 1, "interrupted": 1, "reused": 2, "scored": 2}


@pytest.mark.parametrize("torn", [False, True])
def test_a_loop_fills_as_it_is_played_and_never_loses_anything(tmp_path: Path, torn: bool) -> None:
    replay = Replay(tmp_path / "home")
    observer = Observer(ProjectPaths(tmp_path / "home" / "default_project"))
    before: dict[tuple[int, str, int], CellView] = {}
    phases: dict[str, list[str]] = {}
    for _ in replay.play(torn=torn):
        views = observer.read()
        cells = {_key(cell): cell for view in views for cell in view.cells}
        for key, cell in before.items():
            assert _RANK[cells[key].state] >= _RANK[cell.state], (key, cell, cells[key])
            assert cell.score is None or cells[key].score == cell.score
        before = cells
        for view in views:
            told = phases.setdefault(view.run_id, [])
            if not told or told[-1] != view.phase:
                told.append(view.phase)
    first, second = phases.values()
    # The Evaluator of run 2 first answers with a fence: all have ended, then it is asked again.
    assert first == ["evaluating v1", "deciding on v1", "evaluating v1", "deciding on v1", "done"]
    # The lab's scoreboard has its time in whole seconds: the row stands before the answers.
    assert second == ["evaluating Candidate v2", "Candidate v2 is on the scoreboard", "done"]
    assert Observer(observer.project).read() == observer.read(), "following ends where reading begins"


def test_the_end_equals_the_scoreboard_and_tells_what_it_does_not_have() -> None:
    first, second = Observer(ProjectPaths(FIXTURE / "default_project")).read()
    assert (first.kind, second.kind) == ("optimize", "optimize")
    assert (second.agent_id, second.benchmark_id) == ("csv_helper", "csv-cleanup")
    assert [(c.score, c.duration_ms, c.cost) for c in second.cells] == [(70, 501, None), (85, 442, None)]
    assert [c.duration_ms for c in first.cells] == [432, 1234], "the scoreboard outranks an answer, where it has a say"
    entry = second.rounds[0]
    assert (entry.version, entry.decision, entry.score, entry.reference_score) == (2, "accepted", 77.5, 60)
    assert first.rounds == (), "no version was measured before v1, so it is no Candidate"
    assert {session.role for session in second.sessions} == {"optimizer", "evaluator", "target"}
    assert second.spent.tokens == 91_739
    assert second.state == "finished"
    assert "inferred from traces" in second.reason


def _without_end(session_id: str, record: dict[str, Any]) -> dict[str, Any] | None:
    """Leave out what the second Evaluator and the Optimizer did after the Target ran: they never ended."""
    late = str(record["timestamp"]) > "2026-11-30T20:19:36.2"
    return None if late and (session_id == SECOND_EVALUATOR or session_id.endswith("12166038")) else record


def test_a_session_that_never_ends_is_at_work_until_it_is_quiet(tmp_path: Path) -> None:
    replay = Replay(tmp_path / "home", rewrite=_without_end)
    for event in replay.play():
        if event.path.name == "scoreboard.yaml":
            event.path.write_text("evaluations: []\n")  # nobody recorded anything
    now = time.time()
    observer = Observer(ProjectPaths(tmp_path / "home" / "default_project"), clock=lambda: now)
    view = observer.read()[-1]
    assert view.state == "running"
    assert states(view)["CASE-001-dedupe", 2, 2] == ("running", None)
    now += QUIET_S + 5
    view = observer.read()[-1]
    assert (view.state, view.phase) == ("stopped", "quiet")
    assert "quiet since 20" in view.reason
    assert states(view) == {("CASE-001-dedupe", 2, 1): ("scored", 70), ("CASE-001-dedupe", 2, 2): ("interrupted", None)}


def test_looking_writes_nothing(tmp_path: Path) -> None:
    home = Path(shutil.copytree(FIXTURE, tmp_path / "home"))
    before = tree_hash(home)
    assert Observer(ProjectPaths(home / "default_project")).read()
    assert tree_hash(home) == before


# What an Evaluator says


def test_an_answer_that_is_none_fails_and_is_no_zero(world: World) -> None:
    optimizer = world.session(BUILDER, OPTIMIZE)
    optimizer.evaluator(CASES[0]).answer(0, "I would give it {score} points.")
    optimizer.evaluator(CASES[1]).answer(0, FAILURE)
    view = only(Observer(world.project).read())
    malformed, failed = view.cells
    assert (malformed.state, malformed.score, malformed.failure_code) == ("failed", None, "malformed")
    assert "mapping" in malformed.reason
    assert (failed.state, failed.score, failed.failure_code) == ("failed", None, "benchmark_invalid")
    assert view.phase == "deciding on v1"


def test_a_fence_is_asked_for_again_and_then_counts(world: World) -> None:
    observer = Observer(world.project)
    evaluator = world.session(BUILDER, OPTIMIZE).evaluator(CASES[0])
    evaluator.answer(40, "```\nscore: {score}\n```")
    assert only(observer.read()).cells[0].state == "failed"
    evaluator.session.ask("Send it plain.", sender="parent_agent")
    assert only(observer.read()).cells[0].state == "repairing"
    evaluator.answer(40)
    assert states(only(observer.read())) == {(CASES[0], 1, 1): ("scored", 40)}


def test_an_aborted_evaluator_fails(world: World) -> None:
    evaluator = world.session(BUILDER, OPTIMIZE).evaluator(CASES[0])
    evaluator.session.write(records.request_begin(), records.request_end("auth", error_message="bad key"))
    evaluator.session.write(records.abort())
    cell = only(Observer(world.project).read()).cells[0]
    assert (cell.state, cell.failure_code, cell.score) == ("failed", "aborted", None)
    assert "bad key" in cell.reason


def test_an_agent_named_in_the_answer_is_no_fault(world: World) -> None:
    """A newer layout adds it (EVOLUTION 3.4 no. 56)."""
    evaluator = world.session(BUILDER, OPTIMIZE).evaluator(CASES[0])
    evaluator.answer(
        55,
        "protocol_version: 1\nstatus: ok\nagent_id: solver\ncase_id: {case}\nrun: {run}\nexpected_version: {version}\n"
        "provider: lab\nmodel_id: lab-1\nthinking_level: medium\nscore: {score}\ncost: 0.5\nduration_ms: 1\n"
        "session_id: {session}",
    )
    cell = only(Observer(world.project).read()).cells[0]
    assert (cell.state, cell.score, cell.cost) == ("scored", 55, 0.5)


@pytest.mark.parametrize("source", [None, "benchmark"])
def test_a_running_cell_knows_its_target_by_the_workspace(world: World, source: str | None) -> None:
    evaluator = world.session(BUILDER, OPTIMIZE).evaluator(CASES[0])
    target = evaluator.launch(source)
    cell = only(Observer(world.project).read()).cells[0]
    assert (cell.state, cell.session_id, cell.evaluator_session_id) == ("running", target.id, evaluator.session.id)


# A Builder


def test_a_builder_designs_pilots_refines_and_freezes(world: World) -> None:
    observer = Observer(world.project)
    builder = world.session(BUILDER, DESIGN)
    view = only(observer.read())
    assert (view.kind, view.phase, view.agent_id, view.state) == ("build", "designing", SOLVER, "running")
    for case in CASES:
        path = f"/data/agents/{SOLVER}/benchmarks/{BENCHMARK}/{case}/statement/README.md"
        builder.output(builder.call("write_file", file_path=path, content="# Task"))
    view = only(observer.read())
    assert (view.benchmark_id, view.contract) == (BENCHMARK, {"planned_cases": list(CASES)})

    one, two = (builder.evaluator(case) for case in CASES)
    assert only(observer.read()).phase == "piloting"
    first = one.answer(90)
    two.answer(70)
    view = only(observer.read())
    assert (view.phase, view.pilots[0]["score"]) == ("deciding on pilot 1", 80)

    again = builder.evaluator(CASES[1])
    view = only(observer.read())
    assert [(cell.index, cell.case_id, cell.state) for cell in view.cells] == [
        (1, CASES[0], "scored"),
        (1, CASES[1], "scored"),
        (2, CASES[1], "running"),
    ]
    second = again.answer(30)
    world.score(1, {CASES[0]: [(90, first)], CASES[1]: [(30, second)]})
    builder.say("The benchmark stands.")
    view = only(observer.read())
    assert (view.state, view.phase, view.frozen_pilot) == ("finished", "done", 2)
    assert [(c.case_id, c.state, c.score) for c in view.cells if c.index == 2] == [
        (CASES[1], "scored", 30),
        (CASES[0], "reused", 90),
    ]
    assert [(pilot["i"], pilot["score"], pilot["frozen"]) for pilot in view.pilots] == [(1, 80, False), (2, 60, True)]


def test_a_failed_cell_is_tried_again_in_the_same_pilot(world: World) -> None:
    builder = world.session(BUILDER, DESIGN)
    builder.evaluator(CASES[0]).answer(0, FAILURE)
    builder.evaluator(CASES[0]).answer(64)
    cell = only(Observer(world.project).read()).cells[0]
    assert (cell.index, cell.attempt, cell.state, cell.score) == (1, 2, "scored", 64)


# An Optimizer


def test_what_is_not_on_the_scoreboard_was_not_kept(world: World) -> None:
    world.score(1, {CASES[0]: [(50, "session-base")]})
    observer = Observer(world.project)
    optimizer = world.session(BUILDER, OPTIMIZE)
    assert only(observer.read()).phase == "designing"
    optimizer.evaluator(CASES[0], version=2).answer(40)
    view = only(observer.read())
    assert (view.rounds[0].decision, view.phase) == (None, "deciding on Candidate v2")
    kept = optimizer.evaluator(CASES[0], version=3).answer(80)
    world.score(3, {CASES[0]: [(80, kept)]})
    optimizer.evaluator(CASES[0], version=4).answer(0, FAILURE)
    optimizer.say("That is all.")
    view = only(observer.read())
    assert [(entry.version, entry.decision, entry.score) for entry in view.rounds] == [
        (2, "rejected", 40),
        (3, "accepted", 80),
        (4, "unevaluable", None),
    ]
    assert "not on the scoreboard" in view.rounds[0].note
    assert [entry.reference_score for entry in view.rounds] == [50, 50, 80]


def test_a_builder_that_goes_on_to_optimize_is_both(world: World) -> None:
    session = world.session(BUILDER, DESIGN)
    first = session.evaluator(CASES[0]).answer(50)
    world.score(1, {CASES[0]: [(50, first)]})
    session.say("The benchmark stands.").ask("Now use the agent-optimization Skill.")
    session.evaluator(CASES[0], version=2)
    view = only(Observer(world.project).read())
    assert [s.role for s in view.sessions if s.session_id == session.id] == ["builder", "optimizer"]
    assert [(c.stage, c.index, c.version, c.state) for c in view.cells] == [
        ("pilot", 1, 1, "scored"),
        ("round", 1, 2, "running"),
    ]
    assert (view.kind, view.phase, view.frozen_pilot) == ("build", "evaluating Candidate v2", 1)


def test_an_evaluator_whose_caller_is_gone_still_counts(world: World) -> None:
    optimizer = world.session(BUILDER, OPTIMIZE)
    evaluator = optimizer.evaluator(CASES[0])
    evaluator.answer(33)
    optimizer.path.unlink()
    view = only(Observer(world.project).read())
    assert (view.kind, view.state, view.sessions[0].role) == ("evaluate", "finished", "evaluator")
    assert states(view) == {(CASES[0], 1, 1): ("scored", 33)}


def test_one_session_on_two_benchmarks_is_two_runs(world: World) -> None:
    other = world.project.agent(SOLVER).benchmark("rhymes")
    other.root.mkdir()
    optimizer = world.session(BUILDER, OPTIMIZE)
    optimizer.evaluator(CASES[0]).answer(50)
    prompt = optimizer.evaluator(CASES[0]).session.path.read_text()
    twin = prompt.replace(BENCHMARK, "rhymes").replace("-00000004", "-0000000f")
    optimizer.world.project.agent(BUILDER).traces.joinpath(
        "2026-09-21/session-2026-09-21-14-00-00-0000000f_001.jsonl"
    ).write_text(twin)
    optimizer.write(records.subagent("session-2026-09-21-14-00-00-0000000f"))
    first, second = Observer(world.project).read()
    assert (first.benchmark_id, first.state, second.benchmark_id, second.state) == (
        BENCHMARK,
        "finished",
        "rhymes",
        "running",
    )
    assert first.run_id != second.run_id
    assert second.spent.tokens < first.spent.tokens, "what the leading Session spent is counted once"


# What must not be shown


def test_what_a_journal_tells_of_is_not_inferred(world: World) -> None:
    optimizer = world.session(BUILDER, OPTIMIZE)
    evaluator = optimizer.evaluator(CASES[0])
    target = evaluator.answer(10)
    observer = Observer(world.project)
    assert observer.read()
    assert observer.read(frozenset({optimizer.id, evaluator.session.id, target})) == ()


@pytest.mark.parametrize("tool", ["request_freeze", "propose_candidate", "launch_target"])
def test_sessions_of_our_own_engine_are_left_to_their_journal(world: World, tool: str) -> None:
    world.session(BUILDER, DESIGN, tools=("read_file", tool))
    assert Observer(world.project).read() == ()


def test_ordinary_sessions_are_no_runs(world: World) -> None:
    world.session(BUILDER, "How are you?").say("Fine.")
    child = world.session(BUILDER, "Summarise this.", parent=world.session(BUILDER, "Delegate."))
    child.say("protocol_version: 1")
    assert Observer(world.project).read() == ()


@pytest.mark.parametrize("name", ["../../etc", "a b", "", "solver/../default_agent"])
def test_names_that_lead_elsewhere_are_not_followed(world: World, name: str) -> None:
    optimizer = world.session(BUILDER, OPTIMIZE)
    evaluator = optimizer.evaluator(CASES[0])
    text = evaluator.session.path.read_text().replace(f"test_agent_id: {SOLVER}", f"test_agent_id: {name}")
    evaluator.session.path.write_text(text)
    view = only(Observer(world.project).read())
    assert view.cells == ()
    assert view.agent_id in (SOLVER, BUILDER)


def test_runs_that_are_inferred_refuse_what_needs_a_journal(world: World) -> None:
    world.session(BUILDER, OPTIMIZE).evaluator(CASES[0])
    run_id = only(Observer(world.project).read()).run_id
    before = tree_hash(world.project.root)
    acts: list[Callable[[ProjectPaths, str], object]] = [runs.stop, runs.resume, runs.read_run]
    for act in acts:
        with pytest.raises(UsageError, match="another program") as refused:
            act(world.project, run_id)
        assert refused.value.hint
    assert tree_hash(world.project.root) == before


# Files that are not what they should be


_GARBAGE = (b"\0" * 64, b"{", b"[1, 2]", b'{"type": "model_msg", "payload": 3}', b"\xff\xfe{}", b'{"type": 1}', b"null")


@pytest.mark.parametrize("seed", range(12))
def test_damaged_traces_take_nothing_down(tmp_path: Path, seed: int) -> None:
    home = Path(shutil.copytree(FIXTURE, tmp_path / "home"))
    chance = random.Random(seed)
    observer = Observer(ProjectPaths(home / "default_project"))
    observer.read()
    for path in sorted(home.rglob("*.jsonl")):
        lines = path.read_bytes().split(b"\n")
        for _ in range(chance.randrange(4)):
            lines.insert(chance.randrange(len(lines)), chance.choice(_GARBAGE))
        text = b"\n".join(lines)
        path.write_bytes(text[: chance.randrange(len(text))] if chance.random() < 0.5 else text)
    views = observer.read()
    assert views == Observer(observer.project).read()
    for view in views:
        assert all((cell.score is not None) == (cell.state in ("scored", "reused")) for cell in view.cells)


def test_records_of_other_shapes_are_listened_to_without_a_fault(world: World) -> None:
    evaluator = world.session(BUILDER, OPTIMIZE).evaluator(CASES[0])
    for payload in (
        {"type": "text", "role": "user", "text": 7},
        {"type": "tool_call", "name": ["x"], "arguments": {"a": 1}, "tool_call_id": None},
        {"type": "tool_call", "name": "run_subagent", "arguments": "not json", "tool_call_id": "c"},
        {"type": "token_usage", "session": None, "request": "many"},
        {"type": "request_end", "status": None},
        {"type": "subagent", "session_id": 5},
        {"type": "text", "role": "assistant", "text": "x" * 300_000},
    ):
        evaluator.session.write(("model_msg", payload))
    cell = only(Observer(world.project).read()).cells[0]
    assert cell.score is None


def test_the_example_state_of_edge_cases_is_read() -> None:
    edge = FIXTURE.parent / "penguin-edge"
    views = Observer(ProjectPaths(edge / "default_project")).read()
    assert all(view.observed for view in views)


@pytest.mark.skipif(os.getuid() == 0, reason="root may read anything")
def test_traces_that_may_not_be_read_are_named(world: World) -> None:
    world.session(BUILDER, OPTIMIZE)
    closed = world.project.agent(SOLVER).traces
    closed.mkdir(mode=0)
    observer = Observer(world.project)
    try:
        assert only(observer.read()).kind == "optimize"
        assert SOLVER in observer.unreadable[0]
    finally:
        closed.chmod(0o700)


# Reading no more than is new


def test_only_what_was_appended_is_read_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    optimizer = world.session(BUILDER, OPTIMIZE)
    for run in range(1, 6):
        optimizer.evaluator(CASES[0], run).answer(run)
    read: list[bytes] = []

    def counted(raw: bytes, *, line: int, start: int) -> Entry:
        read.append(raw)
        return parse_line(raw, line=line, start=start)

    monkeypatch.setattr(observed_files, "parse_line", counted)
    observer = Observer(world.project)
    view = only(observer.read())
    assert len(read) > 100
    read.clear()
    assert only(observer.read()) is view, "nothing was written: nothing is read, nothing is folded"
    assert read == []
    optimizer.say("Enough.")
    assert only(observer.read()).state == "finished"
    assert len(read) == 3


def test_a_read_that_may_take_no_time_goes_on_at_the_next_and_ends_alike(world: World) -> None:
    """FAULTS: whole-file load. However large a loop's traces are, a look at them ends in time."""
    optimizer = world.session(BUILDER, OPTIMIZE)
    for run in range(1, 6):
        optimizer.evaluator(CASES[0], run).answer(run)
    observer = Observer(world.project, read_s=0.0)
    reads = 1
    views = observer.read()
    assert observer.is_behind
    while observer.is_behind:
        views, reads = observer.read(), reads + 1
    assert reads > 5
    assert views == Observer(world.project).read()


def test_what_names_no_skill_of_the_loop_is_not_parsed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """FAULTS: O(N) parse. A large Session of anybody's, at work just now, is scanned for two names and no more."""
    session = world.session(BUILDER, "Tidy the files, please.")
    for number in range(2000):
        session.say(f"Step {number}.")
    read: list[bytes] = []

    def counted(raw: bytes, *, line: int, start: int) -> Entry:
        read.append(raw)
        return parse_line(raw, line=line, start=start)

    monkeypatch.setattr(observed_files, "parse_line", counted)
    observer = Observer(world.project)
    assert observer.read() == ()
    assert read == []
    session.say("Now to skills/agent-optimization/SKILL.md.")
    observer.read()
    assert len(read) > 2000, "named by what was appended"


def test_a_file_that_was_replaced_is_read_anew(world: World) -> None:
    evaluator = world.session(BUILDER, OPTIMIZE).evaluator(CASES[0])
    evaluator.answer(20)
    observer = Observer(world.project)
    assert only(observer.read()).cells[0].score == 20
    text = evaluator.session.path.read_text().replace("score: 20", "score: 25")
    fresh = evaluator.session.path.with_suffix(".new")
    fresh.write_text(text + json.dumps({"timestamp": "", "type": "event_msg", "payload": {}}) + "\n")
    fresh.replace(evaluator.session.path)
    assert only(observer.read()).cells[0].score == 25


def test_a_quiet_home_says_where_to_look(world: World) -> None:
    now = time.time()
    observer = Observer(world.project, clock=lambda: now)
    observer.read()
    before = observer.signs()
    assert observer.signs() == before
    session = world.session(BUILDER, OPTIMIZE)
    observer.read()
    seen = observer.signs()
    assert seen != before
    session.evaluator(CASES[0])
    assert observer.signs() != seen
    observer.read()
    seen = observer.signs()
    now += QUIET_S + 5
    assert observer.signs() != seen, "that it has become quiet is news too"
