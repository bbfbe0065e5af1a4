"""How the command line ends when it cannot go on: what happened, the way out, and the exit code.

The text goes to stderr; with --json the same facts are the one document on stdout. What a person or a file put into
the text is printed through the sanitizer.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import sys
from typing import NoReturn, TextIO

import click

from core.foundation.errors import ExitCode
from core.foundation.visible import visible

_WAY_OUT = {
    errno.ENOSPC: "The file system is full: free some space, then say it again. What was there is unchanged.",
    errno.EDQUOT: "Your quota is used up: free some space, then say it again. What was there is unchanged.",
    errno.EACCES: "Mend the owner or mode of it, or name another place.",
    errno.EPERM: "Mend the owner or mode of it, or name another place.",
    errno.EROFS: "The file system is read-only: name another place with --home.",
    errno.ENOTDIR: "A part of this path is a file: name a directory.",
    errno.EISDIR: "This is a directory: name a file.",
}


def make_output_safe() -> None:
    """Let no character stop the output: what the terminal's encoding lacks is written as its escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def with_error(text: str, hint: str, code: int, *, as_json: bool) -> NoReturn:
    """Print an error and its way out, and exit with its code, whether or not anyone can read it."""
    if as_json:
        document = json.dumps({"error": text, "hint": hint, "exit_code": code}, indent=1)
        _write(sys.stdout, document + "\n")
    _write(sys.stderr, visible(f"exuvia: {text}\n" + "".join(f"        {line}\n" for line in hint.splitlines())))
    unread(code)


def _write(stream: TextIO, text: str) -> None:
    with contextlib.suppress(OSError):  # a closed pipe or a full disk: the exit code still tells
        stream.write(text)
        stream.flush()


def with_usage(error: click.ClickException, *, as_json: bool) -> NoReturn:
    """Print what is wrong with the words of a command, and how they should be; a bare group shows its help."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and not as_json:
        error.show()
        sys.exit(error.exit_code)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        text = "The command is incomplete."
    else:
        text = error.format_message()
    hint = "" if context is None else f"{context.get_usage()}\n{_example(context)}More: {context.command_path} --help"
    with_error(text, hint, error.exit_code, as_json=as_json)


def _example(context: click.Context) -> str:
    """Return the example of a command that was used wrongly; that of a group shows another command."""
    known = "" if isinstance(context.command, click.Group) else context.command.epilog or ""
    return known and f"{' '.join(known.split())}\n"


def with_os_error(error: OSError, *, as_json: bool) -> NoReturn:
    """Print what the system refused, and for which file."""
    names = [str(name) for name in (error.filename, error.filename2) if name is not None]
    text = f"{error.strerror or error}{': ' if names else ''}{' -> '.join(names)}"
    with_error(text, _WAY_OUT.get(error.errno or 0, ""), int(ExitCode.FAILED), as_json=as_json)


def unread(code: int = int(ExitCode.DONE)) -> NoReturn:
    """End without another word: the reader of the output (a pager, `head`) has seen enough, or cannot be reached."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            # Python flushes once more when it ends; what is left in the buffer has to go somewhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)
