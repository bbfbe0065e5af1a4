"""An agent's installed skills as a repository, and a changed repository as edits of the agent's state. Pure.

A skill that no operation touches keeps its bytes, whatever dialect its head is written in. One that is touched is a
curated SKILL.md afterwards, in a folder that agentskills.io allows and under that folder's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from core.evolution.edits import Edit
from core.foundation.visible import decode
from core.skillrepo.document import read_text
from core.skillrepo.skill import Skill, write
from core.skillrepo.titles import folder_name, slug, title_problem

_ROOT = "skills/"
_FILE = "SKILL.md"


def state_skills(present: Mapping[str, bytes]) -> tuple[Skill, ...]:
    """Return the skills of an agent's state (relative path -> bytes), by folder; the folder's name is the title.

    A folder whose name can't be a title, or collides with an earlier one's, is left out: no operation reaches it.
    """
    found: list[Skill] = []
    slugs: set[str] = set()
    for path in sorted(present):
        folder, _, rest = path.removeprefix(_ROOT).partition("/")
        if not path.startswith(_ROOT) or rest != _FILE or title_problem(folder) or slug(folder) in slugs:
            continue
        slugs.add(slug(folder))
        document = read_text(present[path], directory=folder)
        found.append(Skill(folder, document.description, document.body.strip("\n"), decode(present[path])))
    return tuple(found)


def edits_of(
    before: Sequence[Skill], after: Iterable[Skill], present: Mapping[str, bytes], why: Mapping[str, str]
) -> tuple[Edit, ...]:
    """Return the edits that turn the skills `before` into `after`; `why` has a reason by title.

    A skill that is gone loses its whole folder. Raises UsageError where a new one's text can't stand under its
    folder's name.
    """
    old = {skill.title: skill for skill in before}
    new = {skill.title: skill for skill in after}
    edits: list[Edit] = []
    for title, skill in new.items():
        if old.get(title) == skill:
            continue
        folder = title if title in old else folder_name(title)
        content = skill.content if title == folder else write(folder, skill.description, skill.body).content
        edits.append(Edit(f"{_ROOT}{folder}/{_FILE}", content=content, why=why.get(title, "")))
    kept = {edit.path.split("/")[1] for edit in edits}
    for title in old.keys() - new.keys() - kept:
        edits += [Edit(path, delete=True, why=why.get(title, "")) for path in files_of(title, present)]
    return tuple(sorted(edits, key=lambda edit: edit.path))


def edited(present: Mapping[str, bytes], edits: Iterable[Edit]) -> dict[str, bytes]:
    """Return the files of a state after edits of skills."""
    after = dict(present)
    for edit in edits:
        if edit.delete:
            after.pop(edit.path, None)
        elif edit.content is not None:
            after[edit.path] = edit.content.encode("utf-8")
    return after


def files_of(title: str, present: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return the files of a skill's folder."""
    return tuple(path for path in sorted(present) if path.startswith(f"{_ROOT}{title}/"))
