"""An agent's vault: names for the prompt, values only where a process is about to need them (EVOLUTION 1.3)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

from pydantic import SecretStr

from core.foundation.errors import DamagedError
from core.foundation.visible import decode
from core.state.paths import AgentPaths


def vault_keys(agent: AgentPaths) -> tuple[str, ...]:
    """Return the names of the vault's entries, in file order. Raises DamagedError for a vault that is no TOML."""
    return tuple(vault_values(agent))


def vault_values(agent: AgentPaths) -> Mapping[str, SecretStr]:
    """Return the vault's entries, each as a secret that shows nothing when printed; empty where there is no vault."""
    try:
        document = tomllib.loads(decode(agent.vault.read_bytes()))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        # The parser's own words may quote the line, and the line holds a secret.
        raise DamagedError(f"{agent.vault} is no valid TOML.", hint='Each line must read KEY = "value".') from error
    return {key: SecretStr(value) for key, value in document.items() if isinstance(value, str)}
