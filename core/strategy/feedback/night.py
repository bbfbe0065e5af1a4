"""Everything that time alone brings, in one run: for cron, a systemd timer, or a person (S67, S73, S99 to S105).

In this order: decisions that were not carried out yet; releases that a rule takes back, stages that have held long
enough; A/B tests that have decided; then the queue of bad cases, clustered, with suggestions and, where a model is
named, drafts for the review pool. Each part is safe to run twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from core.models.interface import ModelRef, Provider
from core.state import readonly
from core.state.paths import ProjectPaths
from core.strategy.bank.bank import Bank, bank_of
from core.strategy.bank.changes import FEEDBACK
from core.strategy.bank.progress import Progress, advance
from core.strategy.bank.releasing import complete
from core.strategy.conditions.registry import registry_of
from core.strategy.documents.skill import SkillSchema
from core.strategy.feedback.ab_report import Settled, settle
from core.strategy.feedback.bad_cases import BadCase
from core.strategy.feedback.clusters import Cluster
from core.strategy.feedback.encoders import Encoder
from core.strategy.feedback.nightly import Drafting, Nightly, nightly
from core.strategy.feedback.suggestions import LEAST
from core.strategy.feedback.synthesis import Draft, synthesise

UNOWNED = "operator"


@dataclass(frozen=True, slots=True)
class Night:
    """What a run did. `left` are decisions that can't be carried out any more, each with the reason."""

    left: tuple[str, ...]
    progress: tuple[Progress, ...]
    tests: tuple[Settled, ...]
    feedback: Nightly


async def night(
    project: ProjectPaths,
    schemas: Mapping[str, SkillSchema],
    encoder: Encoder,
    now: datetime,
    *,
    model: tuple[Provider, ModelRef] | None = None,
    least: int = LEAST,
    domain: str = "drafts",
) -> Night:
    """Run the night of a Project's bank. With a `model` drafts are written; the provider stays open. Raises as
    `readonly.refuse`, FaultyFileError for a bank.yaml that can't be read; a draft that fails is told in `feedback`.
    """
    readonly.refuse(project.root)
    bank = bank_of(project)
    left = complete(project)
    progress = advance(bank, now)
    tests = settle(project, now)
    draft = None if model is None else _drafting(bank, schemas, *model)
    found = await nightly(bank.records / FEEDBACK, bank, schemas, encoder, draft, least=least, domain=domain)
    return Night(left, progress, tests, found)


def _drafting(bank: Bank, schemas: Mapping[str, SkillSchema], provider: Provider, model: ModelRef) -> Drafting:
    settings = bank.settings()
    registry = registry_of(settings, schemas.values())

    async def draft(one: Cluster, cases: tuple[BadCase, ...], domain: str) -> Draft:
        band = settings.domains.get(domain)
        owner = band.owner if band is not None else UNOWNED
        return await synthesise(one, cases, schemas, registry, provider, model, domain=domain, owner=owner)

    return draft
