"""A repository as a directory: a folder with a SKILL.md for each skill, and `index.json` with order and titles (K1).

The directory may be under version control and hold what else it likes: nothing is replaced as a whole. A save is
atomic all the same. New texts are first written beside the old ones, then `index.json` is exchanged, then the new texts
take their names. `index.json` names the hash of every text, so a reader takes the old ones before that exchange and the
new ones after it, wherever a writer was killed. A SKILL.md that fits neither was changed by hand: a reader takes it and
says so, a writer that has not read it refuses.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.foundation import strict_json
from core.foundation.errors import ConflictError, DamagedError, NotFoundError, UsageError
from core.foundation.visible import visible_line
from core.skillrepo.operations import Link
from core.skillrepo.repository import Repository
from core.skillrepo.skill import Skill, read
from core.skillrepo.titles import folder_name, slug
from core.state import readonly
from core.state.atomic import storage_error, sync_directory, write_bytes, write_text
from core.state.locks import held

INDEX = "index.json"
TEXT = "SKILL.md"
_COMING = ".SKILL.md.coming"
_FORMAT = 1
_FOLDER = re.compile("(?!\\.)[^/\x00-\x1f\x7f\ud800-\udfff]{1,200}")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A repository as read from a directory.

    `notes` says what was changed by hand, left out or can't be read. `seen` is folder to hash of the text that was
    there, for `save`.
    """

    repository: Repository
    notes: tuple[str, ...]
    seen: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Index:
    """What `index.json` says: title to folder in order, folder to the hash of its text, and what was to be removed."""

    folders: Mapping[str, str]
    hashes: Mapping[str, str]
    removed: Mapping[str, str]
    links: tuple[Link, ...]


def load(directory: Path) -> Loaded:
    """Read the repository in `directory`; folders that no index names follow in the order of their names.

    Raises NotFoundError where there is no such directory, DamagedError where `index.json` can't be read.
    """
    if not directory.is_dir():
        raise NotFoundError(
            f"There is no directory {visible_line(str(directory))}.", hint="Name one with skills in it."
        )
    index = _read_index(directory)
    notes: list[str] = []
    skills: list[Skill] = []
    for title, folder in index.folders.items():
        skill = _indexed(directory / folder, index.hashes[folder], notes)
        if skill is not None and skill.title != title:
            notes.append(f"{folder}: was {visible_line(title)!r} and names itself {visible_line(skill.title)!r} now")
        skills += [skill] if skill is not None else []
    present = _present(directory)
    for folder, digest in present.items():
        if folder not in index.hashes and index.removed.get(folder) != digest:
            skill = _read_text(directory / folder / TEXT, notes)
            skills += [skill] if skill is not None else []
    return Loaded(_repository(skills, index.links, notes), tuple(notes), present)


