"""Checks run isolated on a copy; what cannot run is broken and never a zero (FAULTS: invalid is never zero)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.evolution import checks
from core.evolution.checks import BrokenCheckError, null_floor, run_checks
from core.evolution.rubric import read_rubric
from core.evolution.workspace import copy_for_checks, new_workspace
from core.foundation.errors import DamagedError
from core.state.paths import AgentPaths, CasePaths


def make_case(root: Path, *commands: str) -> CasePaths:
    case = CasePaths(root / "benchmarks" / "b" / "CASE-001-a")
    case.statement.mkdir(parents=True)
    case.rubric.mkdir()
    case.statement_readme.write_text("# Task\n\nWrite out.txt.\n", encoding="utf-8")
    (case.statement / "in.txt").write_text("one\n", encoding="utf-8")
    case.rubric_readme.write_text("- 100 pts: the work\n", encoding="utf-8")
    (case.rubric / "gold.txt").write_text("gold\n", encoding="utf-8")
    points = 100 / len(commands)
    lines = [
        f"  - id: c{number}\n    item: 1\n    points: {points}\n    asserts: it holds\n    command: {command!r}"
        for number, command in enumerate(commands, 1)
    ]
    case.checks.write_text("checks:\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return case


async def outcomes(case: CasePaths, workspace: Path) -> list[bool]:
    results = await run_checks(read_rubric(case), case=case, workspace=workspace)
    return [result.passed for result in results]


async def test_points_come_by_exit_code_and_the_rubric_can_be_read(tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    (workspace / "out.txt").write_text("gold\n", encoding="utf-8")
    case = make_case(tmp_path, 'cmp out.txt "$CASE_RUBRIC/gold.txt"', "test -e missing.txt", "python3 -c 'exit(0)'")
    assert await outcomes(case, workspace) == [True, False, True]


async def test_a_check_neither_changes_the_work_nor_reaches_out(tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    (workspace / "out.txt").write_text("work\n", encoding="utf-8")
    outside = tmp_path / "secret.txt"
    outside.write_text("secret", encoding="utf-8")
    case = make_case(
        tmp_path, "echo x >> out.txt", f"cat {outside}", 'echo x > "$CASE_RUBRIC/gold.txt"', 'echo ok > "$TMPDIR/t"'
    )
    assert await outcomes(case, workspace) == [False, False, False, True]
    assert (workspace / "out.txt").read_text(encoding="utf-8") == "work\n"
    assert (case.rubric / "gold.txt").read_text(encoding="utf-8") == "gold\n"


@pytest.mark.parametrize("command", ["no-such-command-here", "kill -9 $$", "exit 126"])
async def test_what_cannot_run_is_broken(tmp_path: Path, command: str) -> None:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    with pytest.raises(BrokenCheckError, match="c1"):
        await outcomes(make_case(tmp_path, command), workspace)


async def test_a_link_to_the_rubric_is_not_work(tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    case = make_case(tmp_path, 'cmp out.txt "$CASE_RUBRIC/gold.txt"')
    (workspace / "out.txt").symlink_to(case.rubric / "gold.txt")
    assert await outcomes(case, workspace) == [False]


async def test_the_floor_is_what_an_untouched_workspace_earns(tmp_path: Path) -> None:
    case = make_case(tmp_path, "test -e in.txt", "test -e out.txt", "test -e out2.txt", "test -e out3.txt")
    assert await null_floor(case) == 25.0


def test_a_workspace_is_fresh_neutral_and_without_history(tmp_path: Path) -> None:
    agent = AgentPaths(tmp_path / "agents" / "a")
    case = make_case(tmp_path, "true")
    (case.statement / ".git").mkdir()
    (case.statement / ".git" / "HEAD").write_text("ref", encoding="utf-8")
    (case.statement / "data").mkdir()
    (case.statement / "data" / "x.csv").write_text("a\n", encoding="utf-8")
    first, second = new_workspace(agent, case), new_workspace(agent, case)
    assert first != second
    assert "CASE" not in first.name
    assert sorted(path.relative_to(first).as_posix() for path in first.rglob("*")) == [
        "README.md",
        "data",
        "data/x.csv",
        "in.txt",
    ]


def test_a_statement_with_a_link_is_refused(tmp_path: Path) -> None:
    case = make_case(tmp_path, "true")
    (case.statement / "gold").symlink_to(case.rubric)
    with pytest.raises(DamagedError, match="gold"):
        new_workspace(AgentPaths(tmp_path / "agents" / "a"), case)


def test_a_statement_that_is_a_link_is_refused(tmp_path: Path) -> None:
    case = make_case(tmp_path, "true")
    case.statement.rename(case.root / "elsewhere")
    case.statement.symlink_to(case.rubric)
    agent = AgentPaths(tmp_path / "agents" / "a")
    with pytest.raises(DamagedError, match="is a link"):
        new_workspace(agent, case)
    assert not agent.workspaces.exists()


def test_work_that_no_copy_can_be_made_of_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    monkeypatch.chdir(workspace)
    for _ in range(25):
        Path("x" * 200).mkdir()
        os.chdir("x" * 200)
    with pytest.raises(DamagedError, match="can't be copied"):
        copy_for_checks(workspace, tmp_path / "copy")


async def test_names_that_are_no_text_are_work_like_any(tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    for name in (b"caf\xe9", b"\x1b[2K\n", b"-rf"):
        Path(os.fsdecode(bytes(workspace) + b"/" + name)).write_text("x", encoding="utf-8")
    assert await outcomes(make_case(tmp_path, "test $(ls -b | wc -l) = 3"), workspace) == [True]


@pytest.mark.parametrize("command", ["trap '' TERM; sleep 9999 & sleep 9999", "kill -9 -1", "kill -9 $PPID"])
async def test_a_check_that_hangs_or_ends_the_others_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(checks, "CHECK_TIMEOUT_S", 0.3)
    workspace = tmp_path / "ws"
    workspace.mkdir()
    with pytest.raises(BrokenCheckError, match="c1"):
        await outcomes(make_case(tmp_path, command, "exit 1"), workspace)


@pytest.mark.parametrize(
    "command", ["(sleep 9999 &) ; exit 1", "echo '0 0'; echo '1 0'; exit 1", "echo '1 0' > /proc/$PPID/fd/1; exit 1"]
)
async def test_a_check_speaks_by_its_own_exit_code_alone(tmp_path: Path, command: str) -> None:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    assert await outcomes(make_case(tmp_path, command, "exit 1"), workspace) == [False, False]


def test_a_copy_leaves_special_files_and_escaping_links(tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    (workspace / "sub").mkdir(parents=True)
    (workspace / "sub" / "a.txt").write_text("a", encoding="utf-8")
    (workspace / "near").symlink_to("sub/a.txt")
    (workspace / "far").symlink_to("/etc/passwd")
    (workspace / "away").symlink_to("../")
    (workspace / "round").symlink_to("about")
    (workspace / "about").symlink_to("round")
    os.mkfifo(workspace / "pipe")
    left_out = copy_for_checks(workspace, tmp_path / "copy")
    assert sorted(left_out) == ["about", "away", "far", "pipe", "round"]
    assert (tmp_path / "copy" / "near").read_text(encoding="utf-8") == "a"
