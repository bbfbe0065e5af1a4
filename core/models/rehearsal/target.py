"""The rehearsal Target: a literal worker that does the hurried thing unless it is given a procedure.

It reads the statement, looks at the files, and runs real commands. A procedure is a fenced `sh` block: those
under "## Before you start" and "## Before you finish" of AGENTS.md, and those under "## Procedure" of the most
relevant installed skill, which take the place of its own recipe. They are followed to the letter, right or
wrong; prose has no effect. A line `bind NAME=value` that such a block prints sets a shell variable from then on.

`reply` is a pure function: the worker is written as a generator that is run again over the outputs that the
conversation holds, up to the first call that has none.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from core.models.interface import Request, Text
from core.models.rehearsal.target_prompt import (
    BEFORE_FINISH,
    BEFORE_START,
    PROCEDURE,
    blocks,
    most_relevant,
    skills,
)
from core.models.rehearsal.target_recipes import ARCHIVE_FOLDER, RECIPES
from core.models.rehearsal.target_statement import bind, recognise
from core.models.rehearsal.transcript import Reply, Transcript, call, draw, newest_prompt

ASK = "ask_operator"  # only a chat offers it to an agent
SLIP_RATE = 0.15  # how often a hurried hand spoils the end of a finished table
_SLIP = (
    '{ head -n -2 "$OUT"; tail -n 1 "$OUT"; tail -n 2 "$OUT" | head -n 1; } > .last && cat .last > "$OUT"; rm -f .last'
)
_LOOK = "find . -type f -not -path './.*' | sort | head -n 400 | sed 's|^\\./|@file |'"
_FILE = re.compile(r"^@file (.+?)\s*$", re.MULTILINE)
_BIND = re.compile(r"^bind ([A-Z][A-Z_]*)=(.*?)\s*$", re.MULTILINE)
_MENTIONED = re.compile(r"\b([\w.-]+\.(?:md|txt))\b")
_LINE_NUMBER = re.compile(r"^\s*\d+(?:\t|→|\| )", re.MULTILINE)

_SMALL_TALK = (
    "I am the rehearsal model: I do small data chores (tables, lists, logs, letters, archives) by what a task says. "
    "There is no file here that your message names. Put one into the workspace, then tell me its name and what shall "
    "come of it."
)

Work = Generator[tuple[str, dict[str, Any]], str, str]


@dataclass
class _Desk:
    """The worker's variables while it works."""

    kind: str = "table"
    variables: dict[str, str] = field(default_factory=dict)

    def command(self, script: str, **extra: str) -> str:
        """Return `script` with the variables set before it."""
        given = {**self.variables, **extra}
        names = " ".join(f"{name}={shlex.quote(value)}" for name, value in sorted(given.items()))
        return f"export {names}\n{script}" if names else script

    def learn(self, output: str) -> None:
        """Take over what a block bound."""
        self.variables.update(_BIND.findall(output))


def reply(request: Request, seed: int) -> Reply:
    """Return the worker's next message: one tool call, or the short text that ends its work."""
    script = Transcript.of(newest_prompt(request))
    tools = {tool.name for tool in request.tools}
    if "exec_command" not in tools:
        return (Text("assistant", "I can only work with commands, and there are none here. Nothing was done."),)
    chats = ASK in tools
    work = _work(request.system_prompt, script.first_user, seed, can_read="read_file" in tools, chats=chats)
    try:
        name, arguments = next(work)
        for step in script.steps:
            name, arguments = work.send(_plain(step.output or ""))
    except StopIteration as end:
        return (Text("assistant", str(end.value)),)
    return (call(request, 0, name, arguments),)


def _plain(output: str) -> str:
    """Return the text of a tool output, whatever wrapping the tool put around it."""
    stripped = output.lstrip()
    if stripped.startswith("{"):
        try:
            value = json.loads(stripped)
        except ValueError:
            return output
        if isinstance(value, dict):
            for name in ("output", "content", "stdout", "text"):
                if isinstance(value.get(name), str):
                    return str(value[name])
    return output


