"""The first minutes: no home yet, and lists with nothing in them. Each says what to do next, and its words work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.state.agents import create_agent
from core.state.fresh import ensure_home
from core.state.paths import ProjectPaths
from tests.cli.program import EXUVIA, call, environment, spawn
from tests.e2e.pty import Terminal
from tests.tui.home import make_cases


@pytest.fixture
def person(tmp_path: Path) -> Path:
    """A person's own directory with nothing of ours in it (`no_inherited_home` makes it HOME)."""
    (tmp_path / "person").mkdir()
    return tmp_path / "person"


def test_the_first_start_makes_the_home_and_says_what_to_do_next(person: Path) -> None:
    with Terminal([str(EXUVIA), "--plain"], columns=120, environ={"HOME": str(person), "EXUVIA_HOME": ""}) as terminal:
        said = terminal.wait_for("Ctrl-C ends this")
    assert "Welcome to Exuvia." in said
    for word in ("exuvia demo", "exuvia agent create ID --requirement TEXT", "exuvia open DIR", "exuvia doctor"):
        assert word in said
    assert (person / ".exuvia/data/default_project/agents/default_agent").is_dir()
    with Terminal([str(EXUVIA), "--plain"], columns=120, environ={"HOME": str(person), "EXUVIA_HOME": ""}) as terminal:
        assert "Welcome" not in terminal.wait_for("Ctrl-C ends this")


def test_the_console_opens_at_once_for_a_newcomer(person: Path) -> None:
    with Terminal([str(EXUVIA)], columns=120, rows=40, environ={"HOME": str(person), "EXUVIA_HOME": ""}) as terminal:
        terminal.wait_for("default_agent")
        # Said before the screen is taken, so it is there again when the console is left.
        assert b"Welcome to Exuvia." in bytes(terminal.raw).partition(b"\x1b[?1049h")[0]


@pytest.mark.parametrize("words", [["--plain", "--once"], ["--read-only", "--plain"], ["--read-only", "--once"]])
def test_looking_makes_no_home(words: list[str], person: Path) -> None:
    ended = spawn(*words, env=environment(HOME=str(person)))
    assert ended.returncode == 2
    assert b"nothing to look at" in ended.stderr
    assert b"exuvia demo" in ended.stderr
    assert not (person / ".exuvia").exists()


def test_a_home_that_was_named_and_is_not_there_is_an_error_with_the_way_out(tmp_path: Path) -> None:
    ended = call("--plain", "--home", tmp_path / "none")
    assert ended.code == 2
    assert f"--home {tmp_path / 'none'}" in ended.err
    assert not (tmp_path / "none").exists()


@pytest.fixture
def bare(tmp_path: Path) -> ProjectPaths:
    """A home with an agent and a benchmark that nothing was done with."""
    project = ensure_home(tmp_path / "bare")
    agent = create_agent(project, "helper", name="Helper", description="Helps.", agents_md="# Rules\n")
    make_cases(agent.benchmark("chores"))
    return project


EMPTY: list[tuple[list[str], str]] = [
    (["runs", "list"], "exuvia demo"),
    (["approvals", "list"], "exuvia runs list"),
    (["trace", "list"], "exuvia run AGENT -m TEXT"),
    (["trace", "search", "x"], "exuvia run AGENT -m TEXT"),
    (["snapshot", "list", "helper"], "exuvia snapshot create helper"),
    (["skill", "list", "--agent", "helper"], "exuvia skill install NAME|DIR --agent helper"),
    (["scoreboard", "helper", "chores"], "exuvia evaluate helper chores"),
    (["scoreboard", "helper", "chores", "--candidates"], "exuvia optimize helper chores"),
]


@pytest.mark.parametrize(("words", "next_"), EMPTY, ids=[" ".join(words) for words, _ in EMPTY])
def test_a_list_with_nothing_in_it_says_what_to_do_next(words: list[str], next_: str, bare: ProjectPaths) -> None:
    ended = call(*words, "--home", bare.root.parent)
    assert ended.code == 0, ended.err
    assert next_ in ended.out
    for named in re.findall(r"exuvia ([a-z]+(?: [a-z]+)?)", ended.out):
        assert call(*named.split(), "--help").code == 0, named


def test_a_project_without_agents_says_how_to_make_one(tmp_path: Path) -> None:
    (tmp_path / "home" / "default_project").mkdir(parents=True)
    assert "exuvia agent create" in call("agent", "list", "--home", tmp_path / "home").out
