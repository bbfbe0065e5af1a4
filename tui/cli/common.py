"""What all commands share: which home, and how facts are printed.

Facts go to stdout, as text for people or as one JSON document with --json; progress goes to stderr. Text
that came from an agent or a file is printed through the sanitizer.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import click

from core.foundation.errors import NotFoundError
from core.foundation.visible import visible, visible_line
from core.state.paths import DEFAULT_PROJECT, AgentPaths, BenchmarkPaths, HomePaths, ProjectPaths, resolve_home

P = ParamSpec("P")
R = TypeVar("R")
_NAMED = "exuvia.named"  # what was said of the place, by option, in the context of the whole command line
_COMMAND = re.compile(
    r"\bexuvia (?:--plain|agent|build|optimize|try|evaluate|run|runs|chat|send|approvals|rollback|snapshot|trace|"
    r"scoreboard|skill|strategy|train|stream)\b(?:(?! {2}| \(|[,;)'\n]|\.(?:\s|$)).)*"
)
"""A command in a text of ours; it ends where a sentence goes on. The demonstration has a home of its own."""


@dataclass(frozen=True)
class Place:
    """The home and project a command works on."""

    home: Path
    project_id: str

    @property
    def project(self) -> ProjectPaths:
        """Return the project, or raise NotFoundError that says how to get one."""
        project = HomePaths(self.home).project(self.project_id)
        if not project.root.is_dir():
            raise NotFoundError(
                f"There is no project {self.project_id!r} in {self.home}.",
                hint=here("Make one there with 'exuvia agent create' or 'exuvia train', or name another with --home. ")
                + demo_hint(),
            )
        return project

    def agent(self, agent_id: str) -> AgentPaths:
        """Return an agent that exists, or raise NotFoundError that names those there are."""
        project = self.project
        agent = project.agent(agent_id)
        if not agent.config.is_file():
            known = ", ".join(project.agent_ids()) or "none yet"
            raise NotFoundError(f"There is no agent {agent_id!r} in {project.root}.", hint=f"Agents here: {known}.")
        return agent

    def benchmark(self, agent_id: str, benchmark_id: str) -> BenchmarkPaths:
        """Return a benchmark that exists, or raise NotFoundError that names those there are."""
        agent = self.agent(agent_id)
        benchmark = agent.benchmark(benchmark_id)
        if not benchmark.root.is_dir():
            known = ", ".join(agent.benchmark_ids()) or "none yet; build one with 'exuvia build'"
            raise NotFoundError(
                f"Agent {agent_id!r} has no benchmark {benchmark_id!r}.", hint=f"Benchmarks of it: {known}."
            )
        return benchmark


def demo_home() -> Path:
    """Return where the demonstration lives unless told otherwise; inherited homes are ignored (DECISIONS 19)."""
    return Path(os.environ.get("HOME") or Path.home()) / ".exuvia" / "demo"


def demo_hint() -> str:
    """Say how to get at the demonstration, which has a home of its own."""
    home = demo_home()
    return f"The demonstration: --home {home}" if home.is_dir() else "A demonstration: exuvia demo"


def named_home(home: str | None) -> str | None:
    """Return the --home given after the command, else the one given before it or after its group."""
    context = click.get_current_context()
    named = home if home is not None else _named(context, "home")
    if named is not None:
        context.meta[_NAMED] = {**context.meta.get(_NAMED, {}), "home": named}
    return named


def _named(context: click.Context, name: str) -> str | None:
    """Return what an option said that stands before the command."""
    said: str | None = context.meta.get(_NAMED, {}).get(name)
    return said if said is not None or name != "home" else context.find_root().params.get("home")


def here(text: str) -> str:
    """Return a text of ours in which every command works on the place that this command was told to work on."""
    context = click.get_current_context(silent=True)
    named: dict[str, str] = {} if context is None else context.meta.get(_NAMED, {})
    words = "".join(f" --{name} {shlex.quote(named[name])}" for name in ("home", "project") if name in named)
    if not words:
        return text
    return _COMMAND.sub(lambda found: found[0] if "--home" in found[0] else f"{found[0].rstrip()}{words}", text)


def group_options(group: Callable[..., R]) -> Callable[..., R]:
    """Let a group of commands take --home and --project for the command that follows."""

    def remember(context: click.Context, option: click.Parameter, value: str | None) -> None:
        if value is not None:
            context.meta[_NAMED] = {**context.meta.get(_NAMED, {}), str(option.name): value}

    for name, metavar, words in (("--project", "ID", "Project."), ("--home", "DIR", "State directory.")):
        group = click.option(name, metavar=metavar, expose_value=False, callback=remember, help=words)(group)
    return group


def group_place() -> Place:
    """Return the place that a group itself works on: named before or after it, as for the commands of the group."""
    context = click.get_current_context()
    place = Place(resolve_home(named_home(None)), _named(context, "project") or DEFAULT_PROJECT)
    keep_read_only(place.home)
    return place


def keep_read_only(home: Path, *, asked: bool = False) -> bool:
    """Hold core to changing nothing in `home` until the command has ended, where --read-only (or `asked`) says so.

    Return whether it does.
    """
    context = click.get_current_context().find_root()
    if not (asked or context.params.get("read_only")):
        return False
    from core.state import readonly

    context.with_resource(readonly.sealed(home))
    return True


def place_options(command: Callable[..., R]) -> Callable[..., R]:
    """Add --home and --project; the command receives them as `place: Place`."""

    @click.option("--home", metavar="DIR", help="State directory (else EXUVIA_HOME, PENGUIN_HOME, ~/.exuvia/data).")
    @click.option("--project", "project_id", default=DEFAULT_PROJECT, metavar="ID", show_default=True, help="Project.")
    @functools.wraps(command)
    def with_place(*args: Any, home: str | None, project_id: str, **kwargs: Any) -> R:
        context = click.get_current_context()
        if context.get_parameter_source("project_id") is click.core.ParameterSource.DEFAULT:
            project_id = _named(context, "project") or project_id
        place = Place(resolve_home(named_home(home)), project_id)
        if project_id != DEFAULT_PROJECT:
            context.meta[_NAMED] = {**context.meta.get(_NAMED, {}), "project": project_id}
        keep_read_only(place.home)
        return command(*args, place=place, **kwargs)

    return with_place


def json_option(command: Callable[P, R]) -> Callable[P, R]:
    """Add --json, which turns facts into one JSON document on stdout."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(command)


def print_json(document: Any) -> None:
    """Print one JSON document; what is no finite number becomes null, so any reader can take it."""
    sys.stdout.write(json.dumps(_finite(document), ensure_ascii=True, indent=1, default=str) + "\n")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_finite(item) for item in value]
    return value


def say(text: str) -> None:
    """Print one line for people on stdout; a line break in it is shown, so no name can fake a line of ours."""
    click.echo(visible_line(text))


def say_text(text: str) -> None:
    """Print a text of many lines, such as a report or a file, on stdout."""
    click.echo(visible(text))


def note(text: str) -> None:
    """Print one line of progress on stderr."""
    click.echo(visible_line(text), err=True)


def print_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows in aligned columns; None shows as '-'."""
    from rich.cells import cell_len

    cells = [[("-" if value is None else visible_line(str(value))) for value in row] for row in rows]
    table = [[heading.upper() for heading in headings], *cells]
    widths = [max(cell_len(row[column]) for row in table) for column in range(len(headings))]
    for row in table:
        line = "  ".join(text + " " * (width - cell_len(text)) for text, width in zip(row, widths, strict=True))
        click.echo(line.rstrip())
