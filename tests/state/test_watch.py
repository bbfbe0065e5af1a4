"""Changes of files, told by what they mean."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from core.foundation.errors import NotFoundError
from core.state import snapshots
from core.state.atomic import append_line, write_text
from core.state.paths import ProjectPaths
from core.state.watch import ChangeEvent, classified, watch
from tests.state.agent_home import make_agent

PROJECT = ProjectPaths(Path("/home/p"))


@pytest.mark.parametrize(
    ("path", "kind", "agent_id", "subject_id"),
    [
        ("agents/a/traces/2026-11-30/session-1_001.jsonl", "trace", "a", "session-1"),
        ("agents/a/benchmarks/csv/scoreboard.yaml", "scoreboard", "a", "csv"),
        ("agents/a/benchmarks/csv/CASE-1/statement/README.md", "benchmark", "a", "csv"),
        ("agents/a/benchmarks/csv/CASE-1/scoreboard.yaml", "benchmark", "a", "csv"),
        ("agents/a/benchmarks/csv", "benchmark", "a", "csv"),
        ("benchmarks/csv/scoreboard.yaml", "scoreboard", None, "csv"),
        ("agents/a", "agent", "a", "a"),
        ("agents/a/traces/2026-11-30", "trace", "a", None),
        ("agents/a/benchmarks", "benchmark", "a", None),
        ("agents/a/snapshots", "snapshot", "a", None),
        (".exuvia", "other", None, ".exuvia"),
        (".exuvia/runs", "run", None, None),
        (".exuvia/approvals", "approval", None, None),
        (".exuvia/live", "live", None, None),
        (".exuvia/snapshots", "snapshot", None, None),
        ("agents/a/agent_state/skills/x/SKILL.md", "agent", "a", "a"),
        ("agents/a/snapshots/v3.tar.gz", "snapshot", "a", "v3"),
        (".exuvia/snapshots/a/history.jsonl", "snapshot", "a", "history.jsonl"),
        (".exuvia/runs/build-1/journal.jsonl", "run", None, "build-1"),
        (".exuvia/runs/build-1", "run", None, "build-1"),
        (".exuvia/approvals/freeze-1.json", "approval", None, "freeze-1"),
        (".exuvia/approvals/freeze-1.decision.json", "approval", None, "freeze-1"),
        (".exuvia/live/session-1.jsonl", "live", None, "session-1"),
        (".exuvia/training/cpu-demo-1/events.jsonl", "training", None, "cpu-demo-1"),
        (".exuvia/training", "training", None, None),
        (".exuvia/curator.json", "training", None, None),
        ("strategies/shop/shop.refund.yaml", "strategy", None, "shop.refund"),
        ("strategies/shop/shop.refund.release.yaml", "strategy", None, "shop.refund"),
        ("strategies/.versions/shop.refund/2.yaml", "strategy", None, "shop.refund"),
        ("strategies/state.jsonl", "strategy", None, None),
        (".exuvia/strategies/executions/2026-06-01.jsonl", "strategy", None, None),
        (".exuvia/ledger.jsonl", "other", None, "ledger"),
        (".project_config.toml", "other", None, ".project_config"),
    ],
)
def test_each_place_has_its_meaning(path: str, kind: str, agent_id: str | None, subject_id: str | None) -> None:
    (event,) = classified(PROJECT, [("modified", PROJECT.root / path)])
    assert (event.kind, event.agent_id, event.subject_id) == (kind, agent_id, subject_id)
    assert (event.path, event.change) == (PROJECT.root / path, "modified")


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/elsewhere/x",
        ".exuvia/runs/build-1/heartbeat",
        ".exuvia/runs/build-1/lock",
        ".exuvia/snapshots/a/lock",
        ".exuvia/strategies/bank.lock",
        "strategies/.git/index",
        ".exuvia/approvals/.tmp-0123abcd",
        "agents/a/.import-0123456789ab/incoming/AGENTS.md",
        "agents/a/snapshots/.tmp-0123abcd",
        "agents/a/workspaces/w/node_modules/x/index.js",
        "agents/a/scratchpad/s/PLAN.md",
        "agents/a/shared_env/bin/python",
    ],
)
def test_what_no_one_looks_at_is_silent(path: str) -> None:
    assert classified(PROJECT, [("added", PROJECT.root / path)]) == ()


def test_the_same_change_twice_is_one_event() -> None:
    path = PROJECT.root / "agents/a/agent_state/AGENTS.md"
    assert len(classified(PROJECT, [("modified", path), ("modified", path), ("added", path)])) == 2


async def collect(project: ProjectPaths, stop: asyncio.Event, seen: list[ChangeEvent]) -> None:
    async for events in watch(project, stop, debounce_ms=50):
        seen.extend(events)


async def test_real_changes_arrive_named_and_looking_writes_nothing(tmp_path: Path) -> None:
    agent = make_agent(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    stop, seen = asyncio.Event(), list[ChangeEvent]()
    task = asyncio.create_task(collect(agent.project, stop, seen))
    await asyncio.sleep(0.5)
    assert sorted(tmp_path.rglob("*")) == before
    trace = agent.traces / "2026-11-30/session-1_001.jsonl"
    trace.parent.mkdir(parents=True)
    append_line(trace, "{}")  # before anyone could watch the new directory
    write_text(agent.agents_md, "edited\n")
    workspace = agent.workspaces / "w"
    workspace.mkdir(parents=True)
    (workspace / "noise").write_text("")
    snapshots.create(agent)
    wanted = {("trace", "session-1"), ("agent", "csv_helper"), ("snapshot", "v1")}
    for _ in range(100):
        if wanted <= {(event.kind, event.subject_id) for event in seen}:
            break
        await asyncio.sleep(0.05)
    stop.set()
    await asyncio.wait_for(task, 5)
    assert wanted <= {(event.kind, event.subject_id) for event in seen}
    assert not any(".tmp-" in str(event.path) or "workspaces" in str(event.path) for event in seen)


async def test_a_missing_project_is_told_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        async for _ in watch(ProjectPaths(tmp_path / "none"), asyncio.Event()):
            pass
    assert not (tmp_path / "none").exists()


def test_the_module_loads_no_watcher_until_it_watches() -> None:
    program = "import sys, core.state.watch; print('watchfiles' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout == "False\n"
