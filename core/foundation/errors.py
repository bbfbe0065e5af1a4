"""The family of errors that reach an operator or a model.

Each says what happened to what (`str(error)`) and what to do next (`hint`); the exit code tells
a script which kind it was. Nothing secret may stand in either text.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of every `exuvia` command."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    BLOCKED = 3  # waits for the operator
    INTERRUPTED = 130


class ExuviaError(Exception):
    """Something went wrong that a person can act on."""

    exit_code: ExitCode = ExitCode.FAILED

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(ExuviaError):
    """The request itself is off: a name, an argument, a missing thing."""

    exit_code = ExitCode.USAGE


class NotFoundError(UsageError):
    """Something named does not exist."""


class ConflictError(ExuviaError):
    """What is on disk is not what the caller thought: a concurrent change, a taken name, a decided approval."""


class BlockedError(ExuviaError):
    """The work cannot go on without the operator."""

    exit_code = ExitCode.BLOCKED


class RefusedError(ExuviaError):
    """The protocol forbids it; the text tells a model or a person how to go on."""


class DamagedError(ExuviaError):
    """A file or archive cannot be read as what it should be."""


class IsolationError(ExuviaError):
    """The kernel cannot confine a process as the policy asks."""
