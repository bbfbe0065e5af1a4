"""Which Session started which, for all Sessions of a Project at once; `core.traces.tree` tells the rules for one."""

from __future__ import annotations

from collections.abc import Mapping

from core.traces.digest import Digest
from core.traces.project_sessions import ProjectSessions
from core.traces.tree import Link, links_of

Parents = dict[str, tuple[str, Link]]


def parents_of(sessions: ProjectSessions, said: Mapping[str, Digest]) -> Parents:
    """Return the Session that started each, with the link, for those that another one names.

    `said` are the digests known so far; Sessions without one name nobody. A Session that several name belongs to the
    one that began first, and nobody is below itself.
    """
    found: Parents = {}
    heads = ((sessions.head(session_id), digest) for session_id, digest in said.items())
    known = [(head, digest) for head, digest in heads if head is not None and (digest.calls or digest.pointers)]
    for head, digest in sorted(known, key=lambda pair: (pair[0].first_ts, pair[0].session_id)):
        for link in links_of(sessions, head, digest):
            if link.session_id not in found and not is_above(found, link.session_id, head.session_id):
                found[link.session_id] = (head.session_id, link)
    return found


def is_above(parents: Mapping[str, tuple[str, object]], session_id: str, below: str) -> bool:
    """Tell whether a Session is `below` itself, or stands above it."""
    at: str | None = below
    while at is not None:
        if at == session_id:
            return True
        at = parents[at][0] if at in parents else None
    return False
