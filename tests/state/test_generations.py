"""Layouts that are read, and layouts that are named and left alone."""

from __future__ import annotations

from pathlib import Path

from core.state.fresh import ensure_home
from core.state.generations import detect_generations, unsupported
from core.state.paths import HomePaths
from tests.state.golden import FIXTURES, tree_hash


def _touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def test_the_samples_are_of_the_layout_that_is_read() -> None:
    for name in ("penguin-state", "penguin-edge"):
        (layout,) = detect_generations(FIXTURES / name)
        assert (layout.generation, layout.supported) == ("G1", True)
        assert unsupported(FIXTURES / name) == ()


def test_an_older_layout_is_named_and_not_read(tmp_path: Path) -> None:
    _touch(tmp_path / "old" / "helper" / "agent_state" / "system_config.yaml")
    before = tree_hash(tmp_path)
    (layout,) = detect_generations(tmp_path)
    assert (layout.project_id, layout.generation, layout.supported) == ("old", "G0", False)
    assert "does not read" in layout.text.replace("\n", " ")
    assert HomePaths(tmp_path).project("old").agent_ids() == ()
    assert tree_hash(tmp_path) == before


def test_a_newer_layout_is_named_beside_what_is_read(tmp_path: Path) -> None:
    project = ensure_home(tmp_path)
    _touch(project.root / "benchmarks" / "shared" / "benchmark_config.toml")
    _touch(project.root / "benchmarks" / "packed" / "benchmark.json")
    found = {layout.generation: layout.supported for layout in detect_generations(tmp_path)}
    assert found == {"G1": True, "G2": False, "package": False}
    assert len(unsupported(tmp_path)) == 2


def test_an_absent_home_holds_nothing(tmp_path: Path) -> None:
    assert detect_generations(tmp_path / "none") == ()
    assert not (tmp_path / "none").exists()
