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
_NAME_BYTES = 255  # what file systems take


@dataclass(frozen=True, slots=True)
class Loaded:
    """A repository as read from a directory.

    `notes` says what was changed by hand, left out or can't be read. `seen` is folder to hash of every text that is in
    the repository, for `save`: what was left out is not in it, and so is never taken for something to remove.
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


@dataclass(frozen=True, slots=True)
class _Found:
    """A skill as it was read: from which folder, and the hash of its text."""

    skill: Skill
    folder: str
    digest: str


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
    found: list[_Found] = []
    for title, folder in index.folders.items():
        one = _indexed(directory / folder, index.hashes[folder], notes)
        if one is not None and one.skill.title != title:
            told = f"was {visible_line(title)!r} and names itself {visible_line(one.skill.title)!r} now"
            notes.append(f"{visible_line(folder)}: {told}")
        found += [one] if one is not None else []
    for folder, digest in _present(directory, notes).items():
        if folder not in index.hashes and index.removed.get(folder) != digest:
            one = _read_text(directory / folder / TEXT, notes)
            found += [one] if one is not None else []
    kept = _without_twins(found, notes)
    seen = {one.folder: one.digest for one in kept}
    return Loaded(Repository([one.skill for one in kept], index.links), tuple(notes), seen)


def save(repository: Repository, directory: Path, *, seen: Mapping[str, str] | None = None) -> None:
    """Make `directory` hold the skills of `repository`; a skill keeps the folder it has.

    `seen` is that of the `Loaded` which the repository came from (None: what the index names). Of a folder that it
    names and whose skill is gone, the SKILL.md is removed, and the folder if nothing else is in it; other folders stay,
    those of another writer's new skills too. Raises ConflictError where a text that would be lost was changed by hand
    since, StorageError; all is as it was then.
    """
    readonly.refuse(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with held(directory / ".lock"):
            old = _read_index(directory)
            _complete(directory, old)
            _exchange(repository, directory, old, old.hashes if seen is None else seen)
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
        if (directory / folder).is_symlink():  # whatever it leads to, it is not this repository
            raise ConflictError(
                f"{visible_line(str(directory / folder))} is a symbolic link.", hint="Put a copy in its place."
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


def _indexed(folder: Path, expected: str, notes: list[str]) -> _Found | None:
    coming = folder / _COMING
    if _hash_at(folder / TEXT) != expected and _hash_at(coming) == expected:
        return _read_text(coming, notes)  # the writer was killed before the last step
    if not (folder / TEXT).is_file():
        notes.append(f"{visible_line(folder.name)}: its {TEXT} is gone")
        return None
    if _hash_at(folder / TEXT) != expected:
        notes.append(f"{visible_line(folder.name)}: its {TEXT} was changed by hand")
    return _read_text(folder / TEXT, notes)


def _read_text(path: Path, notes: list[str]) -> _Found | None:
    folder = path.parent.name
    try:
        raw = path.read_bytes()
        return _Found(read(raw), folder, _hash(raw))
    except UsageError as error:
        notes.append(f"{visible_line(folder)}: left out: {visible_line(str(error))}")
    except OSError as error:
        notes.append(f"{visible_line(folder)}: left out: {error.strerror}")
    return None


def _without_twins(found: Iterable[_Found], notes: list[str]) -> list[_Found]:
    kept: dict[str, _Found] = {}
    for one in found:
        first = kept.setdefault(slug(one.skill.title), one)
        if first is not one:
            again, known = visible_line(one.skill.title), visible_line(first.skill.title)
            notes.append(f"{again!r}: left out: it is {known!r} once more")
    return list(kept.values())


def _present(directory: Path, notes: list[str] | None = None) -> dict[str, str]:
    """Return folder to hash of its SKILL.md, of every folder that has one and a name that an index can hold."""
    folders: dict[str, str] = {}
    for entry in sorted(directory.iterdir()):
        if entry.name.startswith(".") or not (entry / TEXT).is_file():
            continue
        if _FOLDER.fullmatch(entry.name):
            folders[entry.name] = _hash_at(entry / TEXT)
        elif notes is not None:
            notes.append(f"{visible_line(entry.name)}: left out: rename the folder in plain characters")
    return folders


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
    if not _FOLDER.fullmatch(name) or len(name.encode()) > _NAME_BYTES:
        raise ValueError(f"{name!r} is no folder of a skill")
    return name
