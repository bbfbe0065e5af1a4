"""A cell, read when it is opened: items, checks, the answer as it came, files that never lead out."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from core.evolution.specs import run_paths
from core.state.agents import create_agent
from core.state.jsonlines import append_record
from core.state.paths import OPERATOR_AGENT, AgentPaths, ProjectPaths
from core.traces import records
from core.traces.shards import new_trace_path
from core.traces.writer import TraceWriter
from tests.tui.home import AGENT, BENCHMARK, CASES, OPTIMIZE
from tui.screens.panes.matrix_cell import rows, text_of
from tui.stores.cell import read_cell
from tui.stores.kept_files import MOST_FILES, kept_files, preview, workspace_of
from tui.stores.matrix_page import Cell
from tui.stores.runs import Subject

SUBJECT = Subject(AGENT, BENCHMARK)
TARGET, EVALUATOR = "session-2026-01-03-10-00-00-0000000a", "session-2026-01-03-10-00-01-0000000b"
CELL = Cell(CASES[0], 1, "scored", 30.0, TARGET, EVALUATOR, run_id=OPTIMIZE, cell_id="round-1-x")


def work(project: ProjectPaths, *, evaluator: bool = True) -> Path:
    """Let a Target have worked and an Evaluator have scored it; return the workspace."""
    agent = project.agent(AGENT)
    workspace = agent.workspaces / "ws-0123456789ab"
    workspace.mkdir(parents=True)
    (workspace / "README.md").write_bytes(agent.benchmark(BENCHMARK).case(CASES[0]).statement_readme.read_bytes())
    (workspace / "out.csv").write_text("a,b\n1,2\n")
    (workspace / "blob.bin").write_bytes(b"\0\1\2" * 100)
    trace_of(agent, TARGET, workspace)
    items = [{"item": 1, "points": 30.0, "reason": "half tidy"}]
    checks = [{"id": "tidy-1", "passed": False, "points": 0.0, "output": "\x1b]0;owned\x07 no file\n"}]
    append_record(
        run_paths(project, OPTIMIZE).items,
        {"cell": "round-1-x", "session_id": TARGET, "score": 30.0, "items": items, "checks": checks},
    )
    if evaluator:
        told = {
            "ok": True,
            "checks": [{"id": "tidy-1", "item": 1, "points": 60.0, "passed": False, "asserts": "all rows stand"}],
            "items": [{"item": 1, "points": 100.0, "text": "tidy as it was then", "checked": 60.0, "earned": 0.0}],
        }
        create_agent(project, OPERATOR_AGENT, name="Operator", description="Evaluates.", agents_md="# Rules\n")
        trace_of(
            project.agent(OPERATOR_AGENT),
            EVALUATOR,
            workspace,
            records.tool_call("c1", "run_checks", "{}"),
            records.tool_call_output("c1", json.dumps(told)),
            records.assistant_text("```yaml\nscore: 30\n```"),
            records.user_text("Your answer was not accepted: send it again.", sender="parent_agent"),
            records.assistant_text("status: ok\nscore: 30\n"),
        )
    return workspace


def trace_of(agent: AgentPaths, session_id: str, workspace: Path, *more: records.Record) -> None:
    """Write a trace that begins as a Session's does."""
    path = new_trace_path(agent, session_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = TraceWriter(path)
    meta = {"type": "session_meta", "session_id": session_id, "workspace": str(workspace), "source": "cli"}
    for record in (("session_meta", meta), records.user_text("Read README.md"), *more):
        writer.append(record)
    writer.close()


def test_a_cell_tells_items_checks_and_the_answer_as_it_came(project: ProjectPaths) -> None:
    work(project)
    found = read_cell(project, SUBJECT, CELL)
    (item,) = found.items
    assert (item.points, item.of, item.text, item.reason) == (30.0, 100.0, "tidy as it was then", "half tidy")
    (check,) = found.checks
    assert (check.passed, check.points, check.of, check.item) == (False, 0.0, 60.0, 1)
    assert check.asserts == "all rows stand"
    assert found.answer == "status: ok\nscore: 30\n"
    assert found.asked_again == 1
    assert found.missing == ()
    assert not found.text_of_now


def test_without_the_evaluators_trace_the_rubric_of_now_is_shown_as_such(project: ProjectPaths) -> None:
    work(project, evaluator=False)
    found = read_cell(project, SUBJECT, CELL)
    assert found.items[0].text == "tidy"
    assert found.text_of_now
    assert found.answer == ""
    assert any("trace" in text and EVALUATOR in text for text in found.missing)


def test_a_scoreboards_cell_says_what_is_not_known(project: ProjectPaths) -> None:
    work(project)
    found = read_cell(project, SUBJECT, Cell(CASES[0], 1, "scored", 30.0, TARGET))
    assert found.items == ()
    assert any("scores alone" in text for text in found.missing)
    assert any("not known" in text for text in found.missing)
    assert {kept.path for kept in found.files} == {"README.md", "out.csv", "blob.bin"}


def test_a_cell_that_waits_has_nothing_to_read(project: ProjectPaths) -> None:
    found = read_cell(project, SUBJECT, Cell(CASES[0], 1, "queued", run_id=OPTIMIZE, cell_id="round-1-x"))
    assert found.files == ()
    assert any("No Target" in text for text in found.missing)


def test_damaged_items_take_nothing_down(project: ProjectPaths) -> None:
    work(project)
    items = run_paths(project, OPTIMIZE).items
    bad = [b'{"session_id": "' + TARGET.encode() + b'", "items": [7, {"item": true}], "checks": {}}', b"\xff" * 9]
    items.write_bytes(items.read_bytes() + b"\n".join(bad) + b"\n{" + TARGET.encode())
    found = read_cell(project, SUBJECT, CELL)
    assert found.items == ()
    assert found.checks == ()


def test_files_are_told_apart_and_links_not_followed(project: ProjectPaths, tmp_path: Path) -> None:
    workspace = work(project)
    secret = tmp_path / "secret.txt"
    secret.write_text("the key")
    (workspace / "leak.txt").symlink_to(secret)
    (workspace / "up").symlink_to(tmp_path, target_is_directory=True)
    os.mkfifo(workspace / "pipe")
    found = {kept.path: kept for kept in read_cell(project, SUBJECT, CELL).files}
    assert found["README.md"].what == "given"
    assert found["out.csv"].what == "made"
    assert found["leak.txt"].what == "link"
    assert found["up"].what == "link"
    assert not any(name.startswith("up/") for name in found)
    assert found["pipe"].what == "special"
    for name in ("leak.txt", "up/secret.txt", "pipe", "../secret.txt", "missing"):
        shown = preview(workspace, name)
        assert "the key" not in shown.text
        assert not shown.is_text
    assert preview(workspace, "out.csv").text == "a,b\n1,2\n"
    assert "Binary" in preview(workspace, "blob.bin").text


def test_a_changed_and_a_removed_file_are_seen(project: ProjectPaths) -> None:
    workspace = work(project)
    statement = project.agent(AGENT).benchmark(BENCHMARK).case(CASES[0]).statement
    (statement / "data.csv").write_text("x")
    (workspace / "README.md").write_text("mine now")
    files, more = kept_files(workspace, statement)
    assert {kept.path: kept.what for kept in files} == {
        "README.md": "changed",
        "out.csv": "made",
        "blob.bin": "made",
        "data.csv": "removed",
    }
    assert more == 0


def test_a_list_of_files_is_bounded(tmp_path: Path) -> None:
    for number in range(MOST_FILES + 5):
        (tmp_path / f"{number:04d}").write_text("x")
    files, more = kept_files(tmp_path, None)
    assert (len(files), more) == (MOST_FILES, 5)


def test_a_workspace_outside_its_agent_is_never_listed(project: ProjectPaths, tmp_path: Path) -> None:
    agent = project.agent(AGENT)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    trace_of(agent, TARGET, elsewhere)
    found, why = workspace_of(agent, TARGET)
    assert found is None
    assert "outside" in why
    (agent.workspaces).mkdir(exist_ok=True)
    (agent.workspaces / "elsewhere").symlink_to(elsewhere)
    assert workspace_of(agent, TARGET)[0] is None


def test_a_home_that_was_copied_finds_its_own_workspaces(project: ProjectPaths) -> None:
    agent = project.agent(AGENT)
    own = agent.workspaces / "ws-aa"
    own.mkdir(parents=True)
    trace_of(agent, TARGET, Path("/gone/agents/helper/workspaces/ws-aa"))
    assert workspace_of(agent, TARGET) == (own.resolve(), "")


def test_a_target_that_its_budget_stopped_is_told_apart_from_bad_work(project: ProjectPaths) -> None:
    workspace = work(project)
    assert read_cell(project, SUBJECT, CELL).stopped == ""
    other = "session-2026-01-03-10-00-00-0000000c"
    reason = "budget: 8 requests in this turn, the limit is 8"
    trace_of(project.agent(AGENT), other, workspace, records.abort(reason))
    cell = replace(CELL, session_id=other, score=0.0)
    page = read_cell(project, SUBJECT, cell)
    assert page.stopped == reason
    said = "Target stopped by its budget: 8 requests in this turn, the limit is 8"
    assert any(said in text for row in rows(cell, page, None, 80) for line in row.lines for text, _ in line)
    assert any(said in text for line in text_of("verdict", cell, page, None, "", None) for text, _ in line)
    trace_of(project.agent(AGENT), f"{other[:-1]}d", workspace, records.abort(reason), records.user_text("Go on."))
    assert read_cell(project, SUBJECT, replace(cell, session_id=f"{other[:-1]}d")).stopped == "", "it went on"
