"""The one reader of SKILL.md, for three dialects, detected (DECISIONS 23; EVOLUTION 1.8 no. 27).

*curated*: YAML front matter with exactly `name` and `description`. *agent-skills*: YAML front matter after
agentskills.io (name, description, license, compatibility, metadata, allowed-tools). *lenient*: `key: value` lines
split at the first colon, which is how existing agents read their skills.

Reading never refuses: it gives what can be read and says what is wrong, with line and column. Writing is strict.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from core.foundation.errors import UsageError
from core.foundation.visible import visible_line
from core.skillrepo.titles import title_problem
from core.state.yaml12 import YamlError, load
from core.state.yaml_text import quoted, scalar

Dialect = Literal["curated", "agent-skills", "lenient", "none"]
NAME = re.compile(r"^[a-z0-9]+(?:-[a-z0-9]+)*$")
NAME_LIMIT = 64
DESCRIPTION_LIMIT = 1024
COMPATIBILITY_LIMIT = 500
_AGENT_SKILLS_KEYS = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something off in a document; `line` and `column` count from 1, `severity` error means "would not be written"."""

    severity: Literal["error", "warning"]
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.severity}: {self.message}"


@dataclass(frozen=True, slots=True)
class SkillDocument:
    """A SKILL.md as read. `fields` holds the front matter as text; `body` is what follows it.

    `text` is the whole of it without byte order mark and carriage returns, `metadata` the mapping of that name.
    """

    name: str
    description: str
    dialect: Dialect
    fields: Mapping[str, str]
    body: str
    diagnostics: tuple[Diagnostic, ...] = ()
    text: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def valid(self) -> bool:
        """Whether a strict writer would write it so."""
        return not any(found.severity == "error" for found in self.diagnostics)


def _decoded(raw: bytes, found: list[Diagnostic]) -> str:
    if raw.startswith(b"\xef\xbb\xbf"):
        raw = raw[3:]
        found.append(Diagnostic("warning", 1, 1, "starts with a byte order mark"))
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
        found.append(_at(before, len(before), "error", f"byte 0x{raw[error.start]:02x} is not UTF-8"))
        text = raw.decode("utf-8", errors="replace")
    if (first := text.find("\r")) >= 0:
        found.append(_at(text, first, "warning", "has CR line ends"))
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if match := _CONTROL.search(text):
        found.append(_at(text, match.start(), "error", f"control character {visible_line(match.group())}"))
    return text


def _at(text: str, position: int, severity: Literal["error", "warning"], message: str) -> Diagnostic:
    """Return the diagnostic for the character at `position`; columns count characters, not bytes."""
    line = text.count("\n", 0, position) + 1
    return Diagnostic(severity, line, position - text.rfind("\n", 0, position), message)


def _split(text: str, found: list[Diagnostic]) -> tuple[list[str] | None, str]:
    """Return the lines of the front matter (None: there is none) and the body."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        found.append(Diagnostic("error", 1, 1, "does not start with a front matter line '---'"))
        return None, text
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == "---":
            return lines[1:number], "\n".join(lines[number + 1 :])
    found.append(Diagnostic("error", 1, 1, "the front matter is not closed by a line '---'"))
    return None, text


def _lenient(lines: list[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in lines:
        key, colon, value = line.partition(":")
        if colon and key.strip() and not line[0].isspace():
            fields[key.strip()] = value.strip().strip("\"'")
    return fields


def _quoted_hint(lines: list[str]) -> str:
    for line in lines:
        key, colon, value = line.partition(":")
        value = value.strip()
        if colon and ": " in value and not value.startswith(('"', "'", "|", ">", "{", "[")):
            return f"; quote it: {key}: {quoted(value)}"
    return ""


def _yaml(lines: list[str], found: list[Diagnostic]) -> dict[str, Any] | None:
    try:
        document = load("\n".join(lines))
    except YamlError as error:
        line = (error.line or 1) + 1
        message = f"front matter is not YAML ({error}){_quoted_hint(lines)}"
        found.append(Diagnostic("error", line, error.column or 1, message))
        return None
    if not isinstance(document, dict):
        found.append(Diagnostic("error", 2, 1, "front matter is not a mapping"))
        return None
    return {str(key): value for key, value in document.items()}


def _line_of(lines: list[str], key: str) -> int:
    return next((number for number, line in enumerate(lines, 2) if line.partition(":")[0].strip(" \"'") == key), 1)


def _value_column(lines: list[str], key: str) -> int:
    """Return the column where the value of `key` begins, 1 where it can't be told."""
    for line in lines:
        name, colon, value = line.partition(":")
        if colon and name.strip(" \"'") == key:
            return len(line) - len(value.lstrip()) + 1
    return 1


def _detect(document: dict[str, Any] | None) -> Dialect:
    if document is None:
        return "lenient"
    keys = set(document)
    if keys == {"name", "description"}:
        return "curated"
    if keys <= _AGENT_SKILLS_KEYS:
        return "agent-skills"
    return "lenient"


def _judge(name: str, description: str, directory: str | None, lines: list[str], found: list[Diagnostic]) -> None:
    at = _line_of(lines, "name")
    if not name:
        found.append(Diagnostic("error", at, 1, "has no name"))
    elif not NAME.fullmatch(name) or len(name) > NAME_LIMIT:
        found.append(
            Diagnostic("error", at, 1, f"name is not lower-case words joined by '-' of at most {NAME_LIMIT} characters")
        )
    elif directory is not None and name != directory:
        found.append(Diagnostic("error", at, 1, f"name differs from its directory {visible_line(directory)!r}"))
    _judge_description(description, lines, found)


