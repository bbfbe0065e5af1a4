"""`exuvia --read-only`: every command may look, none may change anything, and the console opens all the same."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest

from core.state import readonly, snapshots
from core.state.paths import ProjectPaths
from tests.cli.program import EXUVIA, call, environment, spawn, tree_hash
from tests.e2e.pty import Terminal
from tests.tui.home import AGENT, BENCHMARK, BUILD, FREEZE, OPTIMIZE, ask_for_freeze, make_home

SESSION = "session-2026-01-01-11-00-00-00100000"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> ProjectPaths:
    """One home for the whole module: whatever changed it would fail the next test too."""
    project = make_home(tmp_path_factory.mktemp("read-only") / "home")
    ask_for_freeze(project)
    snapshots.create(project.agent(AGENT))
    return project


CHANGING = [
    ["agent", "create", "new", "--requirement", "x"],
    ["build", AGENT, "--capability", "x"],
    ["build", "new", "--requirement", "x", "--capability", "x"],
    ["optimize", AGENT, BENCHMARK],
    ["try", AGENT, BENCHMARK],
    ["evaluate", AGENT, BENCHMARK, "--detach"],
    ["run", AGENT, "-m", "hello"],
    ["runs", "stop", OPTIMIZE],
    ["runs", "resume", BUILD],
    ["approvals", "approve", FREEZE],
    ["approvals", "reject", FREEZE, "--reason", "no"],
    ["rollback", AGENT, "--version", "1"],
    ["rollback", AGENT, "--undo"],
    ["snapshot", "create", AGENT],
    ["snapshot", "export", AGENT, "{out}/now.tar.gz"],
    ["snapshot", "import", AGENT, "{archive}", "--confirm"],
    ["trace", "import", "{trace}", "--agent", AGENT],
    ["trace", "export", SESSION, "{home}/out"],
    ["skill", "install", "benchmark-design", "--agent", AGENT],
    ["skill", "import", "{skill}", "--agent", AGENT],
    ["skill", "import", "{skill}", "--repo", "{home}/skills"],
    ["skill", "export", "{home}/skills.zip"],
    ["send", "session-x", "hello"],
]


def _filled(words: list[str], home: ProjectPaths, out: Path) -> list[str]:
    archive = home.agent(AGENT).snapshots / "v1.tar.gz"
    skill = Path(str(resources.files("skills"))) / "benchmark-design"
    names = {
        "out": out,
        "home": home.root.parent,
        "archive": archive,
        "trace": home.agent(AGENT).config,
        "skill": skill,
    }
    return [word.format(**names) for word in words]


@pytest.mark.parametrize("words", CHANGING, ids=[" ".join(words[:2]) for words in CHANGING])
def test_a_command_that_would_change_something_is_refused(words: list[str], home: ProjectPaths, tmp_path: Path) -> None:
    before = tree_hash(home.root.parent)
    ended = call("--read-only", *_filled(words, home, tmp_path), "--home", home.root.parent)
    assert ended.code == 1, ended
    assert "is opened read-only; nothing was changed." in ended.err
    assert "--read-only" in ended.err or "kept version" in ended.err  # the way out
    assert tree_hash(home.root.parent) == before
    assert list(tmp_path.iterdir()) == [tmp_path / "person"] or list(tmp_path.iterdir()) == []
    assert not readonly.is_sealed(home.root)  # the promise ends with the command


LOOKING = [
    ["agent", "list"],
    ["agent", "show", AGENT],
    ["runs", "list"],
    ["runs", "show", OPTIMIZE],
    ["approvals", "show", FREEZE],
    ["snapshot", "list", AGENT],
    ["snapshot", "diff", AGENT, "v1"],
    ["snapshot", "export", AGENT, "{out}/v1.tar.gz", "--version", "1"],
    ["trace", "show", SESSION],
    ["trace", "search", "file"],
    ["trace", "export", SESSION, "{out}"],
    ["scoreboard", AGENT, BENCHMARK, "--candidates"],
    ["doctor", "--no-providers"],
    ["open", "--once"],
]


@pytest.mark.parametrize("words", LOOKING, ids=[" ".join(words[:2]) for words in LOOKING])
def test_looking_and_copying_away_go_on(words: list[str], home: ProjectPaths, tmp_path: Path) -> None:
    before = tree_hash(home.root.parent)
    ended = call("--read-only", *_filled(words, home, tmp_path), "--home", home.root.parent)
    assert ended.code == 0, ended.err
    assert tree_hash(home.root.parent) == before


def test_an_environment_variable_says_it_too(home: ProjectPaths) -> None:
    env = environment(EXUVIA_READ_ONLY="1", EXUVIA_HOME=str(home.root.parent))
    ended = spawn("snapshot", "create", AGENT, env=env)
    assert ended.returncode == 1
    assert b"read-only; nothing was changed" in ended.stderr


def test_a_demonstration_is_not_begun(tmp_path: Path) -> None:
    ended = call("--read-only", "demo", "--headless", "--home", tmp_path / "demo")
    assert ended.code == 1
    assert "read-only" in ended.err
    assert not (tmp_path / "demo").exists()


def test_the_console_opens_and_every_pane_can_be_looked_at(home: ProjectPaths) -> None:
    before = tree_hash(home.root.parent)
    with Terminal([str(EXUVIA), "--read-only", "--home", str(home.root.parent)], columns=120, rows=40) as terminal:
        terminal.wait_for(AGENT)
        for pane in "23456":
            terminal.press(pane)
            terminal.read(0.4)
        terminal.press("a", "y", "R", "y", "u", "y")  # keys that would change something do not exist
        terminal.read(0.5)
        text = terminal.text
    assert "Traceback" not in bytes(terminal.raw).decode("utf-8", "replace")
    assert "Inbox" in text
    assert tree_hash(home.root.parent) == before
