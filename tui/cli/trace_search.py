"""`exuvia trace search`: where a text stands, in one Session or in all, found by scanning bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from core.foundation.errors import NotFoundError
from tui.cli.common import Place, here, json_option, place_options, print_json, say
from tui.cli.trace_views import FILTER_HELP, wanted

if TYPE_CHECKING:
    from core.traces.search_all import Hit
    from core.traces.shards import Shard
    from tui.cli.progress import Progress


def _sessions(place: Place, session_id: str | None, agent_id: str | None) -> list[tuple[str, tuple[Shard, ...]]]:
    """Return the Sessions to look in, newest first."""
    from core.traces.project_sessions import ProjectSessions
    from core.traces.shards import all_shards

    if session_id is not None:
        files = ProjectSessions(place.project).shards(session_id)
        if not files:
            raise NotFoundError(
                f"There is no session {session_id!r} in {place.project.root}.", hint="List them: exuvia trace list"
            )
        return [(session_id, files)]
    agents = [place.agent(agent_id)] if agent_id else [place.project.agent(name) for name in place.project.agent_ids()]
    found = [(name, files) for agent in agents for name, files in all_shards(agent).items()]
    return sorted(found, key=lambda session: session[0], reverse=True)


def _hits(sessions: list[tuple[str, tuple[Shard, ...]]], text: str, progress: Progress) -> Iterator[Hit]:
    from core.traces.search import Query, Scanned
    from core.traces.search_all import search_sessions

    for found in search_sessions(sessions, Query.of(text)):
        if isinstance(found, Scanned):
            progress(found.done, found.total)
        else:
            yield found


@click.command(
    "search", epilog="Examples:  exuvia trace search 'no such file'   |   exuvia trace search timeout --session SESSION"
)
@click.argument("text")
@click.option("--session", "session_id", metavar="SESSION", help="Only in this session.")
@click.option("--agent", "agent_id", metavar="AGENT", help="Only in this agent's sessions.")
@click.option("--filter", "query", metavar="FILTER", help=FILTER_HELP)
@click.option("--limit", type=click.IntRange(min=1), default=200, show_default=True, help="Stop after so many.")
@json_option
@place_options
def search(
    text: str, session_id: str | None, agent_id: str | None, query: str | None, limit: int, as_json: bool, place: Place
) -> None:
    """Find TEXT in traces, newest session first; a capital in it makes upper and lower case count.

    What can be read is looked in, however it was escaped. Ctrl-C ends the search; what was found is there already.
    """
    from tui.cli.progress import working

    sessions = _sessions(place, session_id, agent_id)
    if query is not None:
        ids = {row.session_id for row in wanted(place, query)}
        sessions = [one for one in sessions if one[0] in ids]
    facts: list[dict[str, Any]] = []
    more = False
    with working(f"searching {len(sessions)} session{'' if len(sessions) == 1 else 's'}") as progress:
        for hit in _hits(sessions, text, progress):
            if len(facts) == limit:
                more = True
                break
            facts.append(_facts(hit))
            if not as_json:
                progress.close()  # so that the line does not begin behind the bar
                say(f"{hit.session_id}:{hit.number}  {hit.match.before}{hit.match.hit}{hit.match.after}")
    if as_json:
        print_json({"hits": facts, "more": more, "sessions": len(sessions)})
        return
    if not facts:
        if sessions:
            say(f"{text!r} stands in none of {len(sessions)} session{'' if len(sessions) == 1 else 's'}.")
            say("Look elsewhere: another --session or --agent, or another home with --home DIR.")
        else:
            say(here("No sessions yet. Let an agent work: exuvia run AGENT -m TEXT, or watch the loop: exuvia demo"))
    else:
        where = facts[0]
        say(here(f"Look: exuvia trace show {where['session_id']} --from {where['entry']} --count 20"))
    if more:
        say(f"There is more than {limit}: say --limit N, or a longer text.")


def _facts(hit: Hit) -> dict[str, Any]:
    found = hit.match
    return {
        "session_id": hit.session_id,
        "entry": hit.number,
        "time": found.moment,
        "bytes": [found.start, found.end],
        "before": found.before,
        "hit": found.hit,
        "after": found.after,
    }
