"""The command `exuvia`: a group whose commands are imported when they are called.

`exuvia` alone opens the console. `exuvia --version` imports nothing of the engine but its version.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import NoReturn

import click

from core import __version__
from core.foundation.errors import ExitCode, ExuviaError

# Command -> (module, attribute, one line of help). Help of the group is printed from here, without the imports.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "open": ("tui.cli.console", "open_console", "Open the console (what 'exuvia' alone does)."),
    "demo": ("tui.cli.demo", "demo", "Watch the whole loop on a fresh demonstration, offline."),
    "agent": ("tui.cli.agents", "agent", "List, show and create agents."),
    "build": ("tui.cli.work", "build", "Let a Builder design and calibrate a benchmark."),
    "optimize": ("tui.cli.work", "optimize", "Let an Optimizer improve an agent on a frozen benchmark."),
    "curate": ("tui.cli.curate", "curate", "Turn what an agent went through into skills, measured as Candidates."),
    "try": ("tui.cli.work", "try_edit", "Measure your own edit of an agent as a Candidate."),
    "evaluate": ("tui.cli.work", "evaluate", "Measure an agent's present version on a benchmark."),
    "run": ("tui.cli.work", "run", "Run an agent once on a message."),
    "runs": ("tui.cli.runs", "runs", "List, show, stop and resume runs."),
    "chat": ("tui.cli.talk", "chat", "Talk with an agent here, confined, line by line."),
    "send": ("tui.cli.talk", "send", "Send a message into a session that runs."),
    "approvals": ("tui.cli.approvals", "approvals", "List, show, decide and answer what waits for you."),
    "rollback": ("tui.cli.versions", "rollback", "Take an agent back to an earlier version, or undo that."),
    "snapshot": ("tui.cli.versions", "snapshot", "Create, list, compare, export and import versions."),
    "trace": ("tui.cli.traces", "trace", "List, show, analyse, export and import traces."),
    "scoreboard": ("tui.cli.scores", "scoreboard", "Show a benchmark's score history and Candidates."),
    "skill": ("tui.cli.skills", "skill", "List, show, search, compare, check and carry skills."),
    "strategy": ("tui.cli.strategies", "strategy", "See, release and take back the strategies that govern skills."),
    "stream": ("tui.cli.stream", "stream", "Measure what skills bring: arms on the same stream of tasks."),
    "train": ("tui.cli.train", "train", "Train a curator, watch it, compare runs, put one in use."),
    "doctor": ("tui.cli.doctor", "doctor", "Check this machine and name a fix for each finding."),
}


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one only to run it or to show its own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            if cmd_name.startswith("-"):
                return None  # click tells about unknown options
            from difflib import get_close_matches

            near = " or ".join(f"'{name}'" for name in get_close_matches(cmd_name, COMMANDS))
            raise click.UsageError(f"No such command {cmd_name!r}.{f' Did you mean {near}?' if near else ''}", ctx)
        module, attribute, _ = COMMANDS[cmd_name]
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Examples:  exuvia demo   |   exuvia --home DIR   |   exuvia --plain   |   exuvia --read-only open   |   "
    "exuvia demo --headless --approve auto --json",
)
@click.version_option(__version__, "--version", "-V", prog_name="exuvia")
@click.option("--home", metavar="DIR", help="State directory (else EXUVIA_HOME, PENGUIN_HOME, ~/.exuvia/data).")
@click.option("--read-only", is_flag=True, envvar="EXUVIA_READ_ONLY", help="Change nothing: core refuses every act.")
@click.option("--plain", is_flag=True, envvar="EXUVIA_PLAIN", help="No full screen: events line by line.")
@click.option("--once", is_flag=True, help="With --plain: where things stand, and no more.")
@click.option("--json", "as_json", is_flag=True, help="With --plain: a JSON document on each line.")
@click.pass_context
def cli(ctx: click.Context, home: str | None, read_only: bool, plain: bool, once: bool, as_json: bool) -> object:
    """Watch, measure and improve self-evolving agents.

    Without a command, opens the console; with --plain it tells where things stand and then what happens, line by
    line, for screen readers, logs and terminals that cannot show a screen. EXUVIA_READ_ONLY=1 and EXUVIA_PLAIN=1 are
    the same as the options. Exit codes: 0 done, 1 failed, 2 usage, 3 blocked and waiting for the operator,
    130 interrupted.
    """
    if ctx.invoked_subcommand is None:
        from tui.cli.console import open_console

        return ctx.invoke(open_console, home=home, read_only=read_only, plain=plain, once=once, as_json=as_json)
    if once or as_json:
        word = "--once" if once else "--json"
        raise click.UsageError(f"{word} before a command belongs to --plain; say it after {ctx.invoked_subcommand}.")
    return None


def _invoked(arguments: list[str]) -> object:
    """Call the command; unlike click's own `main` this leaves a closed pipe to the caller."""
    try:
        with cli.make_context("exuvia", list(arguments)) as context:
            try:
                return cli.invoke(context)
            except ExuviaError as error:
                if error.hint:
                    from tui.cli.common import here

                    error.hint = here(error.hint)  # what it suggests must work on the home that was named
                raise
    except click.exceptions.Exit as leaving:
        return leaving.exit_code


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line; every error a person can act on leaves with its text, its way out and its code."""
    from tui.cli import leaving

    given: list[str] = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in given
    if "_EXUVIA_COMPLETE" in os.environ:
        cli.main(prog_name="exuvia")  # a shell asks for completions
    leaving.make_output_safe()
    try:
        result = _invoked(given)
        sys.stdout.flush()
    except ExuviaError as error:
        leaving.with_error(str(error), error.hint, int(error.exit_code), as_json=as_json)
    except (click.exceptions.Abort, KeyboardInterrupt, EOFError):
        leaving.with_error("interrupted", "", int(ExitCode.INTERRUPTED), as_json=as_json)
    except click.ClickException as error:
        leaving.with_usage(error, as_json=as_json)
    except BrokenPipeError:
        leaving.unread()
    except OSError as error:
        leaving.with_os_error(error, as_json=as_json)
    sys.exit(result if isinstance(result, int) else 0)
