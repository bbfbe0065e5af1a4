"""A question to the user in place of a refusal, and what counts as its answer (S93, S94)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from core.strategy.conditions.utterance import normal


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked. The answer goes to the path `into`; `options` are the answers that are taken, all if ()."""

    text: str
    into: str
    options: tuple[str, ...] = ()
    max_asks: int = 2
    asked: int = 1

    def to_json(self) -> dict[str, Any]:
        """Return it as a mapping."""
        return {**asdict(self), "options": list(self.options)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Question:
        """Return what `to_json` gave."""
        return cls(**{**value, "options": tuple(value["options"])})

    def accepted(self, answer: str) -> str | None:
        """Return the option that `answer` means (its words, however written, or its number), None for none of them."""
        said = answer.strip()
        if not self.options:
            return said or None
        if said.isdecimal() and 1 <= int(said) <= len(self.options):
            return self.options[int(said) - 1]
        plain = normal(said.replace("_", " "))
        return next((option for option in self.options if normal(option.replace("_", " ")) == plain), None)


def worded(text: Mapping[str, str] | str, language: str) -> str:
    """Return the wording in `language`, in English where it has none, else in its first language."""
    if isinstance(text, str):
        return text
    return text.get(language) or text.get("en") or next(iter(text.values()), "")
