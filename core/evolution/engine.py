"""The process of one run: `python -P -m core.evolution.engine <run directory>`.

It takes the run's lock, keeps a heartbeat, journals, and carries the run to its end. Killed at any instant, it is
started again on the same directory and goes on from the journal; what the killed one left running is ended first.
Exit codes: 0 done, 1 failed, 3 blocked and waiting for the operator, 130 stopped.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
import traceback
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from core.agents.waiting import PersonWait
from core.evolution.cell_context import MatrixContext
from core.evolution.cells import CellRequest, CellResult
from core.evolution.desk import Desk, announce_child
from core.evolution.events import EventName, Journal
from core.evolution.flows import Flow, flow_of
from core.evolution.matrix import run_cells
from core.evolution.orphans import clean_orphans
from core.evolution.report import render, without_leaks
from core.evolution.run_view import fold_view
from core.evolution.specs import BuildSpec, RunPaths, RunSpec, read_spec, subject
from core.evolution.spending import Spent, granted, over, sessions, since, spent
from core.foundation.errors import BlockedError, ExitCode, ExuviaError
from core.models.interface import ModelEntry, Provider
from core.models.registry import resolve
from core.models.rehearsal.options import RehearsalOptions
from core.state import atomic
from core.state.fresh import ensure_operator
from core.state.locks import LockedError, held
from core.state.rollback import recover

HEARTBEAT_S = 1.0
LOOKED_AT_S = 1.0
"""Whoever asks whether a run's lock is held takes it for an instant; an engine that begins then tries again."""


