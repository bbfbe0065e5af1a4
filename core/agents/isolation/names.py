"""Host names looked up before confinement and answered from memory after it."""

from __future__ import annotations

import socket
from typing import Any

from core.foundation.errors import IsolationError


def pin_names(names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Look `names` up now and make this process's `socket.getaddrinfo` answer them, and only them, from memory.

    Addresses keep working as they are. Raises IsolationError for a name that has no address.
    """
    pinned: dict[str, tuple[str, ...]] = {}
    for name in names:
        try:
            found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        except OSError as error:
            raise IsolationError(f"no address for {name}: {error}", hint="Check the provider's base URL.") from error
        pinned[name.lower()] = tuple(dict.fromkeys(str(entry[4][0]) for entry in found))
    if pinned:
        _answer_from(pinned)
    return pinned


def _answer_from(pinned: dict[str, tuple[str, ...]]) -> None:
    ask = socket.getaddrinfo

    def answer(host: Any, port: Any, *args: Any, **kwargs: Any) -> list[Any]:
        name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
        known = pinned.get(name.lower().rstrip(".")) if isinstance(name, str) else None
        if known is None:
            return ask(host, port, *args, **kwargs)
        return [entry for address in known for entry in ask(address, port, *args, **kwargs)]

    socket.getaddrinfo = answer
