"""Every command has help with an example, and is told apart by its options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.cli.program import call
from tui.cli.common import here, named_home
from tui.cli.main import COMMANDS, cli

# Commands that print facts; each takes --json. `open` shows a screen.
SCREENS = {"open"}


def walk(group: click.Group, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command and group below `group` with the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*words, name), command
        if isinstance(command, click.Group):
            yield from walk(command, (*words, name))


ALL = tuple(walk(cli))
LEAVES = tuple((words, command) for words, command in ALL if not isinstance(command, click.Group))


def test_the_walk_finds_every_command() -> None:
    named = {" ".join(words) for words, _ in LEAVES}
    assert {
        "demo", "open", "agent list", "agent show", "agent create", "build", "optimize", "try", "evaluate", "run",
        "runs list", "runs show", "runs stop", "runs resume", "approvals list", "approvals show", "approvals approve",
        "approvals reject", "rollback", "snapshot create", "snapshot list", "snapshot diff", "snapshot export",
        "snapshot import", "trace list", "trace search", "trace show", "trace tree", "trace analyze", "trace times",
        "trace export", "trace import", "scoreboard", "skill list", "skill show", "skill validate", "skill install",
        "skill remove", "doctor",
    } <= named  # fmt: skip


@pytest.mark.parametrize("words", [words for words, _ in ALL], ids=" ".join)
def test_help_says_what_it_does_and_gives_an_example(words: tuple[str, ...]) -> None:
    ended = call(*words, "--help")
    assert ended.code == 0, ended.err
    example = re.search(r"Examples?: {2}(exuvia .*)", " ".join(ended.out.split("\n")))
    assert example, ended.out
    assert ended.out.startswith(f"Usage: exuvia {' '.join(words)}")


def _examples(command: click.Command) -> list[list[str]]:
    text = (command.epilog or "").partition(":")[2]
    return [shlex.split(example) for example in text.split("   |   ")]


@pytest.mark.parametrize(("words", "command"), ALL, ids=[" ".join(words) for words, _ in ALL])
def test_an_example_is_a_command_that_parses(
    words: tuple[str, ...], command: click.Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for example in _examples(command):
        assert example[0] == "exuvia"
        called: click.Command = cli
        rest = example[1:]
        while isinstance(called, click.Group) and rest and not rest[0].startswith("-"):
            found = called.get_command(click.Context(called), rest[0])
            assert found is not None, example
            called, rest = found, rest[1:]
        # Paths in examples need not exist; everything else has to be right.
        for parameter in called.params:
            if isinstance(parameter.type, click.Path):
                monkeypatch.setattr(parameter.type, "exists", False)
        called.make_context("exuvia", rest)


@pytest.mark.parametrize(("words", "command"), LEAVES, ids=[" ".join(words) for words, _ in LEAVES])
def test_every_command_takes_home_and_json(words: tuple[str, ...], command: click.Command) -> None:
    options = {option for parameter in command.params for option in parameter.opts}
    if words[0] not in SCREENS:
        assert "--json" in options
    if words != ("skill", "validate"):  # looks at a directory, not at a home
        assert "--home" in options
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, (words, parameter.name)


def test_the_list_of_commands_agrees_with_the_commands() -> None:
    for name in COMMANDS:
        (words, command) = next(entry for entry in ALL if entry[0] == (name,))
        assert command.name == words[0]


def test_help_of_the_program_names_every_command_and_exit_code() -> None:
    ended = call("--help")
    assert ended.code == 0
    for name in COMMANDS:
        assert re.search(rf"^  {name} ", ended.out, re.MULTILINE), name
    assert "0 done, 1 failed, 2 usage" in ended.out
    assert "130 interrupted" in ended.out


def test_a_group_alone_shows_its_help_as_a_usage_error() -> None:
    ended = call("agent")
    assert ended.code == 2
    assert "Commands:" in ended.err


@pytest.mark.parametrize("name", ["--home", "-home before"])
def test_a_suggested_command_works_on_the_home_that_was_named(
    fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("EXUVIA_HOME", str(tmp_path / "another"))
    words = ("--home", fresh, "approvals", "list") if name != "--home" else ("approvals", "list", "--home", fresh)
    told = call(*words).out
    suggested = re.findall(r"exuvia [^,\n]*", told)
    assert suggested == [f"exuvia runs list --home {fresh}", f"exuvia --plain --home {fresh}"]
    assert call(*shlex.split(suggested[0])[1:]).code == 0
    assert call("runs", "list").code != 0  # without it, it would be another home


def test_a_hint_of_the_engine_names_the_home_too_and_a_command_that_parses(fresh: Path) -> None:
    ended = call("send", "nobody", "hello", "--home", fresh, "--json")
    hint = ended.document["hint"]
    assert hint == f"List them: exuvia runs list --home {fresh}, exuvia trace list --agent AGENT --home {fresh}"
    second = hint.split(", ")[1].replace("AGENT", "default_agent")
    assert call(*shlex.split(second)[1:]).code == 0


@pytest.mark.parametrize("group", [words for words, command in ALL if isinstance(command, click.Group)], ids=" ".join)
def test_a_group_takes_home_and_project_for_what_follows(group: tuple[str, ...], fresh: Path) -> None:
    listed = "show" if group == ("skill",) else "list"
    rest = {"snapshot": ("default_agent",), "skill": ("none",)}.get(group[0], ())
    direct = call(*group, listed, *rest, "--home", fresh)
    assert call(*group, "--home", fresh, listed, *rest) == direct
    wrong = call(*group, "--home", fresh, "--project", "nowhere", "list", *rest)
    if group != ("skill",):  # the library belongs to no project
        assert "There is no project 'nowhere'" in wrong.err


def test_what_is_no_command_of_ours_stays_as_it_is(fresh: Path) -> None:
    with cli.make_context("exuvia", ["--home", str(fresh), "runs", "list"]):
        assert named_home(None) == str(fresh)
        assert here("See 'exuvia runs show R' (exuvia trace list). Or: exuvia demo; exuvia-like exuviate.") == (
            f"See 'exuvia runs show R --home {fresh}' (exuvia trace list --home {fresh}). "
            "Or: exuvia demo; exuvia-like exuviate."
        )
        once = here("A: exuvia runs show R   B: exuvia runs stop R")
        assert once == f"A: exuvia runs show R --home {fresh}   B: exuvia runs stop R --home {fresh}"
        assert here(once) == once
    assert here("exuvia runs list") == "exuvia runs list"
