"""Every public act of the engine that changes a home, as a call with arguments that would work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from core.agents.run_agent import launch_target
from core.agents.target import TargetSpec
from core.evolution import engine, runs
from core.evolution.events import EventName, Journal
from core.evolution.specs import OptimizeSpec, run_paths
from core.models.interface import ModelRef
from core.state import (
    agents,
    approvals,
    atomic,
    audit,
    benchmark,
    fresh,
    jsonlines,
    keeping,
    ledger,
    locks,
    mailbox,
    rollback,
    scoreboard,
    skill_install,
    snapshot_index,
    snapshots,
    swap,
    transfer,
)
from core.state.evaluation import RunScore, evaluation_of
from core.state.paths import AgentPaths, ProjectPaths
from core.traces import transfer as trace_transfer
from core.traces import writer
from tests.tui.home import AGENT, BENCHMARK, CASES, FREEZE, OPTIMIZE, RUNTIME, start_run

OPEN_RUN, QUESTION = "optimize-20260102-110000-cccc", "question-20260102-110000-dddd"


@dataclass(frozen=True)
class Home:
    """A home with something to change in every way; `elsewhere` lies outside of it."""

    project: ProjectPaths
    elsewhere: Path

    @property
    def agent(self) -> AgentPaths:
        return self.project.agent(AGENT)

    @property
    def skill(self) -> Path:
        return self.elsewhere / "tidy"

    @property
    def trace(self) -> Path:
        return self.elsewhere / "trace.jsonl"

    @property
    def question(self) -> approvals.Approval:
        return approvals.Approval(id=QUESTION, kind="freeze", run_id="r", agent_id=AGENT, benchmark_id="b", title="t")


def prepare(home: Home) -> None:
    """Add what the acts need beside the home itself: a skill, a trace, a run that can be resumed."""
    home.skill.mkdir(parents=True)
    (home.skill / "SKILL.md").write_text("---\nname: tidy\ndescription: Tidies.\n---\nTidy.\n")
    (home.elsewhere / "snapshot.tar.gz").write_bytes((home.agent.snapshots / "v1.tar.gz").read_bytes())
    meta = '"timestamp":"2026-01-01T10:00:00.000Z","type":"session_meta"'
    home.trace.write_text(f'{{{meta},"payload":{{"session_id":"session-x","cwd":"/","agent_id":"{AGENT}"}}}}\n')
    run = start_run(home.project, OPEN_RUN, OptimizeSpec(agent_id=AGENT, benchmark_id=BENCHMARK))
    Journal(run.journal).append(EventName.BLOCKED, reason="waits")


def _hold(home: Home) -> None:
    with locks.held(home.agent.lock):
        pass


def _listen(home: Home) -> None:
    with mailbox.opened(home.project, "session-x", agent_id=AGENT, role="builder"):
        pass


def _evaluation() -> scoreboard.Evaluation:
    scores = {case: [RunScore(score=1.0, cost=None, duration_ms=1, session_id="s")] for case in CASES}
    return evaluation_of(4, RUNTIME, scores, time="2026-01-03T10:00:00Z", title="t")


def _target(home: Home) -> TargetSpec:
    return TargetSpec(
        project=home.project,
        agent_id=AGENT,
        workspace=home.elsewhere,
        message="hello",
        model=ModelRef("rehearsal", "rehearsal-1"),
        session_id="session-y",
        trace_path=writer.new_trace_path(home.agent, "session-y"),
    )


def _exchange(home: Home) -> object:
    archive = snapshot_index.opened(snapshot_index.find(home.agent, 1))
    return swap.exchange_locked(home.agent, archive, action="roll_back", actor="t", to_version=1, with_memory=False)


_CANDIDATE = ledger.CandidateRecord(
    agent_id=AGENT, benchmark_id=BENCHMARK, run_id="r", round=1, version=9, reference_version=1,
    proposer="operator", hypothesis="h", decision="rejected",
)  # fmt: skip

ACTS: dict[str, Callable[[Home], object]] = {
    "core.state.agents.create_agent": lambda h: agents.create_agent(
        h.project, "new", name="New", description="New.", agents_md="# New\n"
    ),
    "core.state.agents.edit_config": lambda h: agents.edit_config(h.agent, {"version": 9}),
    "core.state.approvals.request": lambda h: approvals.request(h.project, h.question),
    "core.state.approvals.ask": lambda h: approvals.ask(h.project, h.question),
    "core.state.approvals.decide": lambda h: approvals.decide(h.project, FREEZE, "approve"),
    "core.state.approvals.answer": lambda h: approvals.answer(h.project, FREEZE, "yes"),
    "core.state.atomic.append_line": lambda h: atomic.append_line(h.project.audit, "{}"),
    "core.state.atomic.new_folder": lambda h: atomic.new_folder(h.project.root / "folder"),
    "core.state.atomic.publish_new": lambda h: atomic.publish_new(h.trace, h.project.root / "new"),
    "core.state.atomic.replace_directory": lambda h: atomic.replace_directory(
        h.skill, h.agent.skills, h.elsewhere / "aside"
    ),
    "core.state.atomic.write_bytes": lambda h: atomic.write_bytes(h.agent.agents_md, b"new"),
    "core.state.atomic.write_new": lambda h: atomic.write_new(h.agent.root / "new", b"new"),
    "core.state.atomic.write_text": lambda h: atomic.write_text(h.agent.agents_md, "new"),
    "core.state.audit.record": lambda h: audit.record(h.project, "act", "subject", {}),
    "core.state.benchmark.write_benchmark_config": lambda h: benchmark.write_benchmark_config(
        h.agent.benchmark(BENCHMARK), "Title", "Text."
    ),
    "core.state.fresh.ensure_home": lambda h: fresh.ensure_home(h.project.root / "inner"),
    "core.state.fresh.ensure_operator": lambda h: fresh.ensure_operator(h.project),
    "core.state.jsonlines.append_record": lambda h: jsonlines.append_record(h.project.own / "new" / "x.jsonl", {}),
    "core.state.keeping.keep": lambda h: keeping.keep(h.agent),
    "core.state.keeping.keep_directory": lambda h: keeping.keep_directory(h.agent, h.agent.state),
    "core.state.ledger.append": lambda h: ledger.append(h.project, _CANDIDATE),
    "core.state.locks.held": _hold,
    "core.state.mailbox.opened": _listen,
    "core.state.mailbox.send": lambda h: mailbox.send(h.project, "session-x", "hello"),
    "core.state.rollback.recover": lambda h: rollback.recover(h.agent),
    "core.state.rollback.roll_back": lambda h: rollback.roll_back(h.agent, version=1, actor="t"),
    "core.state.rollback.undo": lambda h: rollback.undo(h.agent, "t"),
    "core.state.scoreboard.append_evaluation": lambda h: scoreboard.append_evaluation(
        h.agent.benchmark(BENCHMARK), _evaluation()
    ),
    "core.state.skill_install.install_skill": lambda h: skill_install.install_skill(h.skill, h.agent.skills),
    "core.state.snapshots.create": lambda h: snapshots.create(h.agent),
    "core.state.swap.exchange_locked": _exchange,
    "core.state.transfer.export": lambda h: transfer.export(h.agent, None, h.elsewhere),
    "core.state.transfer.import_archive": lambda h: transfer.import_archive(
        h.agent, h.elsewhere / "snapshot.tar.gz", confirmed=True
    ),
    "core.evolution.engine.main": lambda h: engine.main([str(run_paths(h.project, OPEN_RUN).root)]),
    "core.evolution.runs.resume": lambda h: runs.resume(h.project, OPEN_RUN),
    "core.evolution.runs.start": lambda h: runs.start(h.project, OptimizeSpec(agent_id=AGENT, benchmark_id=BENCHMARK)),
    "core.evolution.runs.stop": lambda h: runs.stop(h.project, OPTIMIZE),
    "core.traces.transfer.export_trace": lambda h: trace_transfer.export_trace(
        h.agent, "session-2026-01-01-11-00-00-00100000", h.project.root / "out"
    ),
    "core.traces.transfer.import_trace": lambda h: trace_transfer.import_trace(h.agent, h.trace),
    "core.traces.writer.open_trace": lambda h: writer.open_trace(h.agent.traces / "new" / "x_001.jsonl"),
    "core.agents.run_agent.launch_target": lambda h: asyncio.run(launch_target(_target(h))),
}
