"""The console in a real terminal: it starts, says little, leaves the terminal as it was, and lets nothing through."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

import pytest

from core.foundation.errors import UsageError
from core.state.paths import ProjectPaths
from tests.e2e.pty import Terminal
from tests.tui.home import AGENT, ask_for_freeze, give_engine, write_trace
from tui import boot

ATTACK = "\x1b]0;owned\x07\x1b[2J\x1b]52;c;aGk=\x07\x9b31m\u202eevil\x00[/nope][red]\x1bP1$q\x1b\\"
OPEN = (
    "import sys; from pathlib import Path; from core.state.paths import ProjectPaths; from tui.app import run_console; "
    "sys.exit(run_console(ProjectPaths(Path(sys.argv[1])), lean=sys.argv[2] == 'lean'))"
)
LEFT = b"\x1b[?1049l"


def open_console(project: ProjectPaths, lean: str = "stock", **options: object) -> Terminal:
    return Terminal([sys.executable, "-P", "-c", OPEN, str(project.root), lean], **options)  # type: ignore[arg-type]


@pytest.mark.e2e
@pytest.mark.parametrize("lean", ["stock", "lean"])
def test_start_look_and_quit(project: ProjectPaths, lean: str) -> None:
    with open_console(project, lean) as screen:
        screen.wait_for("helper", "65.00", "4 Scores", "rejected")
        screen.press("5")
        screen.wait_for("now v2")
        screen.press("q")
        assert screen.wait_for_end() == 0
        assert LEFT in screen.raw
        assert screen.raw.rindex(b"\x1b[?25h") > screen.raw.rindex(b"\x1b[?25l")


@pytest.mark.e2e
def test_quitting_leaves_runs_at_work_and_says_so(project: ProjectPaths) -> None:
    run, _ = ask_for_freeze(project)
    engine = give_engine(run)
    try:
        with open_console(project) as screen:
            screen.wait_for("1 live", "6 Inbox")
            screen.press("q")
            assert screen.wait_for_end() == 0
            assert b"Still at work: build-20260101-100000-aaaa" in screen.raw
        assert engine.poll() is None
    finally:
        engine.kill()
        engine.wait()


@pytest.mark.e2e
def test_a_freeze_is_approved_by_key(project: ProjectPaths) -> None:
    run, approval_id = ask_for_freeze(project)
    engine = give_engine(run)
    try:
        with open_console(project) as screen:
            screen.wait_for("freeze chores for helper?")
            screen.press("a")
            screen.wait_for("Freeze chores as it stands")
            screen.read(0.4)
            screen.press("y")
            screen.wait_for("Approved: freeze of chores")
        assert (project.approvals / f"{approval_id}.decision.json").exists()
    finally:
        engine.kill()
        engine.wait()


@pytest.mark.e2e
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_restores_the_terminal(project: ProjectPaths, number: signal.Signals) -> None:
    with open_console(project) as screen:
        screen.wait_for("4 Scores", "rejected")
        screen.read(0.5)
        screen.kill(number)
        assert screen.wait_for_end(20) == 128 + number
        assert LEFT in screen.raw


@pytest.mark.e2e
@pytest.mark.parametrize("ignore", [False, True], ids=["hup", "hup ignored"])
def test_a_terminal_that_vanished_ends_the_console(project: ProjectPaths, ignore: bool) -> None:
    with open_console(project, ignore_hangup=ignore) as screen:
        screen.wait_for("4 Scores", "rejected")
        screen.read(0.5)
        screen.hang_up()
        assert screen.wait_for_end(20) != 0


@pytest.mark.e2e
def test_at_rest_it_writes_nothing(project: ProjectPaths) -> None:
    with open_console(project) as screen:
        screen.wait_for("4 Scores", "rejected", "idle")
        screen.read(2.5)
        assert screen.read(3.0) == 0


@pytest.mark.e2e
def test_no_color_means_none(project: ProjectPaths) -> None:
    with open_console(project, environ={"NO_COLOR": "1"}) as screen:
        screen.wait_for("4 Scores", "rejected", "> ")
        screen.press("5", "2", "1")
        screen.read(0.5)
        codes = {part for found in re.findall(rb"\x1b\[([0-9;]*)m", bytes(screen.raw)) for part in found.split(b";")}
        assert codes <= {b"", b"0", b"1", b"2", b"3", b"4", b"7"}


@pytest.mark.e2e
def test_a_storm_of_sizes(project: ProjectPaths) -> None:
    with open_console(project) as screen:
        screen.wait_for("4 Scores", "rejected")
        for columns, rows in [(200, 60), (80, 24), (40, 10), (120, 40)] * 5:
            screen.resize(columns, rows)
            screen.read(0.02)
        screen.resize(80, 24)
        screen.read(1.0)
        screen.press("5")
        screen.wait_for("now v2")


@pytest.mark.e2e
def test_nothing_an_agent_wrote_reaches_the_terminal(project: ProjectPaths) -> None:
    run, _ = ask_for_freeze(project, text=f"Reason {ATTACK}")
    engine = give_engine(run)
    agent = project.agent(AGENT)
    write_trace(agent, "session-2026-01-02-00-00-00-00000000", f"Prompt {ATTACK}")
    (project.live / "x").parent.mkdir(parents=True, exist_ok=True)
    benchmark = agent.benchmark("chores")
    case = benchmark.case("CASE-001-register")
    case.statement_readme.write_text(f"# Title {ATTACK}\n\nbody {ATTACK}\n")
    try:
        with open_console(project, columns=120, rows=40) as screen:
            screen.wait_for("6 Inbox", "Reason")
            screen.press("2", "enter", "1", "down", "down", "enter")
            screen.wait_for("3 Trace", "Prompt")
            screen.press("down", "4", "5", "6", "q")
            assert screen.wait_for_end() == 0
        raw = bytes(screen.raw)
    finally:
        engine.kill()
        engine.wait()
    assert "␛]0;owned" in screen.text or "␛]0;owned".encode() in raw
    for forbidden in (b"\x1b]0", b"\x1b]52", b"\x1bP", b"\x1b[2J", "\x9b".encode(), "\u202e".encode(), b"\x00"):
        assert forbidden not in raw
    assert b"[/nope][red]" in raw


@pytest.mark.parametrize("term", ["", "dumb"])
def test_a_dumb_terminal_is_refused_with_a_way_out(term: str) -> None:
    with pytest.raises(UsageError) as refused:
        boot.check_terminal({"TERM": term})
    assert "exuvia" in refused.value.hint


def test_what_textual_reads_is_settled() -> None:
    environ = {"COLUMNS": "10", "LINES": "2"}
    boot.prepare(environ)
    assert environ == {"TEXTUAL_ANIMATIONS": "none", "TEXTUAL_THEME": "ansi-dark", "ESCDELAY": "50"}


def test_the_command_line_does_not_import_textual() -> None:
    code = "import sys, tui.app, tui.boot, tui.cli.main; sys.exit('textual' in sys.modules)"
    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-P", "-c", code]) == 0


def test_stores_know_no_widget() -> None:
    stores = Path(__file__).parents[2] / "tui" / "stores"
    names = [f"tui.stores.{path.stem}" for path in stores.glob("*.py") if path.stem != "__init__"]
    code = f"import sys, importlib; [importlib.import_module(n) for n in {names!r}]; sys.exit('textual' in sys.modules)"
    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-P", "-c", code]) == 0
