"""What a directory is taken for when somebody points to it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from core.foundation.errors import DamagedError, NotFoundError, UsageError
from core.state.opening import find_project
from tests.cli.program import tree_hash

FIXTURE = Path(__file__).parents[1] / "fixtures" / "penguin-state"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURE, tmp_path / "home"))


def _agent(project: Path, name: str) -> None:
    state = project / "agents" / name / "agent_state"
    state.mkdir(parents=True)
    (state / "system_config.yaml").write_text("system_prompt: hello\n")


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        (".", "csv_helper, default_agent"),
        ("default_project", "csv_helper, default_agent"),
        ("default_project/agents", "lies inside a Project"),
        ("default_project/agents/csv_helper", "lies inside a Project"),
        ("default_project/agents/csv_helper/benchmarks/csv-cleanup/CASE-001-dedupe", "lies inside a Project"),
    ],
)
def test_a_home_a_project_and_a_place_inside_mean_the_project(home: Path, inside: str, words: str) -> None:
    before = tree_hash(home)
    found = find_project(home / inside)
    assert found.project.root == home / "default_project"
    assert words in found.text
    assert tree_hash(home) == before


def test_a_directory_that_keeps_its_state_in_data_is_understood(home: Path, tmp_path: Path) -> None:
    above = tmp_path / "installed"
    above.mkdir()
    home.rename(above / "data")
    found = find_project(above)
    assert found.project.root == above / "data" / "default_project"
    assert "data/" in found.text


def test_several_projects_want_a_choice(tmp_path: Path) -> None:
    for name in ("one", "two"):
        _agent(tmp_path / name, "solver")
    with pytest.raises(UsageError, match="one, two") as refused:
        find_project(tmp_path)
    assert "--project" in refused.value.hint
    assert find_project(tmp_path, "two").project.root == tmp_path / "two"
    with pytest.raises(NotFoundError, match="three"):
        find_project(tmp_path, "three")
    _agent(tmp_path / "default_project", "solver")
    found = find_project(tmp_path)
    assert found.project.id == "default_project"
    assert "one, two" in found.text


@pytest.mark.parametrize("made", ["", "default_project/agents", "somebody/agents", "agents"])
def test_where_nothing_has_happened_yet_what_comes_is_awaited(tmp_path: Path, made: str) -> None:
    home = tmp_path / "new"
    (home / made).mkdir(parents=True)
    found = find_project(home)
    assert "no agent yet" in found.text
    expected = {"agents": home, "somebody/agents": home / "somebody"}.get(made, home / "default_project")
    assert found.project.root == expected
    _agent(found.project.root, "solver")
    assert find_project(home).project == found.project, "it is the place where an agent then is"


def test_a_home_with_only_a_database_is_an_empty_one(tmp_path: Path) -> None:
    home = tmp_path / "new"
    home.mkdir()
    (home / "web.db").touch()
    assert find_project(home).project.root == home / "default_project"


def test_what_is_none_is_refused_with_what_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "music" / "songs").mkdir(parents=True)
    (tmp_path / "file").touch()
    with pytest.raises(NotFoundError, match="no directory"):
        find_project(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="is a file"):
        find_project(tmp_path / "file")
    with pytest.raises(UsageError, match="no agent in it") as refused:
        find_project(tmp_path / "music")
    assert "system_config.yaml" in refused.value.hint


@pytest.mark.parametrize("inside", ["", "old"])
def test_a_layout_that_is_not_read_is_named(tmp_path: Path, inside: str) -> None:
    (tmp_path / "home" / "old" / "solver" / "agent_state").mkdir(parents=True)
    with pytest.raises(UsageError, match="layout") as refused:
        find_project(tmp_path / "home" / inside)
    assert "older layout" in refused.value.hint


@pytest.mark.skipif(os.getuid() == 0, reason="root may look anywhere")
def test_a_directory_that_may_not_be_looked_into_says_so(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    try:
        with pytest.raises(DamagedError, match="can't be looked into"):
            find_project(closed)
    finally:
        closed.chmod(0o700)
