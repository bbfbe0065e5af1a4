"""What governs a Session's skills: plain values, so that a process without strategies loads nothing of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Governed:
    """What governs a Session's skills, as texts. `files` and `shadow` map file names to texts, `settings` is the text
    of bank.yaml ("" for defaults), `user` what is known of who speaks, empty where this is no traffic.
    """

    files: Mapping[str, str]
    settings: str = ""
    user: Mapping[str, Any] = field(default_factory=dict)
    shadow: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return it as a mapping."""
        return asdict(self)
