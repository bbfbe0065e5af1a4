"""A small home with something in every pane: an agent of three versions, runs, traces and a question to decide."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from core.agents.isolation import processes
from core.curation.jobs import JobPaths
from core.evolution.events import EventName, Journal
from core.evolution.specs import BuildSpec, OptimizeSpec, RunPaths, run_paths
from core.state import approvals, atomic, ledger, snapshots
from core.state.agents import create_agent, edit_config
from core.state.approvals import Approval
from core.state.benchmark import write_benchmark_config
from core.state.fresh import ensure_home
from core.state.ledger import CandidateRecord
from core.state.paths import AgentPaths, BenchmarkPaths, ProjectPaths
from core.state.scoreboard import RunScore, append_evaluation, evaluation_of
from core.traces import records
from core.traces.shards import new_trace_path
from core.traces.writer import TraceWriter

AGENT, BENCHMARK = "helper", "chores"
CASES = ("CASE-001-register", "CASE-002-gateway")
BUILD, OPTIMIZE = "build-20260101-100000-aaaa", "optimize-20260101-110000-bbbb"
FREEZE = "freeze-20260101-103000-cccc"
RUNTIME = ("rehearsal", "rehearsal-1", "medium")


def make_home(root: Path) -> ProjectPaths:
    """Make the home: three versions measured or tried, an Optimizer that has ended."""
    project = ensure_home(root)
    agent = create_agent(project, AGENT, name="Helper", description="Helps.", agents_md="# Rules\n")
    benchmark = agent.benchmark(BENCHMARK)
    make_cases(benchmark)
    scores = {1: (40.0, 50.0), 2: (60.0, 70.0)}
    for version, points in scores.items():
        edit_config(agent, {"version": version})
        agent.agents_md.write_text(f"# Rules of version {version}\n")
        cases = {case: [_scored(agent, case, version, score)] for case, score in zip(CASES, points, strict=True)}
        time = f"2026-01-01T1{version}:00:00Z"
        append_evaluation(benchmark, evaluation_of(version, RUNTIME, cases, time=time, title=f"version {version}"))
        snapshots.create(agent)
    for version, decision, score in ((2, "accepted", 65.0), (3, "rejected", 45.0)):
        ledger.append(project, _candidate(version, decision, score))
    optimize = start_run(project, OPTIMIZE, OptimizeSpec(agent_id=AGENT, benchmark_id=BENCHMARK))
    _optimized(optimize)
    return project


def make_cases(benchmark: BenchmarkPaths) -> None:
    """Write two Cases with statement and rubric."""
    for case_id in CASES:
        case = benchmark.case(case_id)
        case.statement.mkdir(parents=True)
        case.rubric.mkdir(parents=True)
        case.statement_readme.write_text(f"# Task of {case_id}\n\nTidy the file\nby the rules.\n")
        case.rubric_readme.write_text(f"# Rubric of {case_id}\n\n- 100 pts: tidy\n")
    write_benchmark_config(benchmark, "Small chores", "For tests.")


def _scored(agent: AgentPaths, case: str, version: int, score: float) -> RunScore:
    session_id = f"session-2026-01-01-1{version}-00-00-{case[5:8]}00000"
    write_trace(agent, session_id, "Read README.md in the current Workspace.")
    return RunScore(score=score, cost=None, duration_ms=1200, session_id=session_id)


def write_trace(agent: AgentPaths, session_id: str, prompt: str, *more: records.Record) -> Path:
    """Write a trace with a prompt, a call that fails, and an answer."""
    path = new_trace_path(agent, session_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = TraceWriter(path)
    for record in (
        records.user_text(prompt),
        records.tool_call("call_1", "read_file", json.dumps({"file_path": "README.md"})),
        records.tool_call_output("call_1", "Error: no such file"),
        *more,
        records.assistant_text("Done as far as it went."),
    ):
        writer.append(record)
    writer.close()
    return path


def _candidate(version: int, decision: str, score: float) -> CandidateRecord:
    return CandidateRecord.model_validate(
        {
            "agent_id": AGENT,
            "benchmark_id": BENCHMARK,
            "run_id": OPTIMIZE,
            "round": version - 1,
            "version": version,
            "reference_version": version - 1,
            "proposer": "optimizer",
            "hypothesis": f"Reading notes first helps, try {version}.",
            "prediction": {"overall": "higher", "cases": [{"case_id": CASES[0], "expected_score": 55}]},
            "edits": [{"kind": "agents_md", "path": "AGENTS.md", "added": 2, "removed": 1}],
            "cells": [{"case": CASES[0], "run": 1, "score": score, "status": "ok"}],
            "decision": decision,
            "score": score,
            "reference_score": 45.0,
            "supported": decision == "accepted",
            "time": f"2026-01-01T1{version}:00:00Z",
        }
    )


def start_run(project: ProjectPaths, run_id: str, spec: BuildSpec | OptimizeSpec) -> RunPaths:
    """Write a run's spec and the beginning of its journal."""
    run = run_paths(project, run_id)
    run.root.mkdir(parents=True)
    document = spec.model_dump(mode="json")
    atomic.write_text(run.spec, json.dumps(document))
    Journal(run.journal).append(EventName.RUN_STARTED, pid=1, kind=spec.kind, spec=document)
    return run


