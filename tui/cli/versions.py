"""`exuvia snapshot` and `exuvia rollback`: every version of an agent, and the way back into each."""

from __future__ import annotations

from pathlib import Path

import click

from core.foundation.errors import NotFoundError, RefusedError, UsageError
from tui.cli.common import (
    Place,
    group_options,
    here,
    json_option,
    place_options,
    print_json,
    print_table,
    say,
    say_text,
)


@click.command(
    epilog="Examples:  exuvia rollback data_helper --version 2   |   exuvia rollback data_helper --undo",
)
@click.argument("agent_id", metavar="AGENT")
@click.option("--version", "-v", type=click.IntRange(min=1), help="Go back to this version (else the one before).")
@click.option("--undo", is_flag=True, help="Take the last rollback or snapshot import back.")
@click.option("--with-memory", is_flag=True, help="Also restore memory and schedule.")
@click.option("--stop", is_flag=True, help="Stop a live run of this agent first.")
@json_option
@place_options
def rollback(
    agent_id: str, version: int | None, undo: bool, with_memory: bool, stop: bool, as_json: bool, place: Place
) -> None:
    """Take AGENT back to an earlier version. What is there now is kept first; the vault always stays."""
    from core.evolution import runs
    from core.state import rollback as swaps

    if undo and version is not None:
        raise UsageError("--undo and --version contradict each other.", hint="Say one of them.")
    agent = place.agent(agent_id)
    live = runs.live_run(agent)
    if live is not None:
        if not stop:
            raise RefusedError(
                f"Run {live} is at work on {agent_id}.", hint="Stop it first, or say --stop to do so now."
            )
        runs.stop(place.project, live)
    try:
        result = (
            swaps.undo(agent, "cli")
            if undo
            else swaps.roll_back(agent, version=version, actor="cli", with_memory=with_memory)
        )
    except NotFoundError as error:
        if undo:
            error.hint = here(
                "Rollbacks and snapshot imports are undone so. A skill goes by "
                f"'exuvia skill remove NAME --agent {agent_id}', any other change by --version N."
            )
        elif version is None:
            error.hint = f"Name one with --version N; see 'exuvia snapshot list {agent_id}'."
        raise
    if as_json:
        print_json(
            {
                "agent_id": agent_id,
                "from_version": result.from_version,
                "to_version": result.to_version,
                "snapshot_of_before": str(result.snapshot_of_before.path),
                "warnings": list(result.warnings),
            }
        )
        return
    moved = f"v{result.from_version} -> v{result.to_version}"
    if result.from_version == result.to_version:  # what was changed by hand since is taken off
        moved = f"as v{result.to_version} was before" if undo else f"v{result.to_version} as it was accepted"
    say(f"{'Undone' if undo else 'Rolled back'}: {agent_id} {moved}")
    say(here(f"The state before is kept in {result.snapshot_of_before.path}. Undo: exuvia rollback {agent_id} --undo"))
    for warning in result.warnings:
        say(f"Note: {warning}")


@click.group(epilog="Example:  exuvia snapshot list data_helper")
@group_options
def snapshot() -> None:
    """Create, list, compare, export and import versions, and tell their history."""


@snapshot.command("create", epilog="Example:  exuvia snapshot create data_helper --note 'before the holidays'")
@click.argument("agent_id", metavar="AGENT")
@click.option("--note", default="", metavar="TEXT", help="Why it is kept; shown with the version.")
@json_option
@place_options
def create(agent_id: str, note: str, as_json: bool, place: Place) -> None:
    """Keep the present state of AGENT; equal content is reused, other content of the same version is kept beside."""
    from core.state import snapshots

    kept = snapshots.create(place.agent(agent_id), note=note.strip(), actor="cli")
    if as_json:
        print_json(
            {
                "version": kept.version,
                "path": str(kept.path),
                "content_hash": kept.content_hash,
                "reused": kept.reused,
                "warning": kept.warning,
            }
        )
        return
    say(f"{'Already kept' if kept.reused else 'Kept'}: v{kept.version} in {kept.path}")
    if kept.warning:
        say(f"Note: {kept.warning}")


@snapshot.command("list", epilog="Example:  exuvia snapshot list data_helper --json")
@click.argument("agent_id", metavar="AGENT")
@json_option
@place_options
def list_all(agent_id: str, as_json: bool, place: Place) -> None:
    """List the versions of AGENT that are kept, and whether the present state is one of them."""
    from core.state import snapshots, timeline

    agent = place.agent(agent_id)
    notes = timeline.notes(agent)
    kept = snapshots.list_snapshots(agent)
    present = snapshots.drift(agent)
    if as_json:
        print_json(
            {
                "agent_id": agent_id,
                "current_version": snapshots.current_version(agent),
                "drift": present.state,
                "snapshots": [
                    {
                        "version": entry.version,
                        "path": str(entry.path),
                        "content_hash": entry.content_hash,
                        "beside": entry.beside,
                        "time": entry.time,
                        "note": notes.get(entry.content_hash, ""),
                        "damage": entry.damage,
                    }
                    for entry in kept
                ],
            }
        )
        return
    say(f"Present: v{snapshots.current_version(agent)} ({present.state})")
    if not kept:
        say(here(f"No version is kept yet. Keep this one: exuvia snapshot create {agent_id}"))
        return
    print_table(
        ("version", "content", "where", "time", "note"),
        [
            (
                f"v{entry.version}",
                entry.content_hash.removeprefix("sha256:")[:12] or None,
                "beside" if entry.beside else "shared",
                entry.time or None,
                entry.damage or notes.get(entry.content_hash) or None,
            )
            for entry in kept
        ],
    )


