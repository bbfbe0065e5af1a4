"""The Target of one cell: launched once, known again when its Evaluator or the engine is lost (DECISIONS 7, 12)."""

from __future__ import annotations

from pathlib import Path

from core.agents.isolation import processes
from core.agents.target import TargetOutcome, TargetSpec, TargetStarted
from core.evolution.cell_context import MatrixContext, target_seed
from core.evolution.cells import CellRequest, KnownCells, TargetRun
from core.evolution.evaluator_tools import LaunchedTarget, PermanentFailureError
from core.evolution.workspace import new_workspace
from core.foundation.clock import new_session_id, parse_ms
from core.foundation.errors import DamagedError, ExuviaError, NotFoundError
from core.models.interface import Price
from core.state.agents import read_agent
from core.state.paths import CasePaths
from core.traces.analysis import analyze
from core.traces.cost import tokens_cost
from core.traces.reader import TraceFile
from core.traces.writer import new_trace_path

MESSAGE = "Read README.md in the current Workspace and complete the task exactly as specified there."


class TargetFailedError(ExuviaError):
    """The Target's run is no work that could be scored: the harness or the model failed, not the agent."""


class CellTarget:
    """Invariant: at most one finished Target run a cell; `run` is where the next or the finished one works."""

    def __init__(self, cell: CellRequest, context: MatrixContext, case: CasePaths, known: KnownCells) -> None:
        self._cell = cell
        self._context = context
        self._case = case
        self._finished = known.finished.get(cell.cell_id)
        self._set_aside: str | None = None  # why an earlier Target of the cell does not count
        if (interrupted := known.interrupted.get(cell.cell_id)) is not None:
            self._set_aside = f"the engine was stopped while Target {interrupted.session_id} ran"
        if self._finished is not None and (missing := lost(self._finished)) is not None:
            self._set_aside = f"{missing} of Target {self._finished.session_id} is gone, so it can't be scored"
            self._finished = None
        self.run = self._finished or self._fresh()

    def _fresh(self) -> TargetRun:
        session_id = new_session_id()
        return TargetRun(
            session_id, new_workspace(self._context.agent, self._case), new_trace_path(self._context.agent, session_id)
        )

    def readable(self) -> tuple[Path, ...]:
        """Return what an Evaluator may read of it: workspace and trace."""
        return self.run.workspace, self.run.trace

    def known(self) -> LaunchedTarget | None:
        """Return the finished run that a journal told of, or None."""
        return None if self._finished is None else self._launched(self._finished.ended)

    async def launch(self) -> LaunchedTarget:
        """Run the Target to its end and journal it. Raises TargetFailedError, PermanentFailureError."""
        context, cell = self._context, self._cell
        if self._set_aside is not None:
            # What is there of it stays where it is, for whoever wants to look.
            context.emit("cell", **cell.fields(), state="interrupted", reason=f"{self._set_aside}; it is run once more")
            self._set_aside = None
        outcome = await context.launcher(
            TargetSpec(
                project=context.project,
                agent_id=context.agent.id,
                workspace=self.run.workspace,
                message=MESSAGE,
                model=context.model,
                session_id=self.run.session_id,
                trace_path=self.run.trace,
                seed=target_seed(context.seed, cell.case_id, cell.run),
                rehearsal=context.rehearsal,
                budgets=context.target_budgets,
                allow_unisolated=context.allow_unisolated,
            ),
            self._started,
        )
        if outcome.status not in {"completed", "stopped"}:
            self._failed(outcome)
        try:
            if not self.run.workspace.is_dir():
                raise DamagedError(f"The workspace {self.run.workspace.name} is gone.", hint="Who deleted it?")
            launched = self._launched(outcome.status)
        except (DamagedError, NotFoundError) as error:
            context.emit("target_failed", cell=cell.cell_id, session_id=self.run.session_id, reason=str(error))
            self.run = self._fresh()
            raise TargetFailedError(str(error)) from error
        context.emit(
            "target_finished",
            cell=cell.cell_id,
            session_id=self.run.session_id,
            workspace=str(self.run.workspace),
            trace=str(self.run.trace),
            exit_code=outcome.exit_code,
            status=outcome.status,
            reason=outcome.reason,
        )
        return launched

    def _started(self, started: TargetStarted) -> None:
        self._context.emit(
            "target_started",
            cell=self._cell.cell_id,
            session_id=started.session_id,
            workspace=str(started.workspace),
            trace=str(started.trace_path),
            pid=started.pid,
            pid_started=processes.start_time(started.pid),
        )
        self._context.emit(
            "session",
            role="target",
            session_id=started.session_id,
            agent_id=self._context.agent.id,
            cell=self._cell.cell_id,
        )

    def _failed(self, outcome: TargetOutcome) -> None:
        reason = f"Target {outcome.session_id} {outcome.status}: {outcome.reason}"
        self._context.emit("target_failed", cell=self._cell.cell_id, session_id=outcome.session_id, reason=reason)
        self.run = self._fresh()
        if outcome.permanent:
            raise PermanentFailureError(reason)
        raise TargetFailedError(reason, hint="Look at its trace.")

    def _launched(self, ended: str) -> LaunchedTarget:
        model = self._context.model
        duration_ms, cost = measured(self.run.trace, self._context.entry.price)
        return LaunchedTarget(
            session_id=self.run.session_id,
            workspace=self.run.workspace,
            trace=self.run.trace,
            provider=model.provider,
            model_id=model.model_id,
            thinking_level=read_agent(self._context.agent).thinking_level,
            duration_ms=duration_ms,
            cost=cost,
            ended=ended,
        )


def lost(run: TargetRun) -> str | None:
    """Return what is missing of a finished Target run, so that nobody can score it, or None."""
    if not run.workspace.is_dir():
        return "the workspace"
    try:
        measured(run.trace, None)
    except (DamagedError, NotFoundError, OSError):
        return "the trace"
    return None


def measured(trace: Path, price: Price | None) -> tuple[int, float | None]:
    """Return a root trace's duration in ms (last minus first timestamp) and its cost in USD (DECISIONS 11).

    The cost is None where the price or the tokens of a request are unknown. Raises DamagedError for a trace that
    does not tell its times, NotFoundError for none: a missing trace is not a success.
    """
    with TraceFile(trace) as file:
        records = list(file.iter_records())
    moments = [moment for record in records if (moment := parse_ms(record.timestamp)) is not None]
    if not moments:
        raise DamagedError(f"The trace {trace.name} holds no readable record.", hint="Look at the file.")
    analysis = analyze(records)
    known = price is not None and not analysis.unknown_requests
    cost = tokens_cost(analysis.tokens, price) if known and price is not None else None
    return max(0, max(moments) - min(moments)), cost
