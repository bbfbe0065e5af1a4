"""Executable checks: they run isolated, on a read-only copy of the workspace, and give points by exit code.

A check that cannot run (command not found, killed, timed out, no isolation) is broken and voids the cell; it
never counts as failed work (FAULTS: invalid is never zero).
"""

from __future__ import annotations

import asyncio
import math
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
_NOT_RUN = frozenset({126, 127})  # the shell's words for "cannot execute" and "not found"


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


async def _run(check: Check, *, copy: Path, rubric: Path, private: Path, allow_unisolated: bool) -> CheckResult:
    policy = IsolationPolicy(read=(copy, rubric), write=(private,), limits=Limits(memory_bytes=1 << 30, processes=64))
    environment = clean_environment(
        {"CASE_RUBRIC": str(rubric), "PYTHONDONTWRITEBYTECODE": "1"}, home=private, tmp=private
    )
    done = await run_confined(
        ("/bin/sh", "-c", check.command),
        policy=policy,
        cwd=copy,
        env=environment,
        stdin=None,
        timeout_s=CHECK_TIMEOUT_S,
        max_output_bytes=_OUTPUT_BYTES,
        allow_unisolated=allow_unisolated,
    )
    output = visible(decode(done.output))
    if done.timed_out:
        raise BrokenCheckError(f"Check {check.id} ran longer than {CHECK_TIMEOUT_S:g} s.", hint="Make it faster.")
    if done.returncode in _NOT_RUN or done.returncode < 0 or done.returncode > 128:
        raise BrokenCheckError(
            f"Check {check.id} could not run (exit {done.returncode}): {output.strip()[-300:]}",
            hint="Its command must exist and end by itself: exit 0 gives the points, 1 does not.",
        )
    return CheckResult(check, done.returncode == 0, output)


async def run_checks(
    rubric: Rubric, *, case: CasePaths, workspace: Path, allow_unisolated: bool = False
) -> tuple[CheckResult, ...]:
    """Run every check of `rubric` against a copy of `workspace`, in order. Raises BrokenCheckError."""
    if not rubric.checks:
        return ()
    with _scratch() as root:
        copy, private = root / "workspace", root / "private"
        await asyncio.to_thread(copy_for_checks, workspace, copy)
        private.mkdir()
        return tuple(
            [
                await _run(
                    check,
                    copy=copy,
                    rubric=case.rubric.resolve(),
                    private=private,
                    allow_unisolated=allow_unisolated,
                )
                for check in rubric.checks
            ]
        )


async def null_floor(case: CasePaths, *, allow_unisolated: bool = False) -> float:
    """Return the points that checks give to a workspace in which nothing was done (DECISIONS 18).

    Judged points count nothing: there is no work to judge.
    """
    rubric = read_rubric(case)
    results = await run_checks(rubric, case=case, workspace=case.statement, allow_unisolated=allow_unisolated)
    return math.fsum(result.points for result in results)
