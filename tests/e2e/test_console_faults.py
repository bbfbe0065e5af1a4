"""What has broken consoles in the field, tried on a real terminal: each class by its smallest input."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.state.paths import ProjectPaths
from core.traces import records
from tests.e2e.pty import Terminal
from tests.tui.home import AGENT, ask_for_freeze, give_engine, make_home, write_trace

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

MAIN = "from tui.cli.main import main; main()"
LEFT = b"\x1b[?1049l"
FULL = "Small chores"


@pytest.fixture
def project(tmp_path: Path) -> ProjectPaths:
    return make_home(tmp_path / "home")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    places = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
    return {"HOME": str(tmp_path), **dict.fromkeys(places, ""), "PAGER": "cat"}


def opened(project: ProjectPaths, before: str = "") -> list[str]:
    """Return the command line; `before` is run first, in the same process."""
    return [sys.executable, "-P", "-c", f"{before}\n{MAIN}", "open", str(project.root)]


def test_bytes_that_are_no_text_do_not_end_it(project: ProjectPaths, environ: dict[str, str]) -> None:
    """FAULTS: encoding assumptions. A terminal of another encoding, or a noisy line."""
    with Terminal(opened(project), environ=environ) as screen:
        screen.wait_for(FULL, "accepted")
        os.write(screen.fd, b"\xff\xfe\xc3 \xe9\x80")
        screen.press("5")
        screen.wait_for("now v2")
        screen.press("/")
        screen.wait_for("Show rows that hold:")
        os.write(screen.fd, b"caf\xe9 ")
        screen.wait_for("caf\N{REPLACEMENT CHARACTER}")
        screen.press("escape")
        screen.read(0.3)
        screen.press("q")
        assert screen.wait_for_end() == 0


def test_a_fault_ends_it_with_a_word_and_none_of_its_variables(
    project: ProjectPaths, environ: dict[str, str], tmp_path: Path
) -> None:
    """FAULTS: exit codes; TERMINAL 2.2: a traceback must not print what variables hold."""
    fault = (
        "import tui.screens.global_actions as g\n"
        "def fails(self):\n    key = 'sk-' + 'secret'\n    raise ValueError('boom \\x1b]0;owned\\x07')\n"
        "g.GlobalActions.do_zoom = fails"
    )
    with Terminal(opened(project, fault), columns=120, environ=environ) as screen:
        screen.wait_for(FULL, "accepted")
        screen.press("z")
        assert screen.wait_for_end() == 1
    raw = bytes(screen.raw)
    assert LEFT in raw
    after = raw[raw.rindex(LEFT) :]
    assert b"ValueError: boom" in after
    assert b"Runs go on without the console" in after
    assert b"sk-secret" not in raw
    assert b"\x1b]0" not in raw
    assert "fails" in (tmp_path / ".local" / "state" / "exuvia" / "last-fault.txt").read_text()


def test_what_is_under_way_is_ended_by_leaving(project: ProjectPaths, environ: dict[str, str], tmp_path: Path) -> None:
    """TERMINAL 4, theme 14: a search of an hour, and an export, keep no process alive; no half of a file stays."""
    write_trace(project.agent(AGENT), "session-2026-01-06-00-00-00-00000001", "Export me.")
    slow = (
        "import time, core.traces.transfer as t\n"
        "t._PIECE, export = 1, t.export_trace\n"
        "def slowly(*given, report):\n"
        "    def told(done, total):\n        time.sleep(0.05)\n        report(done, total)\n"
        "    return export(*given, report=told)\n"
        "import tui.screens.panes.trace as pane\n"
        "pane.export_trace = slowly"
    )
    with Terminal(opened(project, slow), environ=environ) as screen:
        screen.wait_for(FULL, "accepted")
        screen.press("3")
        screen.wait_for("Export me.")
        screen.press("home", "E")
        screen.wait_for("into directory")
        screen.press("\x15", *str(tmp_path / "out"), "enter")
        screen.wait_for("exporting", "Esc ends it")
        assert list((tmp_path / "out").iterdir())
        screen.press("q")
        assert screen.wait_for_end(20) == 0
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_what_python_was_told_of_encodings_breaks_no_row(
    project: ProjectPaths, environ: dict[str, str], locale: str
) -> None:
    """FAULTS: encoding assumptions: PYTHONIOENCODING=cp1252, with and without LANG=C."""
    told = {"PYTHONIOENCODING": "cp1252", "LC_ALL": locale, "LANG": locale}
    write_trace(project.agent(AGENT), "session-2026-01-06-00-00-00-00000001", "日本語 é")
    with Terminal(opened(project), environ={**environ, **told}) as screen:
        screen.wait_for(FULL, "accepted")
        screen.press("3")
        screen.wait_for("5 Sessions")
        screen.read(0.3)
        screen.press("q")
        assert screen.wait_for_end() == 0
    assert b"\\u" not in screen.raw
    if locale == "C":
        assert screen.raw.isascii()
    else:
        assert "日本語".encode() in screen.raw


def test_only_ascii_on_every_screen_where_the_locale_has_no_more(
    project: ProjectPaths, environ: dict[str, str]
) -> None:
    """TERMINAL 2.2: forms, pickers, settings, cells, lanes and differences too; with what an agent wrote in them."""
    write_trace(project.agent(AGENT), "session-2026-01-06-00-00-00-00000001", "日本語 é 👩 \u202e")
    ask_for_freeze(project, text="日本語 é 👩 \u202e")
    plain = {"LANG": "C", "LC_ALL": "C", "NO_COLOR": "1"}
    with Terminal(opened(project), columns=60, rows=15, environ={**environ, **plain}) as screen:
        screen.wait_for("6 Inbox")
        walk = "6 enter escape 2 enter escape 3 home enter escape w w escape escape 4 p 5 t t 7"
        for key in walk.split():
            screen.press(key)
            screen.read(0.1)
        for key, seen in (("?", "Keys of the console"), (",", "Settings"), (":", "to narrow")):
            screen.press(key)
            screen.wait_for(seen)
            screen.press("escape")
            screen.wait_until(lambda text, seen=seen: seen not in text, what="the frame again")  # type: ignore[misc]
            screen.read(0.3)
        screen.press("4", "S")
        screen.wait_for("Start:")
        screen.press("escape")
        screen.read(0.3)
        screen.press("q")
        assert screen.wait_for_end() == 0
    assert screen.raw.isascii()


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a megabyte; skipped where nothing may be mounted."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if os.getuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("nothing may be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=False)


def fill(place: Path) -> None:
    """Leave no byte free."""
    with (place / "filler").open("wb", buffering=0) as file:
        try:
            while file.write(b"\0" * 4096):
                pass
        except OSError:
            return


def test_a_full_disk_is_named_and_decides_and_loses_nothing(full_disk: Path, environ: dict[str, str]) -> None:
    """FAULTS: non-atomic write and ENOSPC; settings, copies, pages for the pager, snapshots and decisions."""
    project = make_home(full_disk / "home")
    run, _ = ask_for_freeze(project)
    engine = give_engine(run)
    settings = full_disk / "config" / "exuvia" / "settings.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("theme = 'terminal'\n")
    given = {"XDG_CONFIG_HOME": str(full_disk / "config"), "XDG_STATE_HOME": str(full_disk), "TMPDIR": str(full_disk)}
    (full_disk / "exuvia").mkdir()
    try:
        with Terminal(opened(project), columns=160, rows=40, environ={**environ, **given}) as screen:
            screen.wait_for("6 Inbox(1)", "freeze chores for helper?")
            fill(full_disk)
            screen.press("6", "a")
            screen.wait_for("y yes")
            screen.read(0.4)
            screen.press("y")
            screen.wait_until(lambda text: "space left" in text or "full" in text, what="the full disk named")
            assert not list(project.approvals.glob("*.decision.json"))
            screen.press("y")
            screen.wait_for("not written to a file")
            screen.press(",")
            screen.wait_for("theme")
            screen.press("enter")
            screen.wait_until(lambda text: "space left" in text or "full" in text, what="the full disk named")
            screen.press("escape")
            screen.read(0.3)
            screen.press("5", "v")
            screen.read(0.5)
            screen.press("1")
            screen.wait_for("waits for you")
            (full_disk / "filler").unlink()
            screen.press("6")
            screen.wait_for("freeze chores for helper?")
            screen.read(1.0)
            screen.press("a")
            screen.wait_for("y yes")
            screen.read(0.4)
            screen.press("y")
            screen.wait_for("Approved")
            screen.press("q")
            assert screen.wait_for_end() == 0
    finally:
        engine.kill()
        engine.wait()
    assert settings.read_text() == "theme = 'terminal'\n"
    assert len(list(project.approvals.glob("*.decision.json"))) == 1
    assert not [path for path in full_disk.rglob("*") if ".tmp" in path.name]


def test_a_storm_of_changes_is_told_in_few_bytes(project: ProjectPaths, environ: dict[str, str]) -> None:
    """FAULTS: redraw storms. Twenty changes a second of a live trace and of what streams in."""
    run, _ = ask_for_freeze(project)
    engine = give_engine(run)
    session = "session-2026-01-06-00-00-00-00000001"
    trace = write_trace(project.agent(AGENT), session, "Work.")
    live = project.live / f"{session}.txt"
    live.parent.mkdir(parents=True, exist_ok=True)
    line = trace.read_bytes().split(b"\n")[-2] + b"\n"
    try:
        with Terminal(opened(project), columns=120, rows=40, environ=environ) as screen:
            screen.wait_for("1 live")
            screen.press("1")
            screen.read(2.0)
            said, began = 0, time.monotonic()
            for number in range(80):
                live.write_text(f"word {number}\n" * 5)
                with trace.open("ab") as file:
                    file.write(line)
                said += screen.read(0.05)
            rate = said / (time.monotonic() - began)
            screen.press("q")
            assert screen.wait_for_end() == 0
    finally:
        engine.kill()
        engine.wait()
    assert rate < 4096, f"{rate:.0f} bytes a second"


@pytest.mark.parametrize("inside", ["form", "picker", "pager", "question"])
def test_a_terminal_that_closes_inside_something_ends_it(
    project: ProjectPaths, environ: dict[str, str], inside: str
) -> None:
    """TERMINAL 4, theme 14: hang-ups come at any time."""
    keys = {"form": ("S",), "picker": (":",), "pager": ("5", "v"), "question": ("5", "/")}[inside]
    seen = {"form": "Start:", "picker": "to narrow", "pager": "version", "question": "hold:"}[inside]
    with Terminal(opened(project), environ={**environ, "PAGER": "sleep 60 #"}) as screen:
        screen.wait_for(FULL, "accepted")
        screen.press(*keys)
        if inside == "pager":
            screen.read(1.0)
        else:
            screen.wait_for(seen)
        screen.hang_up()
        assert screen.wait_for_end(20) != 0


def test_a_large_tool_output_scrolls_in_a_window(project: ProjectPaths, environ: dict[str, str]) -> None:
    """FAULTS: non-virtual widget. Five megabytes in one line of a trace; Page Down answers with one screen."""
    answer = records.tool_call_output("call_2", "\n".join(f"line {n} of the output" for n in range(220_000)))
    write_trace(
        project.agent(AGENT), "session-2026-01-06-00-00-00-00000001", "Print all.",
        records.tool_call("call_2", "run", "{}"), answer,
    )  # fmt: skip
    with Terminal(opened(project), columns=120, rows=40, environ=environ) as screen:
        screen.wait_for(FULL, "accepted")
        screen.press("3")
        screen.wait_for("Session: Print all.")
        screen.press("home", "enter")
        screen.wait_for("line 0 of the output")
        screen.press("down", "down", "down", "down")
        screen.wait_for("line 2 of the output")
        screen.press("enter")
        before = len(screen.raw)
        screen.press(*["pagedown"] * 10)
        screen.read(0.5)
        assert len(screen.raw) - before < 200_000
        screen.press("escape", "q")
        screen.read(0.3)
