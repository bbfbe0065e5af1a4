"""Which strategies govern a Session: those in the agent's state, and for a known user what is being released to them.

In force are the copies under `agent_state/strategies/` (DECISIONS 26): a benchmark measures these and nothing else. A
Session with a user (`exuvia run --user`, `chat --user`) is traffic: a version of the bank that is in gray takes the
place of the one in force for the users it is drawn for, versions in shadow are run beside, without effects, and what
the releases say of the Session's model holds (S118).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from core.foundation.errors import ExuviaError
from core.foundation.visible import visible_line
from core.state.agents import AgentConfig
from core.state.paths import AgentPaths
from core.strategy.bank import serving
from core.strategy.bank.assign import User
from core.strategy.bank.bank import SETTINGS, Bank, bank_of
from core.strategy.documents.reading import text_in

from .governed import Governed

DIRECTORY = "strategies"
_RELEASE = ".release.yaml"


def governed(agent: AgentPaths, config: AgentConfig, user: User | None = None, model_id: str = "") -> Governed | None:
    """Return what governs the skills of a Session that begins now; None where the configuration leaves them free."""
    if config.skills.selection != "strategy":
        return None
    root, faults = agent.state / DIRECTORY, _Faults()
    files: dict[str, str] = {}
    for path in sorted(root.glob("*/*.yaml")):
        name = path.relative_to(root).as_posix()
        if path.name.endswith(_RELEASE):
            continue
        if path.is_symlink() or path.parent.is_symlink():
            faults.told.append(visible_line(f"not in force: {name} is a link: a state must not reach beyond itself"))
        else:
            with faults.of(name):
                files[name] = text_in(path, name)
    settings, text = root / SETTINGS, ""
    if os.path.lexists(settings) and not settings.is_symlink():
        with faults.of(SETTINGS):
            text = text_in(settings, SETTINGS)
    if user is None:
        return Governed(files, text, told=tuple(faults.told))
    bank = bank_of(agent.project)
    told = bank.journal()
    for one in serving.chosen(told, user):
        if one.arm == "gray":
            with faults.of(f"{one.id} version {one.version}"):  # the user keeps what is in force
                files[_file(one.id)] = bank.text(one.id, one.version)
    shadow: dict[str, str] = {}
    for standing in told.standings.values():
        if standing.state == "shadow":
            with faults.of(f"{standing.id} version {standing.version}"):
                shadow[_file(standing.id)] = bank.text(standing.id, standing.version)
    ids = (name.rpartition("/")[2].removesuffix(".yaml") for name in (*files, *shadow))
    fits = _fits(bank, ids, model_id, faults)
    return Governed(files, text, {"id": user.id, **user.attributes}, shadow, fits, tuple(faults.told))


def _fits(bank: Bank, ids: Iterable[str], model_id: str, faults: _Faults) -> dict[str, Mapping[str, Any]]:
    """Return the settings for the model by strategy. A release file with a fault stops nobody: it is told."""
    fits: dict[str, Mapping[str, Any]] = {}
    for strategy_id in sorted(set(ids)):
        with faults.of(strategy_id, "not adapted to the model"):
            release = bank.release(strategy_id)
            fit = release.compat.models.get(model_id) if release is not None else None
            if fit is not None and fit.settings:
                fits[strategy_id] = dict(fit.settings)
    return fits


class _Faults:
    """What can't govern, in sentences. One file that can't be read costs itself only, and is never silent."""

    def __init__(self) -> None:
        self.told: list[str] = []

    @contextmanager
    def of(self, name: str, what: str = "not in force") -> Iterator[None]:
        """Tell an error of the block as one of `name`, and go on; `what` is what comes of it."""
        try:
            yield
        except ExuviaError as error:
            said = str(error)
            self.told.append(visible_line(f"{what}: {said if name in said else f'{name}: {said}'}"))


def _file(strategy_id: str) -> str:
    return f"{strategy_id.partition('.')[0]}/{strategy_id}.yaml"
