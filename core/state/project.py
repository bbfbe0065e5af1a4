"""What .project_config.toml says, without its keys (EVOLUTION 1.7), and the keys, apart."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from core.foundation.errors import DamagedError, NotFoundError
from core.foundation.visible import decode
from core.state.command_policy import CommandPolicy, CommandRule, command_rule
from core.state.diagnostics import Diagnostic
from core.state.paths import ProjectPaths

# Providers whose key and address may come from the environment (no. 26).
ENVIRONMENT_GROUPS: Mapping[str, str] = {
    "deepseek": "DEEPSEEK",
    "openai": "OPENAI",
    "custom": "OPENAI",
    "gemini": "GEMINI",
    "google": "GEMINI",
    "anthropic": "ANTHROPIC",
    "zai": "ZAI",
    "moonshot": "MOONSHOT",
    "minimax": "MINIMAX",
}
_PRICE_UNIT = "usd_per_mtok"


@dataclass(frozen=True)
class ModelPair:
    """A model is always the pair (no. 24)."""

    provider: str
    model_id: str


@dataclass(frozen=True)
class ModelPrice:
    """USD for a million tokens."""

    cache_read: float
    cache_write: float
    output: float


@dataclass(frozen=True)
class ConfiguredModel:
    """A model as configured. `has_key` tells that the file holds a key for it, never which."""

    ref: ModelPair
    context_window: int | None = None
    max_tokens: int | None = None
    client_type: str | None = None
    display_name: str | None = None
    vision: bool = False
    fast_mode: bool = False
    base_url: str | None = None
    price: ModelPrice | None = None
    created_at: str | None = None
    has_key: bool = False


@dataclass(frozen=True)
class DefaultChat:
    """Defaults of a session that names nothing itself."""

    agent_id: str | None = None
    workspace: str | None = None
    approval_mode: str | None = None
    thinking_level: str | None = None


@dataclass(frozen=True)
class ProjectConfig:
    """A Project's configuration without a single secret."""

    name: str | None = None
    default_model: ModelPair | None = None
    vision_model: ModelPair | None = None
    default_chat: DefaultChat = field(default_factory=DefaultChat)
    models: tuple[ConfiguredModel, ...] = ()
    command_policy: CommandPolicy = field(default_factory=CommandPolicy)
    diagnostics: tuple[Diagnostic, ...] = ()

    def model(self, provider: str, model_id: str) -> ConfiguredModel | None:
        """Return the entry of the pair; the first one where it is there twice."""
        wanted = ModelPair(provider, model_id)
        return next((model for model in self.models if model.ref == wanted), None)


def read_project(project: ProjectPaths) -> ProjectConfig:
    """Return the Project's configuration; one without a file is empty.

    Raises NotFoundError where there is no such directory and DamagedError where the file is no TOML: a command
    policy that can't be read must not read as an empty one.
    """
    if not project.root.is_dir():
        raise NotFoundError(f"There is no project {project.id!r} in {project.root.parent}.", hint="List the projects.")
    document = _document(project)
    told: list[Diagnostic] = []
    chat = _mapping(document.get("default_chat"))
    return ProjectConfig(
        name=_text(document.get("name")),
        default_model=_pair(document, "default_model", project.config, told),
        vision_model=_pair(document, "vision_model", project.config, told),
        default_chat=DefaultChat(
            _text(chat.get("agent_id")),
            _text(chat.get("workspace")),
            _text(chat.get("approval_mode")),
            _text(chat.get("thinking_level")),
        ),
        models=_models(document, project.config, told),
        command_policy=_policy(document, project.config, told),
        diagnostics=tuple(told),
    )


def credential(
    project: ProjectPaths, provider: str, model_id: str, environ: Mapping[str, str] | None = None
) -> SecretStr | None:
    """Return the key of the pair: the file's, else the environment's of its provider group, else None.

    Raises DamagedError where the file is no TOML.
    """
    key = _entry(project, provider, model_id).get("api_key")
    if isinstance(key, str) and key:
        return SecretStr(key)
    value = _from_environment(provider, "API_KEY", environ)
    return SecretStr(value) if value else None


def endpoint(
    project: ProjectPaths, provider: str, model_id: str, environ: Mapping[str, str] | None = None
) -> str | None:
    """Return the address of the pair: the file's `base_url`, else the environment's of its provider group."""
    address = _entry(project, provider, model_id).get("base_url")
    if isinstance(address, str) and address:
        return address
    return _from_environment(provider, "BASE_URL", environ)


