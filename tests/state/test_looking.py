"""An archive is looked at before it comes in: whole, changing nothing, with progress that may end it."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.foundation.errors import ConflictError, DamagedError
from core.state import snapshots, transfer
from core.state.archive import HostileArchiveError
from core.state.paths import AgentPaths
from tests.state.agent_home import everything, make_agent, set_version

EDGE = Path(__file__).parents[1] / "fixtures/penguin-edge/snapshots"


class Enough(Exception):  # noqa: N818 (not an error: whoever watches wants no more)
    """The one who watches wants no more."""


@pytest.fixture
def agent(tmp_path: Path) -> AgentPaths:
    made = make_agent(tmp_path)
    set_version(made, 3, "three\n")
    (made.state / "skills" / "a" / "long.md").write_text("word " * 400_000)
    return made


def test_looking_tells_the_version_and_what_would_be_left_out_and_changes_nothing(
    agent: AgentPaths, tmp_path: Path
) -> None:
    kept = snapshots.create(agent)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    incoming = transfer.look(kept.path)
    assert (incoming.version, incoming.left_out) == (3, ())
    assert incoming.archive.whole_hash == kept.whole_hash
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


@pytest.mark.parametrize("name", ["traverse.tar.gz", "symlink.tar.gz"])
def test_looking_refuses_what_an_import_refuses(name: str) -> None:
    with pytest.raises(HostileArchiveError):
        transfer.look(EDGE / name)
    with pytest.raises(DamagedError):
        transfer.look(b"no archive at all")


def test_progress_grows_to_the_whole_and_may_end_it(agent: AgentPaths, tmp_path: Path) -> None:
    written = transfer.export(agent, None, tmp_path / "out.tar.gz")
    told: list[tuple[int, int]] = []
    transfer.look(written, lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert {total for _, total in told} == {written.stat().st_size}
    assert told[-1][0] == written.stat().st_size

    def enough(done: int, total: int) -> None:
        raise Enough

    before = everything(agent)
    with pytest.raises(Enough):
        transfer.import_archive(agent, written, confirmed=True, report=enough)
    with pytest.raises(Enough):
        transfer.export(agent, 3, tmp_path / "again.tar.gz", report=enough)
    assert everything(agent) == before
    assert not (tmp_path / "again.tar.gz").exists()


def test_only_what_was_looked_at_comes_in(agent: AgentPaths, tmp_path: Path) -> None:
    written = transfer.export(agent, None, tmp_path / "out.tar.gz")
    seen = transfer.look(written).archive.whole_hash
    set_version(agent, 4, "four\n")
    before = everything(agent)
    with pytest.raises(ConflictError, match="changed since it was looked at"):
        transfer.import_archive(agent, written, confirmed=True, whole_hash="sha256:other")
    assert everything(agent) == before
    assert transfer.import_archive(agent, written, confirmed=True, whole_hash=seen).version == 3
    assert agent.agents_md.read_text() == "three\n"
