"""BM25 over name and description: golden ranks, rank-bm25's scores, deterministic ties (CURATION K3)."""

from __future__ import annotations

import pytest

from core.skillrepo.retrieval import retrieve
from core.skillrepo.skill import Skill, write

FIVE = tuple(
    write(f"put {kind} object", f"Use when a task asks to put a {kind} object somewhere.", "# Workflow\n1. Go.")
    for kind in ("hot", "cold", "clean", "lit", "two")
)


def titles(skills: tuple[Skill, ...], query: str, **options: float) -> list[str]:
    return [hit.skill.title for hit in retrieve(skills, query, **options)]  # type: ignore[arg-type]  # one bundle


@pytest.mark.meets("K3")
def test_the_skill_that_says_the_task_comes_first_and_ties_go_by_title() -> None:
    expected = ["put clean object", "put cold object", "put hot object", "put lit object", "put two object"]
    assert titles(FIVE, "put a clean apple in the fridge") == expected
    assert titles(FIVE[::-1], "put a clean apple in the fridge") == expected
    assert titles(FIVE, "put a clean apple in the fridge", top_k=2) == expected[:2]


@pytest.mark.meets("K3")
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_a_better_match_ranks_higher_however_few_skills_there_are(count: int) -> None:
    """BM25Okapi's floor is upside down in tiny repositories; ours is not."""
    kept = (FIVE[2], *(skill for skill in FIVE if skill is not FIVE[2]))[:count]
    hits = retrieve(kept, "put a clean apple in the fridge")
    assert hits[0].skill.title == "put clean object"
    assert all(hit.score > 0 for hit in hits)


@pytest.mark.meets("K3")
def test_a_skill_that_shares_no_word_is_no_hit() -> None:
    assert retrieve(FIVE, "bake bread") == ()
    assert retrieve((), "put a clean apple") == ()


@pytest.mark.meets("K3")
def test_the_relevance_gate_wants_most_of_the_title_in_the_task() -> None:
    assert titles(FIVE, "put a clean apple on an object", min_overlap=0.7) == ["put clean object"]
    assert titles(FIVE, "put a clean apple", min_overlap=0.7) == []
