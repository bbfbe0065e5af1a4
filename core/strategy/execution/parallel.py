"""Branches at the same time: wall time is that of the longest, and the record reads as if they ran in order (S26)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from core.strategy.documents.plan import Parallel
from core.strategy.execution.failure import NO_BRANCH, AskedError, NodeFailedError, Output
from core.strategy.execution.run import Frame


@dataclass(slots=True)
class Branch:
    """One branch: its own frame, and how it ended. `cancelled` where the others had decided before."""

    frame: Frame
    output: Output = None
    error: BaseException | None = None
    done: bool = False


async def together(
    parallel: Parallel, frames: Sequence[Frame], start: Callable[[int, Frame], Awaitable[Output]]
) -> list[Branch]:
    """Run the branches and return how each ended. Raises what decides the node otherwise:

    the failure of the first branch that made the join impossible; a question, after the others have ended, as what
    they do must not be cut off for it; whatever else a branch ends by.
    """
    branches = [Branch(frame) for frame in frames]
    tasks = [asyncio.ensure_future(start(number, branch.frame)) for number, branch in enumerate(branches)]
    needed = {"all": len(tasks), "any": 1}.get(str(parallel.join)) or int(parallel.join)
    left = set(tasks)
    asked: BaseException | None = None
    try:
        while left:
            done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
            for number, task in enumerate(tasks):
                if task in done:
                    branches[number].done = True
                    branches[number].error = task.exception()
                    branches[number].output = None if task.exception() else task.result()
            others = [b.error for b in branches if b.error is not None and not isinstance(b.error, NodeFailedError)]
            stopped = next((error for error in others if not isinstance(error, AskedError)), None)
            if stopped is not None:
                raise stopped
            asked = next(iter(others), None)
            failed = [branch.error for branch in branches if isinstance(branch.error, NodeFailedError)]
            if asked is None and len(branches) - len(failed) < needed:
                raise (
                    failed[0]
                    if parallel.join == "all"
                    else NodeFailedError(
                        NO_BRANCH, f"{needed} of {len(branches)} branches had to succeed, {len(failed)} failed"
                    )
                ) from failed[0]
            if asked is None and sum(b.done and b.error is None for b in branches) >= needed:
                break
        if asked is not None:
            raise asked
        return branches
    finally:
        for task in tasks:  # in the order of the plan, as all that is done here
            if task in left:
                task.cancel()
        if left:
            await asyncio.gather(*left, return_exceptions=True)
