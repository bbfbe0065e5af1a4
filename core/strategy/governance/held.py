"""What of a bank is looked after: versions that answer users, conditions of what is written (S111, S119, S123)."""

from __future__ import annotations

from collections.abc import Mapping

from core.foundation.clock import now_s
from core.state.paths import ProjectPaths
from core.strategy.bank.bank import Bank, bank_of
from core.strategy.bank.states import SERVED, Actor, Standing, Step, moment
from core.strategy.bank.texts import text_of
from core.strategy.documents.reading import FaultyFileError
from core.strategy.documents.skill import SkillSchema
from core.strategy.execution.compiler import CompiledBank, compile_bank
from core.strategy.governance.audit import Audit, InForce
from core.strategy.governance.conflicts import Held


def in_force(bank: Bank) -> tuple[InForce, ...]:
    """Return the version of each strategy that answers users: the active one, the one in gray where none is active.

    `since` is when the first version of it that is still there got its users. Raises DamagedError for a changed text.
    """
    served: dict[str, list[Standing]] = {}
    for one in bank.journal().standings.values():
        if one.state in SERVED:
            served.setdefault(one.id, []).append(one)
    found = []
    for strategy_id, some in sorted(served.items()):
        chosen = next((one for one in some if one.state == "active"), some[0])
        began = min(moment(one.since) for one in some)
        found.append(InForce(bank.read(strategy_id, chosen.version), began))
    return tuple(found)


def ids_in_force(project: ProjectPaths) -> tuple[str, ...]:
    """Return the ids that a change of the model concerns: what answers users, and what agents hold in their state."""
    held = {one.strategy.id for one in in_force(bank_of(project))}
    for agent_id in project.agent_ids():
        files = (project.agent(agent_id).state / "strategies").glob("*/*.yaml")
        held |= {path.stem for path in files if not path.name.endswith(".release.yaml")}
    return tuple(sorted(held))


def conditions_of(compiled: CompiledBank) -> tuple[Held, ...]:
    """Return the strategies of a compiled bank that have a trigger, with its condition."""
    return tuple(Held(one.strategy, one.when) for _, one in sorted(compiled.strategies.items()) if one.when is not None)


def as_written(bank: Bank, schemas: Mapping[str, SkillSchema]) -> CompiledBank:
    """Return the bank's newest texts, compiled; those with faults are left out and told in its `faults`."""
    texts: dict[str, str] = {}
    for path in bank.files().values():
        try:
            texts[path.relative_to(bank.root).as_posix()] = text_of(path)
        except FaultyFileError:
            continue  # no text at all: the check tells
    return compile_bank(texts, bank.settings(), schemas)


def take_off(bank: Bank, found: Audit, actor: Actor) -> tuple[Standing, ...]:
    """Carry out what the audit forces: versions that fail and don't improve go off-line, all that answer users (S113).

    Return where they stand then. What it only proposes is left to people.
    """
    reasons = {
        row.strategy_id: row.reasons[row.actions.index("offline")] for row in found.rows if "offline" in row.actions
    }
    done = []
    for one in tuple(bank.journal().standings.values()):
        if one.id in reasons and one.state in SERVED:
            step = Step("offline", actor, now_s(), f"monthly audit: {reasons[one.id]}")
            done.append(bank.move(one.id, one.version, step, expect=one.state))
    return tuple(done)
