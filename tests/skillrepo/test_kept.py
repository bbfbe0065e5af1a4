"""A repository on disk under several hands: two writers, an editor, folders of others (FAULTS: lost paid work)."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest

from core.foundation.errors import ConflictError
from core.skillrepo import kept
from core.skillrepo.calls import from_native
from core.skillrepo.directory import load, save
from core.skillrepo.operations import INSERT, Call
from core.skillrepo.oplog import FILE, read_log
from core.skillrepo.repository import Repository
from core.skillrepo.skill import write

HOT = write("put hot", "Use when a task wants it hot.", "# Workflow\n1. Heat it.")
COLD = write("put cold", "Use when a task wants it cold.", "# Workflow\n1. Cool it.")


def insert(title: str) -> Call:
    skill = write(title, "Use when: it fits.", "Do it.")
    return from_native(INSERT, {"skill_name": title, "content": skill.content})


def write_some(place: Path, name: str) -> None:
    for number in range(8):
        kept.apply(place, [insert(f"{name} {number}")])


def test_two_processes_that_write_one_repository_lose_nothing_of_each_other(tmp_path: Path) -> None:
    place = tmp_path / "skills"
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=write_some, args=(place, name)) for name in ("one", "two")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    wanted = {f"{name} {number}" for name in ("one", "two") for number in range(8)}
    assert {skill.title for skill in load(place).repository} == wanted
    entries = read_log(place / FILE).entries
    assert [entry.call.name for entry in entries] == [INSERT] * 16  # nobody had to write down a change by hand


def test_a_save_does_not_take_what_another_writer_added_since(tmp_path: Path) -> None:
    save(Repository([HOT]), tmp_path)
    mine = load(tmp_path)
    save(Repository([HOT, COLD]), tmp_path)
    save(mine.repository, tmp_path, seen=mine.seen)
    assert load(tmp_path).repository.skills == (HOT, COLD)


@pytest.mark.parametrize(
    "text",
    [b"my notes\n", b"---\nname: a\ndescription: b\nlicense: MIT\n---\n\nbody\n", HOT.content.encode() + b"\xe9", b"",
     write("Put hot!", "a twin", "x").content.encode()],
    ids=["no head", "a third key", "latin-1", "empty", "a twin"],
)  # fmt: skip
def test_what_was_left_out_is_never_removed(tmp_path: Path, text: bytes) -> None:
    kept.apply(tmp_path, [insert(HOT.title)])
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "SKILL.md").write_bytes(text)
    assert len(load(tmp_path).notes) == 1
    kept.apply(tmp_path, [insert(COLD.title)])
    assert (tmp_path / "theirs" / "SKILL.md").read_bytes() == text
    with pytest.raises(ConflictError, match="changed by hand"):
        kept.apply(tmp_path, [insert("theirs")])
    assert (tmp_path / "theirs" / "SKILL.md").read_bytes() == text


@pytest.mark.parametrize("name", [b"\xff\xfe", b"a\x1bb", b"x" * 220], ids=["no text", "an escape", "long"])
def test_a_folder_whose_name_no_index_can_hold_is_said_and_hurts_nothing(tmp_path: Path, name: bytes) -> None:
    place = os.fsencode(tmp_path) + b"/" + name
    Path(os.fsdecode(place)).mkdir()
    Path(os.fsdecode(place), "SKILL.md").write_text(COLD.content)
    for title in ("put hot", "put warm"):
        kept.apply(tmp_path, [insert(title)])
    loaded = load(tmp_path)  # what was written can be read
    assert [skill.title for skill in loaded.repository] == ["put hot", "put warm"]
    assert "rename the folder" in loaded.notes[0]
    assert loaded.notes[0].isprintable()
    assert Path(os.fsdecode(place), "SKILL.md").read_text() == COLD.content


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "put-hot").symlink_to(tmp_path / "outside")
    with pytest.raises(ConflictError, match="symbolic link"):
        kept.apply(tmp_path / "skills", [insert(HOT.title)])
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_foreign_line_in_the_log_costs_nothing(tmp_path: Path) -> None:
    kept.apply(tmp_path, [insert(HOT.title)])
    with (tmp_path / FILE).open("a") as log:
        log.write('{"level": "info", "message": "not ours"}\n')
    kept.apply(tmp_path, [insert(COLD.title)])
    reading = read_log(tmp_path / FILE)
    assert [skill.title for skill in reading.at()] == [HOT.title, COLD.title]
    assert len(reading.notes) == 1
    assert "no record of ours" in reading.notes[0]
