"""What a key does to the versions of an agent: one call of core each, as the command line makes them; in threads."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from core.evolution.side import Side
from core.foundation.errors import DamagedError, UsageError
from core.foundation.visible import visible
from core.state.paths import ProjectPaths
from tui.messages import Outcome
from tui.work import Work

if TYPE_CHECKING:
    from core.state.statediff import FileDiff

ACTOR = "console"


def keep(project: ProjectPaths, agent_id: str, note: str) -> Outcome:
    """Keep the present state as a snapshot, with a note."""
    from core.state import snapshots

    kept = snapshots.create(project.agent(agent_id), note=note, actor=ACTOR)
    if kept.reused:
        return Outcome(f"v{kept.version} is kept already, byte for byte." + (" The note was added." if note else ""))
    if kept.beside:
        return Outcome(f"Kept beside v{kept.version}, which stays.", "7, then h, shows both.")
    return Outcome(f"Kept the present state as v{kept.version}.", "R goes back to it at any time.")


def export(project: ProjectPaths, agent_id: str, version: int | None, target: str, work: Work) -> Outcome:
    """Write a kept version to a new file, or the present state (None), which is kept first. Never replaces a file."""
    from core.state import transfer

    written = transfer.export(project.agent(agent_id), version, as_path(target), report=work.report)
    return Outcome(f"Wrote {written.name}.", "Without the vault. I in Versions imports it.")


def look(project: ProjectPaths, agent_id: str, source: str, work: Work) -> Side:
    """Check an archive whole, change nothing, and return it as a side to compare the present state with."""
    from core.state import readonly, transfer
    from core.state.archive import HostileArchiveError

    readonly.refuse(project.agent(agent_id).root)
    path = as_path(source)
    try:
        incoming = transfer.look(path, work.report)
    except HostileArchiveError:
        raise
    except DamagedError as error:
        hint = error.hint or "It must be what an export or a snapshot wrote."
        raise DamagedError(f"{path.name} can't be imported: {error}", hint=hint) from error
    return Side("archive", agent_id, incoming.version, content=incoming.archive.whole_hash, path=str(path))


def import_archive(project: ProjectPaths, side: Side, confirmed: bool, work: Work) -> Outcome:
    """Make the state what the archive holds that was shown; what is there now is kept first, and `u` undoes it."""
    from core.evolution import runs
    from core.state import transfer

    done = transfer.import_archive(
        project.agent(side.agent_id),
        Path(side.path),
        confirmed,
        actor=ACTOR,
        live_run=runs.live_run,
        whole_hash=side.content,
        report=work.report,
    )
    text = f"Imported into {side.agent_id}: v{done.from_version} to v{done.version}."
    return Outcome(text, " ".join(("u undoes it; what was there is kept.", *done.warnings)))


def write_patch(files: Collection[FileDiff], target: str, work: Work) -> Outcome:
    """Write a comparison to a new file that patch(1) takes. Never replaces a file."""
    from core.state import atomic, statediff

    work.report(0, 1)
    path, text = as_path(target), statediff.patch(files)
    # Whoever prints the file must be as safe as here; a carriage return at the end of a line moves nothing.
    shown = "\n".join(visible(line.removesuffix("\r")) + "\r" * line.endswith("\r") for line in text.split("\n"))
    atomic.write_new(path, shown.encode("utf-8", "replace"))
    if any(file.hidden for file in files):
        return Outcome(f"Wrote {path.name}.", "Hidden secrets: those lines can't be applied.")
    if shown != text:
        return Outcome(f"Wrote {path.name}.", "Control characters are shown in it: not for patch.")
    return Outcome(f"Wrote {path.name}.", "Apply it with: patch -p1")


def as_path(text: str) -> Path:
    """Return the path that was typed; `~` is the home directory. Raises UsageError."""
    if not text.strip():
        raise UsageError("No file was named.", hint="Type a path.")
    try:
        return Path.cwd() / Path(text.strip()).expanduser()
    except (RuntimeError, OSError) as error:
        raise UsageError(f"{text.strip()!r} can't be found: {error}", hint="Type the whole path.") from error
