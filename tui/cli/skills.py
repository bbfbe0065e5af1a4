"""`exuvia skill`: the skills of an agent and the built-in library."""

from __future__ import annotations

import shutil
from importlib import resources
from pathlib import Path

import click

from core.foundation.errors import ConflictError, ExitCode, NotFoundError, UsageError
from core.skillrepo.document import SkillDocument, installed, read_skill, read_text
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


def _library() -> Path:
    return Path(str(resources.files("skills")))


def _skills_of(place: Place, agent_id: str | None) -> Path:
    return _library() if agent_id is None else place.agent(agent_id).skills


def _named(root: Path, name: str) -> Path:
    directory = root / name
    if "/" in name or name.startswith(".") or not (directory / "SKILL.md").is_file():
        known = ", ".join(document.name for document in installed(root)) or "none"
        raise NotFoundError(f"There is no skill {name!r} there.", hint=f"Skills: {known}.")
    return directory


def _facts(document: SkillDocument) -> dict[str, object]:
    return {
        "name": document.name,
        "description": document.description,
        "dialect": document.dialect,
        "valid": document.valid,
        "diagnostics": [str(found) for found in document.diagnostics],
    }


@click.group(epilog="Example:  exuvia skill list --agent data_helper")
@group_options
def skill() -> None:
    """List, show, validate, install and remove skills (an agent's with --agent, else the built-in library's)."""


@skill.command("list", epilog="Example:  exuvia skill list --agent data_helper --json")
@click.option("--agent", "agent_id", metavar="AGENT", help="Skills of this agent instead of the built-in ones.")
@json_option
@place_options
def list_skills(agent_id: str | None, as_json: bool, place: Place) -> None:
    """List skills with their descriptions."""
    documents = installed(_skills_of(place, agent_id))
    if as_json:
        print_json({"skills": [_facts(document) for document in documents]})
    elif not documents:
        say(here("No skills. The built-in ones: exuvia skill list"))
        say(here(f"Give it one: exuvia skill install NAME|DIR --agent {agent_id or 'AGENT'}"))
    else:
        print_table(
            ("name", "dialect", "description"),
            [(document.name, document.dialect, document.description[:90]) for document in documents],
        )


@skill.command("show", epilog="Example:  exuvia skill show benchmark-design")
@click.argument("name")
@click.option("--agent", "agent_id", metavar="AGENT", help="A skill of this agent instead of a built-in one.")
@json_option
@place_options
def show(name: str, agent_id: str | None, as_json: bool, place: Place) -> None:
    """Show the text of skill NAME."""
    directory = _named(_skills_of(place, agent_id), name)
    document = read_skill(directory)
    if as_json:
        print_json({**_facts(document), "fields": dict(document.fields), "body": document.body})
        return
    say_text((directory / "SKILL.md").read_bytes().decode("utf-8", errors="replace"))


@skill.command("validate", epilog="Example:  exuvia skill validate ./my-skill")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@json_option
def validate(path: Path, as_json: bool) -> int:
    """Check the skill in directory (or SKILL.md) PATH; exit 1 if a strict reader would refuse it."""
    directory = path if path.is_dir() else path.parent
    target = path / "SKILL.md" if path.is_dir() else path
    if not target.is_file():
        raise UsageError(f"{path} holds no SKILL.md.", hint="Name the skill's directory or its SKILL.md.")
    document = read_text(target.read_bytes(), directory=directory.resolve().name)
    if as_json:
        print_json(_facts(document))
    else:
        for found in document.diagnostics:
            say(f"{target}:{found}")
        say(f"{document.name}: {'valid' if document.valid else 'not valid'} ({document.dialect})")
    return int(ExitCode.DONE if document.valid else ExitCode.FAILED)


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

    directory = Path(source).resolve() if (Path(source) / "SKILL.md").is_file() else _named(_library(), source)
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
    directory = _named(agent.skills, name)
    kept = snapshots.create(agent)
    shutil.rmtree(directory)
    audit.record(place.project, "remove_skill", f"{agent_id}/{name}", {"snapshot": kept.content_hash}, actor="cli")
    if as_json:
        print_json({"agent_id": agent_id, "removed": name, "snapshot": str(kept.path)})
    else:
        say(f"Removed {name} from {agent_id}; the state before is kept in {kept.path}.")
