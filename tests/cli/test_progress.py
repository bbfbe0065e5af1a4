"""What takes over a second says how far it is and how long it still takes; what doesn't says nothing."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from core.state.paths import ProjectPaths
from tests.cli.program import call, spawn, tree_hash
from tests.e2e.pty import Terminal
from tests.tui.home import AGENT, make_home, write_trace
from tui.cli import progress
from tui.cli.progress import Progress, said_of, working

SLOW = """
import sys, time
from tui.cli import progress
with progress.working("copying") as told:
    for done in range(0, 33):
        told(done * 100_000, 3_200_000)
        time.sleep(0.06)
print("done", flush=True)
"""


@pytest.mark.parametrize(
    ("done", "total", "elapsed", "line"),
    [
        (1_000_000, 4_000_000, 3.0, "copying: [######..................]  25% of 4.0 MB, 9 s left"),
        (4_000_000, 4_000_000, 3.0, "copying: [########################] 100% of 4.0 MB, 0 s left"),
        (1, 1000, 1.0, "copying: [........................]   0% of 1.0 kB, 16 min 39 s left"),
        (0, 4_000_000, 3.0, "copying: [........................]   0% of 4.0 MB"),
        (9_000_000, 4_000_000, 3.0, "copying: [########################] 100% of 4.0 MB, 0 s left"),
        (0, 0, 65.0, "copying: 1 min 05 s"),
        (2_500_000, 0, 2.0, "copying: 2 s, 2.5 MB so far"),
    ],
)
def test_the_line_says_share_and_time_left(done: int, total: int, elapsed: float, line: str) -> None:
    assert said_of("copying", done, total, elapsed) == line


def test_other_things_than_bytes_are_counted_in_their_own_name() -> None:
    assert "50% of 1,200 files" in said_of("x", 600, 1200, 1.0, "files")


def test_what_is_done_within_a_second_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with working("copying") as told:
        for done in range(10):
            told(done, 10)
    assert capsys.readouterr().err == ""


def test_a_log_gets_few_whole_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    told = Progress("copying \x1b[2K")
    for second in range(40):
        clock = float(second)
        told(second, 40)
    told.close()
    said = capsys.readouterr().err
    assert said.endswith("\n")
    assert 3 <= len(said.splitlines()) <= 5
    assert "\r" not in said
    assert "\x1b" not in said


@pytest.mark.parametrize("environ", [{}, {"EXUVIA_PLAIN": "1"}, {"TERM": "dumb"}], ids=str)
def test_on_a_terminal_one_line_is_drawn_and_cleared(environ: dict[str, str]) -> None:
    with Terminal([sys.executable, "-P", "-c", SLOW], columns=100, environ=environ) as terminal:
        said = terminal.wait_for("done")
    if environ:
        assert b"\r" not in terminal.raw.replace(b"\r\n", b"\n")
        assert "copying: [" in said
    else:
        assert b"copying: [" in terminal.raw
        assert b" left" in terminal.raw
        assert "copying" not in said  # nothing of it stays
    assert b"\x1b" not in terminal.raw


def test_an_act_that_says_nothing_of_itself_still_tells_its_seconds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "BEFORE_S", 0.05)
    with working("importing"):
        time.sleep(0.3)
    assert capsys.readouterr().err.startswith("importing: 0 s")


def test_a_fault_clears_the_line_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "BEFORE_S", 0.01)
    kept: list[Progress] = []

    def act() -> None:
        with working("importing") as told:
            kept.append(told)
            time.sleep(0.05)
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        act()
    assert kept[0]._drawn == 0


@pytest.fixture
def home(tmp_path: Path) -> ProjectPaths:
    made = make_home(tmp_path / "home")
    write_trace(made.agent(AGENT), "session-2026-01-02-10-00-00-aaaaaaaa", "The gateway said \u201cnot yet\u201d.")
    return made


def test_search_finds_a_text_in_every_session(home: ProjectPaths) -> None:
    root = home.root.parent
    before = tree_hash(root)
    found = call("trace", "search", "gateway said", "--home", root)
    assert found.code == 0
    assert "session-2026-01-02-10-00-00-aaaaaaaa:0  The gateway said \u201cnot yet\u201d." in found.out
    assert "exuvia trace show session-2026-01-02-10-00-00-aaaaaaaa --from 0" in found.out
    hits = call("trace", "search", "no such file", "--json", "--home", root).document
    assert len(hits["hits"]) == hits["sessions"] >= 3
    assert hits["hits"][0]["session_id"] > hits["hits"][-1]["session_id"]  # newest first
    assert call("trace", "search", "NO SUCH file", "--json", "--home", root).document["hits"] == []
    limited = call("trace", "search", "no such file", "--limit", "1", "--home", root)
    assert "more than 1" in limited.out
    assert tree_hash(root) == before


def test_search_within_a_session_and_without_a_find(home: ProjectPaths) -> None:
    root = home.root.parent
    where = ("--session", "session-2026-01-02-10-00-00-aaaaaaaa", "--home", root)
    assert len(call("trace", "search", "Error", "--json", *where).document["hits"]) == 1
    assert "stands in none of 1 session" in call("trace", "search", "walrus", *where).out
    assert call("trace", "search", "x", "--session", "nothing", "--home", root).code == 2
    assert call("trace", "search", "  ", "--home", root).code == 2


def test_a_trace_is_exported_whole_with_its_progress(home: ProjectPaths, tmp_path: Path) -> None:
    session = "session-2026-01-02-10-00-00-aaaaaaaa"
    ended = spawn("trace", "export", session, tmp_path / "out", "--home", home.root.parent)
    assert ended.returncode == 0
    assert ended.stderr == b""  # it took no second
    (copy,) = (tmp_path / "out").iterdir()
    (source,) = home.agent(AGENT).traces.rglob(f"{session}*")
    assert copy.read_bytes() == source.read_bytes()
