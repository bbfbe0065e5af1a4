"""Hostile archives are refused whole, before the disk is touched (FAULTS: path traversal at snapshot import)."""

from __future__ import annotations

import gzip
import io
import os
import random
import struct
import tarfile
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from core.foundation.errors import BlockedError, DamagedError, NotFoundError
from core.state import fingerprint
from core.state.archive import ArchiveLimits, HostileArchiveError, read_archive
from core.state.pack import pack

CONFIG = b"system_prompt: hello\nversion: 9\n"


def entry(name: str, data: bytes = b"", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def tar(*entries: tuple[tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for info, data in entries:
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


GOOD = entry("agent_state/system_config.yaml", CONFIG)


def kind(letter: bytes, name: str = "agent_state/x", target: str = "") -> tuple[tarfile.TarInfo, bytes]:
    return entry(name, type=letter, linkname=target)


def plain(name: str) -> tuple[tarfile.TarInfo, bytes]:
    return entry(name, b"x")


HOSTILE: dict[str, tuple[tuple[tarfile.TarInfo, bytes], ...]] = {
    "climbs": (plain("../evil"),),
    "climbs inside": (plain("agent_state/a/../../evil"),),
    "climbs and comes back": (plain("agent_state/../agent_state/a"),),
    "absolute": (plain("/tmp/evil"),),
    "absolute with many slashes": (plain("///agent_state/a"),),
    "symlink": (kind(tarfile.SYMTYPE, target="/etc/passwd"),),
    "symlink inside": (kind(tarfile.SYMTYPE, target="AGENTS.md"),),
    "writes through a symlink": (kind(tarfile.SYMTYPE, target="/etc"), plain("agent_state/x/passwd")),
    "symlink beside": (kind(tarfile.SYMTYPE, "beside", "/etc"),),
    "hard link": (kind(tarfile.LNKTYPE, target="/etc/passwd"),),
    "hard link inside": (kind(tarfile.LNKTYPE, target="agent_state/system_config.yaml"),),
    "character device": (kind(tarfile.CHRTYPE),),
    "block device": (kind(tarfile.BLKTYPE),),
    "pipe": (kind(tarfile.FIFOTYPE),),
    "old sparse": (kind(tarfile.GNUTYPE_SPARSE),),
    "unknown type": (kind(b"Z"),),
    "setuid": (entry("agent_state/x", b"x", mode=0o4755),),
    "setgid directory": (entry("agent_state/x", type=tarfile.DIRTYPE, mode=0o2755),),
    "case twins": (plain("agent_state/README.md"), plain("agent_state/readme.md")),
    "case twins of a directory": (plain("agent_state/skills/a"), plain("agent_state/Skills/b")),
    "twin of the root": (plain("Agent_State/system_config.yaml"),),
    "accent twins": (plain("agent_state/caf\u00e9"), plain("agent_state/cafe\u0301")),
    "sharp s": (plain("agent_state/STRASSE"), plain("agent_state/straße")),
    "unseen twins": (plain("agent_state/a"), plain("agent_state/a\u200b")),
    "twice": (plain("agent_state/a"), plain("agent_state/./a")),
    "below a file": (plain("agent_state/a"), plain("agent_state/a/b")),
    "above a file": (plain("agent_state/a/b"), plain("agent_state/a")),
    "the root is a file": (plain("agent_state"),),
    "newline": (plain("agent_state/a\nb"),),
    "escape": (plain("agent_state/\x1b]0;x\x07"),),
    "C1 control": (plain("agent_state/\x9b2K"),),
    "reordering": (plain("agent_state/\u202egpj.exe"),),
    "backslash": (plain("agent_state/..\\..\\x"),),
    "too deep": (plain("agent_state/" + "a/" * 60 + "b"),),
    "name too long": (plain("agent_state/" + "a" * 300),),
}


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT], ids=["pax", "gnu"])
@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_one_hostile_member_refuses_the_archive(case: str, form: int, first: bool) -> None:
    order = (*HOSTILE[case], GOOD) if first else (GOOD, *HOSTILE[case])
    raw = tar(*order, form=form)
    for packed in (raw, gzip.compress(raw)):
        with pytest.raises(HostileArchiveError, match="refused as a whole") as caught:
            read_archive(packed)
        assert caught.value.findings


def test_a_sparse_file_that_hides_in_an_extended_header_is_refused() -> None:
    sparse = {"GNU.sparse.major": "1", "GNU.sparse.realsize": "10737418240"}
    with pytest.raises(HostileArchiveError, match="sparse"):
        read_archive(tar(GOOD, entry("agent_state/x", pax_headers=sparse)))


def test_findings_show_no_raw_control_characters() -> None:
    with pytest.raises(HostileArchiveError) as caught:
        read_archive(tar(GOOD, *(plain(f"agent_state/\x1b[2K{n}") for n in range(9))))
    assert "\x1b" not in str(caught.value)
    assert "and 4 more" in str(caught.value)
    assert len(caught.value.findings) == 9


def test_names_that_are_not_utf8_are_refused() -> None:
    raw = tar(GOOD, entry("agent_state/caf\udce9", b"x"), form=tarfile.GNU_FORMAT)
    with pytest.raises(HostileArchiveError, match="UTF-8"):
        read_archive(raw)


def test_bombs_are_refused_without_being_unpacked() -> None:
    zeros = entry("agent_state/zeros", b"\0" * (40 << 20))
    with pytest.raises(HostileArchiveError, match="too much for its size"):
        read_archive(gzip.compress(tar(GOOD, zeros)))
    with pytest.raises(HostileArchiveError, match="bytes unpacked"):
        read_archive(tar(GOOD, zeros), ArchiveLimits(file_bytes=1 << 20))
    halves = [entry(f"agent_state/{n}", random.Random(n).randbytes(600_000)) for n in range(2)]
    with pytest.raises(HostileArchiveError, match="more than 1000000 bytes"):
        read_archive(tar(GOOD, *halves), ArchiveLimits(total_bytes=1_000_000))
    with pytest.raises(HostileArchiveError, match="more than 100 members"):
        read_archive(tar(GOOD, *(plain(f"agent_state/{n}") for n in range(101))), ArchiveLimits(members=100))


def header(name: bytes, size: int, kind_of: bytes = b"0", *, base256: bool = False) -> bytes:
    field = struct.pack(">BxxxQ", 0x80, size) if base256 else b"%011o\0" % size
    block = name.ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2 + field + b"00000000000\0" + b" " * 8 + kind_of
    block = block.ljust(257, b"\0") + b"ustar\x0000"
    block = block.ljust(512, b"\0")
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def test_a_claim_of_ten_gigabytes_is_refused_by_its_header() -> None:
    with pytest.raises(HostileArchiveError, match="10737418240 bytes"):
        read_archive(header(b"agent_state/x", 10 << 30, base256=True))


def test_a_million_entries_are_refused_soon() -> None:
    endless = header(b"agent_state/x", 0, b"5") * 30_000
    with pytest.raises(HostileArchiveError, match="more than 20000 members"):
        read_archive(endless + b"\0" * 1024)


def test_a_packed_size_over_the_cap_is_refused_before_it_is_read(tmp_path: Path) -> None:
    big = tmp_path / "big.tar.gz"
    with big.open("wb") as file:
        file.truncate(129 << 20)
    with pytest.raises(HostileArchiveError, match="bytes packed"):
        read_archive(big)


DAMAGED: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda raw: b"",
    "text": lambda raw: b"this is no archive" * 100,
    "cut in a header": lambda raw: raw[:300],
    "cut in content": lambda raw: raw[:520],
    "cut before the end mark": lambda raw: raw[:1024],
    "gzip cut": lambda raw: gzip.compress(raw)[:-9],
    "gzip of text": lambda raw: gzip.compress(b"hello" * 500),
    "gzip checksum": lambda raw: gzip.compress(raw)[:-8] + b"\0" * 8,
    "gzip then rubbish": lambda raw: gzip.compress(raw) + b"rubbish",
    "only the gzip mark": lambda raw: b"\x1f\x8b",
    "a changed header": lambda raw: raw[:10] + b"X" + raw[11:],
    "something after the end": lambda raw: raw + b"\0" * 512 + raw,
    "negative size": lambda raw: _with_field(raw, 124, b"\xff" * 12),
    "size that is no number": lambda raw: _with_field(raw, 124, b"0x0000012345"),
    "lone extended header": lambda raw: header(b"x", 12, b"x") + b"12 path=abc\n".ljust(512, b"\0") + b"\0" * 1024,
    "extended header of nonsense": lambda raw: header(b"x", 12, b"x") + b"99999 path=a".ljust(512, b"\0") + raw,
    "extended header that is huge": lambda raw: header(b"x", 2 << 20, b"x") + b"\0" * (2 << 20) + raw,
    "global path": lambda raw: header(b"x", 12, b"g") + b"12 path=abc\n".ljust(512, b"\0") + raw,
}


