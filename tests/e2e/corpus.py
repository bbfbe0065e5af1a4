"""What an agent may write to attack whoever looks: escapes, C1 codes, direction overrides, markup.

`poison` puts it into every free text of a whole home, so that a test need not know where texts are shown.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from core.foundation.clock import IDENTIFIER, parse_ms

ATTACK = (
    "\x1b]0;owned\x07[/nope][red]\x1b[2K\rALL PASSED\x1b[1A\x1b]52;c;aGk=\x07\x9b31mred\x90q\x9c\x85\u202e"
    "gnp.exe\u2066\u200b\x00\x08\x7f\x1bP1$q\x1b\\\x1bcbold[/] [@click=app.quit]x[/]\u2028"
)
SHOWN = "␛]0;owned"
"""How its beginning looks to a person."""

_OWN_SEQUENCES = re.compile(
    r"\x1b\[[0-9;:]*m"  # styles
    r"|\x1b\[[0-9;]*H|\x1b\[[0-9]+G|\x1b\[[JK]"  # places, and what is erased from there on
    r"|\x1b\[[?><=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p"  # modes and questions about them
    r"|\x1b\]22;[a-z]*\x07|\x1b\[[0-9 ]*q"  # shapes of pointer and cursor
    r"|\x1b\[c"
)
_RAW = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def raw_controls(output: bytes, *, is_screen: bool) -> list[str]:
    """Return the control codes in `output` that are not the frame's own, each with what stands around it."""
    text = output.decode("utf-8", "replace")
    if is_screen:
        text = _OWN_SEQUENCES.sub("", text)
    found = [
        f"{match.group()!r} in {text[max(0, match.start() - 30) : match.end() + 30]!r}" for match in _RAW.finditer(text)
    ]
    if not is_screen and "\r" in text.replace("\r\n", "\n"):
        found.append("a carriage return")
    return found


def poison(home: Path) -> int:
    """Append the attack to every free text in the JSON and Markdown files of a home; return how many there were."""
    count = 0
    for path in sorted(home.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        if path.suffix == ".jsonl":
            lines = path.read_text(encoding="utf-8").splitlines()
            done = [_poisoned_line(line) for line in lines]
            path.write_text("".join(f"{line}\n" for line, _ in done), encoding="utf-8")
            count += sum(number for _, number in done)
        elif path.suffix == ".json" and path.name != "spec.json" and "workspaces" not in path.parts:
            line, number = _poisoned_line(path.read_text(encoding="utf-8"))
            path.write_text(line, encoding="utf-8")
            count += number
        elif path.suffix == ".md" and "workspaces" not in path.parts:
            path.write_text(f"{path.read_text(encoding='utf-8')}\n{ATTACK}\n", encoding="utf-8")
            count += 1
        elif path.name == "scoreboard.yaml":
            document = yaml.safe_load(path.read_text(encoding="utf-8"))
            path.write_text(yaml.safe_dump(_poisoned(document, "", [0])), encoding="utf-8")
    return count


def _poisoned_line(line: str) -> tuple[str, int]:
    try:
        document = json.loads(line)
    except ValueError:
        return line, 0
    counter = [0]
    return json.dumps(_poisoned(document, "", counter)), counter[0]


def _poisoned(value: Any, key: str, counter: list[int]) -> Any:
    if isinstance(value, dict):
        return {name: _poisoned(item, name, counter) for name, item in value.items()}
    if isinstance(value, list):
        return [_poisoned(item, key, counter) for item in value]
    if not isinstance(value, str) or not _is_free(value, key):
        return value
    counter[0] += 1
    return value + ATTACK


def _is_free(value: str, key: str) -> bool:
    """Tell words from ids, times, paths and hashes, which a reader would refuse with the attack in them."""
    if key in ("arguments",) and value.startswith(("{", "[")):
        return False
    if (
        key in _CLOSED
        or IDENTIFIER.fullmatch(value)
        or parse_ms(value) is not None
        or value.startswith(("/", "sha256:"))
    ):
        return False
    return " " in value or key in _FREE


_CLOSED = frozenset({"time", "timestamp", "digest", "state_hash", "cwd", "path", "workspace"})
_FREE = frozenset(
    {"text", "output", "thinking", "hypothesis", "note", "reason", "title", "summary", "message", "signature"}
)
