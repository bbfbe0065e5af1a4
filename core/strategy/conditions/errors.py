"""What is wrong with a condition, and where."""

from __future__ import annotations

from core.foundation.errors import UsageError


class ConditionError(UsageError):
    """A condition can't be taken. `line` and `column` count from 1 within its text; `path` is the name it is about,
    empty where it isn't about one."""

    def __init__(self, reason: str, line: int, column: int, path: str = "") -> None:
        super().__init__(
            f"condition {line}:{column}: {reason}", hint="docs/strategies.md has the language of conditions."
        )
        self.reason = reason
        self.line = line
        self.column = column
        self.path = path


def error_at(text: str, at: int, reason: str, path: str = "") -> ConditionError:
    """Return the error of the character with number `at` of `text`."""
    before = text[:at]
    return ConditionError(reason, before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1, path)
