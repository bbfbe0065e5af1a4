"""What `exuvia stream run` was told, as a spec has it: arms, world options, the policy, how skills are found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from core.foundation.errors import NotFoundError, UsageError
from core.state.paths import ProjectPaths
from tui.cli.common import note

if TYPE_CHECKING:
    from core.curation.memories import Retrieval

_MODEL_ARMS = ("prompted", "reasoningbank", "memp")
_POLICY_ARMS = ("base", "trained")
_OWN_ARMS = ("none", "verbatim", "oracle", "shuffled")


def retrieval_of(policy: str | None, top_k: int | None, min_overlap: float | None) -> Retrieval:
    """Return how skills are retrieved: as the operator says, else as the curator was trained, which is told."""
    from core.curation import policy_settings
    from core.curation.memories import Retrieval

    trained = policy_settings.retrieval_of(Path(policy)) if policy is not None else None
    usual = trained or Retrieval(5, 0.0)
    if trained is not None and None in (top_k, min_overlap):
        note(f"Skills are retrieved as the curator was trained: top {usual.top_k}, min_overlap {usual.min_overlap:g}.")
    return Retrieval(usual.top_k if top_k is None else top_k, usual.min_overlap if min_overlap is None else min_overlap)


def arms_of(named: str | None, *, policy: bool, model: bool) -> tuple[str, ...]:
    """Return the arms that are named, all, or those that can run with what is named."""
    from core.curation.arms import NAMES

    if named == "all":
        return NAMES
    if named is not None:
        return tuple(name.strip() for name in named.split(",") if name.strip())
    return (*_OWN_ARMS, *(_POLICY_ARMS if policy else ()), *(_MODEL_ARMS if model else ()))


def options_of(pairs: tuple[str, ...]) -> dict[str, object]:
    """Return KEY=VALUE pairs: a value that is JSON is that, any other a text. Raises UsageError."""
    from core.foundation import strict_json

    found: dict[str, object] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key.isidentifier():
            raise UsageError(f"{pair!r} is no KEY=VALUE.", hint="For example: --option success_at=80")
        try:
            found[key] = strict_json.parse(value)
        except ValueError:
            found[key] = value
    return found


def policy_of(project: ProjectPaths, named: str | None) -> str | None:
    """Return the path of a policy: 'in-use', a path, or the id of a training run. Raises NotFoundError."""
    if named is None:
        return None
    if named == "in-use":
        from core.curation.promotion import verified

        chosen = verified(project)
        if chosen is None:
            raise UsageError("No trained curator is in use here.", hint="Promote one: exuvia train promote RUN")
        return str(chosen.path)
    for path in (Path(named), project.training / named):
        if path.exists():
            return str(path.resolve())
    raise NotFoundError(f"There is no policy {named!r}.", hint="Name a training run, a checkpoint or an export.")
