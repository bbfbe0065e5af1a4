"""Executable checks: they run isolated, on a read-only copy of the workspace, and give points by exit code.

A check that cannot run (command not found, killed, timed out, no isolation) is broken and voids the cell; it
never counts as failed work (FAULTS: invalid is never zero).
"""

from __future__ import annotations

import asyncio
import math
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.agents.isolation.environment import clean_environment
from core.agents.isolation.launch import run_confined
from core.agents.isolation.policy import IsolationPolicy, Limits
from core.evolution.rubric import Check, Rubric, read_rubric
from core.evolution.workspace import copy_for_checks
from core.foundation.errors import ExuviaError
from core.foundation.visible import decode, visible
from core.state.paths import CasePaths

CHECK_TIMEOUT_S = 60.0
_OUTPUT_BYTES = 4_000
_NOT_RUN = frozenset({125, 126, 127})  # timeout's and the shell's words for "failed", "cannot execute", "not found"
_TIMED_OUT = 124
_TOLD = re.compile(r"\d+ \d+")


class BrokenCheckError(ExuviaError):
    """A check could not be run, so nothing is known of the work it should judge."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What one check found; `output` is at most 4,000 bytes, made visible."""

    check: Check
    passed: bool
    output: str

    @property
    def points(self) -> float:
        return self.check.points if self.passed else 0.0


@contextmanager
def _scratch() -> Iterator[Path]:
    root = Path(tempfile.mkdtemp(prefix="exuvia-check-")).resolve()
    try:
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _driver(rubric: Rubric) -> str:
    """Return a shell script that runs every check and tells `<number> <exit code>` on its own standard output.

    A check writes to a file, so nothing that it runs can tell an exit code in another's place.
    """
    lines = [
        f"timeout -k 2 {CHECK_TIMEOUT_S:g} /bin/sh -c {shlex.quote(check.command)} "
        f'> "$TMPDIR/{number}.out" 2>&1 < /dev/null; echo "{number} $?"'
        for number, check in enumerate(rubric.checks)
    ]
    return "\n".join(lines)


def _result(check: Check, code: int | None, said: Path) -> CheckResult:
    output = visible(decode(_head(said)))
    if code == _TIMED_OUT:
        raise BrokenCheckError(f"Check {check.id} ran longer than {CHECK_TIMEOUT_S:g} s.", hint="Make it faster.")
    if code is None or code in _NOT_RUN or code > 128:
        raise BrokenCheckError(
            f"Check {check.id} could not run (exit {code}): {output.strip()[-300:]}",
            hint="Its command must exist and end by itself: exit 0 gives the points, 1 does not.",
        )
    return CheckResult(check, code == 0, output)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_OUTPUT_BYTES)
    except FileNotFoundError:
        return b""


async def run_checks(
    rubric: Rubric, *, case: CasePaths, workspace: Path, allow_unisolated: bool = False
) -> tuple[CheckResult, ...]:
    """Run every check of `rubric` against a copy of `workspace`, in order. Raises BrokenCheckError.

    All of them run in one confined process tree, for confining costs more than most checks do.
    """
    if not rubric.checks:
        return ()
    with _scratch() as root:
        copy, private = root / "workspace", root / "private"
        await asyncio.to_thread(copy_for_checks, workspace, copy)
        private.mkdir()
        source = case.rubric.resolve()
        done = await run_confined(
            ("/bin/sh", "-c", _driver(rubric)),
            policy=IsolationPolicy(
                read=(copy, source), write=(private,), limits=Limits(memory_bytes=1 << 30, processes=64)
            ),
            cwd=copy,
            env=clean_environment(
                {"CASE_RUBRIC": str(source), "PYTHONDONTWRITEBYTECODE": "1"}, home=private, tmp=private
            ),
            stdin=None,
            timeout_s=(CHECK_TIMEOUT_S + 3) * len(rubric.checks),
            max_output_bytes=64 << 10,
            allow_unisolated=allow_unisolated,
        )
        told = dict(line.split(" ", 1) for line in decode(done.output).splitlines() if _TOLD.fullmatch(line))
        return tuple(
            _result(check, int(told[str(number)]) if str(number) in told else None, private / f"{number}.out")
            for number, check in enumerate(rubric.checks)
        )


async def null_floor(case: CasePaths, *, allow_unisolated: bool = False) -> float:
    """Return the points that checks give to a workspace in which nothing was done (DECISIONS 18).

    Judged points count nothing: there is no work to judge.
    """
    rubric = read_rubric(case)
    results = await run_checks(rubric, case=case, workspace=case.statement, allow_unisolated=allow_unisolated)
    return math.fsum(result.points for result in results)
