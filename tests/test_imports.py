"""What loads what, seen in processes of their own: the engine knows no screen, a command pays only for what it uses.

The arrows between rooms are import contracts in pyproject.toml; `make contracts` checks them on the source, and the
first test here makes sure that they hold wherever the suite runs.
"""

from __future__ import annotations

import json
import pkgutil
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import core
import tui

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "tests" / "fixtures"

# Refuses the named packages, so that the traceback says who wanted one, and imports every module given.
_IMPORT_ALL = """
import importlib, importlib.abc, json, sys
refused, modules = json.loads(sys.argv[1]), json.loads(sys.argv[2])
class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in refused:
            raise AssertionError(f"{name} is imported")
sys.meta_path.insert(0, Refuse())
for module in modules:
    importlib.import_module(module)
print(len(modules))
"""

# Calls the command line and tells, after it, which of the heavy packages are loaded.
_CALL = """
import json, sys
from tui.cli.main import main
try:
    main(json.loads(sys.argv[1]))
except SystemExit as leaving:
    code = leaving.code or 0
heavy = ("textual", "torch", "httpx", "numpy", "watchfiles", "rank_bm25", "plotext")
print(json.dumps({"code": code, "loaded": [name for name in heavy if name in sys.modules]}), file=sys.stderr)
"""


def _python(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-c", script, *(json.dumps(argument) for argument in arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd="/",
    )


def _modules(package: object, prefix: str) -> list[str]:
    path = package.__path__  # type: ignore[attr-defined]  # a package has one
    return sorted(found.name for found in pkgutil.walk_packages(path, prefix))


def test_the_import_contracts_hold() -> None:
    checked = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout


def test_no_module_of_the_engine_loads_a_screen_or_torch() -> None:
    modules = _modules(core, "core.")
    assert len(modules) > 100
    loaded = _python(_IMPORT_ALL, ["textual", "rich", "plotext", "click", "torch", "tui", "trainer"], modules)
    assert loaded.returncode == 0, loaded.stderr


def test_no_module_of_the_console_loads_torch_or_the_trainer() -> None:
    modules = _modules(tui, "tui.")
    assert "tui.app" in modules
    loaded = _python(_IMPORT_ALL, ["torch", "trainer"], modules)
    assert loaded.returncode == 0, loaded.stderr


def test_the_command_line_loads_no_screen() -> None:
    modules = [name for name in _modules(tui, "tui.") if name.startswith("tui.cli")]
    loaded = _python(_IMPORT_ALL, ["textual", "torch", "numpy", "plotext"], modules)
    assert loaded.returncode == 0, loaded.stderr


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with agents, scores and traces."""
    return Path(shutil.copytree(FIXTURES / "penguin-state", tmp_path_factory.mktemp("light") / "home"))


@pytest.mark.parametrize(
    "words",
    [
        ["--version"],
        ["--help"],
        ["agent", "list"],
        ["agent", "show", "csv_helper"],
        ["runs", "list"],
        ["approvals", "list"],
        ["trace", "list"],
        ["scoreboard", "csv_helper", "csv-cleanup"],
        ["snapshot", "list", "csv_helper"],
        ["skill", "list"],
        ["doctor", "--no-providers"],
    ],
    ids=" ".join,
)
def test_a_command_loads_nothing_heavy(words: list[str], home: Path) -> None:
    place = [] if words[0].startswith("-") else ["--home", str(home)]
    called = _python(_CALL, [*words, *place])
    told = json.loads(called.stderr.splitlines()[-1])
    assert told["loaded"] == []
    assert told["code"] == 0 or words[0] == "doctor"


def test_version_comes_at_once() -> None:
    """A generous guard against an import that creeps in; real figures are in `make perf`."""
    best = 60.0
    for _ in range(3):
        began = time.perf_counter()
        subprocess.run([str(Path(sys.executable).with_name("exuvia")), "--version"], check=True, capture_output=True)
        best = min(best, time.perf_counter() - began)
    assert best < 3.0
