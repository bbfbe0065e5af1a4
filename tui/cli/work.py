"""`exuvia build`, `optimize`, `try`, `evaluate` and `run`: work that costs model calls, each with an estimate first."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from core.foundation.errors import ExitCode, UsageError
from tui.cli.common import Place, here, json_option, note, place_options, print_json, say, say_text
from tui.cli.user_option import user_options

if TYPE_CHECKING:
    from core.evolution.run_view import RoundView
    from core.evolution.runs import RunSpec
    from core.models.interface import ModelEntry
    from core.strategy.bank.assign import User

R = TypeVar("R")


def work_options(command: Callable[..., R]) -> Callable[..., R]:
    """Add the options that every run has; the command receives them as `work: dict`."""

    @click.option("--model", metavar="PROVIDER/ID", help="A configured model (else the project's default).")
    @click.option("--seed", type=int, default=7, show_default=True, help="Makes rehearsal runs reproducible.")
    @click.option("--concurrency", type=click.IntRange(1, 64), default=2, show_default=True, help="Cells at a time.")
    @click.option("--max-cost", type=click.FloatRange(min=0, min_open=True), metavar="USD", help="Budget in money.")
    @click.option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="Budget in tokens.")
    @click.option("--allow-unisolated", is_flag=True, help="Run even where the kernel cannot confine. Not safe.")
    @click.option("--beside", is_flag=True, help="Start although another program seems to work on the agent.")
    @click.option("--detach", is_flag=True, help="Start it and return; follow it with 'exuvia runs show'.")
    @functools.wraps(command)
    def with_work(
        *args: Any,
        model: str | None,
        seed: int,
        concurrency: int,
        max_cost: float | None,
        max_tokens: int | None,
        allow_unisolated: bool,
        beside: bool,
        detach: bool,
        **kwargs: Any,
    ) -> R:
        work = {
            "model": model,
            "seed": seed,
            "concurrency": concurrency,
            "budgets": {"cost_usd": max_cost, "tokens": max_tokens},
            "allow_unisolated": allow_unisolated,
            "beside": beside,
            "detach": detach,
        }
        return command(*args, work=work, **kwargs)

    return with_work


def chosen_model(place: Place, model: str | None) -> tuple[dict[str, str], ModelEntry]:
    """Return the pair that --model names, or the project's default, with what is configured of it."""
    from tui.stores import estimates

    return estimates.chosen_model(place.project, model)


def common_fields(
    place: Place, work: dict[str, Any], cells: int, *, role: bool = False, others: int = 0
) -> dict[str, Any]:
    """Return the fields that all specs share, after telling what the run may cost.

    `others` counts Sessions that fill no cell, beside the `role`'s own.
    """
    from core.evolution.runs import list_runs
    from tui.stores import estimates

    pair, entry = chosen_model(place, work["model"])
    cell_s = estimates.cell_seconds(list_runs(place.project), pair["provider"], pair["model_id"])
    sessions = estimates.sessions_of(cells, role=role) + others
    note(f"Estimate: {estimates.expected(sessions, entry, concurrency=work['concurrency'], cell_s=cell_s).words()}.")
    if estimates.needs_budget(pair["provider"], work["budgets"]):
        raise UsageError(
            f"{pair['provider']} / {pair['model_id']} is a real model and the run has no budget.",
            hint="Say --max-cost USD, or --max-tokens N where no price is configured.",
        )
    return {
        "model": pair,
        "seed": work["seed"],
        "concurrency": work["concurrency"],
        "budgets": {key: value for key, value in work["budgets"].items() if value is not None},
        "allow_unisolated": work["allow_unisolated"],
    }


def asking_fields(*, ask_calls: bool) -> dict[str, str]:
    """Return how a role asks the operator: now and then, and then the run leaves to wait, or about every call."""
    return {"tool_approval": "always-ask", "detached_ask": "wait"} if ask_calls else {"detached_ask": "exit"}


