"""A freeze that cannot be read any more voids its benchmark; others are not touched by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.evolution.freeze import frozen_files, read_freeze, write_frozen
from core.evolution.specs import BuildSpec, RunPaths
from core.state.paths import BenchmarkPaths, ProjectPaths


def frozen(root: Path) -> tuple[ProjectPaths, BenchmarkPaths, RunPaths]:
    project = ProjectPaths(root / "project")
    benchmark = project.agent("clerk").benchmark("chores")
    statement = benchmark.case("CASE-001-a").statement_readme
    statement.parent.mkdir(parents=True)
    statement.write_text("# Task\n", encoding="utf-8")
    run = RunPaths(project.runs / "build-1")
    run.root.mkdir(parents=True)
    spec = BuildSpec(agent_id="clerk", benchmark_id="chores", capability="care")
    run.spec.write_text(spec.model_dump_json(), encoding="utf-8")
    write_frozen(run, benchmark, frozen_files(benchmark), approval_id="a", pilot=1)
    return project, benchmark, run


@pytest.mark.parametrize("damage", ["", "{", '{"files": 3}', "\0" * 300], ids=["empty", "cut", "other", "nul"])
def test_a_damaged_freeze_is_void_and_named(tmp_path: Path, damage: str) -> None:
    project, benchmark, run = frozen(tmp_path)
    assert read_freeze(project, "clerk", benchmark).status == "frozen"
    run.frozen.write_text(damage, encoding="utf-8")
    found = read_freeze(project, "clerk", benchmark)
    assert (found.status, found.run_id, found.changed) == ("void", "build-1", ("build-1/frozen.json",))


def test_damage_of_another_benchmarks_freeze_is_not_ours(tmp_path: Path) -> None:
    project, _, run = frozen(tmp_path)
    run.frozen.write_text("{", encoding="utf-8")
    assert read_freeze(project, "clerk", project.agent("clerk").benchmark("other")).status == "unfrozen"
    assert read_freeze(project, "other", project.agent("other").benchmark("chores")).status == "unfrozen"
