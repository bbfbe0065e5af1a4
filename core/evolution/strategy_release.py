"""A strategy that reached all traffic comes into force in an agent, as a version like any other (DECISIONS 26).

The agent's state is kept before, its version rises, the ledger has what was changed with the traffic's evidence, and
a rollback takes it back. Unlike a Candidate it was measured by traffic and not by a benchmark: it has no score, and
says so. The bank's rule decides what may come into force; this only carries it out.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.evolution import strategy_edits
from core.evolution.candidate import (
    ForeignChangeError,
    Staged,
    apply_edits,
    load_staged,
    put_in_place,
    stage,
    take_back,
)
from core.evolution.edits import Edit
from core.evolution.runs import live_run
from core.foundation.errors import DamagedError, ExuviaError, RefusedError
from core.state import ledger, readonly, snapshots
from core.state.agents import read_agent
from core.state.atomic import write_text
from core.state.fingerprint import state_hash
from core.state.ledger import CandidateRecord
from core.state.locks import held
from core.state.paths import AgentPaths
from core.strategy.bank.bank import Bank, bank_of
from core.strategy.bank.states import SERVED, Standing, newest

_NOTE = "entering.json"
"""Beside a staged change: the ledger's record of it, from before the first file is touched until it is entered."""
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
    name = _path(strategy_id)
    return tuple(agent for agent in _agents(bank) if (agent.state / name).is_file())


def served_agents(bank: Bank) -> tuple[AgentPaths, ...]:
    """Return the agents whose skills strategies choose: to their users a version in gray answered."""
    return tuple(agent for agent in _agents(bank) if _leaves_choice(agent))


def _agents(bank: Bank) -> Iterator[AgentPaths]:
    assert bank.project is not None
    return (bank.project.agent(agent_id) for agent_id in bank.project.agent_ids())


def _leaves_choice(agent: AgentPaths) -> bool:
    try:
        return read_agent(agent).skills.selection == "strategy"
    except ExuviaError:
        return False  # an agent that can't be read answers nobody


def bring_into_force(agent: AgentPaths, strategy_id: str, version: int, actor: str, reason: str = "") -> InForce | None:
    """Make a released version of a strategy the one in force in `agent`; None where it is already.

    Raises RefusedError for a version that isn't active, BlockedError or LockedError where the state can't be kept or is
    being worked on, ForeignChangeError where something else changes it meanwhile, having overwritten nothing.
    """
    settle(agent)
    bank = bank_of(agent.project)
    standing = bank.standing(strategy_id, version)
    if standing.state != "active":
        raise RefusedError(
            f"{strategy_id} version {version} is {standing.state}; only an active version comes into force.",
            hint=f"Release it further: exuvia strategy gray {strategy_id}",
        )
    text = bank.text(strategy_id, version)
    why = reason or f"{strategy_id} version {version} answers all traffic."
    return _change(agent, standing, Edit(_path(strategy_id), text), actor, why)


def take_out_of_force(agent: AgentPaths, strategy_id: str, actor: str, reason: str = "") -> InForce | None:
    """Take a strategy of which no version answers users any more out of `agent`; None where it isn't there.

    Raises RefusedError where what the agent has is no published version (somebody changed it there), or one that still
    answers, and what `bring_into_force` raises.
    """
    settle(agent)
    bank, path = bank_of(agent.project), agent.state / _path(strategy_id)
    if not path.is_file():
        return None
    held = strategy_edits.version_in(path.read_bytes(), _path(strategy_id))
    standing = next((one for one in bank.entry(strategy_id).versions if held and one.version == held[1]), None)
    if standing is None or bank.text(strategy_id, standing.version).encode("utf-8") != path.read_bytes():
        raise RefusedError(
            f"{agent.id} has a text of {strategy_id} that the bank never published.",
            hint=f"Look at it in {_path(strategy_id)}; take the agent back by exuvia rollback {agent.id}.",
        )
    if standing.state in SERVED:
        raise RefusedError(f"{strategy_id} version {standing.version} is {standing.state}: it answers users.")
    why = reason or f"No version of {strategy_id} answers users any more."
    return _change(agent, standing, Edit(_path(strategy_id), delete=True), actor, why)