def _with_field(raw: bytes, at: int, field: bytes) -> bytes:
    block = raw[:at] + field + raw[at + len(field) : 512]
    block = block[:148] + b" " * 8 + block[156:]
    return block[:148] + b"%06o\0 " % sum(block) + block[156:] + raw[512:]


@pytest.mark.parametrize("case", DAMAGED)
def test_what_is_no_whole_archive_is_damaged_not_hostile(case: str) -> None:
    with pytest.raises(DamagedError) as caught:
        read_archive(DAMAGED[case](tar(GOOD, form=tarfile.USTAR_FORMAT)))
    assert not isinstance(caught.value, HostileArchiveError)


def test_any_single_changed_byte_gives_an_answer_of_ours() -> None:
    raw = tar(GOOD, entry("agent_state/ü" + "x" * 120, b"data" * 200), form=tarfile.PAX_FORMAT)
    chance = random.Random(7)
    for _ in range(3000):
        at = chance.randrange(len(raw))
        changed = bytearray(raw)
        changed[at] = chance.randrange(256)
        try:
            read_archive(bytes(changed))
        except DamagedError:
            continue


def test_missing_files_and_other_things_than_files(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        read_archive(tmp_path / "none")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(DamagedError):
            read_archive(path)


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_ordinary_archives_of_every_form_are_read(form: int, tmp_path: Path) -> None:
    long_name = "agent_state/skills/" + "long-" * 12 + "/" + "b" * 60
    entries = [
        entry("./", type=tarfile.DIRTYPE, mode=0o755),
        entry("./agent_state/", type=tarfile.DIRTYPE, mode=0o755),
        GOOD,
        entry("agent_state//AGENTS.md", "één".encode(), mtime=1_700_000_000),
        entry("agent_state/run.sh", b"#!/bin/sh\n", mode=0o755),
        entry("agent_state/tools/", type=tarfile.DIRTYPE, mode=0o700),
        entry(long_name, b"long"),
        entry("agent_state/.vault.toml", b"K = 1"),
        entry("agent_state/skills/a/.Vault.TOML", b"K = 1"),
        entry("agent_state/skills/a/.vault.toml.d", b"not a vault"),
        entry("agent_state/.tmp-01234567", b"left over"),
        entry("README", b"beside"),
        entry("other/x", b"beside"),
    ]
    if form != tarfile.USTAR_FORMAT:
        entries.append(entry("agent_state/" + "é" * 110, b"wide"))
    archive = read_archive(gzip.compress(tar(*entries, form=form)))
    assert set(archive.ignored) == {
        "agent_state/.vault.toml",
        "agent_state/skills/a/.Vault.TOML",
        "agent_state/.tmp-01234567",
        "README",
        "other/x",
    }
    assert archive.read("system_config.yaml") == CONFIG
    with pytest.raises(KeyError):
        archive.read(".vault.toml")
    out = tmp_path / "out"
    archive.extract_to(out)
    assert fingerprint.file_hashes(out) == archive.file_hashes()
    assert fingerprint.state_hash(out) == archive.content_hash
    assert fingerprint.whole_hash(out) == archive.whole_hash
    assert (out / "AGENTS.md").stat().st_mtime == 1_700_000_000
    assert (out / "run.sh").stat().st_mode & 0o100
    assert (out / "tools").is_dir()
    assert (out / long_name.removeprefix("agent_state/")).read_bytes() == b"long"


def test_the_hash_depends_on_neither_order_nor_times_nor_owner() -> None:
    one = read_archive(tar(GOOD, plain("agent_state/a"), plain("agent_state/b")))
    two = read_archive(
        gzip.compress(tar(entry("agent_state/b", b"x", mtime=5, uid=7, uname="ada"), plain("./agent_state/a"), GOOD))
    )
    assert one.content_hash == two.content_hash
    assert one.whole_hash == two.whole_hash
    assert one.content_hash != read_archive(tar(GOOD, plain("agent_state/a"), plain("agent_state/c"))).content_hash


def state_at(root: Path) -> Path:
    state = root / "agent_state"
    for name in ("system_config.yaml", "AGENTS.md", "memory/user/MEMORY.md", "skills/naïve/SKILL.md", ".vault.toml"):
        (state / name).parent.mkdir(parents=True, exist_ok=True)
        (state / name).write_text(name)
    (state / "tools").mkdir()
    (state / "skills/run.sh").write_text("#!/bin/sh\n")
    (state / "skills/run.sh").chmod(0o755)
    return state


def test_a_packed_state_has_the_shared_form_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    state = state_at(tmp_path)
    os.utime(state / "AGENTS.md", (1_700_000_000.5, 1_700_000_000.5))
    packed = pack(state, tmp_path / "one")
    os.utime(state)
    pack(state, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert packed.content_hash == fingerprint.state_hash(state)
    assert packed.whole_hash == fingerprint.whole_hash(state)
    with tarfile.open(tmp_path / "one") as archive:
        found = archive.getmembers()
    assert found[0].name == "agent_state"
    assert all(member.name.split("/")[0] == "agent_state" for member in found)
    assert not any(".vault.toml" in member.name for member in found)
    assert {(member.uid, member.gid, member.uname) for member in found} == {(0, 0, "")}
    assert {member.mtime for member in found if member.isdir()} == {0}
    assert next(m for m in found if m.name == "agent_state/AGENTS.md").mtime == 1_700_000_000
    assert "agent_state/tools" in [member.name for member in found]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda state: (state / "link").symlink_to("AGENTS.md"),
        lambda state: (state / "skills/link").symlink_to("/etc"),
        lambda state: os.mkfifo(state / "pipe"),
        lambda state: (state / "a\nb").write_text(""),
        lambda state: Path(os.fsdecode(bytes(state) + b"/caf\xe9")).write_text(""),
        lambda state: [(state / name).write_text("") for name in ("README", "readme")],
        lambda state: [(state / unicodedata.normalize(f, "é")).write_text("") for f in ("NFC", "NFD")],
    ],
)
def test_a_state_that_no_import_would_take_is_not_packed(spoil: Callable[[Path], object], tmp_path: Path) -> None:
    state = state_at(tmp_path)
    spoil(state)
    with pytest.raises(BlockedError):
        pack(state, tmp_path / "out")
