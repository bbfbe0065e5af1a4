"""`exuvia skill search|diff|import|export`: finding, comparing and carrying skills."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import click

from core.foundation.errors import UsageError
from core.skillrepo.skill import Skill
from core.state import statediff
from core.state.statediff import Files
from tui.cli.common import Place, here, json_option, place_options, print_json, print_table, say, say_text
from tui.cli.skill_sources import Source, library, source_options

_AT = re.compile(r"(?P<place>.+)@(?P<position>[^@/]+)\Z")


@click.command("search", epilog='Example:  exuvia skill search "rows that occur twice" --agent data_helper --top 3')
@click.argument("query")
@click.option("--top", type=click.IntRange(min=1), default=5, show_default=True, help="So many at most.")
@click.option(
    "--min-overlap",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Share of a title's words that the query must hold; 0.51 is most of them.",
)
@source_options
@json_option
@place_options
def search(query: str, top: int, min_overlap: float, source: Source, as_json: bool, place: Place) -> None:
    """Find the skills for a task: BM25 over names and descriptions, as a task stream retrieves them."""
    from core.skillrepo.retrieval import retrieve

    hits = retrieve(source.skills(place), query, top_k=top, min_overlap=min_overlap)
    if as_json:
        found = [{"name": hit.skill.title, "score": hit.score, "description": hit.skill.description} for hit in hits]
        print_json({"query": query, "hits": found})
    elif not hits:
        say("No skill shares a word with that.")
    else:
        print_table(
            ("score", "name", "description"),
            [(f"{hit.score:.3f}", hit.skill.title, hit.skill.description[:90]) for hit in hits],
        )


@click.command("diff", epilog="Example:  exuvia skill diff ./skills@10 ./skills   |   exuvia skill diff a@v1 a")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option("--patch", is_flag=True, help="Print the unified diff alone, as patch(1) takes it.")
@json_option
@place_options
def diff(before: str, after: str, patch: bool, as_json: bool, place: Place) -> None:
    """Compare the skills of A and B.

    Each is an agent, an agent's version such as data_helper@v2, 'library', a directory of skills, or a position in a
    curated repository's log such as ./skills@10.
    """
    files = statediff.compare(_files(before, place), _files(after, place), with_memory=True)
    if as_json:
        rows = [
            {"path": file.path, "status": file.status, "added": file.added, "removed": file.removed, "diff": file.text}
            for file in files
        ]
        print_json({"files": rows})
    elif patch:
        say_text(statediff.patch(files))
    elif not files:
        say("No difference.")
    else:
        for file in files:
            unread = f"  ({file.unread})" if file.unread else ""
            say(f"{file.status} {file.path}  +{file.added} -{file.removed}{unread}")
            if file.text:
                say_text(file.text)


@click.command("import", epilog="Example:  exuvia skill import ./downloaded.zip --repo ./skills")
@click.argument("source", metavar="DIR|ARCHIVE", type=click.Path(path_type=Path))
@click.option("--repo", metavar="DIR", type=click.Path(path_type=Path), help="Into the curated repository in DIR.")
@click.option("--agent", "agent_id", metavar="AGENT", help="Into this agent, with all files of each skill.")
@click.option("--replace", is_flag=True, help="Replace skills of the same name.")
@json_option
@place_options
def import_(source: Path, repo: Path | None, agent_id: str | None, replace: bool, as_json: bool, place: Place) -> None:
    """Take skills from a skill's directory, a directory of them, or an archive (.tar.gz, .tar, .zip).

    A curated repository keeps the SKILL.md of each with name and description; what else there is is named. A hostile
    archive is refused whole.
    """
    if (repo is None) == (agent_id is None):
        raise UsageError("Say where the skills go.", hint="Either --repo DIR or --agent AGENT.")
    if repo is not None:
        taken, kept, notes = _into_repository(source, repo, replace)
    else:
        taken, kept, notes = _into_agent(source, agent_id or "", replace, place)
    if as_json:
        print_json({"imported": taken, "kept": kept, "notes": notes})
        return
    for told in notes:
        say(f"Note: {told}")
    for name in kept:
        say(f"Kept {name}: there already; say --replace to put the new one in its place.")
    say(f"Imported {len(taken)}: {', '.join(taken)}" if taken else "Imported nothing.")
    if taken and agent_id is not None:
        more = "" if len(taken) == 1 else " (each by its name)"
        then = f"exuvia skill remove {taken[0]} --agent {agent_id}{more}"
        if replace:
            then += f"; what was replaced comes back by: exuvia rollback {agent_id} --version N"
        say(here(f"Take it back: {then}"))


@click.command("export", epilog="Example:  exuvia skill export skills.tar.gz --repo ./skills --at 20")
@click.argument("out", metavar="DIR|ARCHIVE", type=click.Path(path_type=Path))
@click.option("--curated", is_flag=True, help="As a curated repository instead of Agent Skills folders.")
@source_options
@json_option
@place_options
def export(out: Path, curated: bool, source: Source, as_json: bool, place: Place) -> None:
    """Write skills to a new directory or archive (.tar.gz, .tar, .zip) that other agents can read."""
    from core.skillrepo.exchange import export_folders, export_skills

    if source.repo is None and not curated:
        directory = library() if source.agent_id is None else place.agent(source.agent_id).skills
        names = export_folders(directory, out)
    else:
        skills = source.skills(place)
        export_skills(skills, out, curated=curated)
        names = tuple(skill.title for skill in skills)
    if as_json:
        print_json({"path": str(out), "skills": list(names)})
    else:
        say(f"Wrote {len(names)} skills to {out}")


def _into_repository(source: Path, repo: Path, replace: bool) -> tuple[list[str], list[str], list[str]]:
    from core.skillrepo import kept
    from core.skillrepo.calls import from_native
    from core.skillrepo.exchange import import_skills
    from core.skillrepo.operations import INSERT, UPDATE

    found = import_skills(source)
    there = kept.at(repo).repository if repo.is_dir() else None
    present = {skill.title for skill in found.skills if there is not None and skill.title in there}
    calls = [
        from_native(UPDATE, {"skill_name": skill.title, "new_content": skill.content})
        if skill.title in present
        else from_native(INSERT, {"skill_name": skill.title, "content": skill.content})
        for skill in found.skills
        if replace or skill.title not in present
    ]
    verdicts = kept.apply(repo, calls, source={"imported_from": source.name})
    taken = [verdict.after.title for verdict in verdicts if verdict.after is not None]
    refused = [f"left out: {verdict.reason}" for verdict in verdicts if not verdict.valid]
    left = [] if replace else sorted(present)
    return taken, left, [*found.notes, *refused]


def _into_agent(source: Path, agent_id: str, replace: bool, place: Place) -> tuple[list[str], list[str], list[str]]:
    import shutil

    from core.skillrepo.exchange import skill_folders
    from core.skillrepo.folder import read_folder
    from core.state import audit, snapshots
    from core.state.skill_install import install_skill

    agent = place.agent(agent_id)
    taken: list[str] = []
    left: list[str] = []
    with skill_folders(source) as folders:
        refused = [(folder.name, found) for folder in folders for found in read_folder(folder).diagnostics]
        errors = [f"{name}: {found}" for name, found in refused if found.severity == "error"]
        if errors:
            raise UsageError(
                f"Nothing is imported: {'; '.join(errors[:3])}.",
                hint="Mend that, or take the skills into a curated repository with --repo.",
            )
        coming = [folder for folder in folders if replace or not (agent.skills / folder.name).exists()]
        left = [folder.name for folder in folders if folder not in coming]
        if coming:
            kept = snapshots.create(agent)
            for folder in coming:
                if (agent.skills / folder.name).exists():
                    shutil.rmtree(agent.skills / folder.name)
                install_skill(folder, agent.skills)
                taken.append(folder.name)
                subject = f"{agent_id}/{folder.name}"
                audit.record(place.project, "install_skill", subject, {"snapshot": kept.content_hash}, actor="cli")
    return taken, left, []


def _files(name: str, place: Place) -> Files:
    """Open a side of a comparison: skill folder and file to content."""
    from core.skillrepo import kept
    from core.skillrepo.directory import INDEX

    if Path(name).is_dir():
        if (Path(name) / INDEX).is_file():
            return _in_memory(_texts(kept.at(Path(name)).repository.skills))
        return _tree(Path(name))
    if name == "library":
        return _tree(library())
    if match := _AT.match(name):
        at, position = match["place"], match["position"]
        if not Path(at).is_dir():
            return _version(at, position, place)
        if not re.fullmatch(r"-?\d{1,9}", position):
            raise UsageError(f"{position!r} is no position of a log.", hint="A whole number; -1 is the last but one.")
        return _in_memory(_texts(kept.at(Path(at), int(position)).repository.skills))
    return _tree(place.agent(name).skills)


def _version(agent_id: str, version: str, place: Place) -> Files:
    from core.evolution import sides

    agent = place.agent(agent_id)
    state = sides.files_of(place.project, sides.parse(place.project, agent, version))
    hashes = {
        path.removeprefix("skills/"): digest for path, digest in state.hashes.items() if path.startswith("skills/")
    }

    def read(names: Collection[str]) -> Mapping[str, bytes]:
        found = state.read([f"skills/{name}" for name in names])
        return {path.removeprefix("skills/"): content for path, content in found.items()}

    return Files(hashes, read)


def _tree(root: Path) -> Files:
    from core.skillrepo.exchange import files_of_skills

    return _in_memory({name: file.content for name, file in files_of_skills(root).items()})


def _texts(skills: Iterable[Skill]) -> dict[str, bytes]:
    from core.skillrepo.titles import folder_name

    return {f"{folder_name(skill.title)}/SKILL.md": skill.content.encode("utf-8") for skill in skills}


def _in_memory(contents: Mapping[str, bytes]) -> Files:
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    return Files(hashes, lambda names: {name: contents[name] for name in names if name in contents})
