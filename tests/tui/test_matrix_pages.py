"""The pages of the matrix as data: what an ended run left open, and a pilot whose freeze was rejected."""

from __future__ import annotations

from core.evolution.events import EventName, Journal
from core.evolution.runs import read_run
from core.evolution.specs import BuildSpec
from core.state.paths import ProjectPaths
from core.state.scoreboard import ScoreboardReading
from tests.tui.home import AGENT, BENCHMARK, BUILD, CASES, start_run
from tests.tui.test_matrix import RUN, started, tell
from tui.stores.matrix import MatrixStore
from tui.stores.runs import Subject


def test_a_rejected_pilot_keeps_its_page_and_what_replaces_it_is_held_against_it(project: ProjectPaths) -> None:
    run = start_run(project, BUILD, BuildSpec(agent_id=AGENT, benchmark_id=BENCHMARK, capability="c", requirement="r"))
    journal = Journal(run.journal)

    def measured(revision: int, scores: tuple[float, float], states: tuple[str, str] = ("scored", "scored")) -> None:
        for case, score, state in zip(CASES, scores, states, strict=True):
            session = f"session-{revision}-{case}"
            journal.append(
                EventName.CELL, cell=f"pilot-1-rev-{revision}-{case}-1", case_id=case, run=1, version=1, stage="pilot",
                index=1, state=state, score=score, session_id=session, duration_ms=900,
            )  # fmt: skip
        mean = sum(scores) / 2
        told = {"score": mean, "predicted": mean, "observed": mean, "missed": False, "cases": []}
        journal.append(EventName.PILOT, i=1, revision=revision, **told)
        journal.append(EventName.LOWEST, pilot=1, revision=revision)

    def pages() -> list[tuple[str, str, float | None, str, float | None]]:
        subject = Subject(AGENT, BENCHMARK)
        views = (read_run(project, BUILD),)
        read = MatrixStore(project).load(views, ScoreboardReading(), subject)
        return [(page.title, page.note, page.mean, page.against, page.delta) for page in read.pages]

    measured(1, (60.0, 24.0))
    journal.append(EventName.APPROVAL_DECIDED, approval_id="f-1", decision="reject", reason="too easy", actor="me")
    assert pages() == [("Pilot 1 of 4, rejected", "reason: too easy", 42.0, "", None)]
    measured(2, (40.0, 24.0), ("scored", "reused"))
    old, new = pages()
    assert old == ("Pilot 1 of 4, rejected", "reason: too easy", 42.0, "", None)
    assert new == ("Pilot 1 of 4, again", "predicted 32, observed 32", 32.0, "pilot 1, rejected", -10.0)


def test_a_cell_that_an_ended_run_left_open_is_not_running(project: ProjectPaths) -> None:
    run = started(project)
    tell(run, CASES[0], 1, "running")
    tell(run, CASES[1], 1, "queued")

    def states() -> list[tuple[str, ...]]:
        read = MatrixStore(project).load((read_run(project, RUN),), ScoreboardReading(), Subject(AGENT, BENCHMARK))
        return [page.states for page in read.pages]

    assert states() == [("interrupted", "planned")], "its engine is dead"
    Journal(run.journal).append(EventName.STOPPED, reason="by the operator")
    assert states() == [("interrupted", "planned")]
