"""What a Project's models cost, as it is configured now."""

from __future__ import annotations

from core.foundation.errors import ExuviaError
from core.state.paths import ProjectPaths
from core.traces.cost import Prices


def prices_of(project: ProjectPaths) -> Prices:
    """Return the price of each (provider, model); without a readable configuration no price is known."""
    from core.state.project import read_project  # TOML: not before somebody asks what it cost

    try:
        config = read_project(project)
    except ExuviaError:
        return {}
    return {(model.ref.provider, model.ref.model_id): model.price for model in config.models}
