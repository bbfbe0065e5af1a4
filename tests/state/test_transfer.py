"""Import by the existing system's rules, archive by archive, and where we are knowingly stricter."""

from __future__ import annotations

import io
import json
import os
import tarfile
from pathlib import Path

import pytest

from core.foundation.errors import DamagedError, RefusedError
from core.state import audit, snapshots
from core.state.archive import HostileArchiveError
from core.state.paths import AgentPaths, ProjectPaths
from core.state.rollback import undo
from core.state.transfer import VersionConflictError, import_archive
from tests.state.agent_home import everything, make_agent, set_version

ARCHIVES = Path(__file__).parents[1] / "fixtures/penguin-edge/snapshots"
EXPECTED = json.loads((ARCHIVES / "expected.json").read_text())["archives"]

# Where the existing system imports and drops or defuses the hostile members, we refuse the archive as a whole:
# it keeps symlinks that point out of the state (`link -> etc/passwd`), and it can't know what else a forged
# archive is meant to do.
STRICTER = {
    "symlink.tar.gz": "symlinks are kept there; here a symlink anywhere refuses the archive",
    "traverse.tar.gz": "`..` and absolute paths are skipped there; here they refuse the archive",
}


def answer(agent: AgentPaths, archive: Path, confirmed: bool) -> str:
    """Answer as the existing system does: its code for each of our errors."""
    try:
        return json.dumps({"version": import_archive(agent, archive, confirmed).version}, separators=(",", ":"))
    except HostileArchiveError:
        return "refused as hostile"
    except DamagedError:
        return "ERR 400 bad_request"
    except VersionConflictError as error:
        return (
            f"ERR 409 version_conflict Package version v{error.incoming} is not higher than the current"
            f" v{error.present}; confirmation is required to import."
        )


@pytest.mark.parametrize("confirmed", [False, True], ids=["unconfirmed", "confirmed"])
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_each_archive_gets_the_existing_systems_answer(name: str, confirmed: bool, tmp_path: Path) -> None:
    agent = ProjectPaths(tmp_path / "p").agent("a")
    agent.state.mkdir(parents=True)
    agent.config.write_text("system_prompt: x\nversion: 3\n")
    agent.agents_md.write_text("present\n")
    agent.vault.write_text('K="keep"')
    expected = EXPECTED[name]["confirmed" if confirmed else "unconfirmed"]
    got = answer(agent, ARCHIVES / name, confirmed)
    files = sorted(
        str(path.relative_to(agent.root))
        for path in agent.root.rglob("*")
        if path.is_file() and not path.name.startswith(".tmp")
    )
    if name in STRICTER:
        assert got == "refused as hostile", STRICTER[name]
        assert files == ["agent_state/.vault.toml", "agent_state/AGENTS.md", "agent_state/system_config.yaml"]
    else:
        told = expected["answer"]
        assert got == ("ERR 400 bad_request" if told.startswith("ERR 400") else told)
        assert files == sorted(expected["files_after"])
    assert f"vault {agent.vault.read_text()}" == expected["vault_after"]


@pytest.fixture
def agent(tmp_path: Path) -> AgentPaths:
    made = make_agent(tmp_path)
    set_version(made, 3, "three\n")
    return made


def packed(config: str | None, **files: str) -> bytes:
    out = io.BytesIO()
    contents = {**({"system_config.yaml": config} if config is not None else {}), **files}
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, text in contents.items():
            info = tarfile.TarInfo(f"agent_state/{name}")
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


@pytest.mark.parametrize(
    ("version", "accepted"),
    [
        ("version: 8", 8),
        ("version: 8.0", 8),
        ("version: 0x10", 16),
        ("", 1),
        ("version: 4.5", None),
        ("version: 0", None),
        ("version: -1", None),
        ('version: "7"', None),
        ("version: true", None),
        ("version: .inf", None),
        ("version: .nan", None),
        ("version: null", None),
        ("version: [7]", None),
        ("version: 1\nversion: 2", None),
    ],
)
def test_the_version_rule(agent: AgentPaths, version: str, accepted: int | None) -> None:
    raw = packed(f"system_prompt: x\n{version}\n")
    if accepted is None:
        with pytest.raises(DamagedError):
            import_archive(agent, raw, confirmed=True)
        assert agent.agents_md.exists()
    else:
        assert import_archive(agent, raw, confirmed=True).version == accepted


@pytest.mark.parametrize("config", ["version: 9", "system_prompt: 5\nversion: 9", "- a", "", "a: [", "\t x: y"])
def test_a_config_without_a_prompt_is_refused(agent: AgentPaths, config: str) -> None:
    with pytest.raises(DamagedError):
        import_archive(agent, packed(config))
    assert snapshots.list_snapshots(agent) == ()


def test_import_replaces_the_whole_state_keeps_the_vault_and_can_be_undone(agent: AgentPaths, tmp_path: Path) -> None:
    before = everything(agent)
    archive = tmp_path / "in.tar.gz"
    archive.write_bytes(packed("system_prompt: x\nversion: 5\n", **{"memory/m.md": "theirs", ".vault.toml": "K = 'x'"}))
    done = import_archive(agent, archive, actor="cli")
    assert (done.from_version, done.version) == (3, 5)
    assert done.warnings == ("agent_state/.vault.toml was left out",)
    assert set(everything(agent)) == {".vault.toml", "memory/m.md", "system_config.yaml"}
    assert agent.vault.read_text() == 'K = "keep"\n'
    assert done.snapshot_of_before.path == agent.snapshots / "v3.tar.gz"
    assert [entry.action for entry in audit.read(agent.project)] == ["import"]
    undo(agent, "cli")
    assert everything(agent) == before


def test_the_existing_systems_defect_edit_export_import_loses_nothing_here(agent: AgentPaths) -> None:
    """EVOLUTION 2.7 no. 70: edit a version, import its old snapshot with confirmation: there the edit is gone."""
    old = snapshots.create(agent)
    agent.agents_md.write_text("an hour's work\n")
    before = everything(agent)
    done = import_archive(agent, old.path, confirmed=True)
    assert agent.agents_md.read_text() == "three\n"
    assert "kept beside" in done.warnings[0]
    undo(agent, "cli")
    assert everything(agent) == before


def test_plain_tar_is_taken_and_a_live_run_is_not_disturbed(agent: AgentPaths, tmp_path: Path) -> None:
    import gzip

    plain = tmp_path / "plain.tar"
    plain.write_bytes(gzip.decompress(packed("system_prompt: x\nversion: 5\n")))
    with pytest.raises(RefusedError, match="optimize-1"):
        import_archive(agent, plain, live_run=lambda _: "optimize-1")
    assert agent.agents_md.read_text() == "three\n"
    assert import_archive(agent, plain).version == 5


def test_a_hostile_archive_touches_nothing(agent: AgentPaths, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    for name in STRICTER:
        with pytest.raises(HostileArchiveError):
            import_archive(agent, ARCHIVES / name, confirmed=True)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    assert not Path("/tmp/evil_abs.txt").exists()
    assert not os.path.lexists(tmp_path.parent / "evil.txt")
