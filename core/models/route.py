"""How a model is reached: settled once, handed to the process that will talk to it, made a Provider there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from core.foundation.errors import UsageError

from .interface import ModelEntry, ModelRef, Price, Provider
from .rehearsal.options import RehearsalOptions
from .secret import Secret, SecretLike

REHEARSAL = "rehearsal"
REHEARSAL_MODELS = ("rehearsal-1", "rehearsal-clumsy")


@dataclass(frozen=True, slots=True)
class Route:
    """The way to a model. `key` shows nothing when printed; `as_json` alone gives it out, for a pipe."""

    entry: ModelEntry
    kind: Literal["rehearsal", "openai"]
    base_url: str | None = None
    key: SecretLike | None = field(default=None, repr=False)
    rehearsal: RehearsalOptions | None = None

    def make_provider(self) -> Provider:
        """Return a Provider; the caller closes it."""
        if self.kind == "rehearsal":
            from .rehearsal.provider import RehearsalProvider

            return RehearsalProvider(self.rehearsal)
        from .openai import OpenAIProvider

        return OpenAIProvider(self.base_url, self.key, extra=self.entry.extra)

    def address(self) -> tuple[str, int] | None:
        """Return host and port of the server, None where there is none to reach. Raises UsageError for a bad URL."""
        if self.kind == "rehearsal":
            return None
        from .openai import DEFAULT_BASE_URL

        parts = urlsplit(self.base_url or DEFAULT_BASE_URL)
        try:
            port = parts.port or {"http": 80, "https": 443}[parts.scheme]
        except (ValueError, KeyError):
            port = 0
        if not parts.hostname or not port:
            raise UsageError(
                f"The base_url of {self.entry.ref.provider} {self.entry.ref.model_id} is no http or https address.",
                hint="Correct it in .project_config.toml.",
            )
        return parts.hostname, port

    def as_json(self) -> dict[str, Any]:
        """Return the route as plain JSON, KEY INCLUDED: for the stdin of the process that needs it, nothing else."""
        entry = self.entry
        price = entry.price
        return {
            "provider": entry.ref.provider,
            "model_id": entry.ref.model_id,
            "context_window": entry.context_window,
            "max_tokens": entry.max_tokens,
            "price": None if price is None else [price.cache_read, price.cache_write, price.output],
            "extra": dict(entry.extra),
            "kind": self.kind,
            "base_url": self.base_url,
            "key": self.key.get_secret_value() if self.key is not None else None,
            "rehearsal": None if self.rehearsal is None else self.rehearsal.as_json(),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Route:
        """Return the route that `as_json` gave."""
        price = document["price"]
        entry = ModelEntry(
            ModelRef(document["provider"], document["model_id"]),
            context_window=document["context_window"],
            max_tokens=document["max_tokens"],
            base_url=document["base_url"],
            price=None if price is None else Price(*price),
            extra=document["extra"],
        )
        return cls(
            entry,
            document["kind"],
            document["base_url"],
            Secret(document["key"]) if document["key"] is not None else None,
            None if document["rehearsal"] is None else RehearsalOptions.from_json(document["rehearsal"]),
        )