class Engine:
    """One run's life. Invariant: while it exists, this process holds the run's lock and is its journal's writer."""

    def __init__(self, run: RunPaths, flows: Callable[[RunSpec], Flow] = flow_of) -> None:
        self.run = run
        self._flows = flows
        self.spec: RunSpec = read_spec(run)
        self.journal = Journal(run.journal)
        self.options = RehearsalOptions.from_json({"seed": self.spec.seed, **self.spec.rehearsal})
        self._began = time.monotonic()
        self._person = PersonWait()
        self._before = max((float(e.get("seconds", 0)) for e in self._events(EventName.SPENT)), default=0.0)
        self._leaving: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def _events(self, name: EventName) -> list[Any]:
        return [event for event in self.journal.events if event["event"] == name]

    # The run ---------------------------------------------------------------------------------------------

    async def go(self) -> int:
        """Carry the run on and return the exit code."""
        begun = bool(self._events(EventName.RUN_STARTED))
        if begun:
            clean_orphans(self.journal.events)
            self.journal.append(EventName.RUN_RESUMED, pid=os.getpid())
        else:
            spec = self.spec.model_dump(mode="json")
            self.journal.append(EventName.RUN_STARTED, pid=os.getpid(), kind=self.spec.kind, spec=spec)
        self._listen()
        async with self._heartbeat():
            work = asyncio.ensure_future(self._work())
            await asyncio.wait({work, self._leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                # Blocked or stopped: the work is cut here as a kill would cut it; a later engine goes on from there.
                work.cancel()
                await asyncio.wait({work}, timeout=10)
            code = self._leaving.result() if self._leaving.done() else work.result()
            if self._leaving.done() and work.done() and not work.cancelled():
                work.exception()  # said in the journal, or of no account once the run is left
        return code

    async def _work(self) -> int:
        try:
            async with self._prepared() as (desk, provider, entry):
                result = await self._flows(self.spec)(desk, self.spec, provider, entry)
                self._note_spending(entry)
                self._write_report(result)
                self.journal.append(EventName.FINISHED, result=result)
                return ExitCode.DONE
        except BlockedError as error:
            return self._end(EventName.BLOCKED, error, ExitCode.BLOCKED)
        except ExuviaError as error:
            return self._end(EventName.FAILED, error, ExitCode.FAILED)
        except Exception as error:
            # A fault of our own. The log has it whole; the journal says it, so that nobody waits for a silent run.
            self._say_fault(error)
            return ExitCode.FAILED

    def _say_fault(self, error: Exception) -> None:
        traceback.print_exception(error)
        first: BaseException = error
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        told = f"a fault of the engine itself, {type(first).__name__}: {first}"
        if self.journal.damaged:
            lines = ", ".join(str(number) for number in self.journal.damaged[:5])
            told += f"; the journal has lines that cannot be read ({lines}), which may be why"
        self.journal.append(EventName.FAILED, reason=f"{told} (see {self.run.log.name})")

    def _end(self, event: EventName, error: ExuviaError, code: ExitCode) -> int:
        self._write_report(None)
        self.journal.append(event, reason=f"{error} {error.hint}".strip())
        return code

    @contextlib.asynccontextmanager
    async def _prepared(self) -> AsyncIterator[tuple[Desk, Provider, ModelEntry]]:
        agent, benchmark = subject(self.run, self.spec)
        ensure_operator(self.run.project)
        if agent.config.exists():
            recover(agent)  # a rollback that was cut is completed before anyone looks at the state
        model = self.spec.model.ref
        provider, entry = resolve(
            self.run.project, model.provider, model.model_id, seed=self.spec.seed, rehearsal=self.options
        )
        if self._events(EventName.RUN_RESUMED) and self._over(entry) is not None:
            self._note(EventName.GRANTED, entry)
        build = self.spec if isinstance(self.spec, BuildSpec) else None
        desk = Desk(
            run=self.run,
            agent=agent,
            benchmark=benchmark,
            journal=self.journal,
            model=model,
            run_cells=lambda cells: self._fill(cells, desk, provider, entry),
            approve=build.approve if build else "ask",
            detached_ask=getattr(self.spec, "detached_ask", "wait"),
            allow_unisolated=self.spec.allow_unisolated,
            leave_blocked=self.leave_blocked,
            leave_failed=self.leave_failed,
            over_budget=lambda: self._over(entry),
            person=self._person,
        )
        try:
            yield desk, provider, entry
        finally:
            await provider.aclose()

    # Cells -----------------------------------------------------------------------------------------------

    async def _fill(
        self, cells: Sequence[CellRequest], desk: Desk, provider: Provider, entry: ModelEntry
    ) -> tuple[CellResult, ...]:
        context = MatrixContext(
            project=self.run.project,
            agent=desk.agent,
            benchmark=desk.benchmark,
            operator=ensure_operator(self.run.project),
            provider=provider,
            model=desk.model,
            entry=entry,
            emit=self.journal.append,
            items=self.run.items,
            events=self.journal.events,
            seed=self.spec.seed,
            concurrency=self.spec.concurrency,
            rehearsal=self.options,
            allow_unisolated=self.spec.allow_unisolated,
            over_budget=lambda: self._over(entry),
            on_child=announce_child.get() or (lambda session_id: None),
        )
        try:
            async with asyncio.timeout(self._time_left()):
                return await run_cells(cells, context)
        except TimeoutError:
            limit = self.spec.budgets.wall_s
            if limit is None:
                raise  # not the budget's doing
            raise BlockedError(
                f"The run's time budget of {limit:g} s ended while cells ran; finished ones stay.",
                hint="Resume the run to grant the budget once more.",
            ) from None
        finally:
            self._note_spending(entry)

    def _time_left(self) -> float | None:
        limit = self.spec.budgets.wall_s
        return None if limit is None else max(limit - self._seconds() + granted(self.journal.events).seconds, 0.0)

    def _over(self, entry: ModelEntry) -> str | None:
        """Return which budget is used up since it was last granted, or None."""
        if not self.spec.budgets.any:
            return None
        return over(self.spec.budgets, since(self._spent(entry), granted(self.journal.events)))

    # Spending --------------------------------------------------------------------------------------------

    def _seconds(self) -> float:
        return self._before + time.monotonic() - self._began - self._person.seconds

    def _spent(self, entry: ModelEntry) -> Spent:
        return spent(self.run.project, sessions(self.journal.events, self.spec.agent_id), entry, self._seconds())

    def _note_spending(self, entry: ModelEntry) -> None:
        self._note(EventName.SPENT, entry)

    def _note(self, name: EventName, entry: ModelEntry) -> None:
        so_far = self._spent(entry)
        self.journal.append(
            name,
            usd=so_far.usd,
            unknown_requests=so_far.unknown_requests,
            tokens=so_far.tokens,
            seconds=so_far.seconds,
        )

    # Leaving ---------------------------------------------------------------------------------------------

    async def leave_blocked(self, reason: str) -> None:
        """Journal why the operator is needed, and end the process; does not return."""
        self._write_report(None)
        self.journal.append(EventName.BLOCKED, reason=reason)
        if not self._leaving.done():
            self._leaving.set_result(ExitCode.BLOCKED)
        await asyncio.Event().wait()

    async def leave_failed(self, error: Exception) -> None:
        """Journal a fault of the engine itself, met inside a tool call, and end the process; does not return."""
        self._say_fault(error)
        if not self._leaving.done():
            self._leaving.set_result(ExitCode.FAILED)
        await asyncio.Event().wait()

    def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._stopped, number)

    def _stopped(self, number: signal.Signals) -> None:
        if self._leaving.done():
            return
        self.journal.append(EventName.STOPPED, actor="signal", reason=f"stopped by {signal.Signals(number).name}")
        self._leaving.set_result(ExitCode.INTERRUPTED)

    @contextlib.asynccontextmanager
    async def _heartbeat(self) -> AsyncIterator[None]:
        async def beat() -> None:
            while True:
                self.run.heartbeat.touch()
                await asyncio.sleep(HEARTBEAT_S)

        task = asyncio.ensure_future(beat())
        try:
            yield
        finally:
            task.cancel()

    def _write_report(self, result: Any) -> None:
        """Write report.md from what is journalled so far; a report that cannot be written ends no run."""
        _, benchmark = subject(self.run, self.spec)
        view = fold_view(self.run.id, self.spec.model_dump(mode="json"), self.journal.events, alive=True)
        if result is not None:
            from dataclasses import replace

            view = replace(view, result=result, state="finished")
        text = without_leaks(render(view, scoreboard=str(benchmark.scoreboard)), benchmark)
        with contextlib.suppress(atomic.StorageError):
            atomic.write_text(self.run.report, text)


def main(arguments: Sequence[str] | None = None, flows: Callable[[RunSpec], Flow] = flow_of) -> int:
    """Run the engine on the run directory given, the only argument; `flows` tells what each kind of run does."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if len(given) != 1:
        print("usage: python -P -m core.evolution.engine RUN_DIRECTORY", file=sys.stderr)  # noqa: T201
        return ExitCode.USAGE
    run = RunPaths(Path(given[0]).resolve())
    try:
        with held(run.lock, timeout_s=LOOKED_AT_S):
            return asyncio.run(_run(run, flows))
    except LockedError as error:
        print(f"{error} {error.hint}", file=sys.stderr)  # noqa: T201  # the log is its terminal
        return ExitCode.FAILED
    except ExuviaError as error:
        print(f"{error} {error.hint}", file=sys.stderr)  # noqa: T201  # the log is its terminal
        return error.exit_code


def _run(run: RunPaths, flows: Callable[[RunSpec], Flow]) -> Coroutine[Any, Any, int]:
    async def go() -> int:
        return await Engine(run, flows).go()

    return go()


if __name__ == "__main__":
    sys.exit(main())
