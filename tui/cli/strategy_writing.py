"""`exuvia strategy import|schema`: strategies from the text form, and the schemas of an agent's skills."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from core.foundation.errors import ConflictError, ExitCode, NotFoundError, UsageError
from core.strategy.bank.bank import bank_of
from tui.cli.common import Place, here, json_option, note, place_options, print_json, print_table, say, say_text
from tui.cli.strategy_moves import operator

if TYPE_CHECKING:
    from core.state.paths import AgentPaths
    from core.strategy.schema.directory import Schemas

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(
    "import", epilog='Example:  exuvia strategy import draft.txt aftersale.silent_carrier --purpose "A silent carrier."'
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@click.argument("name", metavar="ID")
@click.option("--purpose", required=True, metavar="TEXT", help="The one problem it solves, in one clause.")
@click.option("--event", default="turn", show_default=True, metavar="EVENT", help="When it is looked at.")
@click.option("--owner", metavar="NAME", help="Who answers for it (else the domain's owner, else you).")
@click.option("--print", "only_print", is_flag=True, help="Print the strategy; write nothing.")
@json_option
@place_options
def import_(
    file: Path, name: str, purpose: str, event: str, owner: str | None, only_print: bool, as_json: bool, place: Place
) -> None:
    """Bring FILE ('-' reads standard input), a draft in the text form, into the bank as strategy ID, unpublished.

    The form: IF <condition> AND <condition> THEN, then lines of trigger_skill(name, context={input: path}),
    set_timeout(milliseconds) and fallback_to(name).
    """
    from core.strategy.feedback.importing import from_text, put
    from core.strategy.schema.directory import skills_of

    bank = bank_of(place.project)
    band = bank.settings().domains.get(name.partition(".")[0])
    me = operator().name
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is no text in UTF-8: {error.reason}.", hint="Save it as UTF-8.") from error
    found = from_text(
        bank,
        text,
        name,
        skills_of(place.project).schemas,
        purpose=purpose,
        owner=owner or (band.owner if band is not None else me),
        event=event,
        created_by=me,
    )
    written = None if only_print else put(bank, found)
    if as_json:
        print_json({"id": name, "file": written, "unknown_skills": list(found.unknown_skills), "text": found.text})
        return
    if found.unknown_skills:
        note(f"No agent has {', '.join(found.unknown_skills)}: give them a skill.yaml before it can run.")
    if written is None:
        say_text(found.text.rstrip("\n"))
        return
    say(f"Written: {bank.root / written}")
    say(here(f"Give it examples, check it, publish it: exuvia strategy check {name}"))


@click.command(
    epilog="Examples:  exuvia strategy schema clerk   |   exuvia strategy schema clerk apply_refund   |   "
    "exuvia strategy schema clerk --check --code skills.py --tests tests   |   "
    "exuvia strategy schema clerk send_sms --draft"
)
@click.argument("agent_id", metavar="AGENT")
@click.argument("skill", metavar="[SKILL]", required=False)
@click.option(
    "--check", "checking", is_flag=True, help="Exit 1 where a skill.yaml has a fault or differs from the code."
)
@click.option("--code", type=_FILE, multiple=True, help="A Python file with skill_definition; it is run.")
@click.option("--tests", type=click.Path(exists=True, path_type=Path), help="Tests that mark failures; only read.")
@click.option("--draft", is_flag=True, help="Draft a skill.yaml for SKILL from the calls that were seen.")
@click.option("--write", is_flag=True, help="With --draft: write it beside SKILL.md, where there is none.")
@json_option
@place_options
def schema(
    agent_id: str,
    skill: str | None,
    checking: bool,
    code: tuple[Path, ...],
    tests: Path | None,
    draft: bool,
    write: bool,
    as_json: bool,
    place: Place,
) -> int:
    """Show the schemas of AGENT's skills (skill.yaml), check them against code and tests, or draft one."""
    from core.strategy.schema.directory import skills_in

    agent = place.agent(agent_id)
    if checking + draft > 1 or (write and not draft) or ((code or tests) and not checking):
        raise UsageError(
            "--check and --draft exclude each other; --write belongs to --draft, --code and --tests to --check.",
            hint="See exuvia strategy schema --help",
        )
    if draft:
        return _draft(place, agent, skill, write=write, as_json=as_json)
    if checking:
        return _check(agent, skill, code, tests, as_json=as_json)
    found = skills_in(agent.skills)
    if skill is not None:
        return _show(agent, found, skill, as_json=as_json)
    if as_json:
        print_json(
            {
                "schemas": [one.model_dump(mode="json", by_alias=True) for _, one in sorted(found.schemas.items())],
                "faults": [str(fault) for fault in found.faults],
                "without": list(found.without),
            }
        )
        return int(ExitCode.DONE)
    if found.schemas:
        print_table(
            ("skill", "effects", "repeat", "usually", "inputs", "failure codes"),
            [
                (
                    name,
                    one.side_effects,
                    "safe" if one.idempotent else "not safe",
                    None if one.typical_ms is None else f"{one.typical_ms} ms",
                    ", ".join(one.signature.inputs) or None,
                    ", ".join(row.code for row in one.failure_modes) or None,
                )
                for name, one in sorted(found.schemas.items())
            ],
        )
    for fault in found.faults:
        say(f"FAULT {fault}")
    if found.without:
        say(f"Without a skill.yaml, so not callable by strategies: {', '.join(found.without)}")
    elif not found.schemas and not found.faults:
        say(f"{agent.id} has no skills.")
    return int(ExitCode.DONE)


