"""`exuvia strategy matrix`: which strategies go with which models, and may the model be changed (S117 to S119)."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from core.foundation.errors import ExitCode, UsageError
from core.strategy.bank.bank import Bank, bank_of
from tui.cli.common import Place, here, json_option, place_options, print_json, print_table, say
from tui.cli.strategy_lines import percent

if TYPE_CHECKING:
    from core.strategy.documents.release import Release
    from core.strategy.governance.matrix import Cell, Verdict


@click.command(
    epilog="Examples:  exuvia strategy matrix   |   exuvia strategy matrix --change openai/gpt-5   |   "
    "exuvia strategy matrix --try rehearsal/rehearsal-1 --agent clerk --write"
)
@click.option("--change", "wanted", metavar="PROVIDER/ID", help="May the model be changed to this one? Exits 3 if not.")
@click.option("--try", "tried", metavar="PROVIDER/ID", help="Put every routing example to this model, and judge.")
@click.option("--agent", "agent_id", metavar="AGENT", help="With --try: whose prompt and skills the model gets.")
@click.option("--write", is_flag=True, help="With --try: keep what it showed in the release files.")
@json_option
@place_options
def matrix(
    wanted: str | None, tried: str | None, agent_id: str | None, write: bool, as_json: bool, place: Place
) -> int:
    """Show strategies and models: compatible, adapted, incompatible, untested; try a model; ask about a change.

    A change is blocked while a strategy in force is untested or incompatible with the new model.
    """
    if wanted is not None and tried is not None:
        raise UsageError("--change and --try are two things.", hint="Try the model first, then ask about the change.")
    if tried is not None:
        return _try(place, tried, agent_id, write=write, as_json=as_json)
    if write or agent_id is not None:
        raise UsageError(
            "--agent and --write belong to --try.", hint="exuvia strategy matrix --try PROVIDER/ID --agent AGENT"
        )
    if wanted is not None:
        return _change(place, wanted.partition("/")[2] or wanted, as_json=as_json)
    _show(place, as_json=as_json)
    return int(ExitCode.DONE)


def _releases(bank: Bank) -> dict[str, Release | None]:
    """Return the releases of strategies whose triggers a model can meet: those that have one."""
    return {
        entry.id: entry.release
        for entry in bank.entries()
        if entry.authored is not None and entry.authored.trigger is not None
    }


def _show(place: Place, *, as_json: bool) -> None:
    from core.strategy.governance.matrix import matrix as matrix_of

    releases = _releases(bank_of(place.project))
    models = sorted({name for one in releases.values() if one is not None for name in one.compat.models})
    cells = matrix_of(releases, models)
    if as_json:
        print_json({"models": models, "cells": [{**asdict(cell), "red": cell.red} for cell in cells]})
        return
    if not models:
        say("No strategy was tried with a model yet.")
        say(here("Try one: exuvia strategy matrix --try PROVIDER/ID --agent AGENT --write"))
        return
    by_place = {(cell.strategy_id, cell.model): cell for cell in cells}
    print_table(
        ("strategy", *models),
        [(name, *(_word(by_place[name, model]) for model in models)) for name in sorted(releases)],
    )
    say("RED blocks a change to the model while the strategy is in force.")


def _word(cell: Cell) -> str:
    settings = ", ".join(f"{key} {value}" for key, value in cell.settings.items())
    return f"{'RED ' if cell.red else ''}{cell.status}{f' ({settings})' if settings else ''}"


def _change(place: Place, wanted: str, *, as_json: bool) -> int:
    from core.strategy.governance.held import ids_in_force
    from core.strategy.governance.matrix import change, matrix, require

    releases = _releases(bank_of(place.project))
    in_force = [name for name in ids_in_force(place.project) if name in releases]
    found = change(matrix(releases, [wanted]), wanted, in_force)
    if as_json:
        print_json(
            {
                "model": wanted,
                "allowed": found.allowed,
                "in_force": len(in_force),
                "red": [asdict(cell) for cell in found.red],
                "adapted": [asdict(cell) for cell in found.adapted],
            }
        )
        return int(ExitCode.DONE if found.allowed else ExitCode.BLOCKED)
    require(found)
    say(f"The model may be changed to {wanted}: none of {len(in_force)} strategies in force is red.")
    for cell in found.adapted:
        say(f"Adapted: {cell.strategy_id}: {', '.join(f'{key} {value}' for key, value in cell.settings.items())}")
    return int(ExitCode.DONE)


def _try(place: Place, tried: str, agent_id: str | None, *, write: bool, as_json: bool) -> int:
    from core.agents.callable_skills import callables
    from core.agents.tools.suggest import suggest_spec
    from core.foundation.visible import decode
    from core.models.interface import ModelRef
    from core.models.registry import resolve
    from core.strategy.governance.held import as_written
    from core.strategy.governance.regression import asking, regression, write_fit
    from core.strategy.schema.directory import skills_of
    from tui.cli.work import chosen_model

    if agent_id is None:
        raise UsageError("Whose prompt shall the model get?", hint="Name the agent that it would serve: --agent AGENT")
    agent, bank = place.agent(agent_id), bank_of(place.project)
    pair, _ = chosen_model(place, tried)
    model = pair["model_id"]  # release files know models by their id
    compiled = as_written(bank, skills_of(place.project, agent_id).schemas)
    names = sorted(_releases(bank))
    prompt = decode(agent.agents_md.read_bytes()) if agent.agents_md.is_file() else ""

    async def run() -> tuple[Verdict, ...]:
        provider, entry = resolve(place.project, pair["provider"], pair["model_id"])
        try:
            named = ModelRef(entry.ref.provider, entry.ref.model_id)
            ask = asking(provider, named, suggest_spec(callables(agent.skills)[0]), prompt)
            return await regression(compiled, names, ask, model, datetime.now(UTC))
        finally:
            await provider.aclose()

    found = asyncio.run(run())
    red = any(one.cell.red for one in found)
    if write:
        for one in found:
            authored = compiled.strategies[one.cell.strategy_id].strategy
            write_fit(bank, one.cell, authored.version)
    if as_json:
        print_json({"model": model, "verdicts": [asdict(one) for one in found], "written": write})
        return int(ExitCode.FAILED if red else ExitCode.DONE)
    if not found:
        say("No strategy has a trigger that could be tried.")
        return int(ExitCode.DONE)
    print_table(
        ("strategy", model, "examples", "right", "what helps"),
        [
            (
                one.cell.strategy_id,
                _word(one.cell),
                one.trials,
                percent((one.trials - len(one.wrong)) / one.trials) if one.trials else None,
                one.suggestion or None,
            )
            for one in found
        ],
    )
    if write:
        say("Kept in the release files.")
    else:
        say(here(f"Keep it: exuvia strategy matrix --try {tried} --agent {agent_id} --write"))
    return int(ExitCode.FAILED if red else ExitCode.DONE)
