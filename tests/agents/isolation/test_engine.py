"""The outer domain: what an engine process may still do after `confine_self`, and what not."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from core.agents.isolation import landlock
from core.agents.isolation.support import Support
from tests.agents.isolation import world as worlds

REPOSITORY = Path(__file__).resolve().parents[3]

PRELUDE = """
import ctypes, json, os, socket, sys
from dataclasses import replace
from pathlib import Path
from core.agents.isolation.confine import confine_self
from core.agents.isolation.policy import IsolationPolicy
from core.agents.isolation.support import judge, probe
from core.foundation.errors import ExuviaError
told = json.loads(sys.argv[1])
support = probe() if told["namespaces"] else judge(
    probe().landlock_abi, has_seccomp=True, namespaces=False, bubblewrap=None, root=False)
def confine(**options):
    resolve = options.pop("resolve", ())
    return confine_self(IsolationPolicy(write=(Path(told["cell"]),), **options), resolve=resolve, support=support)
def attempt(name, action):
    try:
        print(name, "did", action())
    except (OSError, ExuviaError) as error:
        print(name, "failed", type(error).__name__, error)
def connect(port, **options):
    s = socket.socket(**options)
    s.settimeout(3)
    s.connect(("127.0.0.1", int(port)))
    return "connected"
"""


def engine(body: str, means: Support, cell: Path, **told: Any) -> dict[str, str]:
    """Run an engine process and return what each of its attempts said."""
    facts = json.dumps({"namespaces": means.user_namespaces, "cell": str(cell), **told})
    done = subprocess.run(
        [sys.executable, "-P", "-c", PRELUDE + textwrap.dedent(body), facts],
        check=False, capture_output=True, text=True, timeout=60, cwd=cell,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


def test_it_reaches_its_provider_by_tcp_and_nothing_else(cell: Path, means: Support, tmp_path: Path) -> None:
    if (landlock.abi() or 0) < 4:
        pytest.skip("this kernel cannot limit ports")
    body = """
    confine(network="tcp-connect", connect_ports=(int(told["TCP_PORT"]),))
    attempt("provider", lambda: connect(told["TCP_PORT"]))
    attempt("other", lambda: connect(told["OTHER_PORT"]))
    other = ("127.0.0.1", int(told["OTHER_PORT"]))
    attempt("multipath", lambda: connect(told["OTHER_PORT"], proto=262))
    attempt("fastopen", lambda: socket.socket().sendto(b"x", 0x20000000, other))
    attempt("fastopenmsg", lambda: socket.socket().sendmsg([b"x"], [], 0x20000000, other))
    attempt("udp", lambda: socket.socket(type=socket.SOCK_DGRAM))
    attempt("bind", lambda: socket.socket().bind(("127.0.0.1", 0)))
    attempt("listen", lambda: socket.socket().listen())
    attempt("unix", lambda: socket.socket(socket.AF_UNIX))
    attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
    attempt("pair", lambda: socket.socketpair()[0].family.name)
    attempt("datagrampair", lambda: socket.socketpair(type=socket.SOCK_DGRAM))
    """
    with worlds.outside(tmp_path) as offers:
        said = engine(body, means, cell, **offers)
        free = engine(body.replace("confine(", "dict("), means, cell, **offers)
    did = {name for name, text in said.items() if text.startswith("did")}
    assert did == {"provider", "pair"}, said
    assert {name for name, text in free.items() if text.startswith("did")} >= set(said) - {"multipath", "bind"}


def test_without_a_network_it_reaches_nothing(cell: Path, means: Support, tmp_path: Path) -> None:
    with worlds.outside(tmp_path) as offers:
        said = engine(
            'confine()\nattempt("tcp", lambda: connect(told["TCP_PORT"]))', means, cell, **offers
        )  # fmt: skip
    assert said["tcp"].startswith("failed PermissionError")


def test_names_are_looked_up_before(cell: Path, means: Support) -> None:
    """Inside there is no name service; what the provider is called must still lead to it."""
    if (landlock.abi() or 0) < 4:
        pytest.skip("this kernel cannot limit ports")
    with socket.create_server(("127.0.0.1", 0)) as server:
        body = """
        confine(network="tcp-connect", connect_ports=(told["port"],), resolve=("localhost",))
        attempt("known", lambda: socket.create_connection(("LOCALHOST", told["port"]), 3) and 1)
        attempt("unknown", lambda: socket.getaddrinfo("example.org", 80))
        attempt("address", lambda: socket.getaddrinfo("127.0.0.1", 80)[0][4][0])
        """
        said = engine(body, means, cell, port=server.getsockname()[1])
    assert said["known"].startswith("did")
    assert said["unknown"].startswith("failed")
    assert said["address"] == "did 127.0.0.1"


def test_it_reads_its_code_and_keeps_what_is_open(cell: Path, means: Support, tmp_path: Path) -> None:
    """Its trace, opened before, is written on; late imports work; benchmarks are not there."""
    trace = tmp_path / "trace.jsonl"
    rubric = tmp_path / "rubric.md"
    rubric.write_text("CANARY")
    benchmark = next((REPOSITORY / "benchmarks").rglob("*.md"), REPOSITORY / "benchmarks/__init__.py")
    body = """
    trace = os.open(told["trace"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    confine()
    attempt("trace", lambda: os.write(trace, b"line"))
    attempt("reopen", lambda: open(told["trace"]).read())
    attempt("rubric", lambda: open(told["rubric"]).read())
    attempt("builtin", lambda: open(told["benchmark"]).read())
    attempt("home", lambda: os.listdir(os.path.expanduser("~")))
    attempt("cell", lambda: Path("note").write_text("x"))
    attempt("code", lambda: __import__("core.traces.writer") and 1)
    attempt("package", lambda: __import__("httpx") and 1)
    attempt("certificates", lambda: __import__("ssl").create_default_context().cert_store_stats()["x509"] > 0)
    attempt("zone", lambda: __import__("zoneinfo").ZoneInfo("Europe/Paris").key)
    attempt("again", lambda: confine())
    """
    said = engine(body, means, cell, trace=str(trace), rubric=str(rubric), benchmark=str(benchmark))
    did = {name for name, text in said.items() if text.startswith("did")}
    assert did == {"trace", "cell", "code", "package", "certificates", "zone"}, said
    assert trace.read_text() == "line"


def test_threads_and_missing_means_are_refused(cell: Path, means: Support) -> None:
    body = """
    import threading, time
    threading.Thread(target=time.sleep, args=(0.5,), daemon=True).start()
    attempt("threads", confine)
    support = judge(None, has_seccomp=False, namespaces=False, bubblewrap=None, root=False)
    attempt("nothing", confine)
    """
    said = engine(body, means, cell)
    assert "one thread" in said["threads"]
    assert "cannot confine" in said["nothing"]


def test_its_memory_is_closed_to_other_processes(cell: Path, means: Support) -> None:
    """A key lies in the engine's memory; another process of the same user may not look."""
    body = 'confine()\nattempt("dumpable", lambda: ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))'
    assert engine(body, means, cell)["dumpable"] == "did 0"


@pytest.mark.parametrize("confined", [False, True])
def test_no_terminal(cell: Path, confined: bool) -> None:
    """From an engine that has a controlling terminal, a command can neither write to it nor type into it."""
    script = (
        "import os, fcntl\\n"
        "for path in ('/dev/tty', '/dev/console', os.environ['TTY']):\\n"
        "    try:\\n"
        "        fd = os.open(path, os.O_RDWR | os.O_NOCTTY); os.write(fd, b'TAKEN')\\n"
        "    except OSError: pass\\n"
        "for fd in (0, 1, 2):\\n"
        "    try: fcntl.ioctl(fd, 0x5412, b'T')\\n"
        "    except OSError: pass\\n"
    )
    body = f"""
    import asyncio, subprocess
    from core.agents.isolation.environment import clean_environment
    from core.agents.isolation.launch import run_confined
    cell = Path(sys.argv[2])
    env = clean_environment({{"TTY": os.ttyname(0)}}, cell, cell)
    argv = ["python3", "-c", {script!r}.replace("\\\\n", chr(10))]
    if {confined}:
        asyncio.run(run_confined(argv, policy=IsolationPolicy(write=(cell,)), cwd=cell, env=env, timeout_s=20))
    else:
        subprocess.run(argv, env=env, check=True)
    os.write(1, b"DONE")
    """
    master, slave = os.openpty()
    head = PRELUDE[: PRELUDE.index("told =")]
    take = "import fcntl, termios, os; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
    with subprocess.Popen(
        [sys.executable, "-P", "-c", take + head + textwrap.dedent(body), "{}", str(cell)],
        stdin=slave, stdout=slave, stderr=slave, env={"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY)},
    ) as engine_process:  # fmt: skip
        os.close(slave)
        seen = b""
        with contextlib.suppress(OSError):  # EIO when the last of the terminal's processes has gone
            while piece := os.read(master, 1000):
                seen += piece
        engine_process.wait()
    os.close(master)
    assert b"DONE" in seen, seen
    assert (b"TAKEN" in seen) is not confined
