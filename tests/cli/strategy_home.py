"""A home whose Project has the shop's bank and skills, and a day's real executions of it, for tests of `strategy`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from core.state.fresh import ensure_home
from core.state.paths import ProjectPaths
from core.strategy.bank import executions, turns
from core.strategy.bank.bank import Bank, bank_of
from core.strategy.bank.turns import Turn
from core.strategy.execution.clock import VirtualClock
from core.strategy.execution.records import Execution
from core.strategy.execution.session import SessionState
from core.strategy.execution.store import ContextStore
from core.strategy.execution.suggestion import read
from core.strategy.execution.turn import run_turn
from core.strategy.schema.writing import to_yaml
from core.strategy.shop.banks import bank_files, bank_text
from core.strategy.shop.desk import Desk
from core.strategy.shop.serving import layered_bank, serve
from core.strategy.shop.talk import Model, suggest
from core.strategy.shop.toolbox import schemas, skills
from core.strategy.shop.visits import opened, visits
from tests.cli.program import Ended, call

AGENT = "clerk"
NAME = "aftersale.paid_no_parcel"


def build(home: Path) -> ProjectPaths:
    """Make the home: strategies as files, nothing published, and an agent that has the shop's skills."""
    project = ensure_home(home)
    write_bank(bank_of(project))
    made = call("agent", "create", AGENT, "--requirement", "Serves a small shop.", "--home", home)
    assert made.code == 0, made.err
    for name, schema in schemas().items():
        folder = project.agent(AGENT).skills / name
        folder.mkdir(parents=True)
        (folder / "skill.yaml").write_text(to_yaml(schema))
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Does {name} for a customer.\n---\nDo it.\n")
    return project


def write_bank(bank: Bank) -> None:
    """Write the shop's bank."""
    bank.root.mkdir(parents=True, exist_ok=True)
    (bank.root / "bank.yaml").write_text(bank_text())
    for name, text in bank_files().items():
        path = bank.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def served(now: datetime | None = None, seed: int = 1) -> tuple[Execution, ...]:
    """Return what one seed's visits left behind, as if it had ended an hour before `now`."""
    ran = [one for visit in asyncio.run(serve(layered_bank(3), seed)) for one in visit.executions]
    last = max(datetime.fromisoformat(one.time) for one in ran)
    shift = (now or datetime.now(UTC)) - timedelta(hours=1) - last
    return tuple(replace(one, time=(datetime.fromisoformat(one.time) + shift).isoformat()) for one in ran)


def keep(project: ProjectPaths, ran: tuple[Execution, ...]) -> None:
    """Write executions to the log."""
    executions.append(bank_of(project).records, ran)


def strategy(home: Path, *words: str) -> Ended:
    """Call `exuvia strategy ...` on a home."""
    return call("strategy", *words, "--home", str(home))


def out(home: Path, *words: str, code: int = 0) -> str:
    """Return what a command that ends with `code` prints."""
    ended = strategy(home, *words)
    assert ended.code == code, ended.err or ended.out
    return ended.out


def keep_turns(project: ProjectPaths, seed: int = 1) -> tuple[Turn, ...]:
    """Let the visits of a seed say all they say to the governed agent, and keep their turns as its sessions would."""
    return asyncio.run(_turns(project, seed))


async def _turns(project: ProjectPaths, seed: int) -> tuple[Turn, ...]:
    held, kept = bank_of(project), []
    bank, shown, clock = layered_bank(3), visits(seed), VirtualClock(datetime.now(UTC) - timedelta(hours=2))
    shop = opened(shown, clock)
    for visit in shown:
        shop.begin(visit.customer.id, visit.fate)
        session = SessionState(visit.id, ContextStore(), visit.customer.attributes())
        session.put({name: value for name, value in visit.knows.items() if name != "user"})
        for number, said in enumerate(visit.turns):
            suggested = suggest(Model(), said.task, said.arguments, f"{visit.id}:{number}", visit.customer.age_band)
            time = clock.now().isoformat()
            result = await run_turn(
                bank, session, said.utterance, read(suggested)[0], skills(Desk(shop, visit.customer)), clock
            )
            turn = Turn(
                session=visit.id,
                turn=session.turn,
                time=time,
                agent=AGENT,
                call_id=f"call-{number}",
                kind=result.kind,
                code=result.code,
                strategy=result.strategy,
                utterance=said.utterance,
                suggestion=suggested,
                events=result.trace.events,
                executions=result.executions,
                user=dict(session.user),
                context=dict(session.values()),
            )
            turns.append(held.records, turn)
            kept.append(turn)
    return tuple(kept)


def ran(home: Path) -> tuple[Execution, ...]:
    """Return what the home's log holds: the tests compare with it, since the shop's strategies change."""
    return executions.read(bank_of(ProjectPaths(home / "default_project")).records).executions


def turns_of(runs: Iterable[Execution]) -> set[tuple[str, int]]:
    """Return the turns in which executions ran."""
    return {(one.session, one.turn) for one in runs}
