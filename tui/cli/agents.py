"""`exuvia agent`: the agents of a project."""

from __future__ import annotations

import sys

import click

from core.foundation.errors import UsageError
from core.state.paths import HomePaths
from tui.cli.common import Place, group_options, here, json_option, place_options, print_json, print_table, say


@click.group(epilog="Example:  exuvia agent list")
@group_options
def agent() -> None:
    """List, show and create agents."""


@agent.command("list", epilog="Example:  exuvia agent list --home DIR --json")
@json_option
@place_options
def list_all(as_json: bool, place: Place) -> None:
    """List the agents with version and benchmarks."""
    from core.state.agents import list_agents
    from core.state.generations import unsupported

    project = place.project
    summaries = list_agents(project)
    notes = unsupported(HomePaths(place.home))
    if as_json:
        print_json(
            {
                "project": place.project_id,
                "agents": [
                    {
                        "agent_id": summary.id,
                        "name": summary.name,
                        "description": summary.description,
                        "version": summary.version,
                        "benchmarks": list(project.agent(summary.id).benchmark_ids()),
                        "problem": summary.problem,
                    }
                    for summary in summaries
                ],
                "unsupported": list(notes),
            }
        )
        return
    if not summaries:
        say(here("No agents yet. Make one: exuvia agent create ID --requirement TEXT, or: exuvia demo"))
    else:
        print_table(
            ("agent", "version", "benchmarks", "name", "description"),
            [
                (
                    summary.id,
                    f"v{summary.version}",
                    ", ".join(project.agent(summary.id).benchmark_ids()) or None,
                    summary.name,
                    summary.problem or summary.description[:60],
                )
                for summary in summaries
            ],
        )
    for text in notes:
        say(f"Note: {text}")


@agent.command("show", epilog="Example:  exuvia agent show data_helper")
@click.argument("agent_id", metavar="AGENT")
@json_option
@place_options
def show(agent_id: str, as_json: bool, place: Place) -> None:
    """Show an agent: configuration, skills, benchmarks, versions, drift."""
    from core.skillrepo.document import installed
    from core.state.agents import read_agent
    from core.state.benchmark import read_benchmark
    from core.state.snapshots import drift, list_snapshots

    paths = place.agent(agent_id)
    config = read_agent(paths)
    state = drift(paths)
    skills = [document.name for document in installed(paths.skills)]
    benchmarks = [read_benchmark(paths.benchmark(name)) for name in paths.benchmark_ids()]
    versions = [kept.version for kept in list_snapshots(paths)]
    facts = {
        "agent_id": agent_id,
        "name": config.name,
        "description": config.description,
        "version": config.version,
        "max_turns": config.max_turns,
        "thinking_level": config.thinking_level,
        "tools": [tool.name for tool in config.tools],
        "mcp_servers": list(config.mcp_servers),
        "skills": skills,
        "drift": state.state,
        "snapshots": versions,
        "benchmarks": [
            {
                "id": benchmark.id,
                "title": benchmark.title,
                "cases": len(benchmark.cases),
                "latest": None
                if not benchmark.reading.evaluations
                else {
                    "version": benchmark.reading.evaluations[-1].version,
                    "score": benchmark.reading.evaluations[-1].score,
                },
            }
            for benchmark in benchmarks
        ],
        "diagnostics": [str(found) for found in config.diagnostics],
        "path": str(paths.root),
    }
    if as_json:
        print_json(facts)
        return
    say(f"{config.name} ({agent_id}) v{config.version}: {config.description}")
    say(f"  state      {paths.state} ({state.state})")
    say(f"  thinking   {config.thinking_level}, max_turns {config.max_turns}")
    say(f"  skills     {', '.join(skills) or 'none'}")
    say(f"  snapshots  {', '.join(f'v{version}' for version in versions) or 'none'}")
    for benchmark in benchmarks:
        latest = benchmark.reading.evaluations[-1] if benchmark.reading.evaluations else None
        score = "no evaluation" if latest is None else f"v{latest.version} {latest.score:g}"
        cases = f"{len(benchmark.cases)} Case{'' if len(benchmark.cases) == 1 else 's'}"
        say(f"  benchmark  {benchmark.id}: {benchmark.title}, {cases}, {score}")
    for found in config.diagnostics:
        say(f"  note       {found}")


@agent.command("create", epilog="Example:  exuvia agent create csv_helper --requirement 'Cleans small CSV files.'")
@click.argument("agent_id", metavar="AGENT")
@click.option("--requirement", required=True, help="What it is for, in a sentence ('-' reads standard input).")
@click.option("--name", help="A name for people (the id by default).")
@click.option("--description", help="One line (the requirement by default).")
@click.option("--thinking", "thinking_level", default="medium", show_default=True, help="Thinking level.")
@click.option("--skill", "skills", multiple=True, metavar="NAME|DIR", help="Install a skill; may be repeated.")
@json_option
@place_options
def create(
    agent_id: str,
    requirement: str,
    name: str | None,
    description: str | None,
    thinking_level: str,
    skills: tuple[str, ...],
    as_json: bool,
    place: Place,
) -> None:
    """Create AGENT at version 1; the home and project are made where missing. Nothing existing is overwritten."""
    from core.state import audit
    from core.state.agents import create_agent
    from core.state.fresh import ensure_home

    text = sys.stdin.read().strip() if requirement == "-" else requirement.strip()
    if not text:
        raise UsageError("The requirement is empty.", hint="Say what the agent is for.")
    ensure_home(place.home)
    made = create_agent(
        place.project,
        agent_id,
        name=name or agent_id,
        description=description or text.splitlines()[0][:200],
        agents_md=f"# Role\n\n{text}\n",
        thinking_level=thinking_level,
        skills=skills,
    )
    audit.record(place.project, "create_agent", agent_id, {"skills": list(skills)}, actor="cli")
    if as_json:
        print_json({"agent_id": agent_id, "path": str(made.root)})
    else:
        say(f"Created {agent_id} in {made.root}.")
        say(here(f"Next: exuvia build {agent_id} --capability TEXT --baseline-score 45 --pilots 4"))
