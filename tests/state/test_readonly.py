"""A home that is opened read-only is changed by nothing: each act is refused whole, and a net lies under them all."""

from __future__ import annotations

import ast
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.foundation.errors import ExitCode
from core.state import readonly
from core.state.paths import ProjectPaths
from tests.cli.program import tree_hash
from tests.state.readonly_acts import ACTS, Home, prepare
from tests.tui.home import AGENT, ask_for_freeze, make_home

CORE = Path(readonly.__file__).parents[1]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """One home for the whole module: whatever changed it would fail the next test too."""
    root = tmp_path_factory.mktemp("read-only")
    project = make_home(root / "home")
    ask_for_freeze(project)
    made = Home(project, root / "elsewhere")
    prepare(made)
    return made


@pytest.mark.parametrize("name", ACTS)
def test_each_act_is_refused_and_leaves_every_byte(name: str, home: Home) -> None:
    root = home.project.root.parent
    before = tree_hash(root)
    with readonly.sealed(root):
        if name == "core.evolution.engine.main":  # a process of its own: it leaves with a code
            assert ACTS[name](home) == ExitCode.FAILED
        else:
            with pytest.raises(readonly.ReadOnlyError, match="read-only; nothing was changed") as refused:
                ACTS[name](home)
            assert refused.value.hint
            assert refused.value.exit_code == ExitCode.FAILED
    assert tree_hash(root) == before


# Not among the acts, with the reason. Whoever adds a public function that writes names it here or above.
_ELSEWHERE = {
    "core.state.archive": "writes below the directory it is given, which a caller has made",
    "core.state.atomic.sync_directory": "changes nothing",
    "core.state.pack.pack": "writes the archive it is told to; `keep` and `export` ask first",
    "core.state.snapshot_index.remember": "called by `keep` for an archive just made",
    "core.state.swap.recover_locked": "does nothing unless a swap was interrupted; `rollback.recover` asks first",
    "core.state.skill_install.library_skill": "unpacks a built-in skill beside the system's temporary files",
}
# Of the loop only these are called by a console or command; the rest works inside an engine's process.
_FRONT = {"core.evolution.runs", "core.evolution.engine"}


def test_no_public_act_is_missing_here() -> None:
    writers = {
        name
        for name in _public_writers()
        if not any(name == known or name.startswith(f"{known}.") for known in _ELSEWHERE)
    }
    assert writers - set(ACTS) == set()
    assert len(writers) > 25  # the search itself finds what it should
    assert {"core.state.rollback.undo", "core.evolution.runs.start", "core.state.mailbox.send"} <= writers


def test_the_same_acts_work_when_nothing_is_sealed(home: Home, tmp_path: Path) -> None:
    """The refusals above are the seal's: a few of the same calls on a copy do change it."""
    root = Path(shutil.copytree(home.project.root.parent, tmp_path / "home", symlinks=True))
    elsewhere = Path(shutil.copytree(home.elsewhere, tmp_path / "elsewhere"))
    copy = Home(ProjectPaths(root / home.project.id), elsewhere)
    for name in ("approvals.decide", "agents.edit_config", "rollback.roll_back", "rollback.undo", "ledger.append"):
        before = tree_hash(root)
        ACTS[f"core.state.{name}"](copy)
        assert tree_hash(root) != before, name


RAW: dict[str, Callable[[Path], object]] = {
    "write": lambda d: (d / "file").write_text("y"),
    "append": lambda d: (d / "file").open("a").close(),
    "update": lambda d: (d / "file").open("r+").close(),
    "exclusive": lambda d: (d / "new").open("x").close(),
    "descriptor": lambda d: os.open(d / "new", os.O_WRONLY | os.O_CREAT),
    "truncating descriptor": lambda d: os.open(d / "file", os.O_RDWR | os.O_TRUNC),
    "touch": lambda d: (d / "new").touch(),
    "mkdir": lambda d: (d / "new").mkdir(),
    "makedirs": lambda d: (d / "a" / "b").mkdir(parents=True),
    "unlink": lambda d: (d / "file").unlink(),
    "rmdir": lambda d: (d / "empty").rmdir(),
    "rename": lambda d: (d / "file").rename(d.parent / "out"),
    "replace from outside": lambda d: (d.parent / "outside").replace(d / "file"),
    "hard link": lambda d: (d / "new").hardlink_to(d.parent / "outside"),
    "symlink": lambda d: (d / "new").symlink_to("file"),
    "truncate": lambda d: os.truncate(d / "file", 0),
    "chmod": lambda d: (d / "file").chmod(0o600),
    "utime": lambda d: os.utime(d / "file"),
    "rmtree": lambda d: shutil.rmtree(d / "empty"),
    "rmtree that ignores errors": lambda d: shutil.rmtree(d, ignore_errors=True),
    "copytree": lambda d: shutil.copytree(d / "empty", d / "new"),
    "copyfile": lambda d: shutil.copyfile(d.parent / "outside", d / "new"),
    "bytes": lambda d: os.mkdir(os.fsencode(d / "new")),  # noqa: PTH102  # a path as bytes
    "from its own directory": lambda d: _within(d, lambda: Path("file").write_text("y")),
    "up and down": lambda d: (d / ".." / d.name / "file").write_text("y"),
    "through a link": lambda d: (d.parent / "link" / "file").write_text("y"),
    "a link of its own": lambda d: (d / "away").unlink(),
    "a link from outside": lambda d: (d.parent / "leads-in").write_text("y"),
    "in an open directory": lambda d: _in_descriptor(d),
}