def carry_out(place: Place, spec: RunSpec, work: dict[str, Any], *, as_json: bool) -> int:
    """Start a run by the options of `work_options`, and follow it to its end unless it is detached."""
    from core.evolution import runs
    from core.evolution.specs import run_paths
    from tui.cli.progress import follow
    from tui.cli.runs import run_facts

    run_id = runs.start(place.project, spec, beside=work["beside"])
    if work["detach"]:
        if as_json:
            print_json({"run_id": run_id})
        else:
            say(here(f"Started {run_id}. Follow it: exuvia runs show {run_id} --follow"))
        return int(ExitCode.DONE)
    note(f"Started {run_id}. Ctrl-C leaves it running.")
    try:
        view = follow(place.project, run_id, end=as_json)
    except KeyboardInterrupt:
        note(f"Run {run_id} goes on.")
        note(here(f"Follow it: exuvia runs show {run_id} --follow   Stop it: exuvia runs stop {run_id}"))
        raise
    if as_json:
        print_json(run_facts(place.project, view))
    else:
        say(f"{run_id}: {view.state}{': ' + view.reason if view.reason else ''}")
        if view.state == "dead":
            say(f"All it said: {run_paths(place.project, run_id).log}")
        result = view.result or {}
        if result.get("version") is not None and result.get("score") is not None:
            say(f"{result['agent_id']} v{result['version']}: {result['score']:g}")
        if view.kind == "curate":
            from tui.cli.curate import say_curation  # the one command that gathers operations

            say_curation(view)
        if view.kind == "try" and view.rounds and view.rounds[-1].decision is not None:
            say(_came_of_edit(view.rounds[-1], run_paths(place.project, run_id).candidate(view.rounds[-1].version)))
        say(here(f"More: exuvia runs show {run_id}"))
        if view.approval_id and view.state == "blocked":
            say(here(f"Decide: exuvia approvals show {view.approval_id}"))
            act = "answer" if view.approval_id.startswith("question-") else "approve"
            say(here(f"        exuvia approvals {act} {view.approval_id}{' TEXT' if act == 'answer' else ''} --resume"))
    return runs.exit_of(view)


def _came_of_edit(tried: RoundView, kept: Path) -> str:
    scores = " against ".join("-" if score is None else f"{score:g}" for score in (tried.score, tried.reference_score))
    if tried.decision == "accepted":
        return f"Your edit is accepted as v{tried.version}: {scores}."
    return f"Your edit is {tried.decision}: {scores}. What was there before is back; the edit: {kept / 'diff.patch'}"


@click.command(
    epilog="Example:  exuvia build data_helper --requirement 'Does data chores.' --capability 'careful work'"
)
@click.argument("agent_id", metavar="AGENT")
@click.option("--benchmark", "benchmark_id", metavar="ID", help="Id of the new benchmark (AGENT-benchmark by default).")
@click.option("--requirement", metavar="TEXT", help="Make the agent from this first, if it does not exist.")
@click.option("--capability", metavar="TEXT", required=True, help="What the benchmark shall measure.")
@click.option("--baseline-score", type=click.FloatRange(0, 100), default=45, show_default=True, help="Wanted at most.")
@click.option("--pilots", type=click.IntRange(1, 100), default=4, show_default=True, help="At most so many pilots.")
@click.option("--approve", type=click.Choice(["ask", "auto"]), default="ask", show_default=True, help="Who freezes.")
@click.option("--ask", "ask_calls", is_flag=True, help="Ask you before each tool call of the Builder; the run waits.")
@work_options
@json_option
@place_options
def build(
    agent_id: str,
    benchmark_id: str | None,
    requirement: str | None,
    capability: str,
    baseline_score: float,
    pilots: int,
    approve: str,
    ask_calls: bool,
    work: dict[str, Any],
    as_json: bool,
    place: Place,
) -> int:
    """Let a Builder design and calibrate a benchmark for AGENT; it asks you before it freezes it."""
    from core.evolution.specs import parse_spec
    from core.state.fresh import ensure_home
    from core.state.paths import check_id
    from tui.stores.estimates import build_cells

    check_id("agent", agent_id)
    ensure_home(place.home)
    spec = parse_spec(
        {
            "kind": "build",
            "agent_id": agent_id,
            "benchmark_id": benchmark_id or f"{agent_id}-benchmark",
            "requirement": requirement,
            "capability": capability,
            "baseline_score": baseline_score,
            "pilots": pilots,
            "approve": approve,
            **asking_fields(ask_calls=ask_calls),
            **common_fields(place, work, build_cells(pilots), role=True),
        }
    )
    return carry_out(place, spec, work, as_json=as_json)


