"""Agent Skills folders and archives in and out; what is hostile is refused whole (CURATION K1, K19)."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from core.foundation.errors import ConflictError, DamagedError, NotFoundError, UsageError
from core.skillrepo.document import read_skill
from core.skillrepo.exchange import export_folders, export_skills, import_skills, skill_folders
from core.skillrepo.folder import Resource, read_folder
from core.skillrepo.skill import write
from core.state.archive import HostileArchiveError

HOT = write("put hot", "Use when a task wants it hot.", "# Workflow\n1. Heat it.")
COLD = write("Put cold, twice!", 'Use when: a task wants it "cold".', "# Workflow\n1. Cool it.")
WASH = write("清洗", "Use when a task wants it clean.", "# Workflow\n1. Wash it.")
ALL = (HOT, COLD, WASH)


@pytest.mark.meets("K1", "K19")
@pytest.mark.parametrize("curated", [False, True])
@pytest.mark.parametrize("name", ["skills", "skills.zip", "skills.tar.gz", "skills.tar"])
def test_skills_go_out_and_come_back(tmp_path: Path, name: str, curated: bool) -> None:
    export_skills(ALL, tmp_path / name, curated=curated)
    back = import_skills(tmp_path / name)
    assert {(skill.title, skill.description, skill.body) for skill in back.skills} == {
        (skill.title, skill.description, skill.body) for skill in ALL
    }
    assert back.notes == ()
    with pytest.raises(ConflictError):
        export_skills(ALL, tmp_path / name)


@pytest.mark.meets("K19")
def test_what_goes_out_are_valid_agent_skills(tmp_path: Path) -> None:
    export_skills(ALL, tmp_path / "out")
    for directory in (tmp_path / "out").iterdir():
        document = read_skill(directory)
        assert document.valid, document.diagnostics
        assert document.dialect in ("curated", "agent-skills")


def test_the_same_skills_give_the_same_archive(tmp_path: Path) -> None:
    for ending in ("zip", "tar.gz"):
        for name in ("a", "b"):
            export_skills(ALL, tmp_path / f"{name}.{ending}")
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()


def folder(root: Path) -> Path:
    """Make a whole Agent Skills folder."""
    skill = root / "tidy-rows"
    for name, text in {
        "SKILL.md": "---\nname: tidy-rows\ndescription: Tidies rows.\nlicense: MIT\nmetadata:\n  author: me\n---\n\n"
        "Run [the script](scripts/tidy.py) as [told](references/how.md#first); see [this](missing.md) and\n"
        "[the web](https://example.org/x.md).\n",
        "scripts/tidy.py": "print(1)\n",
        "references/how.md": "So.\n",
        "assets/rows.csv": "a\n",
        "other.txt": "",
        "__pycache__/x.pyc": "",
    }.items():
        (skill / name).parent.mkdir(parents=True, exist_ok=True)
        (skill / name).write_text(text)
    (skill / "scripts" / "tidy.py").chmod(0o755)
    return skill


@pytest.mark.meets("K1")
def test_a_folder_is_read_with_its_files(tmp_path: Path) -> None:
    found = read_folder(folder(tmp_path))
    assert found.valid
    assert found.document.dialect == "agent-skills"
    assert found.resources == (
        Resource("assets/rows.csv", "asset", 2),
        Resource("other.txt", "other", 0),
        Resource("references/how.md", "reference", 4),
        Resource("scripts/tidy.py", "script", 9),
    )
    (missing,) = found.diagnostics
    assert "missing.md" in missing.message
    assert (missing.severity, missing.line, missing.column) == ("warning", 9, 82)
    lines = (tmp_path / "tidy-rows" / "SKILL.md").read_text().split("\n")
    assert lines[missing.line - 1][missing.column - 1 :].startswith("missing.md")


def test_a_link_and_a_pipe_in_a_folder_are_errors(tmp_path: Path) -> None:
    skill = folder(tmp_path)
    (skill / "way-out").symlink_to("/etc/passwd")
    os.mkfifo(skill / "pipe")
    found = read_folder(skill)
    assert not found.valid
    assert {d.message.split()[0] for d in found.diagnostics if d.severity == "error"} == {"way-out", "pipe"}


@pytest.mark.parametrize(
    ("line", "word", "valid"),
    [
        ("compatibility: " + "x" * 501, "longer than 500", False),
        ("metadata: text", "no mapping", False),
        ("metadata:\n  version: 1", "no text", True),
        ("allowed-tools: [a, b]", "no text", True),
    ],
)
def test_optional_keys_are_judged(tmp_path: Path, line: str, word: str, valid: bool) -> None:
    (tmp_path / "tidy-rows").mkdir()
    text = f"---\nname: tidy-rows\ndescription: Tidies rows.\n{line}\n---\n\nDo.\n"
    (tmp_path / "tidy-rows" / "SKILL.md").write_text(text)
    found = read_folder(tmp_path / "tidy-rows")
    assert found.valid is valid
    assert any(word in told.message and told.line == 4 for told in found.diagnostics)


def test_what_a_curated_repository_can_not_hold_is_named(tmp_path: Path) -> None:
    folder(tmp_path)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "SKILL.md").write_text("---\nname: bad\n---\n\nNo description.\n")
    taken = import_skills(tmp_path)
    assert [skill.title for skill in taken.skills] == ["tidy-rows"]
    assert taken.notes[0].startswith("bad: left out: ")
    assert taken.notes[1] == (
        "tidy-rows: not kept: its key license; its assets/rows.csv, other.txt, references/how.md and 1 more files"
    )


@pytest.mark.parametrize("name", ["out", "out.zip", "out.tgz"])
def test_folders_go_out_as_they_are(tmp_path: Path, name: str) -> None:
    folder(tmp_path / "in")
    assert export_folders(tmp_path / "in", tmp_path / name) == ("tidy-rows",)
    with skill_folders(tmp_path / name) as (there,):
        found = read_folder(there)
        assert {resource.path for resource in found.resources} == {
            "assets/rows.csv", "other.txt", "references/how.md", "scripts/tidy.py",
        }  # fmt: skip
        assert os.access(there / "scripts" / "tidy.py", os.X_OK)
        assert not os.access(there / "other.txt", os.X_OK)


def test_a_lone_skill_in_an_archive_is_found_below_a_wrapping_folder(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "lone.zip", "w") as archive:
        archive.writestr("repo-main/skills/put-hot/SKILL.md", HOT.content.replace("put hot", "put-hot"))
    assert [skill.title for skill in import_skills(tmp_path / "lone.zip").skills] == ["put-hot"]
    with zipfile.ZipFile(tmp_path / "top.zip", "w") as archive:
        archive.writestr("SKILL.md", HOT.content)
    assert import_skills(tmp_path / "top.zip").skills[0].title == "put hot"


def test_where_there_is_no_skill_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "note.zip").write_bytes(b"no zip")
    (tmp_path / "note.tar").write_bytes(b"no tar")
    for name, error in (
        ("empty", NotFoundError), ("missing", NotFoundError), ("note.zip", DamagedError), ("note.tar", DamagedError),
    ):  # fmt: skip
        with pytest.raises(error):
            import_skills(tmp_path / name)
    with pytest.raises(UsageError, match="folder put-hot"):
        export_skills([HOT, write("PUT, hot", "x", "y")], tmp_path / "out")


def tar(add: Callable[[tarfile.TarFile], None]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        add(archive)
    return out.getvalue()


def entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> Callable[[tarfile.TarFile], None]:
    def add(archive: tarfile.TarFile) -> None:
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, link
        archive.addfile(info, io.BytesIO(b""))

    return add


@pytest.mark.parametrize(
    ("name", "kind", "word"),
    [
        ("../out/SKILL.md", tarfile.REGTYPE, "climbs out"),
        ("/etc/SKILL.md", tarfile.REGTYPE, "absolute"),
        ("a/SKILL.md", tarfile.SYMTYPE, "symlink"),
        ("a/SKILL.md", tarfile.LNKTYPE, "hard link"),
        ("a/pipe", tarfile.FIFOTYPE, "pipe"),
        ("a\x1b[31m/SKILL.md", tarfile.REGTYPE, "control"),
    ],
)
def test_a_hostile_tar_is_refused_whole(tmp_path: Path, name: str, kind: bytes, word: str) -> None:
    good = entry("good/SKILL.md")
    bad = entry(name, kind, "/etc/passwd")
    (tmp_path / "bad.tar").write_bytes(tar(lambda archive: (good(archive), bad(archive))[0]))
    with pytest.raises(HostileArchiveError, match=word):
        import_skills(tmp_path / "bad.tar")


def test_a_hostile_zip_is_refused_whole(tmp_path: Path) -> None:
    def written(name: str, mode: int = 0o100644, content: bytes = b"x") -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
        return out.getvalue()

    for raw, word in (
        (written("../SKILL.md"), "climbs out"),
        (written("a/SKILL.md", 0o120777), "neither"),
        (written("a/bomb", content=b"\0" * (7 << 20)), "too much for its size"),
        (written("a/big", content=b"\0" * (9 << 20)), "bytes unpacked"),
    ):
        (tmp_path / "bad.zip").write_bytes(raw)
        with pytest.raises(HostileArchiveError, match=word):
            import_skills(tmp_path / "bad.zip")
    two = io.BytesIO()
    with zipfile.ZipFile(two, "w") as archive:
        archive.writestr("a/SKILL.md", "x")
        archive.writestr("A/skill.md", "x")
    (tmp_path / "bad.zip").write_bytes(two.getvalue())
    with pytest.raises(HostileArchiveError, match="same name"):
        import_skills(tmp_path / "bad.zip")