def _judge_optional(document: Mapping[str, Any], lines: list[str], found: list[Diagnostic]) -> None:
    """Judge the keys that agentskills.io allows beside name and description."""
    for key in ("license", "compatibility", "allowed-tools"):
        value = document.get(key, "")
        if not isinstance(value, str):
            found.append(Diagnostic("warning", _line_of(lines, key), _value_column(lines, key), f"{key} is no text"))
        elif key == "compatibility" and len(value) > COMPATIBILITY_LIMIT:
            what = f"compatibility is longer than {COMPATIBILITY_LIMIT} characters"
            found.append(Diagnostic("error", _line_of(lines, key), 1, what))
    metadata = document.get("metadata", {})
    if not isinstance(metadata, dict):
        found.append(Diagnostic("error", _line_of(lines, "metadata"), 1, "metadata is no mapping"))
    elif not all(isinstance(value, str) for value in metadata.values()):
        found.append(Diagnostic("warning", _line_of(lines, "metadata"), 1, "metadata holds a value that is no text"))


def _texts(metadata: object) -> dict[str, str]:
    return {str(key): _as_text(value) for key, value in metadata.items()} if isinstance(metadata, dict) else {}


def _judge_description(description: str, lines: list[str], found: list[Diagnostic]) -> None:
    at = _line_of(lines, "description")
    if not description:
        found.append(Diagnostic("error", at, 1, "has no description"))
    elif len(description) > DESCRIPTION_LIMIT:
        found.append(Diagnostic("error", at, 1, f"description is longer than {DESCRIPTION_LIMIT} characters"))
    elif match := _CONTROL.search(description):  # written as an escape: the bytes of the file are plain
        what = f"description holds the control character {visible_line(match.group())}"
        found.append(Diagnostic("error", at, _value_column(lines, "description"), what))


def read_text(raw: bytes | str, *, directory: str | None = None) -> SkillDocument:
    """Read a SKILL.md. `directory` is its directory's name, which wins over the name in the front matter."""
    found: list[Diagnostic] = []
    text = _decoded(raw.encode("utf-8", errors="surrogatepass") if isinstance(raw, str) else raw, found)
    head, body = _split(text, found)
    lines = head or []
    document = _yaml(lines, found) if head is not None else None
    fields = _lenient(lines) if document is None else {key: _as_text(value) for key, value in document.items()}
    stated = fields.get("name", "")
    description = fields.get("description", "")
    _judge(stated, description, directory, lines, found)
    dialect: Dialect = _detect(document) if head is not None else "none"
    if dialect == "agent-skills" and document is not None:
        _judge_optional(document, lines, found)
    metadata = _texts((document or {}).get("metadata"))
    return SkillDocument(directory or stated, description, dialect, fields, body, tuple(found), text, metadata)


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.strip() if isinstance(value, str) else str(value)


def read_curated(raw: bytes | str) -> SkillDocument:
    """Read a SKILL.md by the rules of a curated repository (CURATION 1.1, K1); the name is a free title.

    `valid` means: YAML front matter with exactly the keys `name` and `description`, both texts, then a body. A third
    key is an error, and so is anything that `read_text` calls one except the spelling of the name.
    """
    found: list[Diagnostic] = []
    text = _decoded(raw.encode("utf-8", errors="surrogatepass") if isinstance(raw, str) else raw, found)
    head, body = _split(text, found)
    lines = head or []
    document = _yaml(lines, found) if head is not None else None
    fields = _lenient(lines) if document is None else {key: _as_text(value) for key, value in document.items()}
    title, description = fields.get("name", ""), fields.get("description", "")
    for key, value in (document or {}).items():
        at = _line_of(lines, key)
        if key not in {"name", "description"}:
            found.append(
                Diagnostic("error", at, 1, f"key {visible_line(key)!r}: a curated skill has name and description")
            )
        elif not isinstance(value, str):
            found.append(Diagnostic("error", at, _value_column(lines, key), f"{key} is no text; put it in quotes"))
    if head is not None:
        if problem := title_problem(title):
            found.append(Diagnostic("error", _line_of(lines, "name"), _value_column(lines, "name"), problem))
        _judge_description(description, lines, found)
        if not body.strip():
            found.append(Diagnostic("error", len(lines) + 2, 1, "has no body below the front matter"))
    dialect: Dialect = _detect(document) if head is not None else "none"
    return SkillDocument(title, description, dialect, fields, body, tuple(found), text)


def read_skill(directory: Path) -> SkillDocument:
    """Read `<directory>/SKILL.md`. Raises OSError where there is none."""
    return read_text((directory / "SKILL.md").read_bytes(), directory=directory.name)


def installed(skills: Path) -> tuple[SkillDocument, ...]:
    """Return the skills below `skills`, sorted by name; directories without a SKILL.md are no skills."""
    if not skills.is_dir():
        return ()
    return tuple(
        read_skill(entry)
        for entry in sorted(skills.iterdir())
        if not entry.name.startswith(".") and (entry / "SKILL.md").is_file()
    )


def write_text(name: str, description: str, body: str) -> str:
    """Return a curated SKILL.md. Raises UsageError with every reason where a strict reader would refuse it."""
    text = f"---\nname: {scalar(name)}\ndescription: {scalar(description)}\n---\n\n{body.strip()}\n"
    document = read_text(text, directory=name)
    if not document.valid or document.description != description.strip():
        reasons = "; ".join(str(found) for found in document.diagnostics) or "the description does not survive writing"
        raise UsageError(f"Skill {visible_line(name)!r} cannot be written: {reasons}.", hint="Mend the head and retry.")
    return text
