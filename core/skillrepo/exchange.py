"""Skills in and out: folders and archives of Agent Skills to curated skills and back (K1, K19).

A curated skill is its SKILL.md and nothing else, with a free title. An Agent Skills folder is named by lower-case
words and may hold more keys and files. Out, the title goes into `metadata: title` where the folder's name doesn't tell
it; in, it comes back from there. What a curated repository can't hold is named, never dropped in silence.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.foundation.errors import ConflictError, NotFoundError, UsageError
from core.foundation.visible import visible_line
from core.skillrepo import directory as repositories
from core.skillrepo import packed
from core.skillrepo.folder import SkillFolder, read_folder
from core.skillrepo.repository import Repository
from core.skillrepo.skill import Skill, write
from core.skillrepo.titles import folder_name
from core.state import readonly
from core.state.atomic import storage_error
from core.state.yaml_text import scalar

_KEPT_KEYS = ("name", "description", "metadata")


@dataclass(frozen=True, slots=True)
class Imported:
    """Skills that were read, and in `notes` what was left behind and why."""

    skills: tuple[Skill, ...]
    notes: tuple[str, ...]


@contextmanager
def skill_folders(source: Path) -> Iterator[tuple[Path, ...]]:
    """Give the skill folders in `source`, by name: a skill, a directory of them, or an archive of either.

    An archive is unpacked beside for the time of the block. Raises NotFoundError where there is none, and as
    `packed.unpack` does.
    """
    if not source.exists():
        raise NotFoundError(f"There is nothing at {visible_line(str(source))}.", hint="Name a directory or an archive.")
    if source.is_dir():
        yield _folders(source, source)
        return
    with tempfile.TemporaryDirectory(prefix="exuvia-skills-") as place:
        # A skill at the top of an archive gets the archive's name; any other brings its own.
        root = Path(place) / (source.name.split(".")[0] or "skill")
        root.mkdir()
        packed.write_files(packed.unpack(source), root)
        yield _folders(root, source)


def import_skills(source: Path) -> Imported:
    """Read the skills in `source` as curated ones. Raises as `skill_folders` does."""
    if (source / repositories.INDEX).is_file():
        loaded = repositories.load(source)
        return Imported(loaded.repository.skills, loaded.notes)
    skills: list[Skill] = []
    notes: list[str] = []
    with skill_folders(source) as folders:
        for folder in folders:
            found = read_folder(folder)
            document = found.document
            title = document.metadata.get("title") or document.fields.get("name") or folder.name
            try:
                skills.append(write(title, document.description, document.body))
            except UsageError as error:
                notes.append(f"{visible_line(folder.name)}: left out: {visible_line(str(error))}")
                continue
            notes += _left_behind(found)
    return Imported(tuple(skills), tuple(notes))


def _left_behind(folder: SkillFolder) -> Iterator[str]:
    """Name what a curated repository does not take of a folder."""
    keys = [visible_line(key) for key in folder.document.fields if key not in _KEPT_KEYS]
    files = [visible_line(resource.path) for resource in folder.resources]
    parts = []
    if keys:
        parts.append(f"its {'key' if len(keys) == 1 else 'keys'} {', '.join(keys)}")
    if files:
        more = f" and {len(files) - 3} more files" if len(files) > 3 else ""
        parts.append(f"its {', '.join(files[:3])}{more}")
    if parts:
        yield f"{visible_line(folder.document.name)}: not kept: {'; '.join(parts)}"


def export_skills(skills: Iterable[Skill], out: Path, *, curated: bool = False) -> None:
    """Write the skills to the new directory or archive `out`: as Agent Skills folders, or as a curated repository.

    Raises ConflictError where `out` exists and is no empty directory, UsageError for two titles of one folder name.
    """
    _require_new(out)
    if not packed.is_packed(out):
        _write(tuple(skills), out, curated=curated)
        return
    with tempfile.TemporaryDirectory(prefix="exuvia-skills-") as place:
        _write(tuple(skills), Path(place) / "skills", curated=curated)
        files = packed.files_below(Path(place) / "skills")
        packed.pack({name: file for name, file in files.items() if not name.startswith(".")}, out)


def export_folders(root: Path, out: Path) -> tuple[str, ...]:
    """Write the skill folders in `root`, as they are and with all their files, to the new directory or archive `out`.

    Return their names. Raises ConflictError where `out` exists and is no empty directory, UsageError for a link.
    """
    _require_new(out)
    files = files_of_skills(root)
    if packed.is_packed(out):
        packed.pack(files, out)
    else:
        packed.write_files(files, out)
    return tuple(dict.fromkeys(name.partition("/")[0] for name in files))


def files_of_skills(root: Path) -> dict[str, packed.PackedFile]:
    """Return every file of the skill folders in `root`, by folder and path. Raises UsageError for a link among them."""
    folders = sorted(entry for entry in root.iterdir() if not entry.name.startswith(".")) if root.is_dir() else []
    return {
        f"{folder.name}/{name}": file
        for folder in folders
        if (folder / repositories.TEXT).is_file()
        for name, file in packed.files_below(folder).items()
        if "__pycache__" not in name
    }


def _require_new(out: Path) -> None:
    readonly.refuse(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConflictError(f"{visible_line(str(out))} exists already.", hint="Name a new directory or archive.")


def agent_skill_text(skill: Skill) -> str:
    """Return the SKILL.md of an Agent Skills folder that is named after the skill's title."""
    name = folder_name(skill.title)
    title = f"metadata:\n  title: {scalar(skill.title)}\n" if name != skill.title else ""
    return f"---\nname: {name}\ndescription: {scalar(skill.description)}\n{title}---\n\n{skill.body}\n"


def _write(skills: tuple[Skill, ...], out: Path, *, curated: bool) -> None:
    if curated:
        repositories.save(Repository(skills), out)
        return
    names = [folder_name(skill.title) for skill in skills]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"Two skills would lie in the folder {twice}.", hint="Rename one of them.")
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, skill in zip(names, skills, strict=True):
            (out / name).mkdir()
            (out / name / repositories.TEXT).write_text(agent_skill_text(skill), encoding="utf-8")
    except OSError as error:
        raise storage_error(error, out) from error


def _folders(root: Path, source: Path) -> tuple[Path, ...]:
    place = root
    while True:
        if (place / repositories.TEXT).is_file():
            return (place,)
        entries = sorted(entry for entry in place.iterdir() if entry.is_dir() and not entry.name.startswith("."))
        if found := tuple(entry for entry in entries if (entry / repositories.TEXT).is_file()):
            return found
        if len(entries) != 1:
            raise NotFoundError(
                f"There is no SKILL.md in {visible_line(str(source))}.", hint="Name a skill, or a directory of skills."
            )
        place = entries[0]
