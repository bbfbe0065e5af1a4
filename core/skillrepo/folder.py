"""An Agent Skills folder as a whole: SKILL.md with the scripts, references and assets beside it (agentskills.io)."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core.foundation.visible import visible_line
from core.skillrepo.document import Diagnostic, SkillDocument, read_skill

Kind = Literal["script", "reference", "asset", "other"]
_KINDS: dict[str, Kind] = {"scripts": "script", "references": "reference", "assets": "asset"}
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
_MOST = 2_000  # files that are named; a folder with more is no skill


@dataclass(frozen=True, slots=True)
class Resource:
    """A file of a skill beside its SKILL.md; `path` is relative to the folder, `size` in bytes."""

    path: str
    kind: Kind
    size: int


@dataclass(frozen=True, slots=True)
class SkillFolder:
    """A skill with its files. `diagnostics` are the document's and those of the folder."""

    document: SkillDocument
    resources: tuple[Resource, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def valid(self) -> bool:
        """Whether neither the document nor the folder holds an error."""
        return not any(found.severity == "error" for found in self.diagnostics)


def read_folder(directory: Path) -> SkillFolder:
    """Read the skill in `directory`. Raises OSError where it has no SKILL.md."""
    document = read_skill(directory)
    found = list(document.diagnostics)
    resources: list[Resource] = []
    for path, status in _walk(directory, ""):
        shown = visible_line(path)
        if stat.S_ISLNK(status.st_mode):
            found.append(Diagnostic("error", 1, 1, f"{shown} is a symbolic link; put a copy in its place"))
        elif not stat.S_ISREG(status.st_mode):
            found.append(Diagnostic("error", 1, 1, f"{shown} is neither file nor directory"))
        elif path != "SKILL.md":
            resources.append(Resource(path, _KINDS.get(path.partition("/")[0], "other"), status.st_size))
        if len(resources) > _MOST:
            found.append(Diagnostic("error", 1, 1, f"holds more than {_MOST} files"))
            break
    found.extend(_missing(document, {resource.path for resource in resources}))
    return SkillFolder(document, tuple(resources), tuple(found))


def _walk(directory: Path, prefix: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(directory) as entries:
        ordered = sorted(entries, key=lambda entry: os.fsencode(entry.name))
    for entry in ordered:
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            if entry.name not in {".git", "__pycache__"}:
                yield from _walk(Path(entry.path), f"{prefix}{entry.name}/")
        else:
            yield f"{prefix}{entry.name}", status


def _missing(document: SkillDocument, there: set[str]) -> Iterator[Diagnostic]:
    """Find links of the body to files of the folder that it doesn't have."""
    first = document.text.count("\n", 0, len(document.text) - len(document.body)) + 1
    for number, line in enumerate(document.body.split("\n"), first):
        for match in _LINK.finditer(line):
            target = match.group(1).partition("#")[0].removeprefix("./")
            if target and ":" not in target and not target.startswith("/") and target not in there | {"SKILL.md"}:
                what = f"names {visible_line(target)}, which is not in the folder"
                yield Diagnostic("warning", number, match.start(1) + 1, what)