def _shell(description: str, script: str) -> tuple[str, dict[str, str]]:
    return "exec_command", {"description": description, "cmd": script}


def _python(script: str) -> str:
    return f"python3 - <<'PY'\n{script}PY"


def _work(system_prompt: str, prompt: str, seed: int, *, can_read: bool, chats: bool = False) -> Work:
    """Do the job, one call at a time; the generator's value is the closing text. In a chat (`chats`) it may ask."""
    desk = _Desk()
    statement = yield from _read_statement(prompt, can_read=can_read)
    listing = yield _shell("See which files there are", _LOOK)
    files = _FILE.findall(listing)
    desk.variables = bind(statement, files)
    if chats and files and not desk.variables.get("IN"):
        meant = yield ASK, {"question": "Your message names no file here. Which one do you mean?", "options": files[:9]}
        desk.variables = bind(f"{statement}\n\nInput: `{meant.strip()}`", files)
    inputs = [name for name in desk.variables.get("INPUTS", "").split(",") if name]
    first = desk.variables.get("IN", "")
    desk.kind = recognise(statement, [first, *inputs])
    desk.variables["KIND"] = desk.kind
    if not first and chats:
        return _SMALL_TALK
    if not first:
        return "I read the task but found no input file that it names, so I stopped there."
    for block in blocks(system_prompt, BEFORE_START):
        desk.learn((yield _shell("Do what AGENTS.md asks before the start", desk.command(block))))
    skill = most_relevant(statement, skills(system_prompt))
    procedure: tuple[str, ...] = ()
    if skill is not None:
        text = yield from _read(skill.path, can_read=can_read)
        procedure = blocks(text, PROCEDURE)
    if procedure:
        for number, block in enumerate(procedure, 1):
            step = f"Step {number} of {len(procedure)} of the skill's procedure"
            desk.learn((yield _shell(step, desk.command(block))))
    else:
        yield from _hurried(desk, files)
    if desk.variables.get("OUT", "").endswith(".csv") and draw(seed, statement, "slip") < SLIP_RATE:
        yield _shell("Put the last line where it seems to belong", desk.command(_SLIP))
    for block in blocks(system_prompt, BEFORE_FINISH):
        desk.learn((yield _shell("Do what AGENTS.md asks before the end", desk.command(block))))
    return f"Done: {desk.variables.get('OUTPUTS', 'the files')} as the task asks."


def _read_statement(prompt: str, *, can_read: bool) -> Work:
    """Return the statement: the file that the prompt names, or the prompt itself."""
    named = _MENTIONED.search(prompt)
    if named is None:
        return prompt
    return (yield from _read(named[1], can_read=can_read))


def _read(path: str, *, can_read: bool) -> Work:
    if can_read:
        text = yield "read_file", {"file_path": path}
    else:
        text = yield _shell(f"Read {PurePosixPath(path).name}", f"cat {shlex.quote(path)}")
    lines = text.splitlines()
    numbered = sum(bool(_LINE_NUMBER.match(line)) for line in lines)
    return _LINE_NUMBER.sub("", text) if lines and numbered == len(lines) else text


def _hurried(desk: _Desk, files: list[str]) -> Work:
    """Do the chore by its recipe; a folder at a time where files are to be moved."""
    if desk.kind == "archive":
        root = desk.variables.get("DIR", desk.variables["IN"]).rstrip("/")
        folders = sorted({str(PurePosixPath(name).parent) for name in files if name.startswith(root + "/")})
        for folder in folders:
            script = desk.command(_python(ARCHIVE_FOLDER), FOLDER=folder)
            yield _shell(f"Copy the files of {folder} under their new names", script)
        yield _shell("Write the manifest", desk.command(_python(RECIPES["archive"])))
        return ""
    yield _shell("Do the work in one go", desk.command(_python(RECIPES[desk.kind])))
    return ""
