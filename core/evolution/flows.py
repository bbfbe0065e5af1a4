"""What each kind of run does from beginning to end; each step is skipped where the journal has it already."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from core.evolution import heldout
from core.evolution.builder_freeze import FreezeDoors
from core.evolution.builder_state import Limits
from core.evolution.builder_tools import BuilderDoors
from core.evolution.builder_view import pilot_row
from core.evolution.cells import CellRequest
from core.evolution.desk import Desk
from core.evolution.events import EventName
from core.evolution.operator_trial import try_flow
from core.evolution.optimizer_state import Goal
from core.evolution.optimizer_tools import OptimizerDoors
from core.evolution.results import follow_phase, phase, trial_result, unscored
from core.evolution.role import RoleSetup, play
from core.evolution.role_tools import (
    ReadPublicFile,
    builder_tools,
    builtin_library,
    optimizer_reach,
    publish_statements,
)
from core.evolution.run_paths import ENGINES
from core.evolution.specs import BuildSpec, CurateSpec, EvaluateSpec, OptimizeSpec, RunSpec, TrySpec
from core.evolution.trials import Trials, append_once, measured_cases
from core.foundation.errors import BlockedError, ConflictError, UsageError
from core.models.interface import ModelEntry, Provider
from core.state import snapshots
from core.state.evaluation import RunScore, evaluation_of
from core.state.fresh import ensure_operator

Flow = Callable[[Desk, Any, Provider, ModelEntry], Awaitable[dict[str, Any]]]


def flow_of(spec: RunSpec) -> Flow:
    """Return what a run of this kind does; it gives the result that `finished` carries.

    Raises UsageError for a kind whose flow a room above brings with an engine of its own (`run_paths.ENGINES`).
    """
    match spec:
        case BuildSpec():
            return build_flow
        case OptimizeSpec():
            return optimize_flow
        case TrySpec():
            return try_flow
        case EvaluateSpec():
            return evaluate_flow
        case CurateSpec():
            raise UsageError(f"This engine does not know how to {spec.kind}.", hint=f"Run {ENGINES[spec.kind]}.")


# Build ---------------------------------------------------------------------------------------------------


def build_prompt(spec: BuildSpec) -> str:
    """Return the first message of a Builder."""
    job = (
        "Use the skill benchmark-design to design, calibrate and freeze a benchmark for the agent named below. If the "
        "agent does not exist yet, make it first with the skill agent-creation."
    )
    lines = [job, f"agent_id: {spec.agent_id}"]
    if spec.requirement:
        lines.append(f"requirement: {' '.join(spec.requirement.split())}")
    lines += [
        f"capability: {' '.join(spec.capability.split())}",
        f"baseline_score: {spec.baseline_score:g}",
        f"pilots: {spec.pilots}",
        f"benchmark_id: {spec.benchmark_id}",
    ]
    if spec.cases is not None:
        lines.append(f"cases: {spec.cases}")
    return "\n".join(lines)


async def build_flow(desk: Desk, spec: BuildSpec, provider: Provider, entry: ModelEntry) -> dict[str, Any]:
    """Let the Builder work up to the Formal Baseline, then measure the held-out Cases beside it."""
    library = Path(spec.library) if spec.library else builtin_library()
    doors = BuilderDoors(desk, Limits(spec.baseline_score, spec.pilots), library)
    journal, operator = desk.journal, ensure_operator(desk.project)
    if desk.agent.config.is_file() and not any(
        e["event"] in {EventName.AGENT, EventName.INTENT} for e in journal.events
    ):
        version = desk.present().version
        journal.append(EventName.AGENT, agent_id=desk.agent.id, created=False, version=version)
    desk.run.workspace.mkdir(parents=True, exist_ok=True)
    files, background = builder_tools(
        agent=desk.agent,
        benchmark=desk.benchmark,
        operator=operator,
        library=library,
        workspace=desk.run.workspace,
        scratchpad=operator.scratchpad / desk.run.id,
        allow_unisolated=spec.allow_unisolated,
    )
    follow_phase(desk, lambda: doors.state().phase, lambda: f"pilot {doors.state().pilot} of {spec.pilots}")
    end = await play(
        RoleSetup(
            role="builder",
            project=desk.project,
            operator=operator,
            workspace=desk.run.workspace,
            journal=journal,
            provider=provider,
            model=desk.model,
            entry=entry,
            seed=spec.seed,
            turns=spec.budgets.role_turns,
            prompt=build_prompt(spec),
            tools=(*doors.tools(), *FreezeDoors(doors).tools(), *files),
            background=background,
            state=doors.view,
            over=lambda: doors.state().phase == "report",
            desk=desk,
            approval=spec.tool_approval,
        )
    )
    desk.journal.unwatch()  # from here on the flow names its phases itself
    state = doors.state()
    if state.baseline is None:
        reason = state.stop_reason or end.gave_up or "the Builder ended without a baseline"
        raise BlockedError(
            f"No baseline was recorded: {reason} {unscored(desk)}".strip(), hint="Resume the run to let it go on."
        )
    phase(desk, "heldout", "measuring the held-out Cases at the baseline")
    measured = await heldout.measure(desk, "baseline", runs=1)
    phase(desk, "report")
    result: dict[str, Any] = {
        "agent_id": desk.agent.id,
        "benchmark_id": desk.benchmark.id,
        "pilots": [pilot_row(p, frozen=p.i == state.frozen) for p in state.pilots],
        "baseline": {"version": state.baseline["version"], "score": state.baseline["score"]},
        "heldout": {"baseline": measured["score"]} if measured else None,
        "closing": end.text,
        "paths": {"scoreboard": str(desk.benchmark.scoreboard), "report": str(desk.run.report)},
    }
    if spec.then_optimize is not None:
        result["then_optimize"] = start_following(desk, spec.then_optimize)
    return result


def start_following(desk: Desk, spec: OptimizeSpec) -> str:
    """Start the optimize run that follows a build, once, and return its id."""
    from core.evolution import runs  # the engine starts a run only here

    run_id = "optimize-" + desk.run.id.partition("-")[2]
    try:
        return runs.start(desk.project, spec, run_id=run_id, after=desk.run.id)
    except ConflictError:
        if (desk.project.runs / run_id).is_dir():
            return run_id  # started before a crash
        raise


# Optimize ------------------------------------------------------------------------------------------------


def optimize_prompt(spec: OptimizeSpec) -> str:
    """Return the first message of an Optimizer."""
    return "\n".join(
        [
            "Use the skill agent-optimization to improve the agent named below on its frozen benchmark.",
            f"agent_id: {spec.agent_id}",
            f"benchmark_id: {spec.benchmark_id}",
            f"target_score: {spec.target_score:g}",
            f"runs: {spec.runs}",
            f"rounds: {spec.rounds}",
        ]
    )


async def optimize_flow(desk: Desk, spec: OptimizeSpec, provider: Provider, entry: ModelEntry) -> dict[str, Any]:
    """Let the Optimizer try Candidates, between two measurements of the held-out Cases."""
    trials = Trials(desk, Goal(spec.target_score, spec.runs, spec.rounds))
    phase(desk, "reference")
    trials.establish_reference()
    if trials.state().candidate is None and not trials.state().history:
        phase(desk, "heldout", "measuring the held-out Cases at the baseline")
        await heldout.measure(desk, "baseline", runs=spec.runs)
    operator, statements = ensure_operator(desk.project), desk.run.root / "statements"
    publish_statements(desk.benchmark, statements)
    desk.run.workspace.mkdir(parents=True, exist_ok=True)
    doors = OptimizerDoors(trials, statements)
    reading = ReadPublicFile(optimizer_reach(trials, operator, statements, desk.run.workspace))
    follow_phase(
        desk, lambda: trials.state().phase, lambda: f"round {min(trials.state().round, spec.rounds)} of {spec.rounds}"
    )
    end = await play(
        RoleSetup(
            role="optimizer",
            project=desk.project,
            operator=operator,
            workspace=desk.run.workspace,
            journal=desk.journal,
            provider=provider,
            model=desk.model,
            entry=entry,
            seed=spec.seed,
            turns=spec.budgets.role_turns,
            prompt=optimize_prompt(spec),
            tools=(*doors.tools(), reading),
            background=(),
            state=doors.view,
            over=lambda: trials.state().over is not None and trials.state().candidate is None,
            desk=desk,
            approval=spec.tool_approval,
        )
    )
    desk.journal.unwatch()  # from here on the flow names its phases itself
    state = trials.state()
    if end.gave_up is not None:
        # A Candidate that a missing model or a spent budget cut off waits for the resume, as its cells would.
        trouble = None if end.cut else trials.give_up(f"engine-give-up-{len(desk.journal.events)}", end.gave_up)
        raise BlockedError(" ".join(part for part in (end.gave_up, trouble) if part), hint="Resume to let it go on.")
    stops = [event for event in desk.journal.events if event["event"] == EventName.STOP_REQUESTED]
    unmeasured = bool(state.history) and state.history[-1].decision == "unevaluable"
    if state.stop_reason is not None and (stops[-1].get("foreign_change") or unmeasured or not state.rounds_done):
        told = (state.stop_reason, str(stops[-1].get("foreign_change") or ""), unscored(desk))
        raise BlockedError(f"The Optimizer stopped: {' '.join(part for part in told if part)}")
    phase(desk, "heldout", "measuring the held-out Cases at the final version")
    final = await heldout.measure(desk, "final", runs=spec.runs)
    phase(desk, "report")
    return {**trial_result(trials, final), "closing": end.text}


# Evaluate ------------------------------------------------------------------------------------------------


async def evaluate_flow(desk: Desk, spec: EvaluateSpec, provider: Provider, entry: ModelEntry) -> dict[str, Any]:
    """Measure the agent as it is over all measured Cases; append only a complete matrix."""
    present, cases = desk.present(), measured_cases(desk.benchmark)
    version = present.version
    phase(desk, "evaluate")
    results = await desk.fill(
        [
            CellRequest(
                f"evaluation-v{version}-{case_id}-{run}", case_id, run, version, "evaluation", 0, present.state_hash
            )
            for case_id in cases
            for run in range(1, spec.runs + 1)
        ]
    )
    after = desk.present()
    if after != present:
        raise BlockedError("The agent's state changed while it was measured; nothing of it counts.")
    failed = [result for result in results if result.status == "failed"]
    if failed or not results:
        told = "; ".join(f"{r.case_id}/{r.run} {r.failure_code}: {r.reason}" for r in failed[:5])
        raise BlockedError(f"{len(failed)} of {len(results)} cells have no score, so there is none: {told}")
    runs: dict[str, list[RunScore]] = {}
    for result in results:
        assert result.score is not None
        assert result.session_id is not None
        runs.setdefault(result.case_id, []).append(
            RunScore(
                score=result.score,
                cost=result.cost,
                duration_ms=result.duration_ms or 0,
                session_id=result.session_id,
            )
        )
    begun = next(e["time"] for e in desk.journal.events if e["event"] == EventName.RUN_STARTED)
    evaluation = evaluation_of(
        present.version,
        desk.runtime(),
        runs,
        time=begun[:19] + "Z",
        title=f"Evaluation of version {present.version}",
        summary=spec.summary,
    )
    if spec.append:
        snapshots.create(desk.agent)  # a version with a score can be gone back to, and an edit be compared with it
        append_once(desk.benchmark, evaluation)
    phase(desk, "report")
    return {
        "agent_id": desk.agent.id,
        "benchmark_id": desk.benchmark.id,
        "version": present.version,
        "score": evaluation.score,
        "appended": spec.append,
        "cases": [{"case_id": case.case, "score": case.score} for case in evaluation.cases],
        "paths": {"scoreboard": str(desk.benchmark.scoreboard), "report": str(desk.run.report)},
    }