def save(repository: Repository, directory: Path, *, seen: Mapping[str, str] | None = None) -> None:
    """Make `directory` hold the skills of `repository`; a skill keeps the folder it has.

    `seen` is that of the `Loaded` which the repository came from. Of a folder that `seen` or the index names and whose
    skill is gone, the SKILL.md is removed, and the folder if nothing else is in it; other folders stay. Raises
    ConflictError where a text that would be lost was changed by hand since, StorageError; all is as it was then.
    """
    readonly.refuse(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with held(directory / ".lock"):
            old = _read_index(directory)
            _complete(directory, old)
            _exchange(repository, directory, old, {**old.hashes, **(seen or {})})
    except OSError as error:
        raise storage_error(error, directory) from error


def _exchange(repository: Repository, directory: Path, old: _Index, seen: Mapping[str, str]) -> None:
    folders = _assigned(repository, old)
    texts = {folders[skill.title]: skill.content.encode("utf-8") for skill in repository}
    hashes = {folder: _hash(text) for folder, text in texts.items()}
    present = _present(directory)
    changed = [folder for folder in texts if present.get(folder) != hashes[folder]]
    leaving = {folder: present[folder] for folder in seen if folder in present and folder not in texts}
    for folder in (*changed, *leaving):
        if folder in present and present[folder] != seen.get(folder):
            raise ConflictError(
                f"{visible_line(str(directory / folder / TEXT))} was changed by hand and would be lost.",
                hint="Read the repository again, or move the file away.",
            )
    for folder in changed:
        (directory / folder).mkdir(exist_ok=True)
        write_bytes(directory / folder / _COMING, texts[folder])
    index = _Index(folders, hashes, leaving, repository.links)
    write_text(directory / INDEX, _index_text(index))
    _complete(directory, index)


def _complete(directory: Path, index: _Index) -> None:
    """Do what is left of a save whose index is in place."""
    for folder, expected in index.hashes.items():
        coming = directory / folder / _COMING
        if coming.is_file():
            if _hash_at(coming) == expected:
                coming.replace(directory / folder / TEXT)
                sync_directory(directory / folder)
            else:
                coming.unlink()  # of a save that was killed before its index
    for folder, digest in index.removed.items():
        if folder not in index.hashes and _hash_at(directory / folder / TEXT) == digest:
            (directory / folder / TEXT).unlink()
            (directory / folder / _COMING).unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # something of the owner's lies in it: that is not ours to remove
                (directory / folder).rmdir()


def _assigned(repository: Repository, old: _Index) -> dict[str, str]:
    """Return title to folder: the one it has, else the one of its title, numbered where another skill has that."""
    kept = {skill.title: old.folders[skill.title] for skill in repository if skill.title in old.folders}
    taken = dict.fromkeys(kept.values())
    folders: dict[str, str] = {}
    for skill in repository:
        name = folder = kept.get(skill.title) or folder_name(skill.title)
        number = 1
        while skill.title not in kept and folder in taken:
            number += 1
            folder = f"{name}-{number}"
        folders[skill.title] = folder
        taken[folder] = None
    return folders


def _indexed(folder: Path, expected: str, notes: list[str]) -> Skill | None:
    coming = folder / _COMING
    if _hash_at(folder / TEXT) != expected and _hash_at(coming) == expected:
        return _read_text(coming, notes)  # the writer was killed before the last step
    if not (folder / TEXT).is_file():
        notes.append(f"{folder.name}: its {TEXT} is gone")
        return None
    if _hash_at(folder / TEXT) != expected:
        notes.append(f"{folder.name}: its {TEXT} was changed by hand")
    return _read_text(folder / TEXT, notes)


def _read_text(path: Path, notes: list[str]) -> Skill | None:
    try:
        return read(path.read_bytes())
    except UsageError as error:
        notes.append(f"{path.parent.name}: left out: {visible_line(str(error))}")
    except OSError as error:
        notes.append(f"{path.parent.name}: left out: {error.strerror}")
    return None


def _repository(skills: Iterable[Skill], links: tuple[Link, ...], notes: list[str]) -> Repository:
    kept: dict[str, Skill] = {}
    for skill in skills:
        first = kept.get(slug(skill.title))
        if first is None:
            kept[slug(skill.title)] = skill
        else:
            notes.append(f"{visible_line(skill.title)!r}: left out: it is {visible_line(first.title)!r} once more")
    return Repository(kept.values(), links)


def _present(directory: Path) -> dict[str, str]:
    """Return folder to hash of its SKILL.md, by name, for every folder that has one."""
    folders = sorted(entry.name for entry in directory.iterdir() if not entry.name.startswith("."))
    return {folder: _hash_at(directory / folder / TEXT) for folder in folders if (directory / folder / TEXT).is_file()}


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _hash_at(path: Path) -> str:
    """Return the hash of the file, "" where there is none."""
    try:
        return _hash(path.read_bytes())
    except OSError:
        return ""


def _index_text(index: _Index) -> str:
    skills = index.folders.items()
    document: dict[str, Any] = {
        "format": _FORMAT,
        "skills": [{"title": title, "folder": folder, "sha256": index.hashes[folder]} for title, folder in skills],
        "removed": [{"folder": folder, "sha256": digest} for folder, digest in index.removed.items()],
        "links": [{"source": link.source, "target": link.target, "relation": link.relation} for link in index.links],
    }
    return strict_json.dumps(document, indent=1) + "\n"


def _read_index(directory: Path) -> _Index:
    try:
        raw = (directory / INDEX).read_bytes()
    except FileNotFoundError:
        return _Index({}, {}, {}, ())
    try:
        document = strict_json.parse(raw, unique=True)
        if document["format"] != _FORMAT:
            raise ValueError(f"format {document['format']!r} is not {_FORMAT}")
        folders = {_text(entry["title"]): _folder(entry["folder"]) for entry in document["skills"]}
        hashes = {_folder(entry["folder"]): _text(entry["sha256"]) for entry in document["skills"]}
        removed = {_folder(entry["folder"]): _text(entry["sha256"]) for entry in document["removed"]}
        links = tuple(Link(_text(e["source"]), _text(e["target"]), _text(e["relation"])) for e in document["links"])
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedError(
            f"{visible_line(str(directory / INDEX))} can't be read: {visible_line(str(error))}",
            hint="Remove it: the skills are then read in the order of their folders.",
        ) from error
    return _Index(folders, hashes, removed, links)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _folder(value: object) -> str:
    """Take a folder's name; one that leads elsewhere is damage."""
    name = _text(value)
    if not _FOLDER.fullmatch(name):
        raise ValueError(f"{name!r} is no folder of a skill")
    return name
