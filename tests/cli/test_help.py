"""Every command has help with an example, and is told apart by its options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from tests.cli.program import call
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
        "snapshot import", "trace list", "trace search", "trace show", "trace tree", "trace analyze", "trace times", "trace export",
        "trace import", "scoreboard", "skill list", "skill show", "skill validate", "skill install", "skill remove",
        "doctor",
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