@snapshot.command("history", epilog="Example:  exuvia snapshot history data_helper")
@click.argument("agent_id", metavar="AGENT")
@json_option
@place_options
def history(agent_id: str, as_json: bool, place: Place) -> None:
    """Tell every change of AGENT in order: accepted, rolled back, undone, imported, kept; who did it, and when."""
    from dataclasses import asdict

    from core.state.timeline import timeline

    changes = timeline(place.agent(agent_id))
    if as_json:
        print_json({"agent_id": agent_id, "changes": [asdict(change) for change in changes]})
        return
    if not changes:
        say(f"Nothing is on record for {agent_id} yet.")
        return
    print_table(
        ("time", "change", "version", "before", "by", "signed", "why"),
        [
            (
                change.time or None,
                change.what,
                f"v{change.version}" if change.version else None,
                f"v{change.before}" if change.before else None,
                change.who or None,
                change.signature or None,
                change.text or None,
            )
            for change in changes
        ],
    )


@snapshot.command("diff", epilog="Example:  exuvia snapshot diff data_helper v1 current")
@click.argument("agent_id", metavar="AGENT")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B", default="current")
@click.option("--benchmark", "benchmark_id", default="", metavar="ID", help="Compare files of this benchmark.")
@click.option("--patch", is_flag=True, help="Print the unified diff alone, as patch(1) takes it.")
@json_option
@place_options
def diff(agent_id: str, before: str, after: str, benchmark_id: str, patch: bool, as_json: bool, place: Place) -> None:
    """Compare two versions of AGENT, its Candidates, or a benchmark's files; values that look secret are hidden.

    A and B are 'current', a version such as 2 or v2 (v2@HASH where several states are kept under it), candidate:5,
    reference:5 or archive:FILE; with --benchmark they are 'benchmark' (its files now), 'frozen' or 'lowest'.
    """
    from core.evolution import sides
    from core.state import statediff

    agent = place.agent(agent_id)
    if benchmark_id and after == "current":
        after = "benchmark"
    left, right = (sides.parse(place.project, agent, name, benchmark_id) for name in (before, after))
    files = sides.compare(place.project, left, right)
    if as_json:
        print_json(
            {
                "files": [
                    {
                        "path": file.path,
                        "status": file.status,
                        "added": file.added,
                        "removed": file.removed,
                        "binary": file.binary,
                        "unread": file.unread,
                        "before_sha256": file.before_hash,
                        "after_sha256": file.after_hash,
                        "before_bytes": file.before_size,
                        "after_bytes": file.after_size,
                        "hidden": file.hidden,
                        "note": file.note,
                        "diff": file.text,
                    }
                    for file in files
                ]
            }
        )
        return
    if patch:
        say_text(statediff.patch(files))
        return
    if not files:
        say("No difference.")
    for file in files:
        told = file.unread or file.note
        say(f"{file.status} {file.path}  +{file.added} -{file.removed}{f'  ({told})' if told else ''}")
        if file.unread:
            say(f"  sha256 {file.before_hash or 'none'} -> {file.after_hash or 'none'}")
        if file.text:
            say_text(file.text)
    if any(file.hidden for file in files):
        say("Note: values that look secret are hidden; what differs, differs.")


@snapshot.command("export", epilog="Example:  exuvia snapshot export data_helper data_helper-v2.tar.gz --version 2")
@click.argument("agent_id", metavar="AGENT")
@click.argument("out", type=click.Path(path_type=Path), required=False)
@click.option("--version", "-v", type=click.IntRange(min=1), help="A kept version (the present state by default).")
@json_option
@place_options
def export(agent_id: str, out: Path | None, version: int | None, as_json: bool, place: Place) -> None:
    """Write a version of AGENT as an archive that the shared format knows; never with the vault."""
    from core.state import transfer
    from tui.cli.progress import working

    agent = place.agent(agent_id)
    with working(f"exporting {agent_id}") as progress:
        written = transfer.export(agent, version, out or Path.cwd(), report=progress)
    if as_json:
        print_json({"path": str(written)})
    else:
        say(f"Wrote {written}")


@snapshot.command("import", epilog="Example:  exuvia snapshot import data_helper data_helper-v2.tar.gz --confirm")
@click.argument("agent_id", metavar="AGENT")
@click.argument("archive", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--confirm", is_flag=True, help="Also when its version is not higher than the present one.")
@json_option
@place_options
def import_(agent_id: str, archive: Path, confirm: bool, as_json: bool, place: Place) -> None:
    """Replace the state of AGENT by an archive's. What is there is kept first; a hostile archive is refused whole."""
    from core.evolution import runs
    from core.state import transfer
    from tui.cli.progress import working

    agent = place.agent(agent_id)
    try:
        with working(f"importing {archive.name}") as progress:
            result = transfer.import_archive(
                agent, archive, confirmed=confirm, actor="cli", live_run=runs.live_run, report=progress
            )
    except transfer.VersionConflictError as error:
        error.hint = "To import it all the same, say --confirm; the present state is kept first."
        raise
    if as_json:
        print_json(
            {"from_version": result.from_version, "to_version": result.version, "warnings": list(result.warnings)}
        )
    else:
        moved = f"v{result.from_version} -> v{result.version}"
        say(here(f"Imported: {agent_id} {moved}. Undo: exuvia rollback {agent_id} --undo"))
        for warning in result.warnings:
            say(f"Note: {warning}")
