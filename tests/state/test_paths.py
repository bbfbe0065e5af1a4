"""Where a home is, what names what, and that paths never create anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.foundation.errors import UsageError
from core.state.paths import HomePaths, check_id, resolve_home


def test_the_home_is_the_flag_then_ours_then_the_other_systems_then_the_default(tmp_path: Path) -> None:
    variables = {"EXUVIA_HOME": "/a", "PENGUIN_HOME": "/b", "HOME": str(tmp_path)}
    assert resolve_home("/flag", variables) == Path("/flag")
    assert resolve_home(None, variables) == Path("/a")
    assert resolve_home(None, {**variables, "EXUVIA_HOME": ""}) == Path("/b")
    assert resolve_home(None, {"HOME": str(tmp_path)}) == tmp_path / ".exuvia" / "data"


def test_a_relative_home_is_taken_from_the_current_directory_and_links_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path)
    assert resolve_home(None, {"PENGUIN_HOME": "link"}) == tmp_path / "link"


@pytest.mark.parametrize("value", ["", ".", "..", "a/b", "../x", "a b", "é", "a\n", "a.b"])
def test_project_and_agent_ids_hold_letters_digits_and_two_marks(value: str) -> None:
    with pytest.raises(UsageError):
        check_id("agent", value)


@pytest.mark.parametrize(
    ("kind", "value"), [("benchmark", ".."), ("benchmark", "a/b"), ("case", "case-1"), ("case", "")]
)
def test_other_ids_never_lead_out(kind: str, value: str) -> None:
    with pytest.raises(UsageError):
        check_id(kind, value)


def test_listings_take_directories_only_and_create_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert HomePaths(home).project_ids() == ()
    assert not home.exists()
    for name in ("alpha", "beta", ".hidden", "no good", "gamma\n"):
        (home / name).mkdir(parents=True)
    (home / "web.db").touch()
    (home / "linked").symlink_to(home / "alpha")
    assert HomePaths(home).project_ids() == ("alpha", "beta")


def test_an_agent_is_a_directory_with_a_config(tmp_path: Path) -> None:
    project = HomePaths(tmp_path).project("p")
    (project.agents / "half" / "agent_state").mkdir(parents=True)
    (project.agents / ".import-0123456789ab" / "agent_state").mkdir(parents=True)
    for name in ("whole", "whole\n"):
        (project.agents / name / "agent_state").mkdir(parents=True)
        (project.agents / name / "agent_state" / "system_config.yaml").touch()
    whole = project.agent("whole")
    assert project.agent_ids() == ("whole",)
    assert whole.project == project


def test_cases_are_directories_whose_name_starts_with_case(tmp_path: Path) -> None:
    benchmark = HomePaths(tmp_path).project("p").agent("a").benchmark("b")
    for name in ("CASE-2", "CASE-", "CASE", "case-1", "TASK-1"):
        (benchmark.root / name).mkdir(parents=True)
    (benchmark.root / "CASE-file").touch()
    (benchmark.root / "CASE-link").symlink_to("CASE-2")
    assert benchmark.case_ids() == ("CASE-", "CASE-2")
