"""`exuvia skill`: the skills of an agent and the built-in library."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from core.foundation.errors import ConflictError, ExitCode, UsageError
from core.skillrepo.document import read_curated, read_skill, read_text
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
from tui.cli.skill_exchange import diff, export, import_, search
from tui.cli.skill_sources import Source, facts, library, named, source_options


@click.group(epilog="Example:  exuvia skill list --agent data_helper")
@group_options
def skill() -> None:
    """List, show, search, compare, check and carry skills.

    They are the built-in library's, with --agent an agent's, with --repo those of a curated repository.
    """


for _command in (search, diff, import_, export):
    skill.add_command(_command)


@skill.command("list", epilog="Example:  exuvia skill list --agent data_helper --json")
@source_options
@json_option
@place_options
def list_skills(source: Source, as_json: bool, place: Place) -> None:
    """List skills with their descriptions."""
    documents = source.documents(place)
    if as_json:
        print_json({"skills": [facts(document) for document in documents]})
    elif not documents and source.repo is not None:
        say(f"No skills in {source.repo}.")
    elif not documents:
        say(here("No skills. The built-in ones: exuvia skill list"))
        say(here(f"Give it one: exuvia skill install NAME|DIR --agent {source.agent_id or 'AGENT'}"))
    else:
        print_table(
            ("name", "dialect", "description"),
            [(document.name, document.dialect, document.description[:90]) for document in documents],
        )


@skill.command("show", epilog="Example:  exuvia skill show benchmark-design")
@click.argument("name")
@source_options
@json_option
@place_options
def show(name: str, source: Source, as_json: bool, place: Place) -> None:
    """Show the text of skill NAME."""
    document = source.document(place, name)
    if as_json:
        print_json({**facts(document), "fields": dict(document.fields), "body": document.body})
        return
    say_text(document.text)


@skill.command("validate", epilog="Example:  exuvia skill validate ./my-skill")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--curated", is_flag=True, help="By the rules of a curated repository: two keys, a free title, a body.")
@json_option
def validate(path: Path, curated: bool, as_json: bool) -> int:
    """Check the skill in directory (or SKILL.md) PATH, or every skill folder in it; exit 1 if a strict reader would
    refuse one."""
    folders = [] if not path.is_dir() or (path / "SKILL.md").is_file() else _folders_in(path)
    checked = [_checked(one, curated) for one in folders or (path,)]
    valid = all(told["valid"] for told, _ in checked)
    if as_json:
        print_json({"valid": valid, "skills": [told for told, _ in checked]} if folders else checked[0][0])
    else:
        for _, lines in checked:
            for line in lines:
                say(line)
    return int(ExitCode.DONE if valid else ExitCode.FAILED)


def _folders_in(path: Path) -> list[Path]:
    return sorted(one for one in path.iterdir() if (one / "SKILL.md").is_file())


def _checked(path: Path, curated: bool) -> tuple[dict[str, object], list[str]]:
    """Return what --json says of one skill, and the lines for people."""
    from core.skillrepo.folder import read_folder

    directory = path if path.is_dir() else path.parent
    target = path / "SKILL.md" if path.is_dir() else path
    if not target.is_file():
        raise UsageError(
            f"{path} holds no SKILL.md, nor a folder with one.", hint="Name the skill's directory or its SKILL.md."
        )
    if curated:
        document = read_curated(target.read_bytes())
        found = document.diagnostics
    elif target.name == "SKILL.md":
        folder = read_folder(directory.resolve())
        document, found = folder.document, folder.diagnostics
    else:
        document = read_text(target.read_bytes(), directory=directory.resolve().name)
        found = document.diagnostics
    valid = not any(diagnostic.severity == "error" for diagnostic in found)
    told = {**facts(document), "valid": valid, "diagnostics": [str(diagnostic) for diagnostic in found]}
    lines = [f"{target}:{diagnostic}" for diagnostic in found]
    return told, [*lines, f"{document.name}: {'valid' if valid else 'not valid'} ({document.dialect})"]


@skill.command("install", epilog="Example:  exuvia skill install ./my-skill --agent data_helper")
@click.argument("source", metavar="NAME|DIR")
@click.option("--agent", "agent_id", metavar="AGENT", required=True, help="The agent that gets it.")
@click.option("--replace", is_flag=True, help="Replace a skill of that name.")
@json_option
@place_options
def install(source: str, agent_id: str, replace: bool, as_json: bool, place: Place) -> None:
    """Copy a built-in skill or a skill directory into an agent; the state before is kept first."""
    from core.state import audit, snapshots
    from core.state.skill_install import install_skill

    directory = Path(source).resolve() if (Path(source) / "SKILL.md").is_file() else named(library(), source)
    document = read_skill(directory)
    if not document.description or document.fields.get("name") != directory.name:
        raise UsageError(
            f"The skill in {source} does not name and describe itself as its directory does.",
            hint=f"See: exuvia skill validate {source}",
        )
    agent = place.agent(agent_id)
    name = directory.name
    there = (agent.skills / name).exists()
    if there and not replace:
        raise ConflictError(
            f"{agent_id} has a skill {name!r} already.", hint="Say --replace to put this one in its place."
        )
    kept = snapshots.create(agent)
    if there:
        shutil.rmtree(agent.skills / name)
    install_skill(directory, agent.skills)
    audit.record(place.project, "install_skill", f"{agent_id}/{name}", {"snapshot": kept.content_hash}, actor="cli")
    if as_json:
        print_json({"agent_id": agent_id, "installed": name})
    else:
        say(here(f"Installed {name} into {agent_id}. Measure it: exuvia try {agent_id} BENCH"))


@skill.command("remove", epilog="Example:  exuvia skill remove tidy-rows --agent data_helper")
@click.argument("name")
@click.option("--agent", "agent_id", metavar="AGENT", required=True, help="The agent that loses it.")
@json_option
@place_options
def remove(name: str, agent_id: str, as_json: bool, place: Place) -> None:
    """Remove a skill from an agent; a snapshot of the state before is made first, so nothing is lost."""
    from core.state import audit, snapshots

    agent = place.agent(agent_id)
    directory = named(agent.skills, name)
    kept = snapshots.create(agent)
    shutil.rmtree(directory)
    audit.record(place.project, "remove_skill", f"{agent_id}/{name}", {"snapshot": kept.content_hash}, actor="cli")
    if as_json:
        print_json({"agent_id": agent_id, "removed": name, "snapshot": str(kept.path)})
    else:
        say(f"Removed {name} from {agent_id}; the state before is kept in {kept.path}.")
