"""A command's clock, output and end: nothing outlives it, whatever it does (FAULTS: timeouts not enforced, cleanup)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from core.agents.isolation import seccomp, support
from core.agents.isolation.environment import clean_environment
from core.agents.isolation.launch import spawn_confined
from core.agents.isolation.plan import forget
from core.agents.isolation.policy import IsolationPolicy, Limits
from core.agents.isolation.support import Support, judge
from core.foundation.errors import IsolationError
from tests.agents.isolation.conftest import Run

# Writes a beat many times a second, deaf to TERM, in a session of its own
HEART = "setsid bash -c 'trap \"\" TERM HUP INT; while :; do echo x >> beat; sleep 0.02; done' & "


async def beats(cell: Path, for_s: float = 0.3) -> bool:
    """Tell whether something still writes."""
    before = (cell / "beat").stat().st_size
    await asyncio.sleep(for_s)
    return (cell / "beat").stat().st_size > before


def _with_argument(mark: str) -> int:
    """Count the processes whose command line holds `mark` (a marked number in a script counts once more)."""
    count = 0
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            count += mark.encode() in entry.read_bytes()
    return count


async def _until_it_beats(cell: Path) -> None:
    for _ in range(500):
        if (cell / "beat").exists():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never started")


async def test_control_a_heart_outlives_a_plain_command(cell: Path) -> None:
    """Without a keeper the background process goes on: the tests below can fail."""
    subprocess.run(  # noqa: ASYNC221
        ["bash", "-c", HEART + "echo $! > pid; sleep 0.1"], cwd=cell, check=True, start_new_session=True
    )
    await _until_it_beats(cell)
    try:
        assert await beats(cell)
    finally:
        os.killpg(int((cell / "pid").read_text()), signal.SIGKILL)


async def test_nothing_outlives_the_command(run: Run, cell: Path, means: Support) -> None:
    done = await run(HEART + "while [ ! -e beat ]; do sleep 0.01; done; exit 7", support=means)
    assert (done.returncode, done.timed_out) == (7, False)
    assert not await beats(cell)


async def test_disowned_sleep_and_a_deaf_shell_end(run: Run, cell: Path, means: Support) -> None:
    """The input of FAULTS: timeouts not enforced."""
    begun = time.monotonic()
    done = await run(HEART + "sleep 9999 & disown; trap '' TERM; sleep 9999; sleep 9999", timeout_s=0.5, support=means)
    assert done.timed_out
    assert time.monotonic() - begun < 8
    assert not await beats(cell)


async def test_term_comes_before_kill(run: Run, cell: Path, means: Support) -> None:
    done = await run("trap 'echo saved > work; exit 3' TERM; sleep 60 & wait", timeout_s=0.5, support=means)
    assert (done.returncode, done.timed_out) == (3, True)
    assert (cell / "work").read_text() == "saved\n"


async def test_it_cannot_harm_its_keeper(run: Run, cell: Path, means: Support) -> None:
    script = HEART + "kill -9 $PPID; kill -STOP $PPID; kill -STOP 1; kill -TERM $PPID; sleep 60"
    done = await run(script, timeout_s=0.5, support=means)
    assert done.timed_out
    assert not await beats(cell)


async def test_a_fork_storm_ends(run: Run, cell: Path, means: Support) -> None:
    policy = IsolationPolicy(write=(cell,), limits=Limits(processes=60))
    script = (
        "f() { sleep 30 & for i in 1 2 3 4 5 6 7 8; do (setsid sleep 30 &) ; done; }; f; f; f; echo x > beat; sleep 60"
    )
    done = await run(script, timeout_s=1, policy=policy, support=means)
    assert done.timed_out


async def test_kill_9_of_the_engine_leaves_no_orphan(cell: Path, means: Support) -> None:
    """FAULTS: cleanup by GC."""
    mode = "confined" if means.user_namespaces else "alone"
    orders = {
        "mode": mode, "environment": {}, "agent_state": str(cell), "leak": [], "cwd": str(cell),
        "jobs": [{"name": "x", "script": HEART + "sleep 60", "cwd": str(cell), "timeout_s": 60}],
    }  # fmt: skip
    engine = subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-P", str(Path(__file__).with_name("engine_stand_in.py"))],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    assert engine.stdin is not None
    engine.stdin.write(json.dumps(orders).encode())
    engine.stdin.close()
    await _until_it_beats(cell)
    engine.kill()
    engine.wait()
    await asyncio.sleep(0.5)
    assert not await beats(cell)


async def test_cancelling_ends_the_tree(run: Run, cell: Path, means: Support) -> None:
    task = asyncio.ensure_future(run(HEART + "sleep 60", support=means))
    await _until_it_beats(cell)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not await beats(cell)


async def test_output_is_interleaved_and_bounded(run: Run) -> None:
    done = await run("echo one; echo two >&2; echo three; printf '\\xff\\xfe'")
    assert done.output == b"one\ntwo\nthree\n\xff\xfe"
    assert not done.truncated
    done = await run("head -c 3000000 /dev/zero; echo end", max_output_bytes=1000)
    assert len(done.output) == 1000
    assert done.dropped == 3000004 - 1000


async def test_a_grandchild_that_keeps_the_pipe_does_not_hold_us(run: Run, means: Support) -> None:
    begun = time.monotonic()
    done = await run("sleep 60 & echo done", support=means)
    assert done.output == b"done\n"
    assert time.monotonic() - begun < 5


async def test_input_and_its_absence(run: Run) -> None:
    assert (await run("cat")).output == b""
    assert (await run("cat", stdin=b"abc" * 100_000)).output == b"abc" * 100_000


async def test_what_cannot_be_executed(run: Run, cell: Path) -> None:
    (cell / "plain").write_text("x")
    env = clean_environment({}, cell, cell)
    policy = IsolationPolicy(write=(cell,))
    for program, code in (("no-such-program", 127), (str(cell / "plain"), 126)):
        process = await spawn_confined([program], policy=policy, cwd=cell, env=env)
        assert await process.wait() == code
        assert b"cannot execute" in process.read()


async def test_background_commands_are_read_and_ended(cell: Path, means: Support) -> None:
    process = await spawn_confined(
        ["bash", "-c", HEART + "echo ready; sleep 60"], policy=IsolationPolicy(write=(cell,)), cwd=cell,
        env=clean_environment({}, cell, cell), support=means,
    )  # fmt: skip
    await process.wait_output(10)
    assert process.read() == b"ready\n"
    assert process.returncode is None
    await _until_it_beats(cell)
    assert await process.kill(grace_s=0.2) != 0
    assert not await beats(cell)
    assert await process.kill() == process.returncode


async def test_a_command_that_cannot_be_confined_does_not_run(
    run: Run, cell: Path, means: Support, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fail closed: with a filter that the kernel refuses, nothing is executed."""
    monkeypatch.setattr(seccomp, "program", lambda **_: b"\xff" * 8)
    forget()
    try:
        with pytest.raises(IsolationError, match="not run"):
            await run("touch ran", support=means)
    finally:
        forget()
    assert not (cell / "ran").exists()


