"""Every change of what an agent is, in order: what was accepted, rolled back, undone, imported, installed, kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.foundation.clock import parse_ms
from core.state import audit, ledger
from core.state.audit import AuditEntry
from core.state.paths import AgentPaths
from core.state.swap import Swap, history

_NOTED = {"create_agent": "made", "snapshot": "kept", "install_skill": "skill added", "remove_skill": "skill removed"}


@dataclass(frozen=True, slots=True)
class Change:
    """A change. `what`: made, accepted, rolled back, undone, imported, kept, skill added, skill removed.

    `version` is what the agent was afterwards, 0 where nobody tells; `before` what it was, 0 likewise. `who` is what
    asked (optimizer, console, cli ...), `signature` the account and terminal; `text` the hypothesis, note or skill,
    or what was taken off where the version stayed the same.
    """

    time: str
    what: str
    version: int = 0
    before: int = 0
    who: str = ""
    signature: str = ""
    text: str = ""


def timeline(agent: AgentPaths) -> tuple[Change, ...]:
    """Return every change that is on record, oldest first; a change without a readable time keeps its place."""
    swaps = {swap.token: swap for swap in history(agent)}
    # Times are whole seconds: what the audit tells keeps its order, what only another record tells is fitted in.
    found = [
        Change(
            record.time, "accepted", record.version, record.reference_version, record.proposer, text=record.hypothesis
        )
        for record in ledger.read(agent.project, agent.id)
        if record.decision == "accepted"
    ]
    for entry in audit.read(agent.project):
        swap = swaps.pop(str(entry.detail.get("token")), None)
        if swap is not None:
            found.append(_swapped(swap, entry.signature))
        elif entry.action in _NOTED and _is_about(entry, agent.id):
            found.append(_noted(entry))
    found += [_swapped(swap, "") for swap in swaps.values()]
    last = 0.0
    placed: list[tuple[float, Change]] = []
    for change in found:
        moment = parse_ms(change.time)
        last = last if moment is None else moment
        placed.append((last, change))
    return tuple(change for _, change in sorted(placed, key=lambda entry: entry[0]))


def notes(agent: AgentPaths) -> Mapping[str, str]:
    """Return the notes that were given to kept states, by content hash; the latest of each."""
    return {
        str(entry.detail.get("content_hash")): str(entry.detail["note"])
        for entry in audit.read(agent.project)
        if entry.action == "snapshot" and entry.subject == agent.id and entry.detail.get("note")
    }


_SWAPS = {"roll_back": "rolled back", "undo": "undone", "import": "imported"}


def _swapped(swap: Swap, signature: str) -> Change:
    what = _SWAPS.get(swap.action, swap.action)
    text = swap.words if swap.from_version == swap.to_version else ""
    return Change(swap.time, what, swap.to_version, swap.from_version, swap.actor, signature, text)


def _is_about(entry: AuditEntry, agent_id: str) -> bool:
    return entry.subject == agent_id or entry.subject.startswith(f"{agent_id}/")


def _noted(entry: AuditEntry) -> Change:
    detail: Mapping[str, Any] = entry.detail
    version = detail.get("version")
    text = str(detail.get("note", "")) or entry.subject.partition("/")[2]
    number = version if type(version) is int else 0
    return Change(entry.time, _NOTED[entry.action], number, number, entry.actor, entry.signature, text)
