"""The console in terminals of every sort: what TERM says, tmux, a locale without UTF-8, tiny windows, suspension."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from core.state.paths import ProjectPaths
from tests.e2e.pty import Terminal
from tests.e2e.tmux import TMUX, Tmux
from tests.tui.home import make_home

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

EXUVIA = [sys.executable, "-P", "-c", "from tui.cli.main import main; main()"]
SEEN = ("helper", "65.00", "4 Scores")
_STYLES = re.compile(rb"\x1b\[([0-9;:]*)m")


@pytest.fixture
def project(tmp_path: Path) -> ProjectPaths:
    return make_home(tmp_path / "home")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "XDG_CACHE_HOME": ""}


def opened(project: ProjectPaths, *more: str) -> list[str]:
    return [*EXUVIA, "open", str(project.root), *more]


def styles(raw: bytes) -> set[bytes]:
    """Return every style parameter that was sent."""
    return {part for found in _STYLES.findall(raw) for part in re.split(rb"[;:]", found)}


@pytest.mark.parametrize(
    "term", ["xterm-256color", "xterm", "screen", "screen-256color", "tmux-256color", "linux", "vt220"]
)
@pytest.mark.parametrize("colour", ["", "truecolor"])
def test_every_usual_terminal_shows_it(project: ProjectPaths, environ: dict[str, str], term: str, colour: str) -> None:
    with Terminal(opened(project), environ={**environ, "TERM": term, "COLORTERM": colour}) as screen:
        screen.wait_for(*SEEN)
        screen.press("5")
        screen.wait_for("now v2")
        screen.press("q")
        assert screen.wait_for_end() == 0
    # The default theme is made of the terminal's own sixteen colours, whatever it could do.
    assert b"38" not in styles(bytes(screen.raw)) - {b"0"}


def test_a_theme_of_many_colours_fits_a_terminal_of_few(
    project: ProjectPaths, environ: dict[str, str], tmp_path: Path
) -> None:
    settings = tmp_path / ".config" / "exuvia" / "settings.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("theme = 'dark'\n")
    for colour, wanted in (("truecolor", rb"\x1b\[[0-9;]*38;2;"), ("", rb"\x1b\[[0-9;]*38;5;")):
        with Terminal(opened(project), environ={**environ, "TERM": "xterm-256color", "COLORTERM": colour}) as screen:
            screen.wait_for(*SEEN)
            screen.press("q")
            assert screen.wait_for_end() == 0
        assert re.search(wanted, bytes(screen.raw)), colour


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_cannot_place_text_is_told_what_to_do(
    project: ProjectPaths, environ: dict[str, str], term: str
) -> None:
    with Terminal(opened(project), columns=200, environ={**environ, "TERM": term}) as screen:
        assert screen.wait_for_end() == 2
        assert "--plain" in screen.text
        assert b"\x1b[" not in screen.raw


def test_a_locale_without_utf8_gets_ascii_alone(project: ProjectPaths, environ: dict[str, str]) -> None:
    with Terminal(opened(project), environ={**environ, "LANG": "C", "LC_ALL": "C"}) as screen:
        screen.wait_for(*SEEN)
        screen.press("1", "2", "3", "4", "5", "6", "7", "?")
        screen.wait_for("Keys of the console")
        screen.press("escape")
        screen.read(0.3)  # with q at once it would be Alt-Q
        screen.press("q")
        assert screen.wait_for_end() == 0
    assert bytes(screen.raw).isascii()


@pytest.mark.parametrize("size", [(40, 10), (59, 24), (80, 14), (20, 3), (1, 1)])
def test_a_tiny_terminal_says_so_and_recovers(
    project: ProjectPaths, environ: dict[str, str], size: tuple[int, int]
) -> None:
    with Terminal(opened(project), columns=size[0], rows=size[1], environ=environ) as screen:
        if size[0] >= 40:
            screen.wait_for("60x15")
        else:
            screen.read(2.0)
        screen.resize(80, 24)
        screen.wait_for(*SEEN)
        screen.press("q")
        assert screen.wait_for_end() == 0


def test_suspended_and_brought_back(project: ProjectPaths, environ: dict[str, str]) -> None:
    """Under a shell with job control, as an operator has it."""
    shell = ["bash", "--norc", "--noprofile", "-i"]
    with Terminal(shell, environ={**environ, "PS1": "$ "}) as screen:
        screen.wait_for("$")
        screen.press(*(shlex.join(opened(project)) + "\r"))
        screen.wait_for(*SEEN)
        screen.press("\x1a")
        screen.wait_for("Stopped")
        screen.press(*"echo still here\r")
        screen.wait_for("still here")
        screen.press(*"fg\r")
        screen.wait_for(*SEEN)
        screen.press("5")
        screen.wait_for("now v2")
        screen.press("q")
        screen.wait_until(lambda text: text.startswith("$ "), what="the shell again")
        screen.press(*"exit\r")
        assert screen.wait_for_end() == 0


def test_a_hundred_changes_of_size_leave_a_whole_screen(project: ProjectPaths, environ: dict[str, str]) -> None:
    with Terminal(opened(project), environ=environ) as screen:
        screen.wait_for(*SEEN)
        for columns, rows in [(200, 60), (80, 24), (100, 15), (40, 10), (170, 36), (60, 15)] * 16:
            screen.resize(columns, rows)
            screen.read(0.01)
        screen.resize(120, 40)
        screen.read(1.0)
        screen.press("5")
        screen.wait_for("now v2")
        lines = screen.text.split("\n")
        assert "helper" in lines[0]
        assert "q quit" in lines[-1]
        screen.kill(signal.SIGTERM)
        assert screen.wait_for_end() == 143


@pytest.mark.skipif(TMUX is None, reason="tmux is not installed")
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_inside_tmux(project: ProjectPaths, environ: dict[str, str], tmp_path: Path, size: tuple[int, int]) -> None:
    with Tmux(tmp_path, opened(project), columns=size[0], rows=size[1], environ=environ) as tmux:
        tmux.wait_for(*SEEN)
        tmux.press("5")
        tmux.wait_for("now v2")
        tmux.press("?")
        tmux.wait_for("Keys of the console")
        tmux.press("Escape")
        tmux.wait_for("now v2")
        tmux.press("q")
        tmux.wait_until(lambda text: "now v2" not in text, "an ended console")


@pytest.mark.skipif(TMUX is None, reason="tmux is not installed")
@pytest.mark.parametrize("passes_on", [False, True])
def test_copying_inside_tmux_reaches_the_clipboard_as_far_as_tmux_lets_it(
    project: ProjectPaths, environ: dict[str, str], tmp_path: Path, passes_on: bool
) -> None:
    with Tmux(tmp_path, opened(project), columns=120, rows=40, environ=environ) as tmux:
        tmux.run("set", "-s", "set-clipboard", "on" if passes_on else "external")
        tmux.wait_for(*SEEN)
        tmux.press("5")
        tmux.wait_for("now v2")
        tmux.press("y")
        tmux.wait_for("Copied", "last-copy")
        copied = (tmp_path / ".local" / "state" / "exuvia" / "last-copy").read_text()
        assert copied
        buffers = tmux.run("show-buffer") if passes_on else ""
        assert buffers == (copied if passes_on else "")


def test_output_to_a_file_is_refused_in_words(project: ProjectPaths, environ: dict[str, str]) -> None:
    done = subprocess.run(
        opened(project), capture_output=True, text=True, env={**environ, "TERM": "xterm"}, check=False
    )
    assert done.returncode == 2
    assert "--plain" in done.stderr
    assert "\x1b" not in done.stderr
