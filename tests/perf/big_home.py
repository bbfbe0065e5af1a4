"""A big home, made by the formats of core: 1,000 Sessions, 200 Cases x 10 Runs, one trace of 300,000 events.

python -m tests.perf.big_home [DIR]

It is made once and kept in the cache (XDG_CACHE_HOME, else ~/.cache); a change of `FORM` makes it anew. Every number
in it comes from one seed, so that two homes are equal.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from core.evolution.events import EventName
from core.evolution.specs import EvaluateSpec, run_paths
from core.state import snapshots
from core.state.agents import create_agent, edit_config
from core.state.benchmark import write_benchmark_config
from core.state.fresh import ensure_home
from core.state.paths import AgentPaths, BenchmarkPaths, ProjectPaths
from core.state.scoreboard import RunScore, append_evaluation, evaluation_of
from core.traces import records
from tests.perf.speed.anchors import cache

FORM = "5"
AGENT, BENCHMARK = "ledger_clerk", "two-hundred-cases"
SESSIONS, CASES, RUNS, VERSIONS = 1_000, 200, 10, 5
EVENTS, TRACE_BYTES = 300_000, 120_000_000
LONG_SESSION = "session-2026-03-01-12-00-00-ffffffff"
RUN = "evaluate-20260228-120000-feed"
RUNTIME = ("rehearsal", "rehearsal-1", "medium")
_SEED = 20260301


def cached() -> ProjectPaths:
    """Return the big home, making it where the cache has none of this form."""
    home = cache() / f"big-home-{FORM}"
    if not home.is_dir():
        for old in cache().glob("big-home-*"):
            shutil.rmtree(old)
        making = cache() / "big-home-making"
        make(making)
        making.rename(home)
    return ensure_home(home)


def make(home: Path) -> ProjectPaths:
    """Make the home at `home`, which must not exist."""
    dice = random.Random(_SEED)
    project = ensure_home(home)
    agent = create_agent(project, AGENT, name="Ledger clerk", description="Keeps ledgers.", agents_md="# Rules\n")
    benchmark = agent.benchmark(BENCHMARK)
    cases = _make_cases(benchmark)
    ids = [f"session-2026-02-{1 + n // 40:02d}-{n % 24:02d}-{n % 60:02d}-00-{n:08x}" for n in range(SESSIONS - 1)]
    for version in range(1, VERSIONS + 1):
        edit_config(agent, {"version": version})
        agent.agents_md.write_text(f"# Rules of version {version}\n")
        _evaluate(benchmark, cases, version, ids, dice)
        snapshots.create(agent)
    _make_run(project, cases, ids, dice)
    for number, session_id in enumerate(ids):
        _write(_trace(agent, session_id), _short(session_id, cases[number % CASES], dice))
    _write(_trace(agent, LONG_SESSION), _long())
    return project


def _make_cases(benchmark: BenchmarkPaths) -> list[str]:
    names = [f"CASE-{n:03d}-ledger-{n:03d}" for n in range(1, CASES + 1)]
    for name in names:
        case = benchmark.case(name)
        case.statement.mkdir(parents=True)
        case.rubric.mkdir(parents=True)
        case.statement_readme.write_text(f"# Put ledger {name[5:8]} in order\n\nBy the rules of the house.\n")
        case.rubric_readme.write_text("# Rubric\n\n- 100 pts: in order\n")
    write_benchmark_config(benchmark, "Two hundred ledgers", "Made for measuring the console.", runs=RUNS)
    return names


def _evaluate(benchmark: BenchmarkPaths, cases: list[str], version: int, ids: list[str], dice: random.Random) -> None:
    """Score every Case RUNS times, higher with each version; the Sessions are those of the home, in turn."""
    scored = {
        case: [
            RunScore(
                score=round(min(100.0, max(0.0, dice.gauss(40 + 6 * version, 12))), 2),
                cost=None if dice.random() < 0.1 else round(dice.uniform(0.001, 0.02), 6),
                duration_ms=dice.randrange(2_000, 90_000),
                session_id=ids[(place * RUNS + run) % len(ids)],
            )
            for run in range(RUNS)
        ]
        for place, case in enumerate(cases)
    }
    moment = f"2026-02-0{version}T12:00:00Z"
    append_evaluation(benchmark, evaluation_of(version, RUNTIME, scored, time=moment, title=f"version {version}"))


def _make_run(project: ProjectPaths, cases: list[str], ids: list[str], dice: random.Random) -> None:
    """Write an ended evaluation of 2,000 cells with its journal, as an engine would have left it."""
    run = run_paths(project, RUN)
    run.root.mkdir(parents=True)
    spec = EvaluateSpec(agent_id=AGENT, benchmark_id=BENCHMARK, runs=RUNS)
    document = spec.model_dump(mode="json")
    run.spec.write_text(json.dumps(document))
    events: list[dict[str, object]] = [{"event": EventName.RUN_STARTED, "pid": 1, "kind": spec.kind, "spec": document}]
    for place, case in enumerate(cases):
        for number in range(1, RUNS + 1):
            cell = {
                "event": EventName.CELL,
                "cell": f"evaluation-v{VERSIONS}-{case}-{number}",
                "case_id": case,
                "run": number,
                "version": VERSIONS,
                "stage": "evaluation",
                "index": 0,
            }
            session_id = ids[(place * RUNS + number) % len(ids)]
            score = round(min(100.0, max(0.0, dice.gauss(70, 10))), 2)
            events.append({**cell, "state": "running", "session_id": session_id})
            events.append({**cell, "state": "scored", "score": score, "session_id": session_id, "duration_ms": 9_000})
    events.append({"event": EventName.FINISHED, "result": {"score": 70.0}})
    run.journal.write_text(
        "".join(json.dumps({"time": "2026-02-28T12:00:00.000Z", **event}) + "\n" for event in events)
    )


def _trace(agent: AgentPaths, session_id: str) -> Path:
    path = agent.traces / session_id[8:18] / f"{session_id}_001.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _write(path: Path, lines: Iterator[bytes]) -> None:
    with path.open("wb") as file:
        file.writelines(lines)


def _head(session_id: str, task: str) -> Iterator[bytes]:
    stamp = "2026-03-01T12:00:00.000Z"
    yield records.encode(
        records.session_meta(
            session_id=session_id,
            provider=RUNTIME[0],
            model_id=RUNTIME[1],
            model_context_window=200_000,
            system_prompt="Keep ledgers. " * 100,
            agent_state="/agents/ledger_clerk/agent_state",
            workspace=f"/workspaces/{session_id}",
        ),
        stamp,
    )
    yield records.encode(records.user_text(f"Put {task} in order by the rules of the house."), stamp)


def _short(session_id: str, case: str, dice: random.Random) -> Iterator[bytes]:
    yield from _head(session_id, case)
    for turn in range(dice.randrange(3, 9)):
        yield from _turn(turn, 12)
    yield records.encode(records.assistant_text("The ledger is in order."), "2026-03-01T12:05:00.000Z")


def _long() -> Iterator[bytes]:
    """A Session of EVENTS records and about TRACE_BYTES bytes."""
    yield from _head(LONG_SESSION, "every ledger of the house")
    wanted = EVENTS - 2
    for turn in range(wanted // 6):
        yield from _turn(turn, 55)
    yield from (records.encode(records.assistant_text("Still at it."), _stamp(wanted)) for _ in range(wanted % 6))


def _stamp(turn: int) -> str:
    seconds, thousandths = divmod(turn * 40, 1000)
    return f"2026-03-01T{seconds // 3600 % 24:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{thousandths:03d}Z"


def _turn(turn: int, output_lines: int) -> Iterator[bytes]:
    stamp, call_id = _stamp(turn), f"call_{turn}"
    failed = turn % 997 == 996
    output = "Error: the ledger is locked" if failed else f"ledger {turn}: booked\n" * output_lines
    for record in (
        records.request_begin(),
        records.thinking(f"Step {turn}: look at the next page of the ledger. " * 6),
        records.tool_call(call_id, "exec_command", json.dumps({"cmd": f"grep -n 'page {turn}' ledger.csv " * 5})),
        records.approval_decision("allow", call_id),
        records.request_end(),
        records.tool_call_output(call_id, output),
    ):
        yield records.encode(record, stamp)


def main() -> None:
    """Make the home, or find it, and say what it holds."""
    before = time.perf_counter()
    project = make(Path(sys.argv[1])) if len(sys.argv) > 1 else cached()
    size = _trace(project.agent(AGENT), LONG_SESSION).stat().st_size
    print(f"{project.root.parent}: {SESSIONS} Sessions, {CASES} Cases x {RUNS} Runs x {VERSIONS} versions,")
    print(f"one trace of {EVENTS} events and {size / 1e6:.0f} MB; {time.perf_counter() - before:.1f} s")


if __name__ == "__main__":
    main()