def _within(directory: Path, act: Callable[[], object]) -> None:
    before = Path.cwd()
    os.chdir(directory)
    try:
        act()
    finally:
        os.chdir(before)


def _in_descriptor(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.unlink("file", dir_fd=descriptor)  # pathlib knows no descriptors
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("name", RAW)
def test_the_net_holds_what_forgot_to_ask(name: str, tmp_path: Path) -> None:
    place = tmp_path / "home"
    (place / "empty").mkdir(parents=True)
    (place / "file").write_text("x")
    (place / "away").symlink_to(tmp_path / "outside")
    (tmp_path / "outside").write_text("x")
    (tmp_path / "link").symlink_to(place)
    (tmp_path / "leads-in").symlink_to(place / "file")
    before = tree_hash(place)
    with readonly.sealed(tmp_path / "link" if "link" in name else place), pytest.raises(readonly.ReadOnlyError):
        RAW[name](place)
    assert tree_hash(place) == before
    RAW[name](place)  # and it was the seal that held it: without one, the same call goes through


def test_reading_and_the_world_beside_stay_as_they_are(tmp_path: Path) -> None:
    home, beside = tmp_path / "home", tmp_path / "home-2"
    home.mkdir()
    (home / "file").write_text("x")
    beside.mkdir()
    with readonly.sealed(home):
        assert (home / "file").read_text() == "x"
        assert [path.name for path in home.iterdir()] == ["file"]
        (beside / "new").write_text("a name that begins alike is another place")
        shutil.copyfile(home / "file", beside / "copy")
        assert readonly.is_sealed(home / "not" / "there")
        assert not readonly.is_sealed(beside)
    assert not readonly.is_sealed(home)
    (home / "file").write_text("y")


def test_two_promises_on_one_home_are_kept_apart(tmp_path: Path) -> None:
    with readonly.sealed(tmp_path):
        with readonly.sealed(tmp_path):
            assert readonly.is_sealed(tmp_path)
        with pytest.raises(readonly.ReadOnlyError):
            readonly.refuse(tmp_path / "x")
    readonly.refuse(tmp_path / "x")


def test_the_agent_of_the_home_is_named_in_the_refusal(home: Home) -> None:
    with readonly.sealed(home.project.root), pytest.raises(readonly.ReadOnlyError, match=f"agents/{AGENT}"):
        ACTS["core.state.rollback.undo"](home)


# -- which public functions write: read from the source, by the names they call -----------------------------------

_PATH_WRITES = {
    "chmod", "hardlink_to", "mkdir", "rename", "rmdir", "symlink_to", "touch", "unlink", "write_bytes", "write_text",
}  # fmt: skip
_MODULE_WRITES = {
    "os": _PATH_WRITES | {"fchmod", "ftruncate", "link", "remove", "replace", "symlink", "truncate", "write", "open"},
    "shutil": {"copy", "copy2", "copyfile", "copytree", "move", "rmtree"},
    "subprocess": {"Popen", "run"},
}


def _public_writers() -> Iterator[str]:
    """Yield the public functions of core.state and of the loop's front that write, or call one that does."""
    calls: dict[str, set[str]] = {}
    for path in sorted((CORE / "state").glob("*.py")) + sorted((CORE / "evolution").glob("*.py")):
        module = f"core.{path.parent.name}.{path.stem}"
        tree = ast.parse(path.read_text(encoding="utf-8"))
        known = _imported(tree) | {
            node.name: f"{module}.{node.name}" for node in tree.body if isinstance(node, ast.FunctionDef)
        }
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                calls[f"{module}.{node.name}"] = set(_calls(node, known))
    writing = {name for name, called in calls.items() if "writes" in called}
    while more := {name for name, called in calls.items() if name not in writing and called & writing}:
        writing |= more
    for name in sorted(writing):
        module, _, function = name.rpartition(".")
        if not function.startswith("_") and (module.startswith("core.state.") or module in _FRONT):
            yield name


def _imported(tree: ast.Module) -> dict[str, str]:
    return {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def _calls(function: ast.AST, known: dict[str, str]) -> Iterator[str]:
    for node in ast.walk(function):
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Name(id=name) if name in known:
                yield known[name]
            case ast.Attribute(value=ast.Name(id="os"), attr="open"):
                if any("O_CREAT" in ast.dump(argument) for argument in node.args):
                    yield "writes"
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in _MODULE_WRITES:
                if name in _MODULE_WRITES[module]:
                    yield "writes"
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in known:
                yield f"{known[module]}.{name}"
            case ast.Attribute(attr=name) if name in _PATH_WRITES:
                yield "writes"
