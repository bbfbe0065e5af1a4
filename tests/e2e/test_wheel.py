"""The wheel in an environment of its own, away from the checkout, among files that bear the names of our modules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SHADOW = 'raise SystemExit("a file in the working directory was imported")\n'

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin directory of a fresh environment with the wheel in it; the dependencies are lent, the project is not."""
    place = tmp_path_factory.mktemp("installed")

    def quietly(*argv: str | Path) -> None:
        subprocess.run([str(part) for part in argv], check=True, capture_output=True, timeout=300, cwd=place)

    quietly(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", place / "dist", ROOT)
    quietly(sys.executable, "-m", "venv", "--without-pip", place / "venv")
    (wheel,) = (place / "dist").glob("*.whl")
    python = place / "venv" / "bin" / "python"
    # pip compiles what it installs, as it does for everyone: byte code then lies beside the Cases' checks.
    quietly(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index", wheel)
    (packages,) = (place / "venv" / "lib").glob("python*/site-packages")
    (packages / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python.parent


@pytest.fixture
def hostile_cwd(tmp_path: Path) -> Path:
    """A directory with core.py, tui/, yaml.py and more; importing any of them ends the process."""
    where = tmp_path / "work"
    (where / "tui").mkdir(parents=True)
    for name in ("core.py", "yaml.py", "json.py", "click.py", "pydantic.py", "sitecustomize.py", "tui/__init__.py"):
        (where / name).write_text(SHADOW)
    return where


def _run(installed: Path, cwd: Path, *words: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    home = cwd.parent / "person"
    home.mkdir(exist_ok=True)
    return subprocess.run(
        [str(installed / "exuvia"), *words],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def _document(ended: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert ended.returncode == 0, ended.stderr[-3000:]
    parsed = json.loads(ended.stdout)
    assert isinstance(parsed, dict)
    return parsed


def test_it_is_the_installed_program_that_runs(installed: Path) -> None:
    said = subprocess.run(
        [str(installed / "python"), "-P", "-c", "import core, tui, skills, benchmarks; print(core.__file__)"],
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
    )
    assert said.stdout.startswith(str(installed.parent))


def test_small_commands_among_shadowing_files(installed: Path, hostile_cwd: Path) -> None:
    assert _run(installed, hostile_cwd, "--version").stdout.strip() == "exuvia, version 0.1.0"
    skills = _document(_run(installed, hostile_cwd, "skill", "list", "--json"))
    assert len(skills["skills"]) >= 4
    assert {
        finding["subject"]
        for finding in json.loads(_run(installed, hostile_cwd, "doctor", "--json").stdout)["findings"]
    }
    made = _document(
        _run(installed, hostile_cwd, "agent", "create", "helper", "--requirement", "Helps.", "--home", "home", "--json")
    )
    assert Path(made["path"]).is_dir()


def test_one_confined_session_works_in_the_shadowed_directory(installed: Path, hostile_cwd: Path) -> None:
    (hostile_cwd / "README.md").write_text("Count the lines of `data.csv`.\n")
    (hostile_cwd / "data.csv").write_text("a\nb\n")
    assert (
        _run(installed, hostile_cwd, "agent", "create", "a", "--requirement", "x", "--home", "../home").returncode == 0
    )
    ran = _document(
        _run(
            installed, hostile_cwd, "run", "default_agent", "--message", "Read README.md and do it.",
            "--workspace", ".", "--home", "../home", "--json",
        )
    )  # fmt: skip
    assert ran["status"] == "completed"
    assert ran["workspace"] == str(hostile_cwd)
    assert Path(ran["trace"]).is_file()


@pytest.mark.timeout(1200)
@pytest.mark.long
def test_the_whole_demonstration_from_the_wheel(installed: Path, hostile_cwd: Path) -> None:
    ended = _run(
        installed, hostile_cwd, "demo", "--headless", "--approve", "auto", "--json", "--home", "../demo", timeout=1100
    )
    document = _document(ended)
    assert document["state"] == "finished"
    assert document["final"]["score"] > document["baseline"]["score"]
    assert len(document["pilots"]) >= 3
    assert [pilot["frozen"] for pilot in document["pilots"]].count(True) == 1
    home = hostile_cwd.parent / "demo"
    assert not list(home.rglob("__pycache__")), "byte code of the installed library got into a benchmark"
    assert not list(home.rglob("*.pyc"))
    assert not list(hostile_cwd.rglob("__pycache__"))
    assert not list((hostile_cwd.parent / "person").rglob("*")), "something outside the home was written"
