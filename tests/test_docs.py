"""The documentation is true where a machine can tell: commands parse, links lead somewhere, targets exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tui.cli.main import cli

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def _commands(page: Path) -> Iterator[str]:
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            yield line.partition("  #")[0].strip()
    for line in re.findall(r"`(exuvia [a-z][^`]*)`", text):
        yield line


def _parses(words: list[str]) -> None:
    """Parse a command as the program would, without calling it; placeholders such as AGENT are words like others."""
    called: click.Command = cli
    while isinstance(called, click.Group) and words and not words[0].startswith("-"):
        found = called.get_command(click.Context(called), words[0])
        assert found is not None, words
        called, words = found, words[1:]
    if not words or isinstance(called, click.Group):
        return
    paths = [parameter.type for parameter in called.params if isinstance(parameter.type, click.Path)]
    wanted = [path.exists for path in paths]
    try:
        for path in paths:
            path.exists = False
        called.make_context("exuvia", words)
    finally:
        for path, exists in zip(paths, wanted, strict=True):
            path.exists = exists


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_in_the_documentation_parses(page: Path) -> None:
    for command in _commands(page):
        if re.match(r"(\S*/)?exuvia( |$)", command) and "..." not in command:
            _parses(shlex.split(command)[1:])


def test_there_are_commands_to_check() -> None:
    assert sum("exuvia " in command for page in PAGES for command in _commands(page)) > 30


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_make_target_in_the_documentation_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for target in re.findall(r"`(?:\S+=\S+ )?make ([a-z]+)", page.read_text(encoding="utf-8")):
        assert target in targets, f"{page.name} names make {target}"
    assert {"demo", "test"} <= targets


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "README.md" or f"({page.name})" in index, page.name
