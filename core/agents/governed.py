"""What governs a Session's skills: plain values, so that a process without strategies loads nothing of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Governed:
    """What governs a Session's skills, as texts. `files` and `shadow` map file names to texts, `settings` is the text
    of bank.yaml ("" for defaults), `user` what is known of who speaks, empty where this is no traffic. `fits` are the
    settings of strategies for the model of the Session, by id (S118). `told` is what the operator should know of files
    that could not be taken.
    """

    files: Mapping[str, str]
    settings: str = ""
    user: Mapping[str, Any] = field(default_factory=dict)
    shadow: Mapping[str, str] = field(default_factory=dict)
    fits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    told: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as a mapping."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Governed:
        """Return what `to_json` gave."""
        return cls(**{**value, "told": tuple(value["told"])})
