"""Which models a Project knows, and the way to each (EVOLUTION 1.7)."""

from __future__ import annotations

from collections.abc import Mapping

from core.foundation.errors import NotFoundError, UsageError
from core.state.paths import ProjectPaths
from core.state.project import ConfiguredModel, credential, endpoint, read_project

from .interface import ModelEntry, ModelRef, Price, Provider
from .rehearsal.options import RehearsalOptions
from .route import REHEARSAL, REHEARSAL_MODELS, Route

# The chat-completions address of providers that a configuration may name without one.
_ADDRESSES: Mapping[str, str] = {
    "anthropic": "https://api.anthropic.com/v1",
    "deepseek": "https://api.deepseek.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai",
    "google": "https://generativelanguage.googleapis.com/v1beta/openai",
    "minimax": "https://api.minimax.io/v1",
    "moonshot": "https://api.moonshot.ai/v1",
    "openai": "https://api.openai.com/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "zai": "https://api.z.ai/api/paas/v4",
}
_REHEARSAL_CONTEXT = 128_000


def entries(project: ProjectPaths) -> tuple[ModelEntry, ...]:
    """Return every model of the Project, the built-in rehearsal models last."""
    configured = tuple(_entry(model) for model in read_project(project).models)
    return (*configured, *(_rehearsal_entry(model_id) for model_id in REHEARSAL_MODELS))


def route_of(
    project: ProjectPaths,
    provider: str,
    model_id: str,
    *,
    seed: int | None = None,
    environ: Mapping[str, str] | None = None,
    rehearsal: RehearsalOptions | None = None,
) -> Route:
    """Return the way to a model. Raises NotFoundError for a pair nobody configured, UsageError for one not speakable.

    `seed` and `rehearsal` concern the rehearsal models alone; a key comes from the Project's file or `environ`.
    """
    if provider == REHEARSAL:
        return _rehearsal_route(model_id, seed, rehearsal)
    config = read_project(project)
    model = config.model(provider, model_id)
    if model is None:
        known = ", ".join(f"{entry.ref.provider}/{entry.ref.model_id}" for entry in config.models) or "none yet"
        raise NotFoundError(
            f"Project {project.id} has no model {model_id!r} of provider {provider!r}.",
            hint=f"Models here: {known}. Add yours to {project.config}.",
        )
    if model.client_type not in {None, "openai-chat"}:
        raise UsageError(
            f"Model {model_id} of {provider} speaks {model.client_type}, which Exuvia does not.",
            hint="Configure it with client_type openai-chat and a chat-completions base_url.",
        )
    address = endpoint(project, provider, model_id, environ) or _ADDRESSES.get(provider)
    if address is None:
        raise UsageError(
            f"Model {model_id} of {provider} has no base_url.", hint="Set base_url for it in .project_config.toml."
        )
    return Route(_entry(model), "openai", address, credential(project, provider, model_id, environ))


def resolve(
    project: ProjectPaths,
    provider: str,
    model_id: str,
    *,
    seed: int | None = None,
    environ: Mapping[str, str] | None = None,
    rehearsal: RehearsalOptions | None = None,
) -> tuple[Provider, ModelEntry]:
    """Return a Provider, for the caller to close, and what is known of the model. Errors as `route_of`."""
    route = route_of(project, provider, model_id, seed=seed, environ=environ, rehearsal=rehearsal)
    return route.make_provider(), route.entry


def _entry(model: ConfiguredModel) -> ModelEntry:
    price = model.price
    return ModelEntry(
        ModelRef(model.ref.provider, model.ref.model_id),
        context_window=model.context_window,
        max_tokens=model.max_tokens,
        base_url=model.base_url,
        client_type=model.client_type,
        price=Price(price.cache_read, price.cache_write, price.output) if price is not None else None,
        vision=model.vision,
    )


def _rehearsal_entry(model_id: str) -> ModelEntry:
    # No price: nothing is paid, and what is not known to cost nothing elsewhere must not look like 0 here.
    return ModelEntry(ModelRef(REHEARSAL, model_id), context_window=_REHEARSAL_CONTEXT)


def _rehearsal_route(model_id: str, seed: int | None, options: RehearsalOptions | None) -> Route:
    if model_id not in REHEARSAL_MODELS:
        raise NotFoundError(f"There is no rehearsal model {model_id!r}.", hint=f"Known: {', '.join(REHEARSAL_MODELS)}.")
    if options is None:
        options = RehearsalOptions() if seed is None else RehearsalOptions(seed=seed)
    return Route(_rehearsal_entry(model_id), "rehearsal", rehearsal=options)
