"""A strategy that reached all traffic comes into force in an agent, as a version like any other (DECISIONS 26).

The agent's state is kept before, its version rises, the ledger has what was changed with the traffic's evidence, and
a rollback takes it back. Unlike a Candidate it was measured by traffic and not by a benchmark: it has no score, and
says so. The bank's rule decides what may come into force; this only carries it out.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from core.evolution import strategy_edits
from core.evolution.candidate import Staged, apply_edits, put_in_place, stage
from core.evolution.edits import Edit
from core.evolution.runs import live_run
from core.foundation.errors import ExuviaError, RefusedError
from core.state import ledger, readonly, snapshots
from core.state.ledger import CandidateRecord
from core.state.paths import AgentPaths
from core.strategy.bank.bank import Bank, bank_of
from core.strategy.bank.states import Standing

TRAFFIC = "traffic"
"""What stands in the ledger for a benchmark: nothing was measured by one."""


@dataclass(frozen=True, slots=True)
class InForce:
    """A strategy that an agent has now: `version` of the agent, and which version of the strategy it had before."""

    agent_id: str
    version: int
    strategy_id: str
    strategy_version: int
    before: int | None


def governed_agents(bank: Bank, strategy_id: str) -> tuple[AgentPaths, ...]:
    """Return the agents of the bank's Project that have the strategy in force, in some version."""
    assert bank.project is not None
    name = _path(strategy_id)
    agents = (bank.project.agent(agent_id) for agent_id in bank.project.agent_ids())
    return tuple(agent for agent in agents if (agent.state / name).is_file())


def bring_into_force(agent: AgentPaths, strategy_id: str, version: int, actor: str, reason: str = "") -> InForce | None:
    """Make a released version of a strategy the one in force in `agent`; None where it is already.

    Raises RefusedError for a version that isn't active, BlockedError or LockedError where the state can't be kept or is
    being worked on, ForeignChangeError where something else changes it meanwhile, having overwritten nothing.
    """
    readonly.refuse(agent.root)
    bank = bank_of(agent.project)
    standing = bank.standing(strategy_id, version)
    if standing.state != "active":
        raise RefusedError(
            f"{strategy_id} version {version} is {standing.state}; only an active version comes into force.",
            hint=f"Release it further: exuvia strategy gray {strategy_id}",
        )
    path, text = _path(strategy_id), bank.text(strategy_id, version)
    present = agent.state / path
    before = strategy_edits.version_in(present.read_bytes(), path) if present.is_file() else None
    if present.is_file() and present.read_bytes() == text.encode("utf-8"):
        return None
    if (live := live_run(agent)) is not None:
        raise RefusedError(
            f"Run {live} is at work on {agent.id}.", hint=f"Stop it first, then: exuvia strategy enforce {strategy_id}"
        )
    kept = snapshots.create(agent, note=f"before {strategy_id} version {version}", actor=actor)
    number = snapshots.next_version(agent)
    root = staged_root(agent, number)
    shutil.rmtree(root, ignore_errors=True)
    why = reason or f"{strategy_id} version {version} answers all traffic."
    staged = stage(agent, root, number, lambda state: apply_edits(state, [Edit(path, text)]), {path: why})
    put_in_place(agent, staged)
    snapshots.create(agent)
    ledger.append(agent.project, _record(agent, standing, kept.version, staged, why))
    return InForce(agent.id, number, strategy_id, version, before[1] if before else None)


def bring_into_force_everywhere(bank: Bank, strategy_id: str, version: int, actor: str, reason: str) -> tuple[str, ...]:
    """Bring an active version into force in every agent that has the strategy; return a line for each of them, also
    for one that keeps the version it has, with the reason and the way out."""
    told: list[str] = []
    for agent in governed_agents(bank, strategy_id):
        try:
            found = bring_into_force(agent, strategy_id, version, actor, reason)
        except ExuviaError as error:
            told.append(f"{agent.id} keeps the version it has: {error} {error.hint}".rstrip())
            continue
        if found is not None:
            told.append(f"{agent.id} is version {found.version} now, with {strategy_id} version {version}.")
    return tuple(told)


def _record(agent: AgentPaths, standing: Standing, reference: int, staged: Staged, why: str) -> CandidateRecord:
    return CandidateRecord(
        agent_id=agent.id,
        benchmark_id=TRAFFIC,
        run_id=f"{standing.id}@{standing.version}",
        round=1,
        version=staged.version,
        reference_version=reference,
        proposer="strategy",
        hypothesis=why,
        edits=[ledger.Edit(**edit.fields()) for edit in staged.edits],
        diff=staged.diff,
        decision="accepted",
        note=f"Released by traffic, not measured by a benchmark; approved by {standing.reviewed_by or 'nobody'}.",
    )


def _path(strategy_id: str) -> str:
    return f"{strategy_edits.ROOT}{strategy_id.partition('.')[0]}/{strategy_id}.yaml"


def staged_root(agent: AgentPaths, version: int) -> Path:
    """Return where the states before and after a release into `agent` are kept."""
    return agent.project.own / "strategies" / "in-force" / f"{agent.id}-v{version}"