def _from_environment(provider: str, what: str, environ: Mapping[str, str] | None) -> str | None:
    group = ENVIRONMENT_GROUPS.get(provider)
    variables = os.environ if environ is None else environ
    return (variables.get(f"{group}_{what}") or None) if group else None


def _entry(project: ProjectPaths, provider: str, model_id: str) -> Mapping[str, Any]:
    for entry in _list(_document(project).get("models")):
        if entry.get("provider") == provider and entry.get("model_id") == model_id:
            return entry
    return {}


def _document(project: ProjectPaths) -> dict[str, Any]:
    try:
        return tomllib.loads(decode(project.config.read_bytes()).removeprefix("\ufeff"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        # The parser's message may quote what stands there, and keys stand there; only the place is told.
        deep = isinstance(error, RecursionError)
        place = "nested too deep" if deep else str(error).rpartition("(")[2].rstrip(")")
        raise DamagedError(
            f"{project.config} is no valid TOML ({place}).", hint="Repair the file; nothing runs without its policy."
        ) from None
    except OSError as error:
        raise DamagedError(f"{project.config} cannot be read: {error.strerror or error}") from error


def _models(document: Mapping[str, Any], path: Path, told: list[Diagnostic]) -> tuple[ConfiguredModel, ...]:
    models = []
    for number, entry in enumerate(_list(document.get("models"))):
        provider, model_id = _text(entry.get("provider")), _text(entry.get("model_id"))
        if not provider or not model_id:
            told.append(Diagnostic(path, 0, f"models[{number}] lacks provider or model_id; it is ignored"))
            continue
        client = _text(entry.get("client_type"))
        models.append(
            ConfiguredModel(
                ref=ModelPair(provider, model_id),
                context_window=_whole(entry.get("context_window")),
                max_tokens=_whole(entry.get("max_tokens")),
                client_type="openai-chat" if client == "openai" else client,  # no. 25
                display_name=_text(entry.get("display_name")),
                vision=entry.get("vision") is True,
                fast_mode=entry.get("fast_mode") is True,
                base_url=_without_password(_text(entry.get("base_url"))),
                price=_price(entry.get("pricing"), f"models[{number}]", path, told),
                created_at=str(entry["created_at"]) if "created_at" in entry else None,
                has_key=bool(entry.get("api_key")),
            )
        )
    return tuple(models)


def _price(value: object, where: str, path: Path, told: list[Diagnostic]) -> ModelPrice | None:
    if value is None:
        return None
    pricing = _mapping(value)
    numbers = [_amount(pricing.get(key)) for key in ("cache_read", "cache_write", "output")]
    if pricing.get("unit", _PRICE_UNIT) != _PRICE_UNIT or any(number is None for number in numbers):
        told.append(Diagnostic(path, 0, f"{where}.pricing is incomplete or in another unit; its cost stays unknown"))
        return None
    cache_read, cache_write, output = (number for number in numbers if number is not None)
    return ModelPrice(cache_read, cache_write, output)


def _policy(document: Mapping[str, Any], path: Path, told: list[Diagnostic]) -> CommandPolicy:
    section = _mapping(document.get("command_policy"))
    rules: list[CommandRule] = []
    for number, entry in enumerate(_list(section.get("rules"))):
        name, pattern = _text(entry.get("name")) or f"rule {number + 1}", _text(entry.get("pattern"))
        enabled = entry.get("enabled") is not False
        rule = command_rule(name, pattern or "", _text(entry.get("description")) or "", enabled=enabled)
        if not pattern:
            rule = replace(rule, compiled=None, problem="it has no pattern")
        if rule.problem:
            told.append(Diagnostic(path, 0, f"command policy, rule {name!r}: {rule.problem}"))
        rules.append(rule)
    return CommandPolicy(section.get("enabled") is not False, tuple(rules))


def _pair(document: Mapping[str, Any], key: str, path: Path, told: list[Diagnostic]) -> ModelPair | None:
    value = document.get(key)
    if value is None:
        return None
    provider, model_id = _text(_mapping(value).get("provider")), _text(_mapping(value).get("model_id"))
    if provider and model_id:
        return ModelPair(provider, model_id)
    told.append(Diagnostic(path, 0, f"{key} is no pair of provider and model_id; it is ignored"))
    return None


def _without_password(address: str | None) -> str | None:
    """Return an address without the user and password that may stand in it; `endpoint` gives it whole."""
    scheme, separator, rest = (address or "").partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}" if "@" in host else address


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Mapping[str, Any]]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _amount(value: object) -> float | None:
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    return number if number is not None and 0 <= number < float("inf") else None
