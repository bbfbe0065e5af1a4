"""What is built: one wheel that holds all a person needs and no tests, from an sdist that can build it again."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path, PurePosixPath

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.once import once

ROOT = Path(__file__).parents[1]
PACKAGES = ("core", "tui", "trainer", "skills", "benchmarks")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the sdist of this checkout and the wheel built from that sdist, without a network."""

    def make(out: Path) -> Path:
        subprocess.run(
            [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)],
            check=True,
            capture_output=True,
            timeout=300,
        )
        return out

    return once(tmp_path_factory, "dist", make)


@pytest.fixture(scope="module")
def wheel_names(built: Path) -> set[str]:
    """The names of the files in the wheel."""
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def _sources() -> Iterator[str]:
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(ROOT).as_posix()


def test_the_wheel_holds_every_file_of_the_packages(wheel_names: set[str]) -> None:
    assert set(_sources()) <= wheel_names


@pytest.mark.parametrize(
    "pattern",
    [
        "core/py.typed",
        "tui/py.typed",
        "trainer/py.typed",
        "tui/*.tcss",
        "skills/agent-creation/SKILL.md",
        "skills/benchmark-design/SKILL.md",
        "skills/agent-evaluation/SKILL.md",
        "skills/agent-optimization/SKILL.md",
        "skills/skill-curation/SKILL.md",
        "core/state/template/system_config.yaml",
        "core/state/template/project_config.toml",
        "core/state/template/example-benchmark/benchmark_config.toml",
        "core/models/rehearsal/lessons/*.md",
        "benchmarks/data-chores/benchmark_config.toml",
        "benchmarks/data-chores/CASE-*/statement/README.md",
        "benchmarks/data-chores/CASE-*/rubric/checks.yaml",
        "benchmarks/data-chores/material/contract.yaml",
        "benchmarks/shop-service/CASE-*/statement/shop.json",
        "core/agents/builtin/shop_clerk/agent.yaml",
        "core/agents/builtin/shop_clerk/skills/*/scripts/call.py",
        "core/agents/builtin/shop_clerk/strategies/*/*.yaml",
        "exuvia-*.dist-info/licenses/LICENSE",
    ],
)
def test_the_wheel_holds_what_the_program_reads(pattern: str, wheel_names: set[str]) -> None:
    assert any(PurePosixPath(name).match(pattern) for name in wheel_names), pattern


def test_the_wheel_holds_nothing_else(wheel_names: set[str]) -> None:
    tops = {name.partition("/")[0] for name in wheel_names}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)
    for name in wheel_names:
        parts = PurePosixPath(name).parts
        assert "tests" not in parts
        assert "__pycache__" not in parts
        assert not any(part.startswith(".") for part in parts), name


def test_the_sdist_holds_no_tests_and_what_a_reader_needs(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "PKG-INFO"} <= names
    assert not any(name.startswith(("tests/", ".")) and name != ".gitignore" for name in names)


def test_the_metadata(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    assert wheel.name == "exuvia-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        head = archive.read("exuvia-0.1.0.dist-info/METADATA").decode()
        scripts = archive.read("exuvia-0.1.0.dist-info/entry_points.txt").decode()
    assert "License-Expression: Apache-2.0" in head
    assert "Requires-Python: >=3.11.4" in head
    assert {"Provides-Extra: dev", "Provides-Extra: trainer"} <= set(head.splitlines())
    assert "exuvia = tui.cli.main:main" in scripts


def test_both_places_say_the_same_version() -> None:
    import core

    with (ROOT / "pyproject.toml").open("rb") as file:
        assert tomllib.load(file)["project"]["version"] == core.__version__


def _wanted(names: list[str]) -> set[str]:
    """Return every distribution that the requirements `names` bring along, by what is installed here."""
    seen: set[str] = set()
    waiting = [Requirement(name) for name in names]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        extras = requirement.extras or {""}
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        if name in seen:
            continue
        seen.add(name)
        for text in metadata.requires(name) or []:
            inner = Requirement(text)
            if inner.marker is None or any(inner.marker.evaluate({"extra": extra}) for extra in extras):
                inner.marker = None
                waiting.append(inner)
    return seen


def test_every_dependency_is_pinned_to_what_is_tested() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    pins = {
        canonicalize_name(name): version
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if line and not line.startswith("#")
        for name, _, version in [line.partition("==")]
    }
    wanted = _wanted([*project["dependencies"], *project["optional-dependencies"]["dev"]])
    assert wanted <= set(pins), sorted(wanted - set(pins))
    for requirement in map(Requirement, [*project["dependencies"], *project["optional-dependencies"]["dev"]]):
        assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)]), requirement
    assert "torch" in pins
    assert "torch" not in wanted
