"""One cell, from its request to its result (EVOLUTION 3.2 no. 25 to 27, 3.3; DECISIONS 10 to 12).

An Evaluator is a leaf Session. What it wrote is verified whole before a field is read; a malformed answer is asked
for again from the same Evaluator, a bounded number of times, and never repaired. If the Evaluator is lost, another
one takes over from what is there: the Target of a cell that finished is not run a second time. Wrong work is a
score; a broken harness is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.agents.session import Session, TurnOutcome
from core.evolution.case_files import oddities
from core.evolution.cell_context import MatrixContext, evaluator_session
from core.evolution.cells import CellRequest, CellResult, KnownCells
from core.evolution.evaluator_tools import CellBench, PermanentFailureError
from core.evolution.gate import RESEND, EvaluationRequest, Failed, Malformed, Scored, read_answer
from core.evolution.rubric import RubricError, read_rubric
from core.evolution.target_cell import CellTarget
from core.foundation.clock import new_session_id
from core.foundation.errors import DamagedError
from core.state.agents import read_agent
from core.state.fingerprint import counts, file_hashes, irregular, state_hash
from core.state.paths import CasePaths
from core.traces.writer import TraceWriter, new_trace_path

REHEARSAL = "rehearsal"  # its crash switch is final for the Session that it hits, not for the model
EVALUATORS = 4  # Sessions that may try one cell; each after the first needs a loss that the engine saw
RESENDS = 3  # times that one Evaluator may be asked to send its answer again
_AGREEMENT = 0.005 + 1e-9  # an answer's score repeats the recorded one to two decimals


@dataclass(frozen=True, slots=True)
class _Lost:
    """The Evaluator gave no answer at all; another may take the cell over."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Unusable:
    """The cell has no result: the protocol's word for it and a plain reason."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Before:
    """What must not change while a cell runs (no. 45, 47)."""

    version: int
    statement: dict[str, str]
    rubric: dict[str, str]

    @staticmethod
    def of(context: MatrixContext, case: CasePaths) -> _Before:
        return _Before(
            read_agent(context.agent).version, dict(file_hashes(case.statement)), dict(file_hashes(case.rubric))
        )


async def evaluate_cell(cell: CellRequest, context: MatrixContext, known: KnownCells) -> CellResult:
    """Fill one cell and journal each step. Raises PermanentFailureError where no cell can be filled any more."""
    case = context.benchmark.case(cell.case_id)
    try:
        if (odd := oddities(case)) is not None:
            return _failed(cell, context, _Unusable("benchmark_invalid", f"{case.id} {odd}; replace it by a file"))
        rubric = read_rubric(case)
        before = _Before.of(context, case)
    except (RubricError, OSError) as error:
        return _failed(cell, context, _Unusable("benchmark_invalid", str(error)))
    if (changed := _other_state(cell, context, before.version)) is not None:
        return _failed(cell, context, changed)
    try:
        target = CellTarget(cell, context, case, known)
    except DamagedError as error:
        return _failed(cell, context, _Unusable("benchmark_invalid", f"{error} {error.hint}".strip()))
    bench = CellBench(
        cell_id=cell.cell_id,
        case=case,
        rubric=rubric,
        items=context.items,
        launch=target.launch,
        allow_unisolated=context.allow_unisolated,
        target=target.known(),
    )
    first = known.attempts.get(cell.cell_id, 0) + 1
    for attempt in range(first, first + EVALUATORS):
        context.emit("cell", **cell.fields(), state="running" if attempt == 1 else "repairing", attempt=attempt)
        found = await _one_evaluator(cell, context, bench, before, target)
        if not isinstance(found, _Lost):
            break
        context.emit("cell", **cell.fields(), state="repairing", attempt=attempt, reason=found.reason)
    if isinstance(found, CellResult):
        return found
    if isinstance(found, _Lost):
        found = _Unusable("evaluation_failed", found.reason)
    return _failed(cell, context, found)


async def _one_evaluator(
    cell: CellRequest, context: MatrixContext, bench: CellBench, before: _Before, target: CellTarget
) -> CellResult | _Lost | _Unusable:
    session_id = new_session_id()
    trace = TraceWriter(new_trace_path(context.operator, session_id))
    context.emit("session", role="evaluator", session_id=session_id, agent_id=context.operator.id, cell=cell.cell_id)
    context.on_child(session_id)
    request = EvaluationRequest(
        case_id=cell.case_id,
        run=cell.run,
        expected_version=cell.version,
        test_agent_id=context.agent.id,
        benchmark_id=context.benchmark.id,
        model=context.model,
    )
    session = evaluator_session(context, bench, session_id, trace, target.readable())
    try:
        return await _answered(
            await session.run(request.message(), sender="parent_agent"),
            session,
            request,
            _Cell(cell, context, bench, before, session_id),
        )
    finally:
        await session.aclose()
        trace.close()


@dataclass(frozen=True, slots=True)
class _Cell:
    request: CellRequest
    context: MatrixContext
    bench: CellBench
    before: _Before
    session_id: str


async def _answered(
    outcome: TurnOutcome, session: Session, request: EvaluationRequest, cell: _Cell
) -> CellResult | _Lost | _Unusable:
    """Take the Evaluator's answer, asking again while it is malformed."""
    for resend in range(RESENDS + 1):
        if cell.bench.hopeless or (outcome.permanent and cell.context.model.provider != REHEARSAL):
            raise PermanentFailureError(outcome.reason or "; ".join(cell.bench.broken))
        if outcome.status != "completed":
            return _Lost(f"the Evaluator ended {outcome.status}: {outcome.reason}")
        answer = read_answer(outcome.text, request)
        match answer:
            case Malformed(reason):
                problem = reason
            case Failed(code):
                reason = "; ".join(cell.bench.broken) or f"the Evaluator reported {code}"
                if code == "evaluation_failed" and cell.bench.target is None and not cell.bench.broken:
                    return _Lost(f"{reason} before the Target was launched")
                return _Unusable(code, reason)
            case Scored():
                problem = _disagreement(answer, cell.bench) or ""
                if not problem:
                    return _scored(answer, cell)
        if resend < RESENDS:
            cell.context.emit(
                "resend", cell=cell.request.cell_id, session_id=cell.session_id, reason=problem, count=resend + 1
            )
            outcome = await session.run(RESEND.format(reason=problem), sender="parent_agent")
    return _Unusable("evaluation_failed", f"the Evaluator's answer stayed malformed: {problem}")