def follow_bank(bank: Bank, strategy_id: str, actor: str, reason: str = "") -> tuple[str, ...]:
    """Make the agents have of a strategy what the bank says: its active version, or nothing where none is active.

    An active version comes to the agents that have the strategy and to those whose skills strategies choose, since its
    gray stages answered there. Returns a line for each agent that changed or could not, with the way out.
    """
    told: list[str] = []
    for agent in _agents(bank):
        try:
            settle(agent)
        except ExuviaError as error:
            told.append(f"{agent.id}: what was begun there is not finished: {error} {error.hint}".rstrip())
    active = newest(bank.entry(strategy_id).versions, "active")
    holding = governed_agents(bank, strategy_id)
    agents = {agent.id: agent for agent in (*holding, *(served_agents(bank) if active else ()))}
    for agent in agents.values():
        try:
            if active is None:
                gone = take_out_of_force(agent, strategy_id, actor, reason)
                told += [f"{agent.id} is version {gone.version} now, without {strategy_id}."] if gone else []
            else:
                found = bring_into_force(agent, strategy_id, active.version, actor, reason)
                said = f"with {strategy_id} version {active.version}"
                told += [f"{agent.id} is version {found.version} now, {said}."] if found else []
        except ExuviaError as error:
            told.append(f"{agent.id} keeps the version it has: {error} {error.hint}".rstrip())
    if active is not None and not agents:
        told.append(
            f"It is in force in no agent, so it answers nobody: exuvia strategy enforce {strategy_id} --agent AGENT"
        )
    return tuple(told)


def _change(agent: AgentPaths, standing: Standing, edit: Edit, actor: str, why: str) -> InForce | None:
    """Make the next version of the agent by one edit, with what was before kept; None where nothing would change."""
    readonly.refuse(agent.root)
    with held(_lock(agent)):
        return _change_locked(agent, standing, edit, actor, why)


def _change_locked(agent: AgentPaths, standing: Standing, edit: Edit, actor: str, why: str) -> InForce | None:
    present = agent.state / edit.path
    before = strategy_edits.version_in(present.read_bytes(), edit.path) if present.is_file() else None
    if edit.content is not None and present.is_file() and present.read_bytes() == edit.content.encode("utf-8"):
        return None
    if (live := live_run(agent)) is not None:
        raise RefusedError(
            f"Run {live} is at work on {agent.id}.", hint=f"Stop it first, then: exuvia strategy enforce {standing.id}"
        )
    kept = snapshots.create(agent, note=f"before a change of {standing.id}", actor=actor)
    number = snapshots.next_version(agent)
    root = staged_root(agent, number)
    shutil.rmtree(root, ignore_errors=True)
    staged = stage(agent, root, number, lambda state: apply_edits(state, [edit]), {edit.path: why})
    record = _record(agent, standing, kept.version, staged, why)
    write_text(root / _NOTE, record.model_dump_json() + "\n")
    _carry_out(agent, staged, record)
    return InForce(agent.id, number, standing.id, standing.version, before[1] if before else None)


def _carry_out(agent: AgentPaths, staged: Staged, record: CandidateRecord) -> None:
    """Put a noted change in place, keep it and enter it. Each step may be done already."""
    put_in_place(agent, staged)
    snapshots.create(agent)
    ledger.append(agent.project, record)
    (staged.root / _NOTE).unlink()


def settle(agent: AgentPaths) -> None:
    """Finish, or take back, what a process that was killed began in the agent; nothing where nothing was begun.

    A change is noted before the first file is touched. It is finished where the bank still says the same, or where all
    of it was in place; else the files are put back. Left alone where something else has changed the state since, or
    while a run is at work on it. Raises LockedError, BlockedError or StorageError where that can't be done.
    """
    notes = sorted(staged_root(agent, 0).parent.glob(f"{agent.id}-v*/{_NOTE}"))
    if not notes or readonly.is_sealed(agent.root) or live_run(agent) is not None:
        return
    with held(_lock(agent)):
        for note in notes:
            if note.is_file():
                _settle_one(agent, note)


def _settle_one(agent: AgentPaths, note: Path) -> None:
    try:
        record, staged = CandidateRecord.model_validate_json(note.read_bytes()), load_staged(note.parent)
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise DamagedError(f"{note} can't be read: {error}", hint="Compare the agent with its snapshots.") from error
    if record.version in ledger.versions(agent.project, agent.id):
        note.unlink()  # all but this was done
        return
    try:
        if _still_wanted(agent, record) or state_hash(agent.state) == staged.after_hash:
            _carry_out(agent, staged, record)
        else:
            take_back(agent, staged)
            note.unlink()
    except ForeignChangeError:
        return  # somebody went on from there; the note stays beside what was before and after


def _still_wanted(agent: AgentPaths, record: CandidateRecord) -> bool:
    strategy_id, _, version = record.run_id.rpartition("@")
    versions = bank_of(agent.project).journal().of(strategy_id)
    if any(edit.path == _path(strategy_id) and edit.removed and not edit.added for edit in record.edits):
        return newest(versions, *SERVED) is None
    active = newest(versions, "active")
    return active is not None and str(active.version) == version


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


def _lock(agent: AgentPaths) -> Path:
    return staged_root(agent, 0).with_name(f"{agent.id}.lock")


def _path(strategy_id: str) -> str:
    return f"{strategy_edits.ROOT}{strategy_id.partition('.')[0]}/{strategy_id}.yaml"


def staged_root(agent: AgentPaths, version: int) -> Path:
    """Return where the states before and after a release into `agent` are kept."""
    return agent.project.own / "strategies" / "in-force" / f"{agent.id}-v{version}"
