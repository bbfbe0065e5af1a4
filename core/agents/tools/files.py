"""File tools: read_file, write_file, edit_file. They touch what the policy names and nothing else.

Errors are answers to the model and begin with "Error"; what a listing shows lies beside a file that may be read.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from core.agents.isolation.beneath import open_beneath
from core.agents.isolation.policy import IsolationPolicy
from core.agents.tool import ToolContext, ToolResult
from core.foundation.errors import UsageError
from core.foundation.visible import decode
from core.models.interface import ToolSpec

_LINES = 2000
_LONGEST_READ = 32 << 20
_LONGEST_DIFF = 400  # lines on either side beyond which a change is counted, not shown
_LISTED = 40


class FileRefusedError(UsageError):
    """A path that this tool may not or cannot use; the text is for the model."""


@dataclass(frozen=True)
class Reach:
    """Which files a Session's tools may touch: paths relative to `workspace`, judged by `policy`."""

    policy: IsolationPolicy
    workspace: Path

    def resolve(self, name: str, *, write: bool) -> Path:
        """Return the real path of `name`, or raise FileRefusedError."""
        if "\0" in name or not name.strip():
            raise FileRefusedError(f"Error: {name!r} is no path.")
        path = self.workspace / name
        try:
            real = path.resolve()
        except (OSError, RuntimeError) as error:
            raise FileRefusedError(f"Error: {name} cannot be resolved: {error}.") from error
        if not self.policy.allows(real, write=write):
            verb = "written" if write else "read"
            raise FileRefusedError(f"Error: {name} is outside what may be {verb} here.")
        return real


