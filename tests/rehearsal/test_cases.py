"""The Cases of data-chores: well formed, without a leak, worth nothing to a worker who does nothing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.agents.isolation.environment import search_path
from core.evolution.leaks import scan, texts_of
from core.evolution.rubric import read_rubric
from core.models.rehearsal.target_statement import bind
from core.state.paths import CasePaths
from core.state.yaml12 import load
from tests.rehearsal.workbench import BENCHMARK, MATERIAL, cases, held_out, naive, points, work

FINAL = [pytest.param(case, id=case.name) for case in cases()]
REVISIONS = [
    pytest.param(path.parent, id="-".join(path.parent.relative_to(MATERIAL).parts))
    for path in sorted(MATERIAL.rglob("statement"))
]
PREDICTION = {
    "observed_strategy",
    "desired_behaviour",
    "separates_on",
    "score_if_observed",
    "score_if_desired",
    "affected_points",
}


def files_of(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_there_are_six_open_and_two_held_out_cases_of_bearable_size() -> None:
    names = {case.name for case in cases()}
    assert held_out() < names
    assert (len(names), len(held_out())) == (8, 2)
    assert sum(path.stat().st_size for path in BENCHMARK.rglob("*") if path.is_file()) < 2_000_000


@pytest.mark.parametrize("place", REVISIONS)
def test_a_rubric_totals_100_and_its_checks_decide_all(place: Path) -> None:
    rubric = read_rubric(CasePaths(place))
    assert all(rubric.checked_points(item.number) == item.points for item in rubric.items)
    assert 5 <= len(rubric.checks) <= 10


@pytest.mark.parametrize("place", REVISIONS)
def test_a_statement_gives_nothing_of_its_rubric_away(place: Path) -> None:
    assert scan(texts_of(place / "statement"), texts_of(place / "rubric")) == ()


@pytest.mark.parametrize("case", FINAL)
def test_the_case_is_the_last_revision_of_its_material(case: Path) -> None:
    steps = sorted((MATERIAL / case.name / "sharpenings").glob("*"), key=lambda path: int(path.name))
    last = steps[-1] if steps else MATERIAL / case.name / "draft"
    for part in ("statement", "rubric"):
        assert files_of(case / part) == files_of(last / part)


@pytest.mark.parametrize("case", FINAL)
def test_the_plan_of_a_case_is_complete_and_its_predictions_separate(case: Path) -> None:
    plan = load((MATERIAL / case.name / "case.yaml").read_text(encoding="utf-8"))
    assert {"required_behaviour", "plausible_shortcut", "difficulty", "separating_result", "rationale"} < set(plan)
    assert sum(item["points"] for item in plan["points"]) == 100
    steps = [
        load(path.read_text(encoding="utf-8")) for path in (MATERIAL / case.name).glob("sharpenings/*/sharpening.yaml")
    ]
    for prediction in (plan["prediction"], *(step["prediction"] for step in steps)):
        assert set(prediction) == PREDICTION
        assert prediction["score_if_observed"] < prediction["score_if_desired"]
        assert prediction["affected_points"] > 0


@pytest.mark.parametrize("case", FINAL)
def test_a_private_standard_never_changes_between_revisions(case: Path) -> None:
    texts = {
        path.with_name("STANDARD.md").read_bytes() if path.with_name("STANDARD.md").exists() else None
        for path in (MATERIAL / case.name).rglob("checks.yaml")
    }
    assert len(texts) == 1


def test_several_cases_rest_on_one_reusable_standard() -> None:
    texts = [path.read_bytes() for path in BENCHMARK.glob("CASE-*/rubric/STANDARD.md")]
    assert len(texts) >= 2
    assert len(set(texts)) == 1


@pytest.mark.parametrize("place", REVISIONS)
def test_doing_nothing_is_worth_less_than_15(place: Path) -> None:
    assert sum(points(place / "statement", place / "rubric").values()) < 15


@pytest.mark.parametrize("case", FINAL)
def test_stuffing_words_or_copying_the_input_is_worth_less_than_15(case: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    shutil.copytree(case / "statement", workspace)
    statement = (workspace / "README.md").read_text(encoding="utf-8")
    bound = bind(statement, files_of(workspace))
    outputs = [workspace / name for name in (*bound["OUTPUTS"].split(","), "exceptions.csv")]
    header = bound.get("COLUMNS", "key,value")
    row = ",".join("exceptions reason corrections newest UTC duplicate archived" for _ in header.split(","))
    for path in outputs:
        path.write_text(f"{header}\n" + f"{row}\n" * 400, encoding="utf-8")
    assert sum(points(workspace, case / "rubric").values()) < 15
    source = workspace / bound["IN"]
    for path in outputs:
        path.write_bytes(source.read_bytes() if source.is_file() else b"")
    if source.is_dir():
        shutil.copytree(source, workspace / "archive")
    assert sum(points(workspace, case / "rubric").values()) < 15


def test_a_check_command_decides_as_the_workbench_does(tmp_path: Path) -> None:
    case = cases()[0]
    work(case / "statement", tmp_path / "workspace", naive())
    by_workbench = points(tmp_path / "workspace", case / "rubric")
    assert 0 < sum(by_workbench.values()) < 100
    for check in read_rubric(CasePaths(case)).checks:
        done = subprocess.run(
            ["/bin/sh", "-c", check.command],
            cwd=tmp_path / "workspace",
            env={"PATH": search_path(), "CASE_RUBRIC": str(case / "rubric")},
            capture_output=True,
            check=False,
        )
        assert done.returncode == (0 if by_workbench[check.id] else 1), done.stderr


def test_the_material_is_made_by_its_script(tmp_path: Path) -> None:
    place = tmp_path / "benchmark" / "material"
    place.mkdir(parents=True)
    shutil.copy(MATERIAL / "generate.py", place)
    shutil.copytree(MATERIAL / "making", place / "making", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, str(place / "generate.py")], check=True, timeout=60)
    made, kept = files_of(place.parent), files_of(BENCHMARK)
    names = {name for name in kept if "__pycache__" not in name}
    assert set(made) == names
    assert [name for name in names if made[name] != kept[name]] == []
