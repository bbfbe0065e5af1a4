"""`exuvia trace`: what happened in a Session, line by line and in numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from core.foundation.errors import NotFoundError
from core.foundation.visible import visible_line
from tui.cli.common import Place, group_options, here, json_option, place_options, print_json, print_table, say
from tui.cli.trace_search import search
from tui.cli.trace_views import FILTER_HELP, facts_of, print_rows, rows_of_run, times, wanted

if TYPE_CHECKING:
    from core.state.paths import AgentPaths
    from core.traces.parsing import Gap, TraceRecord
    from core.traces.project_sessions import ProjectSessions
    from core.traces.session_trace import SessionTrace
    from core.traces.tree import SessionNode
    from tui.cli.progress import Progress

_SUMMARY = 100  # characters of a record in a list


@click.group(epilog="Example:  exuvia trace list --agent data_helper")
@group_options
def trace() -> None:
    """List, show, search, analyse, export and import traces."""


trace.add_command(search)
trace.add_command(times)


@contextmanager
def _read(agent: AgentPaths, session_id: str) -> Iterator[tuple[SessionTrace, Progress]]:
    """Open a Session and index it, telling how far it is where that takes its time."""
    from core.traces.session_trace import SessionTrace
    from tui.cli.progress import working

    with SessionTrace(agent, session_id, index=False) as session, working(f"reading {session_id}") as progress:
        before, total = 0, sum(file.size for file in session.files)
        for file in session.files:
            for step in file.index_batches():
                progress(before + step.done, total)
            before += file.size
        yield session, progress


def _counted(session: SessionTrace, progress: Progress) -> Iterator[TraceRecord]:
    """Yield every record, telling how far it is."""
    before, total = 0, sum(file.size for file in session.files)
    for file in session.files:
        for record in file.iter_records():
            progress(before + record.end, total)
            yield record
        before += file.size


def _agent_of(place: Place, session_id: str) -> tuple[AgentPaths, ProjectSessions]:
    from core.traces.project_sessions import ProjectSessions

    sessions = ProjectSessions(place.project)
    agent = sessions.agent_of(session_id)
    if agent is None:
        raise NotFoundError(
            f"There is no session {session_id!r} in {place.project.root}.", hint="List them: exuvia trace list"
        )
    return agent, sessions


@trace.command(
    "list",
    epilog="Examples:  exuvia trace list --agent data_helper   |   exuvia trace list --filter status:failed",
)
@click.option("--agent", "agent_id", metavar="AGENT", help="Only this agent's sessions.")
@click.option("--filter", "query", metavar="FILTER", help=FILTER_HELP + " Shows Case, status, times and cost.")
@click.option("--limit", type=click.IntRange(min=1), default=40, show_default=True, help="At most so many an agent.")
@json_option
@place_options
def list_all(agent_id: str | None, query: str | None, limit: int, as_json: bool, place: Place) -> None:
    """List sessions, newest first; with --filter also what each was for, how it stands and what it cost."""
    if query is not None:
        rows = wanted(place, f"{query} agent:{place.agent(agent_id).id}" if agent_id else query)[:limit]
        if as_json:
            print_json({"sessions": [facts_of(row) for row in rows]})
        elif rows:
            print_rows(rows)
        else:
            say(f"No session is like {query!r}.")
        return
    from core.traces.listing import list_sessions

    agents = [place.agent(agent_id)] if agent_id else [place.project.agent(name) for name in place.project.agent_ids()]
    heads = [head for agent in agents for head in list_sessions(agent)[:limit]]
    heads.sort(key=lambda head: head.session_id, reverse=True)
    if as_json:
        print_json(
            {
                "sessions": [
                    {
                        "session_id": head.session_id,
                        "agent_id": head.agent_id,
                        "title": head.title,
                        "category": head.category,
                        "provider": head.provider,
                        "model_id": head.model_id,
                        "first": head.first_ts,
                        "workspace": head.workspace,
                        "bytes": head.size,
                    }
                    for head in heads
                ]
            }
        )
    elif not heads:
        say(here("No sessions yet. Let an agent work: exuvia run AGENT -m TEXT, or watch the loop: exuvia demo"))
    else:
        print_table(
            ("session", "agent", "kind", "model", "bytes", "title"),
            [(h.session_id, h.agent_id, h.category, h.model_id, h.size, h.title) for h in heads],
        )


def _summary(record: TraceRecord) -> str:
    """Return a record in one line of at most _SUMMARY characters."""
    payload = record.payload
    match record.kind:
        case "text" | "thinking":
            said = record.text("text") or record.text("thinking")
            text = f"{payload.get('role', '')}: {said}"
        case "tool_call":
            text = f"{record.text('name')} {record.text('arguments')}"
        case "tool_call_output":
            text = f"-> {record.text('output')}"
        case "request_end":
            text = f"{record.text('status')} {record.text('error_message')}"
        case "token_usage":
            text = json.dumps(payload.get("request"))
        case _:
            rest = {key: value for key, value in payload.items() if key != "type"}
            text = json.dumps(rest, ensure_ascii=False, default=str) if rest else ""
    line = visible_line(" ".join(text[: 4 * _SUMMARY].split()))
    return line if len(line) <= _SUMMARY else line[: _SUMMARY - 1] + "…"


def _entry_facts(entry: TraceRecord | Gap) -> dict[str, Any]:
    from core.traces.parsing import Gap

    if isinstance(entry, Gap):
        return {"line": entry.line, "gap": entry.reason, "bytes": [entry.start, entry.end]}
    return {"line": entry.line, "timestamp": entry.timestamp, "type": entry.type, "payload": entry.payload}


@trace.command("show", epilog="Example:  exuvia trace show SESSION --from 0 --count 50")
@click.argument("session_id", metavar="SESSION")
@click.option("--from", "start", type=click.IntRange(min=0), default=0, show_default=True, help="First entry.")
@click.option("--count", type=click.IntRange(min=1), default=200, show_default=True, help="Number of entries.")
@json_option
@place_options
def show(session_id: str, start: int, count: int, as_json: bool, place: Place) -> None:
    """Show the entries of SESSION; what is no record is shown as a gap with its bytes."""
    from core.traces.parsing import Gap

    agent, _ = _agent_of(place, session_id)
    with _read(agent, session_id) as (session, _):
        entries = session.window(start, count)
        total = len(session)
    if as_json:
        print_json({"session_id": session_id, "total": total, "entries": [_entry_facts(entry) for entry in entries]})
        return
    for number, entry in enumerate(entries, start):
        if isinstance(entry, Gap):
            say(f"{number:>6}  gap: {entry.reason}, bytes {entry.start} to {entry.end}")
        else:
            say(f"{number:>6}  {entry.timestamp[11:23]:<12}  {entry.kind:<18}  {_summary(entry)}")
    if start + len(entries) < total:
        say(f"{total - start - len(entries)} more: --from {start + len(entries)}")


def _prices(place: Place) -> dict[tuple[str, str], Any]:
    from core.state.project import read_project

    return {(model.ref.provider, model.ref.model_id): model.price for model in read_project(place.project).models}


def _node_facts(node: SessionNode, prices: dict[tuple[str, str], Any]) -> dict[str, Any]:
    from core.traces.cost import roll_up

    cost = roll_up(node, prices)
    return {
        "session_id": node.session_id,
        "agent_id": node.agent_id,
        "role": node.role,
        "missing": node.is_missing,
        "tokens": node.tree_tokens.total,
        "cost_known_usd": cost.known_usd,
        "requests_of_unknown_cost": cost.unknown_requests,
        "scores": [{"case_id": run.case_id, "run": run.run, "score": run.score} for run in node.scored],
        "children": [_node_facts(child, prices) for child in node.children],
    }


@trace.command("tree", epilog="Examples:  exuvia trace tree SESSION   |   exuvia trace tree RUN")
@click.argument("session_id", metavar="SESSION|RUN")
@json_option
@place_options
def tree(session_id: str, as_json: bool, place: Place) -> None:
    """Show SESSION and all it started, or all sessions of RUN, with tokens and cost (of SESSION children included)."""
    from core.traces.cost import roll_up
    from core.traces.project_sessions import ProjectSessions
    from core.traces.tree import build_tree

    rows = rows_of_run(place, session_id) if not ProjectSessions(place.project).shards(session_id) else ()
    if rows:
        if as_json:
            print_json({"run_id": session_id, "sessions": [facts_of(row) for row in rows]})
        else:
            print_rows(rows)
        return
    _, sessions = _agent_of(place, session_id)
    root = build_tree(place.project, session_id, sessions)
    prices = _prices(place)
    if as_json:
        print_json(_node_facts(root, prices))
        return

    def draw(node: SessionNode, depth: int) -> None:
        cost = roll_up(node, prices)
        known = f"${cost.known_usd:.4f}" if cost.known_usd or not cost.unknown_requests else ""
        unknown = f"{cost.unknown_requests} requests of unknown cost" if cost.unknown_requests else ""
        scores = " ".join(f"{run.case_id} run {run.run}: {run.score:g}" for run in node.scored)
        money = ", ".join(part for part in (known, unknown) if part)
        missing = "  (trace missing)" if node.is_missing else ""
        say(f"{'  ' * depth}{node.role} {node.session_id}  {node.tree_tokens.total} tokens  {money}  {scores}{missing}")
        for child in node.children:
            draw(child, depth + 1)

    draw(root, 0)


@trace.command("analyze", epilog="Example:  exuvia trace analyze SESSION --json")
@click.argument("session_id", metavar="SESSION")
@json_option
@place_options
def analyze(session_id: str, as_json: bool, place: Place) -> None:
    """Show SESSION in numbers: tasks, requests, tools, tokens, times."""
    from core.traces.analysis import analyze as analyse

    agent, _ = _agent_of(place, session_id)
    with _read(agent, session_id) as (session, progress):
        analysis = analyse(_counted(session, progress))
    if as_json:
        print_json(analysis.as_golden())
        return
    tokens = analysis.tokens
    say(f"{analysis.records} records, {len(analysis.tasks)} tasks, {len(analysis.requests)} requests")
    seconds = analysis.elapsed_ms / 1000
    say(f"elapsed {seconds:.1f} s, reconnects {analysis.reconnects}, compactions {analysis.compactions}")
    say(f"tokens: cached {tokens.cache_read}, input {tokens.cache_write}, output {tokens.output}, all {tokens.total}")
    if analysis.unknown_requests:
        say(f"{analysis.unknown_requests} requests did not say their tokens")
    if analysis.aborted:
        say(f"aborted: {analysis.aborted}")
    if analysis.tools:
        print_table(
            ("tool", "decision", "ended", "task"),
            [(tool.name, tool.decision, tool.stop_reason, tool.task) for tool in analysis.tools],
        )


@trace.command("export", epilog="Example:  exuvia trace export SESSION ./out")
@click.argument("session_id", metavar="SESSION")
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@json_option
@place_options
def export(session_id: str, directory: Path, as_json: bool, place: Place) -> None:
    """Write the raw files of SESSION into DIRECTORY."""
    from core.traces.transfer import export_trace
    from tui.cli.progress import working

    agent, _ = _agent_of(place, session_id)
    with working(f"exporting {session_id}") as progress:
        written = export_trace(agent, session_id, directory, progress)
    if as_json:
        print_json({"files": [str(path) for path in written]})
    else:
        for path in written:
            say(f"Wrote {path}")


@trace.command("import", epilog="Example:  exuvia trace import ./session.jsonl --agent data_helper")
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--agent", "agent_id", metavar="AGENT", required=True, help="The agent that gets it.")
@json_option
@place_options
def import_(source: Path, agent_id: str, as_json: bool, place: Place) -> None:
    """Add the trace in SOURCE to an agent; every line must parse, a session that is there is refused."""
    from core.traces.transfer import import_trace
    from tui.cli.progress import working

    agent = place.agent(agent_id)
    with working(f"importing {source.name}"):
        path = import_trace(agent, source)
    if as_json:
        print_json({"path": str(path)})
    else:
        say(f"Imported {path}")