def cells_of(place: Place, agent_id: str, benchmark_id: str) -> int:
    return len(place.benchmark(agent_id, benchmark_id).case_ids())


@click.command(epilog="Example:  exuvia optimize data_helper data-chores --target-score 90 --runs 2 --rounds 5")
@click.argument("agent_id", metavar="AGENT")
@click.argument("benchmark_id", metavar="BENCH")
@click.option("--target-score", type=click.FloatRange(0, 100), default=90, show_default=True, help="Stop when reached.")
@click.option("--runs", type=click.IntRange(1, 20), default=2, show_default=True, help="Runs of each Case.")
@click.option("--rounds", type=click.IntRange(1, 100), default=5, show_default=True, help="At most so many Candidates.")
@click.option("--ask", "ask_calls", is_flag=True, help="Ask you before each tool call of the Optimizer; the run waits.")
@work_options
@json_option
@place_options
def optimize(
    agent_id: str,
    benchmark_id: str,
    target_score: float,
    runs: int,
    rounds: int,
    ask_calls: bool,
    work: dict[str, Any],
    as_json: bool,
    place: Place,
) -> int:
    """Let an Optimizer improve AGENT on BENCH: bounded Candidates, kept only if strictly better."""
    from core.evolution.specs import parse_spec

    cells = cells_of(place, agent_id, benchmark_id) * runs * rounds
    spec = parse_spec(
        {
            "kind": "optimize",
            "agent_id": agent_id,
            "benchmark_id": benchmark_id,
            "target_score": target_score,
            "runs": runs,
            "rounds": rounds,
            **asking_fields(ask_calls=ask_calls),
            **common_fields(place, work, cells, role=True),
        }
    )
    return carry_out(place, spec, work, as_json=as_json)


@click.command("try", epilog="Example:  exuvia try data_helper data-chores --hypothesis 'Reading notes first helps.'")
@click.argument("agent_id", metavar="AGENT")
@click.argument("benchmark_id", metavar="BENCH")
@click.option("--runs", type=click.IntRange(1, 20), default=2, show_default=True, help="Runs of each Case.")
@click.option("--hypothesis", default="The operator's edit improves the agent.", help="Why it should help.")
@work_options
@json_option
@place_options
def try_edit(
    agent_id: str, benchmark_id: str, runs: int, hypothesis: str, work: dict[str, Any], as_json: bool, place: Place
) -> int:
    """Measure the edit you made to AGENT's state as a Candidate: kept if strictly better, else rolled back."""
    from core.evolution.specs import parse_spec

    spec = parse_spec(
        {
            "kind": "try",
            "agent_id": agent_id,
            "benchmark_id": benchmark_id,
            "runs": runs,
            "hypothesis": hypothesis,
            **common_fields(place, work, cells_of(place, agent_id, benchmark_id) * runs),
        }
    )
    return carry_out(place, spec, work, as_json=as_json)


