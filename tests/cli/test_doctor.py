"""What the doctor says of each kind of machine: terminals, multiplexers, homes, servers, broken-off work."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from core.evolution.specs import OptimizeSpec
from core.state.paths import HomePaths, ProjectPaths
from tests.cli.program import EXUVIA, call, environment, tree_hash
from tests.tui.home import AGENT, BENCHMARK, start_run
from tui.cli.doctor import home as of_home
from tui.cli.doctor import machine, models, terminal
from tui.cli.doctor.findings import Finding, World

ALL = frozenset({"input", "output", "screen"})
UTF8 = {"LANG": "C.UTF-8"}


def world(
    environ: Mapping[str, str] | None = None,
    *,
    terminals: frozenset[str] = ALL,
    size: tuple[int, int] | None = (120, 40),
    encoding: str = "UTF-8",
    answers: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
) -> World:
    """A machine as a test wants it; `answers` by the words of a command."""

    def answer(words: Sequence[str]) -> str | None:
        return (answers or {}).get(" ".join(words))

    return World({"TERM": "xterm-256color", **UTF8, **(environ or {})}, terminals, size, encoding, answer,
                 lambda path: (files or {}).get(path))  # fmt: skip


def levels(findings: Iterator[Finding], subject: str) -> list[str]:
    return [finding.level for finding in findings if finding.subject == subject]


def one(findings: Iterator[Finding], subject: str) -> Finding:
    (found,) = [finding for finding in findings if finding.subject == subject]
    return found


# -- terminal ------------------------------------------------------------------------------------------------------


def test_a_good_terminal_is_well() -> None:
    assert levels(terminal.terminal(world()), "terminal") == ["ok"]
    assert levels(terminal.terminal(world()), "locale") == ["ok"]


@pytest.mark.parametrize(
    ("machine_", "said", "fix"),
    [
        (world({"TERM": "dumb"}), "TERM is dumb", "--plain"),
        (world({"TERM": ""}), "TERM is not set", "TERM=xterm-256color"),
        (world(terminals=frozenset({"output"})), "input and screen: no terminal", "--plain"),
        (world(size=(40, 10)), "too small", "80 x 24"),
        (world(size=(79, 24)), "cut", "80 x 24"),
        (world(size=(0, 0)), "unknown size", "stty"),
        (world(size=None), "unknown size", "stty"),
    ],
    ids=["dumb", "unset", "redirected", "40x10", "79x24", "0x0", "none"],
)
def test_a_terminal_that_cannot_show_the_console_is_told_the_way_out(machine_: World, said: str, fix: str) -> None:
    found = one(terminal.terminal(machine_), "terminal")
    assert (found.level, said in found.found, fix in found.fix) == ("warn", True, True), found


@pytest.mark.parametrize("environ", [{"LANG": "C"}, {"LC_ALL": "de_DE.ISO-8859-1"}], ids=str)
def test_a_locale_without_utf8_means_ascii(environ: dict[str, str]) -> None:
    found = one(terminal.terminal(world(environ)), "locale")
    assert found.level == "warn"
    assert "ASCII" in found.found
    assert one(terminal.terminal(world(encoding="ANSI_X3.4-1968")), "locale").level == "warn"


@pytest.mark.parametrize(
    ("environ", "depth"),
    [
        ({"COLORTERM": "truecolor"}, "24-bit"),
        ({"COLORTERM": "24bit", "TERM": "xterm"}, "24-bit"),
        ({}, "256"),
        ({"TERM": "xterm"}, "16"),
        ({"TERM": "linux"}, "16"),
        ({"NO_COLOR": "1", "COLORTERM": "truecolor"}, "NO_COLOR"),
    ],
    ids=str,
)
def test_colours_are_counted_as_the_console_will(environ: dict[str, str], depth: str) -> None:
    found = one(terminal.colours(world(environ)), "colours")
    assert found.found.startswith(depth)
    assert found.level == "ok"


def test_over_ssh_colours_and_the_link_have_advice() -> None:
    far = world({"SSH_CONNECTION": "10.0.0.1 5 10.0.0.2 22"})
    assert "COLORTERM" in one(terminal.colours(far), "colours").fix
    link, alone = terminal.ssh(far)
    assert "Compression yes" in link.fix
    assert "tmux" in alone.fix
    assert len(list(terminal.ssh(world({"SSH_CONNECTION": "x", "TMUX": "/tmp/tmux-0/default,1,0"})))) == 1
    assert list(terminal.ssh(world())) == []


@pytest.mark.parametrize(
    ("environ", "level", "said"),
    [
        ({"TERM_PROGRAM": "iTerm.app"}, "ok", "iTerm2"),
        ({"TERM": "xterm-kitty"}, "ok", "kitty"),
        ({"WT_SESSION": "x"}, "ok", "Windows Terminal"),
        ({"TERM_PROGRAM": "Apple_Terminal"}, "warn", "Terminal.app"),
        ({"VTE_VERSION": "7600"}, "warn", "VTE"),
        ({"TERM": "linux"}, "warn", "Linux console"),
        ({"STY": "1.pts"}, "warn", "GNU screen"),
        ({"TERM": "screen-256color"}, "warn", "GNU screen"),
        ({}, "ok", "does not say"),
    ],
    ids=str,
)
def test_the_clipboard_is_judged_by_the_terminal(environ: dict[str, str], level: str, said: str) -> None:
    found = one(terminal.clipboard(world(environ)), "clipboard")
    assert (found.level, said in found.found) == (level, True), found
    assert "last-copy" in found.found  # there is always the file


TMUX = {"TMUX": "/tmp/tmux-0/default,1,0", "TERM": "tmux-256color", "COLORTERM": "truecolor"}
GOOD = {
    "tmux -V": "tmux 3.4\n",
    "tmux show-options -sv set-clipboard": "on\n",
    "tmux show-options -gv default-terminal": "tmux-256color\n",
    "tmux show-options -sv escape-time": "10\n",
    "tmux show-options -s terminal-features": "terminal-features[0] xterm*:clipboard\nterminal-features[1] *:RGB\n",
}


def test_a_tmux_that_is_set_up_is_well() -> None:
    found = list(terminal.tmux(world(TMUX, answers=GOOD)))
    assert [finding.level for finding in found] == ["ok"] * 5, found
    assert list(terminal.tmux(world(answers=GOOD))) == []
    assert list(terminal.clipboard(world(TMUX))) == []  # tmux decides


@pytest.mark.parametrize(
    ("name", "value", "fix"),
    [
        ("tmux show-options -sv set-clipboard", "external\n", "tmux set -s set-clipboard on"),
        ("tmux show-options -sv set-clipboard", "off\n", "tmux set -s set-clipboard on"),
        ("tmux show-options -gv default-terminal", "screen\n", "tmux-256color"),
        ("tmux show-options -sv escape-time", "500\n", "escape-time 10"),
        ("tmux show-options -s terminal-features", "", "RGB"),
    ],
)
def test_each_setting_of_tmux_has_its_fix(name: str, value: str, fix: str) -> None:
    warned = [found for found in terminal.tmux(world(TMUX, answers={**GOOD, name: value})) if found.level != "ok"]
    (found,) = warned
    assert (found.level, fix in found.fix) == ("warn", True), found


def test_a_tmux_that_is_gone_is_told() -> None:
    (found,) = terminal.tmux(world(TMUX))
    assert found.level == "warn"


@pytest.mark.e2e
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
@pytest.mark.parametrize("value", ["external", "on"])
def test_inside_a_real_tmux(value: str, tmp_path: Path) -> None:
    socket, out = tmp_path / "socket", tmp_path / "out.json"
    env = {**environment(), "TERM": "xterm-256color", "HOME": str(tmp_path)}
    words = ["tmux", "-S", str(socket), "-f", "/dev/null"]
    command = f"{EXUVIA} doctor --json --home {tmp_path / 'none'} > {out}.part 2>&1; mv {out}.part {out}; sleep 60"
    try:
        subprocess.run(
            [*words, "new-session", "-d", "-x", "100", "-y", "30", "sleep 60", ";", "set-option", "-s", "set-clipboard",
             value, ";", "set-option", "-g", "default-terminal", "tmux-256color", ";", "new-window", command],
            env=env, check=True, timeout=20,
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while not out.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        findings = json.loads(out.read_text())["findings"]
    finally:
        subprocess.run([*words, "kill-server"], env=env, check=False, timeout=20)
    (clip,) = [found for found in findings if found["subject"] == "clipboard"]
    assert clip["level"] == ("ok" if value == "on" else "warn")
    assert value in clip["found"]
    said = [found["found"] for found in findings if found["subject"] == "tmux"]
    assert said[0].startswith("tmux ")
    assert "default-terminal tmux-256color" in said
    (shown,) = [found for found in findings if found["subject"] == "terminal"]
    assert shown["found"].startswith("tmux-256color, 100 x ") or "screen: no terminal" in shown["found"]


# -- home ----------------------------------------------------------------------------------------------------------


def test_files_with_keys_that_others_can_read_are_bad(project: ProjectPaths) -> None:
    agent = project.agent("default_agent")
    agent.vault.write_text('KEY = "secret-value"\n')
    agent.vault.chmod(0o640)
    places = HomePaths(project.root.parent)
    found = one(of_home.key_files(places), "keys")
    assert (found.level, found.fix) == ("bad", f"chmod 600 {agent.vault}")
    agent.vault.chmod(0o600)
    assert one(of_home.key_files(places), "keys").level == "ok"


def test_a_home_that_anyone_may_change_is_bad(fresh: Path) -> None:
    fresh.chmod(0o777)
    assert "bad" in levels(of_home.home(fresh, world()), "home")
    fresh.chmod(0o755)
    assert levels(of_home.home(fresh, world()), "home") == ["ok"]


def test_free_space_is_judged() -> None:
    assert of_home.free_space(Path("/x"), 1 << 20).level == "bad"
    assert of_home.free_space(Path("/x"), 500 << 20).level == "warn"
    assert of_home.free_space(Path("/x"), 5 << 30).level == "ok"


MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /home rw,relatime shared:2 - nfs4 server:/home rw
31 30 0:41 / /home/a\\040b rw - tmpfs tmpfs rw
broken line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/x", "ext4"),
        ("/home/ada/.exuvia", "nfs4"),
        ("/home", "nfs4"),
        ("/homes/x", "ext4"),
        ("/home/a b/c", "tmpfs"),
    ],
)
def test_the_file_system_of_a_path_is_found(path: str, kind: str) -> None:
    assert of_home.file_system_at(path, MOUNTS) == kind


def test_a_home_over_the_network_is_told(tmp_path: Path) -> None:
    mounts = f"1 0 0:1 / / rw - ext4 d rw\n2 1 0:2 / {tmp_path} rw - nfs4 s:/ rw\n"
    (found,) = of_home.file_system(tmp_path, world(files={"/proc/self/mountinfo": mounts}))
    assert (found.level, "nfs4" in found.found) == ("warn", True)
    assert list(of_home.file_system(tmp_path, world())) == []


def test_too_few_watches_are_told_with_a_number_that_is_enough(fresh: Path) -> None:
    name = "/proc/sys/fs/inotify/max_user_watches"
    (found,) = of_home.watches(fresh, world(files={name: "100\n"}), 95)
    assert found.level == "warn"
    assert int(found.fix.rpartition("=")[2]) > 100
    (found,) = of_home.watches(fresh, world(files={name: "65536\n"}), 95)
    assert found.level == "ok"
    assert list(of_home.watches(fresh, world(), 0)) == []


def test_broken_off_work_is_named_with_what_to_do(project: ProjectPaths) -> None:
    root = project.root.parent
    assert one(of_home.leftovers(root), "leftovers").level == "ok"
    run = start_run(project, "optimize-20260101-110000-bbbb", OptimizeSpec(agent_id=AGENT, benchmark_id=BENCHMARK))
    staging = project.agents / ".import-abcdef"
    staging.mkdir()
    assert len(list(of_home.leftovers(root))) == 1  # a young directory may be in use
    os.utime(staging, (1, 1))
    dead, left = of_home.leftovers(root)
    assert f"exuvia runs resume {run.id}" in dead.fix
    assert str(staging) in left.fix
    assert {dead.level, left.level} == {"warn"}


def test_the_doctor_changes_nothing_and_sums_up(project: ProjectPaths) -> None:
    before = tree_hash(project.root.parent)
    ended = call("doctor", "--home", project.root.parent)
    assert ended.code == 0, ended.out
    assert tree_hash(project.root.parent) == before
    assert ended.out.splitlines()[-1].endswith(("warning.", "warnings.", "well."))


def test_settings_that_cannot_be_used_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert [found.level for found in machine.settings()] == ["ok"]
    (tmp_path / "exuvia").mkdir()
    (tmp_path / "exuvia" / "settings.toml").write_text('theme = "pink"\n')
    (found,) = machine.settings()
    assert (found.level, "theme" in found.found) == ("warn", True)


def test_graphics_cards_are_those_that_nvidia_smi_tells_of() -> None:
    query = "nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader"
    cards = "NVIDIA A, 100 MiB, 1\nNVIDIA B, 100 MiB, 1\n"
    told = [found.found for found in machine.training(world(answers={query: cards})) if found.subject == "gpu"]
    assert told == ["NVIDIA A, 100 MiB, 1", "NVIDIA B, 100 MiB, 1"]
    assert one(machine.training(world()), "gpu").level == "ok"


# -- providers -----------------------------------------------------------------------------------------------------

KEY = "sk-a-very-secret-key"


@contextmanager
def server(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[tuple[str, list[dict[str, str]]]]:
    seen: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append({"path": self.path, "authorization": self.headers.get("Authorization", "")})
            answer(self)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{httpd.server_address[1]}/v1", seen
    finally:
        httpd.shutdown()
        httpd.server_close()


def replying(status: int, body: bytes = b"", **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return answer


def configure(project: ProjectPaths, address: str, *, key: str = KEY, default: bool = True) -> None:
    chosen = '[default_model]\nprovider = "custom"\nmodel_id = "local"\n' if default else ""
    project.config.write_text(
        f'{chosen}[[models]]\nprovider = "custom"\nmodel_id = "local"\nbase_url = "{address}"\n'
        + (f'api_key = "{key}"\n' if key else "")
    )


LISTED = json.dumps({"data": [{"id": "local"}, {"id": "other"}]}).encode()


@pytest.mark.parametrize(
    ("answer", "level", "said"),
    [
        (replying(200, LISTED), "ok", "answers in"),
        (replying(404), "ok", "without a list"),
        (replying(200, b'{"data": [{"id": "else"}]}'), "warn", "does not list local"),
        (replying(200, b"[" * 5000), "ok", "without a list"),
        (replying(401, KEY.encode()), "bad", "refuses the key"),
        (replying(403), "bad", "refuses the key"),
        (replying(500), "warn", "in trouble"),
        (replying(302, Location="http://127.0.0.1:1/elsewhere"), "warn", "points elsewhere"),
    ],
    ids=["ok", "no list", "unlisted", "deep", "401", "403", "500", "302"],
)
def test_a_server_is_asked_once_and_its_answer_judged(
    answer: Callable[[BaseHTTPRequestHandler], None], level: str, said: str, project: ProjectPaths
) -> None:
    with server(answer) as (address, seen):
        configure(project, address)
        (found,) = models.reachable(project)
        assert (found.level, said in found.found) == (level, True), found
        assert seen == [{"path": "/v1/models", "authorization": f"Bearer {KEY}"}]
        ended = call("doctor", "--json", "--home", project.root.parent)
    assert ended.code == (1 if level == "bad" else 0)
    assert KEY not in ended.out + ended.err + repr(found)


def test_a_server_that_is_not_there_is_bad_only_for_the_default_model(project: ProjectPaths) -> None:
    configure(project, "http://someone:pass-word@127.0.0.1:9/v1")
    (found,) = models.reachable(project)
    assert (found.level, "127.0.0.1:9" in found.found, "pass-word" in found.found) == ("bad", True, False)
    configure(project, "http://127.0.0.1:9/v1", default=False)
    assert [found.level for found in models.reachable(project)] == ["warn"]


def test_a_slow_server_is_left(project: ProjectPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "ANSWER_S", 0.2)
    with server(lambda request: time.sleep(1.5)) as (address, _):
        configure(project, address)
        began = time.monotonic()
        (found,) = models.reachable(project)
        assert time.monotonic() - began < 1.4
    assert (found.level, "does not answer" in found.found) == ("bad", True)


def test_nobody_is_asked_whom_the_operator_gave_no_key(project: ProjectPaths) -> None:
    with server(replying(200, LISTED)) as (address, seen):
        configure(project, address, key="", default=False)
        assert models.reachable(project) == ()
        assert call("doctor", "--home", project.root.parent).code == 0
        assert call("doctor", "--no-providers", "--home", project.root.parent).code == 0
        assert seen == []
        ended = call("doctor", "--providers", "--home", project.root.parent)
        assert "answers in" in ended.out
        assert [request["authorization"] for request in seen] == [""]


def test_a_fresh_home_asks_nobody(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in tuple(os.environ):
        if name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    assert models.reachable(HomePaths(fresh).project("default_project")) == ()


def test_findings_are_values() -> None:
    finding = Finding("a", "ok", "b")
    with pytest.raises(dataclasses.FrozenInstanceError):
        finding.level = "bad"  # type: ignore[misc]  # that is the point