def _disagreement(answer: Scored, bench: CellBench) -> str | None:
    """Return where a well-formed answer contradicts what the engine saw."""
    if bench.target is None:
        return "no Target was launched in this Session, so there is nothing to score"
    if bench.score is None:
        return "no items are recorded; call record_items, then send the result"
    if abs(answer.score - bench.score) > _AGREEMENT:
        return f"score is not the {bench.score:g} that record_items returned"
    if answer.session_id != bench.target.session_id:
        return "session_id is not that of the launched Target"
    if answer.thinking_level != bench.target.thinking_level:
        return "thinking_level is not that of the launched Target"
    return None


def _other_state(cell: CellRequest, context: MatrixContext, version: int) -> _Unusable | None:
    """Return what a cell comes to where the agent is not the one to be measured (no. 47)."""
    agent = context.agent
    if version != cell.version:
        return _Unusable(
            "version_changed", f"agent {agent.id} is at version {version}, the cell asks for {cell.version}"
        )
    if odd := [name for name in irregular(agent.state) if counts(name)]:
        # Seen before anything is spent: such a state can be neither hashed whole nor kept in a snapshot.
        told = f"the state of agent {agent.id} holds what is no regular file: {', '.join(odd[:3])}"
        return _Unusable("version_changed", told)
    if cell.state_hash is not None and state_hash(agent.state) != cell.state_hash:
        told = f"the state of agent {agent.id} was changed by something else; it is no longer what is measured"
        return _Unusable("version_changed", told)
    return None


def _scored(answer: Scored, cell: _Cell) -> CellResult | _Unusable:
    after = _Before.of(cell.context, cell.bench.case)
    if (changed := _other_state(cell.request, cell.context, after.version)) is not None:
        return changed
    if after != cell.before:
        return _Unusable("benchmark_invalid", "the statement or the rubric changed while the cell ran")
    target = cell.bench.target
    assert target is not None
    assert cell.bench.score is not None
    result = CellResult(
        cell_id=cell.request.cell_id,
        case_id=cell.request.case_id,
        run=cell.request.run,
        status="scored",
        score=cell.bench.score,
        cost=target.cost,
        duration_ms=target.duration_ms,
        session_id=target.session_id,
        evaluator_session_id=cell.session_id,
    )
    facts: dict[str, Any] = {
        "score": result.score,
        "cost": result.cost,
        "reported_cost": answer.cost,
        "duration_ms": result.duration_ms,
        "session_id": result.session_id,
        "evaluator_session_id": result.evaluator_session_id,
    }
    cell.context.emit("cell", **cell.request.fields(), state="scored", **facts)
    return result


def _failed(cell: CellRequest, context: MatrixContext, unusable: _Unusable) -> CellResult:
    context.emit("cell", **cell.fields(), state="failed", failure_code=unusable.code, reason=unusable.reason)
    return CellResult(
        cell.cell_id, cell.case_id, cell.run, "failed", failure_code=unusable.code, reason=unusable.reason
    )