async def test_without_any_layer_a_command_is_refused_or_runs_with_its_clock(run: Run, cell: Path) -> None:
    nothing = judge(None, has_seccomp=False, namespaces=False, bubblewrap=None, root=False)
    with pytest.raises(IsolationError) as refused:
        await run("touch ran", support=nothing)
    assert "--allow-unisolated" in refused.value.hint
    assert not (cell / "ran").exists()
    done = await run(HEART + "sleep 60", support=nothing, allow_unisolated=True, timeout_s=0.5)
    assert (done.layer, done.timed_out) == ("none", True)
    assert not await beats(cell)


async def test_policies_that_make_no_sense(run: Run, cell: Path, tmp_path: Path) -> None:
    for policy in (
        IsolationPolicy(write=(cell, tmp_path / "missing")),
        IsolationPolicy(write=(cell,), read=(Path("/"),)),
        IsolationPolicy(read=(tmp_path / "elsewhere",)),  # does not reach the working directory
    ):
        with pytest.raises(IsolationError):
            await run("true", policy=policy)
    old = judge(3, has_seccomp=True, namespaces=True, bubblewrap=None, root=False)
    with pytest.raises(IsolationError, match="ports"):
        await run(
            "true", support=old, policy=IsolationPolicy(write=(cell,), network="tcp-connect", connect_ports=(443,))
        )


