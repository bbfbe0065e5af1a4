"""The nightly run: cluster the queue, suggest, draft what no usual change fits (STRATEGY S99, S100, S104).

Safe to run twice, and at any time: the report depends on the queue alone and is written only where it changed; a
cluster is drafted once, since its draft has the cluster's name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from core.foundation import strict_json
from core.foundation.errors import ExuviaError
from core.state.atomic import write_text
from core.strategy.bank.bank import Bank
from core.strategy.documents.skill import SkillSchema
from core.strategy.feedback.bad_cases import BadCase, Queue
from core.strategy.feedback.clusters import Cluster, cluster
from core.strategy.feedback.encoders import Encoder
from core.strategy.feedback.review import submit
from core.strategy.feedback.suggestions import LEAST, Suggestion, suggest
from core.strategy.feedback.synthesis import Draft, name_of

REPORT = "nightly.json"
Drafting = Callable[[Cluster, tuple[BadCase, ...], str], Awaitable[Draft]]
"""Gives a draft for a cluster and its cases in a domain, by whichever model; see `synthesis.synthesise`."""


@dataclass(frozen=True, slots=True)
class Nightly:
    """What a run found. `drafted` are ids that now wait for review, `refused` what no draft came of and why, by
    cluster. `damaged` are lines of the queue that couldn't be read. `changed` is whether anything is new.
    """

    clusters: tuple[Cluster, ...]
    suggestions: tuple[Suggestion, ...]
    drafted: tuple[str, ...]
    refused: Mapping[str, str]
    damaged: int
    changed: bool

    def to_json(self) -> dict[str, Any]:
        """Return what is written down of it: the same for the same queue."""
        return {
            "clusters": [asdict(one) for one in self.clusters],
            "suggestions": [asdict(one) for one in self.suggestions],
            "damaged": self.damaged,
        }


async def nightly(
    folder: Path,
    bank: Bank,
    schemas: Mapping[str, SkillSchema],
    encoder: Encoder,
    draft: Drafting | None = None,
    *,
    least: int = LEAST,
    domain: str = "drafts",
) -> Nightly:
    """Cluster the queue in `folder`, write suggestions to `nightly.json` beside it, and draft for clusters of `least`
    cases and more, into the review pool of `bank`. Without `draft` nothing is drafted. `domain` takes drafts of cases
    that met no strategy.

    A draft that fails is told in `refused`; the others go on.
    """
    queued = Queue(folder).read()
    cases = {case.id: case for case in queued.cases}
    clusters = cluster(queued.cases, encoder)
    suggestions = suggest(clusters, cases, schemas, least=least)
    drafted, refused = [], {}
    for one in clusters:
        home = one.structure.strategy_id.partition(".")[0] or domain
        if draft is None or one.count < least or name_of(one, home) in bank.files():
            continue
        try:
            made = await draft(one, tuple(cases[name] for name in one.cases), home)
            submit(bank, made)
        except ExuviaError as error:
            refused[one.id] = str(error)
        else:
            drafted.append(made.strategy.id)
    found = Nightly(clusters, suggestions, tuple(drafted), refused, len(queued.gaps), changed=False)
    text = strict_json.dumps(found.to_json(), indent=1) + "\n"
    path = folder / REPORT
    new = not path.is_file() or path.read_text("utf-8") != text
    if new:
        folder.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    return Nightly(clusters, suggestions, tuple(drafted), refused, len(queued.gaps), changed=new or bool(drafted))
