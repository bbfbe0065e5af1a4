"""The arm `verbatim`: every success is stored as it is, trajectory and all. It shows what abstraction is worth."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from core.curation.curators import Curation, CurationInput
from core.curation.prompt import trajectory_text
from core.foundation.visible import visible, visible_line
from core.skillrepo.calls import from_native
from core.skillrepo.operations import INSERT
from core.skillrepo.skill import write
from core.skillrepo.titles import TITLE_LIMIT


@dataclass(frozen=True, slots=True)
class VerbatimCurator:
    """A curator without a thought: it inserts each attempt that is judged a success, under the task's own words."""

    name: str = "verbatim"

    def refuses(self, world: str) -> str:
        del world
        return ""

    def curate(self, inputs: Sequence[CurationInput]) -> Sequence[Curation]:
        return [self._stored(given) if given.judged else Curation("", ()) for given in inputs]

    def _stored(self, given: CurationInput) -> Curation:
        task = visible_line(" ".join(given.episode.task.text.split()))
        # Two tasks in the same words are two successes: a mark of the task keeps their titles apart.
        mark = hashlib.sha256(given.episode.task.id.encode("utf-8", "surrogatepass")).hexdigest()[:4]
        title = f"{task[: TITLE_LIMIT - len(mark) - 1].strip()} {mark}"
        content = write(title, task, f"# What was done\n{visible(trajectory_text(given.episode))}").content
        return Curation("", (from_native(INSERT, {"skill_name": title, "content": content}),))