async def test_older_kernels_confine_by_what_they_know(run: Run, tmp_path: Path) -> None:
    """The rulesets of every ABI are taken, and files stay out of reach."""
    real = support.probe()
    if real.layer != "landlock":
        pytest.skip("no Landlock here")
    secret = tmp_path / "secret"
    secret.write_text("CANARY")
    for abi in range(1, (real.landlock_abi or 0) + 1):
        for namespaces in {real.user_namespaces, False}:
            means = judge(abi, has_seccomp=True, namespaces=namespaces, bubblewrap=None, root=False)
            if means.layer != "landlock":
                assert abi < 3
                continue
            done = await run(f"echo mine > a; cat a; cat {secret}; : > {secret}", support=means)
            assert b"mine" in done.output
            assert b"CANARY" not in done.output
            assert secret.read_text() == "CANARY"


async def test_limits_hold(run: Run, cell: Path, means: Support) -> None:
    def limited(**limits: Any) -> IsolationPolicy:
        return IsolationPolicy(write=(cell,), limits=Limits(**limits))

    await run("head -c 3000000 /dev/zero > big", policy=limited(file_bytes=1 << 20), support=means)
    assert (cell / "big").stat().st_size == 1 << 20
    grow = "python3 -c 'bytearray(300 << 20); print(\"grown\")'"
    assert b"grown" in (await run(grow, support=means)).output
    assert b"grown" not in (await run(grow, policy=limited(memory_bytes=100 << 20), support=means)).output
    assert (await run("ulimit -n; ulimit -c", policy=limited(open_files=77), support=means)).output == b"77\n0\n"


async def test_ordinary_tools_work(run: Run, cell: Path, means: Support) -> None:
    """What a Target needs daily, in the walls."""
    script = """set -e
    printf 'b,2\\na,1\\n' > t.csv; sort t.csv | grep a | sed s/a/z/ | awk -F, '{print $1 $2}'
    mkdir -p d/e; cp t.csv d/e/; tar cf t.tar d; mkdir x; cp -r d x/; cmp x/d/e/t.csv t.csv
    python3 -c 'import json, sqlite3, tempfile; print(json.dumps(tempfile.mkdtemp()[:1]))'
    python3 -c 'import subprocess; print(subprocess.run(["echo", "sub"], capture_output=True, text=True).stdout)'
    mv x/d/e/t.csv moved; ln -s moved link; cat link; wc -l < moved
    git --version > /dev/null; date > /dev/null; find . -name moved
    """
    done = await run(script, support=means)
    assert done.returncode == 0, done.output
    if means.user_namespaces:  # without, modes and times cannot be changed by path
        more = """set -e
        mkdir y; tar xf t.tar -C y; cmp y/d/e/t.csv t.csv
        git init -q r; cd r; echo 1 > f; git add f; git commit -qm first; git log --oneline | wc -l
        chmod +x f; touch -d 2001-01-01 f; python3 -c 'import shutil; shutil.copy("f", "g"); shutil.copy2("f", "h")'
        python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1]))'
        """
        done = await run(more, support=means)
        assert done.returncode == 0, done.output


async def test_only_the_environment_it_was_given(run: Run, monkeypatch: pytest.MonkeyPatch, cell: Path) -> None:
    monkeypatch.setenv("MODEL_API_KEY", "sk-secret")
    done = await run("env")
    assert b"sk-secret" not in done.output
    names = {line.partition(b"=")[0].decode() for line in done.output.splitlines()}
    assert names <= set(clean_environment({}, cell, cell)) | {"PWD", "SHLVL", "_", "OLDPWD"}


async def test_only_three_descriptors(run: Run) -> None:
    leaked = os.open("/etc/hostname", os.O_RDONLY)
    os.set_inheritable(leaked, True)
    try:
        script = "import os\nfor n in range(64):\n try: os.fstat(n); print(n)\n except OSError: pass"
        assert (await run(f"exec python3 -c '{script}'")).output == b"0\n1\n2\n"
    finally:
        os.close(leaked)


def test_the_keeper_imports_next_to_nothing() -> None:
    """Every module here costs each command its import."""
    code = "import core.agents.isolation.keeper, sys; print(*sorted(sys.modules))"
    names = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=Path(__file__).parents[3], check=True, capture_output=True, text=True
    ).stdout.split()
    heavy = {"re", "enum", "json", "typing", "pathlib", "dataclasses", "subprocess", "socket", "asyncio", "contextlib"}
    assert not heavy & set(names)
