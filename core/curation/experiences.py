"""What memories of whole experiences share: an experience is found by the words of its task."""

from __future__ import annotations

from collections.abc import Sequence

from core.skillrepo.retrieval import retrieve
from core.skillrepo.skill import Skill


def most_alike(tasks: Sequence[str], query: str, count: int) -> tuple[int, ...]:
    """Return which of the past tasks are most like `query`, best first: BM25 over their words, ties to the older one.

    The papers compare embeddings of the tasks; BM25 needs no model of its own and is what every other arm here finds
    by, so that arms differ in what they keep and not in how they search.
    """
    documents = [Skill(f"{number:06d}", text, "", "") for number, text in enumerate(tasks)]
    return tuple(int(hit.skill.title) for hit in retrieve(documents, query, top_k=count))
