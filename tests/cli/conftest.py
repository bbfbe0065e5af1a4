"""Homes for the command line's tests: one that another program wrote, and a fresh one of ours."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core.state.fresh import ensure_home
from core.state.paths import ProjectPaths
from tests.cli.program import FIXTURES
from tests.cli.strategy_home import build, keep, served


@pytest.fixture(autouse=True)
def no_inherited_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep what a developer has set, and a developer's own home, out of the tests."""
    for name in ("EXUVIA_HOME", "PENGUIN_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "person"))


@pytest.fixture
def penguin(tmp_path: Path) -> Path:
    """A home as the existing system leaves it."""
    return Path(shutil.copytree(FIXTURES / "penguin-state", tmp_path / "penguin"))


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A fresh home of ours."""
    ensure_home(tmp_path / "fresh")
    return tmp_path / "fresh"


@pytest.fixture
def project(fresh: Path) -> ProjectPaths:
    """The project of the fresh home."""
    return ensure_home(fresh)


@pytest.fixture(scope="session")
def shop_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the shop's bank, skills and a day of executions; copied for each test."""
    home = tmp_path_factory.mktemp("shop") / "home"
    keep(build(home), served())
    return home


@pytest.fixture
def shop(shop_template: Path, tmp_path: Path) -> Path:
    """A home with the shop's bank, the agent `clerk` with its skills, and an hour of executions."""
    return Path(shutil.copytree(shop_template, tmp_path / "home", symlinks=True))
