"""A secret that no print, log or representation shows."""

from __future__ import annotations

from typing import Protocol


class SecretLike(Protocol):
    """What holds a secret; pydantic's SecretStr is one."""

    def get_secret_value(self) -> str: ...


class Secret:
    """Like pydantic's SecretStr, for processes that start without pydantic."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def get_secret_value(self) -> str:
        """Return the secret itself, to be used and not kept."""
        return self._value

    def __repr__(self) -> str:
        return "Secret('**********')"

    __str__ = __repr__
