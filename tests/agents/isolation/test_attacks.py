"""No command reaches a rubric, a key, the network, the terminal or beyond its end (issue: acceptance 5; DECISIONS 4).

Every attack runs unconfined first, where it must win: that is what makes its failure elsewhere mean something.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from core.agents.isolation import landlock, support
from tests.agents.isolation import world as worlds
from tests.agents.isolation.attacks import ATTACKS

REPOSITORY = Path(__file__).resolve().parents[3]
NOBODY = 65534
KEY = "sk-" + worlds.CANARY

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has these walls")


@dataclass
class Arena:
    """What every attack answered in one world, and whether it won."""

    answers: dict[str, Any]
    won: dict[str, bool]


def _python_for(uid: int) -> str | None:
    """An interpreter that this user can reach (one below a private home is out of reach for others)."""
    identity: dict[str, Any] = {} if uid == os.getuid() else {"user": uid, "group": uid, "extra_groups": []}
    for candidate in (sys.executable, "/usr/bin/python3"):
        command = [candidate, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
        with contextlib.suppress(OSError):
            if subprocess.run(command, check=False, capture_output=True, **identity).returncode == 0:
                return candidate
    return None


def _run(mode: str) -> Arena:
    as_nobody = mode.startswith("nobody-")
    kind = mode.removeprefix("nobody-")
    uid = NOBODY if as_nobody else os.getuid()
    if as_nobody and os.getuid() != 0:
        pytest.skip("already an ordinary user")
    if kind.startswith("bubblewrap") and not shutil.which("bwrap"):
        pytest.skip("bubblewrap is not installed")
    python = _python_for(uid)
    if python is None:
        pytest.skip("no interpreter that an ordinary user could start")
    root = Path(tempfile.mkdtemp(prefix="exuvia-attacks-", dir="/tmp"))
    root.chmod(0o755)
    try:
        world = worlds.build(root / "project")
        with worlds.outside(root) as offers:
            if as_nobody:
                worlds.give_to(root, NOBODY)
            return _fight(kind, uid, python, world, offers)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _fight(kind: str, uid: int, python: str, world: worlds.World, offers: dict[str, str]) -> Arena:
    sacrifice = subprocess.Popen(["sleep", "600"], start_new_session=True, user=uid if uid != os.getuid() else None)
    jobs = [
        {"name": a.name, "script": a.script, "cwd": str(world.workspace(a.name)),
         "environment": {"RUBRIC": str(world.rubric(a.name)), "SACRIFICE": str(sacrifice.pid)}}
        for a in ATTACKS
    ]  # fmt: skip
    agent = world.agent_state.parent
    orders = {
        "mode": kind, "jobs": jobs, "environment": world.environment | offers, "agent_state": str(world.agent_state),
        "leak": [str(world.rubric("inherited-fd")), str(agent / "benchmarks/bench/CASE-001")],
        "cwd": str(agent / "engine"),
    }  # fmt: skip
    before = {a.name: worlds.facts(world.rubric(a.name)) for a in ATTACKS}
    other: dict[str, Any] = {} if uid == os.getuid() else {"user": uid, "group": uid, "extra_groups": []}
    done = subprocess.run(
        [python, "-P", str(Path(__file__).with_name("engine_stand_in.py"))], input=json.dumps(orders), text=True,
        capture_output=True, check=False, timeout=200,
        env={"PYTHONPATH": str(REPOSITORY), "PATH": os.environ["PATH"], "MODEL_API_KEY": KEY, "HOME": "/nonexistent",
             "PYTHONDONTWRITEBYTECODE": "1"}, **other,
    )  # fmt: skip
    sacrifice.kill()
    sacrifice.wait()
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    won = {
        a.name: worlds.has_won(a, answers[a.name]["output"], before[a.name], worlds.facts(world.rubric(a.name)))
        for a in ATTACKS
    }
    return Arena(answers, won)


def test_unconfined_every_attack_wins() -> None:
    """The control: without walls each attempt succeeds, so its failure below is the walls' doing."""
    arena = _run("plain")
    root = os.getuid() == 0
    expected = {a.name for a in ATTACKS if a.control == "yes" or (a.control == "root" and root)}
    lost = {name: arena.answers[name]["output"][-300:] for name in expected if not arena.won[name]}
    assert not lost
    # Some the machine itself may bar (yama, sysctls, no tmux); most must still be there to prove anything
    assert sum(arena.won.values()) >= 60


@pytest.mark.parametrize(
    "mode",
    [
        "confined",  # the engine is free, its commands are not (Builder, Optimizer)
        "nested",  # the engine is confined too (Target)
        "alone",  # as on a machine without user namespaces
        "alone-nested",
        "bubblewrap",  # as on a machine without Landlock
        "bubblewrap-nested",
        "nobody-confined",  # started by an ordinary user
        "nobody-nested",
        "nobody-alone",
    ],
)
def test_confined_every_attack_fails(mode: str) -> None:
    """The same attempts as the control, against each layer there is."""
    arena = _run(mode)
    excused = {a.name for a in ATTACKS if a.needs_namespaces and "alone" in mode}
    won = {name: arena.answers[name] for name, has_won in arena.won.items() if has_won and name not in excused}
    assert not won
    assert not [name for name, answer in arena.answers.items() if answer["timed_out"]]
    layers = {answer["layer"] for answer in arena.answers.values()}
    if mode.startswith("bubblewrap"):
        assert layers == {"bubblewrap" if mode == "bubblewrap" else "namespaces"}
    elif landlock.abi() is not None:
        assert layers == {"landlock"}, "this kernel has Landlock, so nothing less may have been used"


def test_this_machine_uses_landlock_where_its_kernel_has_it() -> None:
    """A test run that silently used a lesser layer must not pass for a proof."""
    if landlock.abi() is None:
        pytest.skip("no Landlock in this kernel")
    assert support.probe().layer == "landlock"