def _show(agent: AgentPaths, found: Schemas, skill: str, *, as_json: bool) -> int:
    from core.strategy.documents.skill import FILE

    one = found.schemas.get(skill)
    faults = [fault for fault in found.faults if fault.file == f"{skill}/{FILE}"]
    if one is None and not faults:
        raise NotFoundError(
            f"{agent.id} has no skill.yaml for {skill!r}.",
            hint=f"Skills with one: {', '.join(sorted(found.schemas)) or 'none yet'}. "
            f"Draft it from calls: exuvia strategy schema {agent.id} {skill} --draft",
        )
    if as_json:
        schema = None if one is None else one.model_dump(mode="json", by_alias=True)
        print_json({"schema": schema, "faults": [str(fault) for fault in faults]})
        return int(ExitCode.DONE)
    for fault in faults:
        say(f"FAULT {fault}")
    say_text((agent.skills / skill / FILE).read_bytes().decode("utf-8", "replace"))
    return int(ExitCode.DONE)


def _check(agent: AgentPaths, skill: str | None, code: tuple[Path, ...], tests: Path | None, *, as_json: bool) -> int:
    from core.strategy.documents.skill import FILE
    from core.strategy.schema.sync import check

    report = check(agent.skills, code, tests)
    faults = [one for one in report.faults if skill is None or one.file in {f"{skill}/{FILE}"} or FILE not in one.file]
    differ = [one for one in report.differences if skill in (None, one.skill)]
    ok = not faults and not differ
    if as_json:
        print_json(
            {
                "ok": ok,
                "derived": sorted(report.derived),
                "differences": [asdict(one) for one in differ],
                "faults": [str(one) for one in faults],
            }
        )
        return int(ExitCode.DONE if ok else ExitCode.FAILED)
    for fault in faults:
        say(f"FAULT {fault}")
    for one in differ:
        say(f"DIFFERS {one}")
    if not code:
        say("No --code was named: each skill.yaml was checked for itself.")
    say(f"{len(report.derived)} skills derived, {len(differ)} differences, {len(faults)} faults.")
    return int(ExitCode.DONE if ok else ExitCode.FAILED)


def _draft(place: Place, agent: AgentPaths, skill: str | None, *, write: bool, as_json: bool) -> int:
    from core.state import readonly
    from core.state.atomic import write_new
    from core.strategy.bank.observed import calls_seen
    from core.strategy.documents.skill import FILE
    from core.strategy.schema.draft import draft_schema

    seen = calls_seen(bank_of(place.project), agent.id)
    if skill is None:
        raise UsageError(
            "A draft is of one skill; name it.",
            hint=f"Skills of which calls were seen: {', '.join(sorted(seen)) or 'none yet'}.",
        )
    made = draft_schema(skill, seen.get(skill, []))
    path = agent.skills / skill / FILE
    if write:
        readonly.refuse(agent.root)
        if not path.parent.is_dir():
            raise NotFoundError(
                f"{agent.id} has no skill {skill!r}.", hint=f"List them: exuvia skill list --agent {agent.id}"
            )
        try:
            write_new(path, made.text().encode("utf-8"))
        except ConflictError:
            raise ConflictError(
                f"{skill} has a skill.yaml already.", hint="Leave out --write, compare, and change it by hand."
            ) from None
    if as_json:
        print_json(
            {
                "skill": skill,
                "calls": made.calls,
                "guesses": dict(made.guesses),
                "text": made.text(),
                "written": str(path) if write else None,
            }
        )
    elif write:
        say(f"Written: {path}. Look at every guess in it ({len(made.guesses)}).")
    else:
        say_text(made.text().rstrip("\n"))
    return int(ExitCode.DONE)
