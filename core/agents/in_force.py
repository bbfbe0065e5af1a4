"""Which strategies govern a Session: those in the agent's state, and for a known user what is being released to them.

In force are the copies under `agent_state/strategies/` (DECISIONS 26): a benchmark measures these and nothing else. A
Session with a user (`exuvia run --user`, `chat --user`) is traffic: a version of the bank that is in gray takes the
place of the one in force for the users it is drawn for, versions in shadow are run beside, without effects, and what
the releases say of the Session's model holds (S118).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from core.foundation.visible import decode
from core.state.agents import AgentConfig
from core.state.paths import AgentPaths
from core.strategy.bank import serving
from core.strategy.bank.assign import User
from core.strategy.bank.bank import SETTINGS, Bank, bank_of
from core.strategy.documents.reading import FaultyFileError

from .governed import Governed

DIRECTORY = "strategies"
_RELEASE = ".release.yaml"


def governed(agent: AgentPaths, config: AgentConfig, user: User | None = None, model_id: str = "") -> Governed | None:
    """Return what governs the skills of a Session that begins now; None where the configuration leaves them free."""
    if config.skills.selection != "strategy":
        return None
    root = agent.state / DIRECTORY
    files = {
        path.relative_to(root).as_posix(): decode(path.read_bytes())
        for path in sorted(root.glob("*/*.yaml"))
        if not path.name.endswith(_RELEASE) and not path.is_symlink() and not path.parent.is_symlink()
    }
    settings = root / SETTINGS
    text = decode(settings.read_bytes()) if settings.is_file() and not settings.is_symlink() else ""
    if user is None:
        return Governed(files, text)
    bank = bank_of(agent.project)
    told = bank.journal()
    for one in serving.chosen(told, user):
        if one.arm == "gray":
            files[f"{one.id.partition('.')[0]}/{one.id}.yaml"] = bank.text(one.id, one.version)
    shadow = {
        f"{standing.id.partition('.')[0]}/{standing.id}.yaml": bank.text(standing.id, standing.version)
        for standing in told.standings.values()
        if standing.state == "shadow"
    }
    fits, faults = _fits(bank, (name.rpartition("/")[2].removesuffix(".yaml") for name in (*files, *shadow)), model_id)
    return Governed(files, text, {"id": user.id, **user.attributes}, shadow, fits, faults)


def _fits(bank: Bank, ids: Iterable[str], model_id: str) -> tuple[dict[str, Mapping[str, Any]], tuple[str, ...]]:
    """Return the settings for the model by strategy. A release file with a fault stops nobody: it is told."""
    fits: dict[str, Mapping[str, Any]] = {}
    told: list[str] = []
    for strategy_id in sorted(set(ids)):
        try:
            release = bank.release(strategy_id)
        except FaultyFileError as error:
            told.append(f"not adapted to the model: {error}")
            continue
        fit = release.compat.models.get(model_id) if release is not None else None
        if fit is not None and fit.settings:
            fits[strategy_id] = dict(fit.settings)
    return fits, tuple(told)
