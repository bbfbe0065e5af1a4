"""`exuvia curate`: an agent's finished sessions become skills, and the skills Candidates that are measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from core.foundation.errors import NotFoundError, UsageError
from tui.cli.common import Place, json_option, place_options, print_table, say, say_text
from tui.cli.curate_lines import candidate_lines, silent_line
from tui.cli.lines import OPERATIONS
from tui.cli.work import asking_fields, carry_out, common_fields, work_options

if TYPE_CHECKING:
    from core.evolution.run_view import RunView
    from core.state.paths import AgentPaths, ProjectPaths

IN_USE, MODEL = "in-use", "model"


@click.command(
    epilog="Examples:  exuvia curate data_helper --dry-run   |   "
    "exuvia curate data_helper --sessions 6 --rounds 3   |   exuvia curate data_helper --curator my-training-run"
)
@click.argument("agent_id", metavar="AGENT")
@click.option(
    "--benchmark", "benchmark_id", metavar="ID", help="What Candidates are measured on (else AGENT's only one)."
)
@click.option(
    "--sessions", type=click.IntRange(1, 100), default=4, show_default=True, help="Finished sessions a Candidate."
)
@click.option("--rounds", type=click.IntRange(1, 100), default=2, show_default=True, help="At most so many Candidates.")
@click.option("--runs", type=click.IntRange(1, 20), default=2, show_default=True, help="Runs of each Case.")
@click.option(
    "--target-score", type=click.FloatRange(0, 100), default=100, show_default=True, help="Stop when reached."
)
@click.option(
    "--success-at", type=click.FloatRange(0, 100), default=90, show_default=True, help="Points that are a success."
)
@click.option(
    "--curator",
    metavar="PATH",
    help="A trained policy: a training run, a checkpoint, an export, 'in-use'; or 'model', which curates by --model "
    "(default: the curator in use where it may, else the model).",
)
@click.option("--curator-model", metavar="PROVIDER/ID", help="A model of its own for curating (else --model).")
@click.option("--top-k", type=click.IntRange(1, 50), default=5, show_default=True, help="Skills the curator is shown.")
@click.option(
    "--min-overlap",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Share of a skill's title that the task must hold.",
)
@click.option("--again", is_flag=True, help="Take sessions that were curated before, too.")
@click.option("--dry-run", is_flag=True, help="Only show what the curator proposes; the agent stays as it is.")
@click.option("--ask", "ask_calls", is_flag=True, help="Ask you before each operation, in the inbox; the run waits.")
@work_options
@json_option
@place_options
def curate(
    agent_id: str,
    benchmark_id: str | None,
    sessions: int,
    rounds: int,
    runs: int,
    target_score: float,
    success_at: float,
    curator: str | None,
    curator_model: str | None,
    top_k: int,
    min_overlap: float,
    again: bool,
    dry_run: bool,
    ask_calls: bool,
    work: dict[str, Any],
    as_json: bool,
    place: Place,
) -> int:
    """Turn what AGENT went through into skills, each measured as a Candidate: kept if strictly better.

    A curator reads finished sessions (those behind the present score, the weakest first, then the agent's other
    work) and inserts, updates or deletes skills. What it does is gathered on a copy, measured on the frozen benchmark
    and rolled back unless it beats the Reference, like an Optimizer's Candidate. Sessions of held-out Cases are never
    shown.
    """
    from core.evolution.specs import parse_spec
    from core.evolution.trials import measured_cases
    from tui.cli.work import chosen_model

    agent = place.agent(agent_id)
    benchmark_id = benchmark_id or _only_benchmark(agent)
    cells = 0 if dry_run else len(measured_cases(place.benchmark(agent_id, benchmark_id))) * runs * rounds
    spec = parse_spec(
        {
            "kind": "curate",
            "agent_id": agent_id,
            "benchmark_id": benchmark_id,
            "sessions": sessions,
            "rounds": rounds,
            "runs": runs,
            "target_score": target_score,
            "success_at": success_at,
            "top_k": top_k,
            "min_overlap": min_overlap,
            "again": again,
            "dry_run": dry_run,
            "curator_model": chosen_model(place, curator_model)[0] if curator_model is not None else None,
            **_policy(place.project, curator),
            **asking_fields(ask_calls=ask_calls),
            **common_fields(place, work, cells, others=sessions * (1 if dry_run else rounds)),
        }
    )
    return carry_out(place, spec, work, as_json=as_json)


def say_curation(view: RunView) -> None:
    """Say which operations there were and what came of them."""
    if view.curator:
        instead = view.curator.get("instead_of")
        say(
            f"Curated by {view.curator['name']}" + (f", not by {instead}: {view.curator.get('why')}" if instead else "")
        )
    if view.operations:
        print_table(
            ("batch", "operation", "skill", "verdict", "why"),
            [
                (
                    operation["batch"],
                    OPERATIONS.get(operation["op"], operation["op"]),
                    operation.get("new_title") or operation["title"],
                    "valid" if operation["valid"] else "invalid",
                    operation["why"] if operation["valid"] else operation.get("reason"),
                )
                for operation in view.operations
            ],
        )
        if silent := silent_line(view):
            say(silent)
    elif view.state == "finished":
        say("The curator changed nothing.")
    result = view.result or {}
    if result.get("dry_run"):
        if result.get("hypothesis"):
            say_text(f"It would claim: {result['hypothesis']}")
        if view.operations:
            say(f"The texts: {(result.get('paths') or {}).get('diff')}")
        say("Nothing was measured; the agent is as it was.")
    for line in candidate_lines(view):
        say(line)
    if result.get("stop_reason"):
        say(f"Ended because: {result['stop_reason']}")


def _only_benchmark(agent: AgentPaths) -> str:
    from core.state.scoreboard import read_scoreboard

    found = agent.benchmark_ids()
    scored = [one for one in found if read_scoreboard(agent.benchmark(one).scoreboard).evaluations] or list(found)
    if not scored:
        raise NotFoundError(f"Agent {agent.id} has no benchmark to measure on.", hint="Build one: exuvia build")
    if len(scored) > 1:
        raise UsageError(f"Agent {agent.id} has several benchmarks.", hint=f"Say --benchmark: {', '.join(scored)}.")
    return scored[0]


def _policy(project: ProjectPaths, named: str | None) -> dict[str, Any]:
    """Return which policy curates, as the spec says it. Raises NotFoundError, or UsageError where none is in use."""
    if named is None:
        return {}
    if named == MODEL:
        return {"in_use": False}
    if named == IN_USE:
        from core.curation.promotion import verified

        chosen = verified(project)
        if chosen is None:
            raise UsageError("No trained curator is in use here.", hint="Promote one: exuvia train promote RUN")
        return {"curator": str(chosen.path)}
    for path in (Path(named), project.training / named):
        if path.exists():
            return {"curator": str(path.resolve())}
    raise NotFoundError(f"There is no policy {named!r}.", hint="Name a training run, a checkpoint or an export.")