def cell(case_id: str, state: str, **more: Any) -> dict[str, Any]:
    """Return the fields of a `cell` event of the first pilot."""
    fields = {"cell": f"pilot-1-{case_id}", "case_id": case_id, "run": 1, "version": 1, "stage": "pilot", "index": 1}
    return {**fields, "state": state, **more}


def _optimized(run: RunPaths) -> None:
    journal = Journal(run.journal)
    prediction = {"overall": "higher", "cases": [{"case_id": CASES[0], "expected_score": 55}]}
    edits = [{"kind": "agents_md", "path": "AGENTS.md", "added": 2, "removed": 1}]
    for number, (version, score, decision) in enumerate(((2, 65.0, "accepted"), (3, 45.0, "rejected")), 1):
        hypothesis = f"Reading notes first helps, try {version}."
        journal.append(
            EventName.CANDIDATE,
            round=number,
            version=version,
            reference_version=1,
            digest=f"sha256:{version}",
            state_hash=f"state-{version}",
            edits=edits,
            hypothesis=hypothesis,
            prediction=prediction,
        )
        journal.append(
            EventName.DECISION,
            round=number,
            version=version,
            decision=decision,
            score=score,
            reference_score=45.0,
            supported=decision == "accepted",
            prediction_held=decision == "accepted",
            note="",
        )
    journal.append(EventName.FINISHED, result={"final": 65.0})


def ask_for_freeze(project: ProjectPaths, *, text: str = "The wanted score is met.") -> tuple[RunPaths, str]:
    """Let a Builder's run wait for a decision."""
    spec = BuildSpec(agent_id=AGENT, benchmark_id=BENCHMARK, capability="tidy", requirement="tidy")
    run = start_run(project, BUILD, spec)
    journal = Journal(run.journal)
    journal.append(EventName.PHASE, phase="freeze", detail="")
    journal.append(EventName.CELL, **cell(CASES[0], "scored", score=34.0, session_id="s-1", duration_ms=900))
    journal.append(EventName.CELL, **cell(CASES[1], "running"))
    body = {
        "reason": text,
        "cases": [
            {"case_id": case, "title": f"Title of {case}", "statement_sha256": "sha256:12345678", "rubric_sha256": "r"}
            for case in CASES
        ],
        "files": {"benchmark_config.toml": "sha256:abc"},
        "config_sha256": "sha256:abc",
        "pilots": [{"i": 1, "score": 34.0, "predicted": 60.0, "observed": 34.0, "missed": True, "valid": True}],
        "selected_pilot": 1,
        "baseline_wanted": 45.0,
        "findings": [{"case_id": CASES[0], "kind": "leak", "text": text, "waived_reason": "a common phrase"}],
        "floor": {CASES[0]: 5.0},
    }
    approval = Approval(
        id=FREEZE, kind="freeze", run_id=BUILD, agent_id=AGENT, benchmark_id=BENCHMARK, title="Freeze?", body=body
    )
    approvals.request(project, approval)
    journal.append(EventName.APPROVAL_REQUESTED, approval_id=FREEZE)
    return run, FREEZE


def give_engine(run: RunPaths) -> subprocess.Popen[bytes]:
    """Let a harmless process stand for the run's engine, so that the run counts as live."""
    engine = subprocess.Popen(["sleep", "120"], start_new_session=True)
    processes.record(run.root / "engine.pid", engine.pid)
    return engine


def give_trainer(job: JobPaths) -> subprocess.Popen[bytes]:
    """Let a harmless process stand for a trainer, so that a training run counts as live."""
    trainer = subprocess.Popen(["sleep", "1800"], start_new_session=True)
    processes.record(job.engine, trainer.pid)
    return trainer