@click.command(epilog="Example:  exuvia evaluate data_helper data-chores --runs 2")
@click.argument("agent_id", metavar="AGENT")
@click.argument("benchmark_id", metavar="BENCH")
@click.option("--runs", type=click.IntRange(1, 20), default=1, show_default=True, help="Runs of each Case.")
@click.option("--evidence-only", is_flag=True, help="Do not append the result to the scoreboard.")
@work_options
@json_option
@place_options
def evaluate(
    agent_id: str,
    benchmark_id: str,
    runs: int,
    evidence_only: bool,
    work: dict[str, Any],
    as_json: bool,
    place: Place,
) -> int:
    """Measure the present version of AGENT on BENCH."""
    from core.evolution.specs import parse_spec

    spec = parse_spec(
        {
            "kind": "evaluate",
            "agent_id": agent_id,
            "benchmark_id": benchmark_id,
            "runs": runs,
            "append": not evidence_only,
            **common_fields(place, work, cells_of(place, agent_id, benchmark_id) * runs),
        }
    )
    return carry_out(place, spec, work, as_json=as_json)


@click.command(epilog="Example:  exuvia run data_helper -m 'Count the lines of data.csv.' --workspace ./work")
@click.argument("agent_id", metavar="AGENT")
@click.option("--message", "-m", required=True, help="What it shall do ('-' reads standard input).")
@click.option("--workspace", type=click.Path(file_okay=False, path_type=Path), help="Where it works (a new one else).")
@click.option("--model", metavar="PROVIDER/ID", help="A configured model (else the project's default).")
@click.option("--approve", "approval", type=click.Choice(["allow-all", "read-only", "deny-all"]), default="allow-all",
              show_default=True, help="Which tool calls are allowed.")  # fmt: skip
@click.option("--seed", type=int, default=7, show_default=True, help="Makes rehearsal runs reproducible.")
@click.option("--allow-unisolated", is_flag=True, help="Run even where the kernel cannot confine. Not safe.")
@user_options
@json_option
@place_options
def run(
    agent_id: str,
    message: str,
    workspace: Path | None,
    model: str | None,
    approval: str,
    seed: int,
    allow_unisolated: bool,
    user: User | None,
    as_json: bool,
    place: Place,
) -> int:
    """Run AGENT once on a message, confined, in its own process; the trace tells what it did."""
    from core.agents.run_agent import launch_target
    from core.agents.target import TargetSpec
    from core.foundation.clock import new_session_id, short_id
    from core.models.interface import ModelRef
    from core.traces.writer import new_trace_path

    agent = place.agent(agent_id)
    pair, _ = chosen_model(place, model)
    text = sys.stdin.read() if message == "-" else message
    if not text.strip():
        raise UsageError("The message is empty.", hint="Say what the agent shall do: -m TEXT")
    where = workspace or agent.workspaces / f"tmp-{short_id()}"
    where.mkdir(parents=True, exist_ok=True)
    session_id = new_session_id()
    outcome = asyncio.run(
        launch_target(
            TargetSpec(
                project=place.project,
                agent_id=agent_id,
                workspace=where.resolve(),
                message=text,
                model=ModelRef(pair["provider"], pair["model_id"]),
                session_id=session_id,
                trace_path=new_trace_path(agent, session_id),
                seed=seed,
                approval=approval,  # type: ignore[arg-type]  # click allows no other words
                allow_unisolated=allow_unisolated,
                user=user,
            )
        )
    )
    if as_json:
        print_json(
            {
                "session_id": outcome.session_id,
                "status": outcome.status,
                "reason": outcome.reason,
                "text": outcome.text,
                "workspace": str(outcome.workspace),
                "trace": str(outcome.trace_path),
                "notices": list(outcome.notices),
            }
        )
    else:
        for notice in outcome.notices:
            note(notice)
        say_text(outcome.text)
        note(f"{outcome.status} {outcome.reason}".rstrip() + f"   workspace {outcome.workspace}")
        note(here(f"exuvia trace show {outcome.session_id}"))
    return int(ExitCode.DONE if outcome.status == "completed" else ExitCode.FAILED)
