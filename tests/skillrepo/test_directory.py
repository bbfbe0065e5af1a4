"""A repository as a directory: round trip, exact titles, collisions, hand edits, a kill at every step (CURATION K1)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.foundation.errors import ConflictError, DamagedError, NotFoundError
from core.skillrepo.directory import load, save
from core.skillrepo.operations import Link
from core.skillrepo.repository import Repository
from core.skillrepo.skill import Skill, write
from core.skillrepo.titles import slug

HOT = write("put hot", "Use when a task wants it hot.", "# Workflow\n1. Heat it.")
COLD = write("Put cold, twice!", 'Use when: a task wants it "cold".', "# Workflow\n1. Cool it.")
OTHER = write("清洗", "Use when a task wants it clean.", "# Workflow\n1. Wash it.")


def contents(directory: Path) -> dict[str, str]:
    return {
        path.relative_to(directory).as_posix(): path.read_text()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


@pytest.mark.meets("K1")
def test_what_is_saved_loads_back_in_order_with_exact_titles_and_links(tmp_path: Path) -> None:
    repository = Repository([HOT, OTHER, COLD], [Link(HOT.title, COLD.title, "requires")])
    save(repository, tmp_path / "skills")
    loaded = load(tmp_path / "skills")
    assert loaded.repository.skills == (HOT, OTHER, COLD)
    assert loaded.repository.links == repository.links
    assert loaded.notes == ()
    assert {path.parent.name for path in (tmp_path / "skills").glob("*/SKILL.md")} > {"put-hot", "put-cold-twice"}
    before = contents(tmp_path / "skills")
    save(loaded.repository, tmp_path / "skills", seen=loaded.seen)
    assert contents(tmp_path / "skills") == before


TITLES = st.text(st.characters(exclude_categories=["C", "Z"]) | st.just(" "), min_size=1, max_size=64).filter(
    lambda title: bool(slug(title)) and title == title.strip()
)


@pytest.mark.meets("K1")
@given(st.lists(TITLES, max_size=5, unique_by=slug), st.text("ab \n#'\":", min_size=1, max_size=20))
@settings(max_examples=60, deadline=None)
def test_any_titles_survive_the_file_system(
    tmp_path_factory: pytest.TempPathFactory, titles: list[str], text: str
) -> None:
    body = text if text.strip() else "x"
    skills = tuple(write(title, body.strip() or "x", body) for title in titles)
    place = tmp_path_factory.mktemp("any")
    save(Repository(skills), place)
    assert load(place).repository.skills == skills


def test_what_else_lies_there_stays(tmp_path: Path) -> None:
    save(Repository([HOT, COLD]), tmp_path)
    (tmp_path / "README.md").write_text("mine")
    (tmp_path / "put-hot" / "notes.txt").write_text("mine")
    save(Repository([COLD]), tmp_path)
    assert not (tmp_path / "put-hot" / "SKILL.md").exists()
    assert (tmp_path / "put-hot" / "notes.txt").read_text() == "mine"
    assert (tmp_path / "README.md").read_text() == "mine"
    save(Repository(), tmp_path)
    assert not (tmp_path / "put-cold-twice").exists()
    assert load(tmp_path).repository.skills == ()


def test_a_hand_edit_is_taken_and_said_and_never_lost(tmp_path: Path) -> None:
    save(Repository([HOT, COLD]), tmp_path)
    text = HOT.content.replace("Heat it.", "Warm it.")
    (tmp_path / "put-hot" / "SKILL.md").write_text(text)
    loaded = load(tmp_path)
    assert loaded.repository.get("put hot").content == text  # type: ignore[union-attr]  # it is there
    assert loaded.notes == ("put-hot: its SKILL.md was changed by hand",)
    for wanted in (Repository([HOT, COLD]), Repository([COLD])):  # one would write over it, one would remove it
        if wanted.get("put hot") is None or wanted.skills[0].content != text:
            with pytest.raises(ConflictError, match="by hand"):
                save(wanted, tmp_path)
    assert (tmp_path / "put-hot" / "SKILL.md").read_text() == text
    save(Repository([COLD]), tmp_path, seen=loaded.seen)
    assert load(tmp_path).repository.skills == (COLD,)


def test_a_skill_put_there_by_hand_is_read_and_kept(tmp_path: Path) -> None:
    save(Repository([HOT]), tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "SKILL.md").write_text(COLD.content)
    assert load(tmp_path).repository.skills == (HOT, COLD)
    save(Repository([HOT]), tmp_path)  # by someone who never saw it
    assert load(tmp_path).repository.skills == (HOT, COLD)


def test_what_can_not_be_read_is_left_out_and_said(tmp_path: Path) -> None:
    for name, text in (("a", HOT.content), ("b", HOT.content), ("c", "no head"), ("d", COLD.content + "\0")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_text(text)
    loaded = load(tmp_path)
    assert loaded.repository.skills == (HOT,)
    assert [told.partition(":")[0] for told in loaded.notes] == ["c", "d", "'put hot'"]
    assert "1:1" in loaded.notes[0]
    with pytest.raises(NotFoundError):
        load(tmp_path / "missing")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"format": 2}', '{"format": 1, "skills": [{"title": "x", "folder": "../x", "sha256": ""}]}',
     '{"format": 1, "skills": [{"title": "x", "folder": "a\\u0000b", "sha256": ""}], "removed": [], "links": []}',
     '{"format": 1, "skills": [{"title": "x", "folder": "\\ud800", "sha256": ""}], "removed": [], "links": []}',
     '{"format": 1, "skills": [{"title": 1, "folder": "x", "sha256": ""}], "removed": [], "links": []}'],
)  # fmt: skip
def test_an_index_that_is_none_is_damage(tmp_path: Path, text: str) -> None:
    save(Repository([HOT]), tmp_path)
    (tmp_path / "index.json").write_text(text)
    with pytest.raises(DamagedError, match=r"index\.json"):
        load(tmp_path)


class Killed(BaseException):
    """What stands for a kill: nothing catches it."""


def test_a_writer_that_is_killed_anywhere_leaves_the_old_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every system call that changes a name is cut once; a reader then sees one of the two states, whole."""
    changed = write("put hot", "Use when a task wants it warm.", "# Workflow\n1. Warm it.")
    old, new = (HOT, COLD), (changed, OTHER)
    seen_states = set()
    for cut in range(60):
        place = tmp_path / str(cut)
        save(Repository(old), place)
        count = [0]

        def counted(real: Any, count: list[int] = count, cut: int = cut) -> Any:
            def call(*arguments: Any, **options: Any) -> Any:
                count[0] += 1
                if count[0] > cut:
                    raise Killed
                return real(*arguments, **options)

            return call

        with monkeypatch.context() as cutting:
            for name in ("replace", "rename", "unlink", "mkdir", "rmdir"):
                cutting.setattr(os, name, counted(getattr(os, name)))
            try:
                save(Repository(new), place)
                finished = True
            except Killed:
                finished = False
        state: tuple[Skill, ...] = load(place).repository.skills
        assert state in (old, new), cut
        assert load(place).notes == ()
        seen_states.add(state)
        save(Repository(new), place)  # whoever comes next completes it
        assert load(place).repository.skills == new
        assert sorted(path.parent.name for path in place.glob("*/SKILL.md")) == sorted(
            {"put-hot", *(path.parent.name for path in place.glob("skill-*/SKILL.md"))}
        )
        assert not list(place.rglob(".SKILL.md.coming"))
        if finished:
            break
    assert finished
    assert seen_states == {old, new}
