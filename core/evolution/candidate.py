"""Putting a Candidate in place and taking it back, exactly (EVOLUTION 3.5 no. 64 to 66).

A Candidate is staged first: the state before and the state after lie side by side in the run's directory, with
their hashes. Going either way is then one operation that may be cut at any instant and begun again: each file of
the state is one of the two, or somebody else touched it, and then nothing is overwritten.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.evolution.edits import CONFIG, Edit, EditSummary, summarize, unified
from core.foundation import strict_json
from core.foundation.errors import ConflictError
from core.state import atomic, snapshots
from core.state.config_edit import edited
from core.state.fingerprint import counts, file_hashes, irregular, state_hash, versioned
from core.state.locks import held
from core.state.paths import AgentPaths


class ForeignChangeError(ConflictError):
    """The Agent State holds something that neither the Reference nor the Candidate put there."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A Candidate on the shelf: both states, their hashes, and what lies between them."""

    root: Path
    version: int
    before_hash: str
    after_hash: str
    edits: tuple[EditSummary, ...]
    diff: str

    @property
    def before(self) -> Path:
        return self.root / "before"

    @property
    def after(self) -> Path:
        return self.root / "after"


def contents(agent_state: Path) -> dict[str, bytes]:
    """Return the files that make a version of the agent, by relative path."""
    return {name: (agent_state / name).read_bytes() for name in versioned(file_hashes(agent_state))}


def copy_state(agent_state: Path, target: Path) -> None:
    """Copy the files that make a version, whole or not at all. Raises ConflictError over links and special files."""
    odd = [name for name in irregular(agent_state) if counts(name)]
    if odd:
        raise ConflictError(
            f"The state holds what is no regular file: {', '.join(odd[:5])}.", hint="Replace links by files first."
        )
    incoming = target.with_name(target.name + ".incoming")
    shutil.rmtree(incoming, ignore_errors=True)
    incoming.mkdir(parents=True)
    for name in versioned(file_hashes(agent_state)):
        (incoming / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(agent_state / name, incoming / name)
    shutil.rmtree(target, ignore_errors=True)
    incoming.rename(target)


def apply_edits(state: Path, edits: Sequence[Edit]) -> None:
    """Carry out edits in a staged state; they were found inside the edit surface before."""
    for edit in edits:
        path = state / edit.path
        if edit.delete:
            path.unlink(missing_ok=True)
        elif edit.path == CONFIG:
            _edit_config(state, edit.set)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(edit.content or "", encoding="utf-8", newline="")


def _edit_config(state: Path, values: Mapping[str, object]) -> None:
    whole = {key: int(value) if isinstance(value, float) else value for key, value in values.items()}
    path = state / CONFIG
    text = path.read_bytes().decode("utf-8")
    path.write_text(edited(text, whole), encoding="utf-8", newline="")


def set_version(state: Path, version: int) -> None:
    """Give a staged state its version number."""
    _edit_config(state, {"version": version})


def stage(
    agent: AgentPaths, root: Path, version: int, change: Callable[[Path], None], why: Mapping[str, str]
) -> Staged:
    """Make both states under `root`: the present one, and it with `change` and `version` applied.

    Staging again replaces what an interrupted staging left.
    """
    root.mkdir(parents=True, exist_ok=True)
    copy_state(agent.state, root / "before")
    copy_state(root / "before", root / "after")
    change(root / "after")
    set_version(root / "after", version)
    return finish_staging(root, version, why)


def finish_staging(root: Path, version: int, why: Mapping[str, str]) -> Staged:
    """Compare the two states under `root` and write candidate.json and diff.patch beside them."""
    before, after = contents(root / "before"), contents(root / "after")
    staged = Staged(
        root,
        version,
        state_hash(root / "before"),
        state_hash(root / "after"),
        summarize(before, after, why),
        unified(before, after),
    )
    record = {
        "version": version,
        "before_hash": staged.before_hash,
        "after_hash": staged.after_hash,
        "edits": [{**edit.fields(), "why": edit.why} for edit in staged.edits],
    }
    atomic.write_text(root / "diff.patch", staged.diff)
    atomic.write_text(root / "candidate.json", strict_json.dumps(record, indent=1) + "\n")
    return staged


def load_staged(root: Path) -> Staged:
    """Return a Candidate that was staged under `root` before."""
    record = strict_json.parse((root / "candidate.json").read_bytes())
    edits = tuple(EditSummary(**entry) for entry in record["edits"])
    diff = (root / "diff.patch").read_text(encoding="utf-8")
    return Staged(root, record["version"], record["before_hash"], record["after_hash"], edits, diff)


def put_in_place(agent: AgentPaths, staged: Staged) -> None:
    """Make the agent's state the Candidate's. Raises ForeignChangeError, having changed nothing foreign."""
    _move(agent, source=staged.before, target=staged.after, wanted=staged.after_hash)


def take_back(agent: AgentPaths, staged: Staged) -> None:
    """Make the agent's state the Reference's again: files back, created ones gone, verified by hash (no. 66)."""
    _move(agent, source=staged.after, target=staged.before, wanted=staged.before_hash)


def _move(agent: AgentPaths, *, source: Path, target: Path, wanted: str) -> None:
    with held(snapshots.state_lock(agent)):
        _move_locked(agent, source, target, wanted)


def _move_locked(agent: AgentPaths, source: Path, target: Path, wanted: str) -> None:
    old, new = versioned(file_hashes(source)), versioned(file_hashes(target))
    now = versioned(file_hashes(agent.state))
    foreign = sorted(name for name in {*now, *old, *new} if now.get(name) not in {old.get(name), new.get(name)})
    if foreign or [name for name in irregular(agent.state) if counts(name)]:
        raise ForeignChangeError(
            f"The state of {agent.id} was changed by something else: {', '.join(foreign[:5]) or 'a link'}.",
            hint="Nothing was overwritten. See who changed it, then roll back or keep it as a new version.",
        )
    for name in sorted(new):
        if now.get(name) != new[name]:
            path = agent.state / name
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic.write_bytes(path, (target / name).read_bytes(), mode=(target / name).stat().st_mode & 0o777)
    for name in sorted(set(now) - set(new)):
        (agent.state / name).unlink()
        _remove_empty(agent.state / name, agent.state)
    if (found := state_hash(agent.state)) != wanted:
        raise ForeignChangeError(
            f"The state of {agent.id} is {found} and should be {wanted}.", hint="Something else writes there; stop it."
        )


def _remove_empty(path: Path, root: Path) -> None:
    """Remove directories that a deleted file leaves empty; those at the top of a state belong to its layout."""
    parent = path.parent
    while parent not in {root, *root.iterdir()} and not any(parent.iterdir()):
        parent.rmdir()
        parent = parent.parent
