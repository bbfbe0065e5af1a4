"""What the rehearsal Target takes from a public statement: the kind of chore, and names for its shell variables.

The reader is literal: names count only in backticks, columns only as list items, and whatever the statement
does not say stays unbound. Variables (all strings, lists joined by a comma):

========== =====================================================================================
README     the statement's file
IN         the first input file that the statement names (else the first input directory)
INPUTS     every named input, files and directories
DIR        the first named directory that exists
OUT        the first named file that does not exist yet
OUTPUTS    every such file
COLUMNS    the columns of OUT, in order
KEY        the column of which each value gets one row
SPEC       `column=operation:source` for each column, joined by `;`; operations: value, date, number, count,
           sum, min, max; the source is another backticked name, a quoted label, or the column itself
PATTERN    a backticked path with `<placeholders>`
MAPPING    a named input whose name speaks of a mapping or translation
========== =====================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

KINDS = ("table", "log", "config", "report", "archive", "text")

_EXTENSIONS = frozenset(
    {"csv", "tsv", "json", "jsonl", "ndjson", "log", "txt", "md", "ini", "conf", "cfg", "properties"}
)
_TICKED = re.compile(r"`([^`\n]+)`")
_NAME = re.compile(r"^[A-Za-z][A-Za-z0-9_.]*$")
_ITEM = re.compile(r"^\s*[-*]\s+`([A-Za-z][A-Za-z0-9_.]*)`\s*[:,(–-]?\s*(.*)$")
_QUOTED = re.compile(r"[\"“]([^\"”\n]+)[\"”]")
_KEY = re.compile(r"\b(?:per|for each|for every|of each|of every|each|every)\s+`([A-Za-z][A-Za-z0-9_.]*)`")
_WORD = re.compile(r"[a-z]+")

_CUES: dict[str, frozenset[str]] = {
    "table": frozenset({"register", "rows", "row", "spreadsheet", "duplicate", "list", "stock", "tidy", "clean"}),
    "log": frozenset({"log", "logs", "incident", "incidents", "error", "errors", "triage", "severity", "fault"}),
    "config": frozenset({"settings", "configuration", "config", "migrate", "migration", "options", "parameters"}),
    "report": frozenset({"report", "totals", "total", "sum", "summary", "figures", "statistics", "aggregate"}),
    "archive": frozenset({"archive", "rename", "renamed", "manifest", "scans", "folder", "folders", "copy", "copies"}),
    "text": frozenset({"letters", "letter", "mail", "mails", "messages", "notes", "extract", "correspondence", "text"}),
}
_KIND_OF_EXTENSION = {
    "csv": "table",
    "tsv": "table",
    "log": "log",
    "ini": "config",
    "conf": "config",
    "cfg": "config",
    "properties": "config",
    "json": "report",
    "jsonl": "report",
    "ndjson": "report",
    "txt": "text",
}
_EXTENSION_WEIGHT = 4


def words(text: str) -> list[str]:
    """Return the lower-case ASCII words of `text` in order."""
    return _WORD.findall(text.lower())


def _extension(name: str) -> str:
    return PurePosixPath(name).suffix.lstrip(".").lower()


def _is_path(name: str) -> bool:
    return " " not in name and "<" not in name and (name.endswith("/") or _extension(name) in _EXTENSIONS)


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _exists(name: str, files: frozenset[str]) -> bool:
    return name in files or any(file.startswith(name.rstrip("/") + "/") for file in files)


def recognise(statement: str, inputs: Iterable[str]) -> str:
    """Return the kind of chore: the one with most cue words, the type of the named inputs weighing most.

    Ties go to the first of KINDS; a text without any cue is a table chore.
    """
    found = words(statement)
    scores = {kind: sum(word in cues for word in found) for kind, cues in _CUES.items()}
    first = next((name for name in inputs if _extension(name) != "md"), "")
    if first:
        kind = "archive" if first.endswith("/") else _KIND_OF_EXTENSION.get(_extension(first))
        if kind is not None:
            scores[kind] += _EXTENSION_WEIGHT
    return max(KINDS, key=lambda kind: (scores[kind], -KINDS.index(kind)))


def _operation(column: str, description: str) -> str:
    """Return `operation:source` of a column from the words behind its name."""
    names = [name for name in _TICKED.findall(description) if _NAME.match(name) and not name.isupper()]
    label = _QUOTED.search(description)
    source = names[0] if names else label[1] if label else column
    text = description.lower()
    if "YYYY-MM-DDTHH" in description or re.search(r"\b(earliest|first|oldest)\b.*\b(time|moment)", text):
        return ("max:" if re.search(r"\b(latest|last|newest|most recent)\b", text) else "min:") + source
    if "YYYY-MM-DD" in description:
        return "date:" + source
    if re.search(r"\b(sum|total)\b", text):
        return "sum:" + source
    if re.search(r"\b(number|count)\s+of\b|\bhow (many|often)\b", text):
        return "count:" + source
    if re.search(r"\btwo decimals\b|\b2 decimals\b|\btwo decimal places\b", text):
        return "number:" + source
    return "value:" + source


def bind(statement: str, files: Iterable[str], readme: str = "README.md") -> dict[str, str]:
    """Return the shell variables that `statement` gives, for a workspace that holds `files` (relative paths)."""
    present = frozenset(files)
    ticked = _unique(_TICKED.findall(statement))
    paths = [name for name in ticked if _is_path(name) and name != readme]
    inputs = [name for name in paths if _exists(name, present)]
    outputs = [name for name in paths if not _exists(name, present) and not name.endswith("/")]
    directories = [name for name in inputs if name.endswith("/")]
    documents = [name for name in inputs if _extension(name) in _EXTENSIONS and _extension(name) != "md"]
    mapping = [name for name in documents if re.search(r"map|transl|convers", PurePosixPath(name).stem.lower())]
    items = [match for line in statement.splitlines() if (match := _ITEM.match(line))]
    columns = [match[1] for match in items if not _is_path(match[1])]
    keys = _KEY.findall(statement)
    bound = {"README": readme}
    sources = [name for name in documents if name not in mapping]
    if sources or directories:
        bound["IN"] = sources[0] if sources else directories[0]
        bound["INPUTS"] = ",".join(inputs)
    if directories:
        bound["DIR"] = directories[0]
    if mapping:
        bound["MAPPING"] = mapping[0]
    if outputs:
        bound["OUT"] = outputs[0]
        bound["OUTPUTS"] = ",".join(outputs)
    if columns:
        bound["COLUMNS"] = ",".join(columns)
        bound["SPEC"] = ";".join(
            f"{match[1]}={_operation(match[1], match[2])}" for match in items if match[1] in columns
        )
    key = next((name for name in keys if name in columns), columns[0] if columns else "")
    if key:
        bound["KEY"] = key
    pattern = next((name for name in ticked if "<" in name and "/" in name), "")
    if pattern:
        bound["PATTERN"] = pattern
    return bound