def _read(reach: Reach, path: Path, name: str) -> bytes:
    try:
        fd = open_beneath(reach.policy, path)
    except OSError as error:
        raise FileRefusedError(_missing(path, name, error)) from error
    with os.fdopen(fd, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > _LONGEST_READ:
            raise FileRefusedError(f"Error: {name} has {size} bytes, too many to read whole; use a command.")
        return file.read(_LONGEST_READ)


def _missing(path: Path, name: str, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        parent = path.parent
        if parent.is_dir():
            return f"Error: file not found: {name}. The directory {parent} contains: {_listing(parent)}."
        return f"Error: file not found: {name}; its directory {parent} does not exist either."
    if isinstance(error, IsADirectoryError):
        return f"Error: {name} is a directory. It contains: {_listing(path)}."
    return f"Error: {name}: {error.strerror or error}."


def _listing(directory: Path) -> str:
    try:
        names = sorted(entry.name + ("/" if entry.is_dir() else "") for entry in os.scandir(directory))
    except OSError:
        return "what cannot be listed here"
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return (", ".join(names[:_LISTED]) + more) or "nothing"


def _write(reach: Reach, path: Path, name: str, content: bytes) -> None:
    try:
        with os.fdopen(open_beneath(reach.policy, path, write=True, make_parents=True), "wb") as file:
            file.write(content)
    except OSError as error:
        raise FileRefusedError(_missing(path, name, error)) from error


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", errors="replace")


def _change(old: str, new: str) -> str:
    before, after = old.splitlines(), new.splitlines()
    if max(len(before), len(after)) > _LONGEST_DIFF:
        return ""
    lines = list(difflib.unified_diff(before, after, lineterm="", n=1))[2:]
    return "\n" + "\n".join(lines) if lines else ""


def _counted(text: str) -> str:
    lines = len(text.splitlines())
    return f"{lines} line{'' if lines == 1 else 's'}, {len(_encoded(text))} bytes"


_PATH = {"type": "string", "description": "The file: absolute, or relative to the Workspace."}
READ_FILE = ToolSpec(
    "read_file",
    "Read a text file as it stands. A long file is read in pieces with offset and limit.",
    {
        "type": "object",
        "properties": {
            "file_path": _PATH,
            "offset": {"type": "integer", "description": "First line wanted, counted from 1."},
            "limit": {"type": "integer", "description": f"How many lines at most; {_LINES} where it is not given."},
        },
        "required": ["file_path"],
    },
)
WRITE_FILE = ToolSpec(
    "write_file",
    "Write a whole file; directories on the way are made, a file that is there is replaced.",
    {
        "type": "object",
        "properties": {"file_path": _PATH, "content": {"type": "string", "description": "All of its text."}},
        "required": ["file_path", "content"],
    },
)
EDIT_FILE = ToolSpec(
    "edit_file",
    "Replace a piece of text in a file. It must stand there exactly once, white space included, or set replace_all.",
    {
        "type": "object",
        "properties": {
            "file_path": _PATH,
            "old_string": {"type": "string", "description": "The text to replace, to the letter."},
            "new_string": {"type": "string", "description": "What takes its place."},
            "replace_all": {"type": "boolean", "description": "Replace every occurrence."},
        },
        "required": ["file_path", "old_string", "new_string"],
    },
)


@dataclass(frozen=True)
class ReadFile:
    """read_file: plain text, in pieces."""

    reach: Reach
    spec: ToolSpec = READ_FILE
    permission: Literal["r", "rw"] = "r"
    timeout_s: float = 30.0
    max_output: int = 64_000
    repeatable: bool = True

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Return the file's text, or the lines asked for."""
        name = arguments["file_path"]
        text = decode(_read(self.reach, self.reach.resolve(name, write=False), name))
        first = max(int(arguments.get("offset", 1)), 1)
        count = max(int(arguments.get("limit", _LINES)), 1)
        lines = text.splitlines(keepends=True)
        if first == 1 and len(lines) <= count:
            return ToolResult(text or "[the file is empty]")
        piece = "".join(lines[first - 1 : first - 1 + count])
        last = min(first - 1 + count, len(lines))
        if not piece:
            return ToolResult(f"Error: {name} has {len(lines)} lines, none from {first} on.", "failed")
        if last < len(lines):
            piece = f"{piece}\n[lines {first} to {last} of {len(lines)}; go on with offset {last + 1}]"
        return ToolResult(piece)


@dataclass(frozen=True)
class WriteFile:
    """write_file: the whole of a file."""

    reach: Reach
    spec: ToolSpec = WRITE_FILE
    permission: Literal["r", "rw"] = "rw"
    timeout_s: float = 30.0
    max_output: int = 16_000
    repeatable: bool = True

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Write it and tell what changed."""
        name, content = arguments["file_path"], arguments["content"]
        path = self.reach.resolve(name, write=True)
        try:
            old: str | None = decode(_read(self.reach, path, name)) if path.exists() else None
        except FileRefusedError:
            old = ""
        _write(self.reach, path, name, _encoded(content))
        if old is None:
            return ToolResult(f"Created {name} ({_counted(content)}).")
        return ToolResult(f"Overwrote {name} ({_counted(content)}).{_change(old, content)}")


@dataclass(frozen=True)
class EditFile:
    """edit_file: one exact replacement, or all of them."""

    reach: Reach
    spec: ToolSpec = EDIT_FILE
    permission: Literal["r", "rw"] = "rw"
    timeout_s: float = 30.0
    max_output: int = 16_000
    repeatable: bool = field(default=False)  # a second time, the old text is gone

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Replace, or say why not; bytes that are no UTF-8 stop it, for they would be lost."""
        name, old, new = arguments["file_path"], arguments["old_string"], arguments["new_string"]
        path = self.reach.resolve(name, write=True)
        raw = _read(self.reach, path, name)
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise FileRefusedError(f"Error: {name} is not UTF-8 (byte {error.start}); use a command.") from error
        if not old or old == new:
            raise FileRefusedError("Error: old_string must not be empty, and new_string must differ from it.")
        found = text.count(old)
        if found == 0:
            raise FileRefusedError(f"Error: old_string does not stand in {name}. Read it again and copy it exactly.")
        if found > 1 and not arguments.get("replace_all"):
            raise FileRefusedError(
                f"Error: old_string stands in {name} {found} times. Give more of its surroundings, or set replace_all."
            )
        changed = text.replace(old, new)
        _write(self.reach, path, name, _encoded(changed))
        times = "1 occurrence" if found == 1 else f"{found} occurrences"
        return ToolResult(f"Replaced {times} in {name}.{_change(text, changed)}")


def file_tools(reach: Reach) -> tuple[ReadFile, WriteFile, EditFile]:
    """Return the three file tools over one reach."""
    return ReadFile(reach), WriteFile(reach), EditFile(reach)
