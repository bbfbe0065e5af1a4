"""Groups whose commands are imported when they are called: a command pays for itself only."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import click


class LateGroup(click.Group):
    """A group that knows some of its commands by name: `late` is name to (module, attribute, one line of help).

    Help of the group is printed from there, without the imports; `parts` is heading to the commands below it, what is
    in none of them comes last.
    """

    def __init__(
        self,
        *args: Any,
        late: Mapping[str, tuple[str, str, str]] | None = None,
        parts: Mapping[str, Sequence[str]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.late = dict(late or {})
        self.parts = dict(parts or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self.commands, *self.late})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.late:
            return super().get_command(ctx, cmd_name)
        module, attribute, _ = self.late[cmd_name]
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        lines = {name: line for name, (_, _, line) in self.late.items()}
        lines |= {name: command.get_short_help_str(90) for name, command in self.commands.items()}
        for heading, names in self.parts.items():
            with formatter.section(heading):
                formatter.write_dl([(name, lines.pop(name)) for name in names])
        if lines:
            with formatter.section("Commands"):
                formatter.write_dl(sorted(lines.items()))
