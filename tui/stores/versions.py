"""Every version of the agent that is kept, what it scored, and what a rollback or an undo would do."""

from __future__ import annotations

from dataclasses import dataclass

from core.foundation.errors import ExuviaError, NotFoundError
from core.state.paths import ProjectPaths
from tui.stores.runs import Subject
from tui.stores.views import BoardRow, VersionsView


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version. `kept` tells whether its state can be gone back to; `beside` counts further contents under its number.

    `present` marks the one that the agent is now; `drift` then says whether it was edited since.
    """

    version: int
    present: bool
    drift: str
    kept: bool
    beside: int
    time: str
    content: str
    damage: str
    score: float | None
    what: str
    proposer: str
    hypothesis: str
    note: str = ""


def load(project: ProjectPaths, rows: tuple[BoardRow, ...], subject: Subject | None) -> VersionsView:
    """Return the view of the agent in sight; newest version first."""
    from core.state import rollback, snapshots, timeline  # what reads whole files is imported after the first paint

    if subject is None:
        return VersionsView()
    agent = project.agent(subject.agent_id)
    present = snapshots.current_version(agent)
    try:
        kept = snapshots.list_snapshots(agent)
        if present is None and not kept:
            return VersionsView(subject.agent_id)
        drift = snapshots.drift(agent)
    except (ExuviaError, OSError) as error:
        return VersionsView(subject.agent_id, present, trouble=str(error))
    scored = {row.version: row for row in rows}
    notes = timeline.notes(agent)
    found: list[VersionRow] = []
    known = {present or 0, *scored, *(snapshot.version for snapshot in kept)} - {0}
    for version in sorted(known, reverse=True):
        own = [snapshot for snapshot in kept if snapshot.version == version]
        row = scored.get(version)
        found.append(
            VersionRow(
                version,
                version == present,
                drift.state if version == present else "",
                any(not snapshot.damage for snapshot in own),
                max(0, len(own) - 1),
                next((snapshot.time for snapshot in own if snapshot.time), row.time if row else ""),
                next((snapshot.content_hash.removeprefix("sha256:")[:12] for snapshot in own), ""),
                next((snapshot.damage for snapshot in own if snapshot.damage), ""),
                row.score if row else None,
                row.what if row else "",
                row.proposer if row else "",
                row.hypothesis if row else "",
                next((notes[snapshot.content_hash] for snapshot in own if snapshot.content_hash in notes), ""),
            )
        )
    try:
        target: int | None = rollback.default_target(agent)
    except NotFoundError:
        target = None
    last = rollback.undoable(agent)
    # Where the state was changed since, an undo would be refused, so it is not offered.
    undo = last.words if last is not None and last.after == drift.content_hash else ""
    waiting = rollback.pending(agent)
    return VersionsView(
        subject.agent_id,
        present,
        drift.state,
        drift.names,
        tuple(found),
        target,
        undo,
        "a rollback was interrupted; the next one mends it" if waiting else "",
        trouble="" if present is not None else f"{agent.config.name} can't be read, so the state has no version",
        content=drift.content_hash,
        preserved=drift.preserved,
        changes=timeline.timeline(agent),
    )
