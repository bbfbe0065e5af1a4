"""What a Candidate of a curator says of itself: its hypothesis, its prediction, a title. Pure.

A curator writes skills, not hypotheses. But a skill is one: it says when it is to be used, so it claims that tasks of
that kind go better with it. The prediction follows from that: the Cases whose statement finds the skill first, or
whose Session it was drawn from, score higher, and no other moves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core.skillrepo.operations import DELETE, INSERT, UPDATE
from core.skillrepo.retrieval import retrieve
from core.skillrepo.skill import Skill

HOPE = 0.25
"""Share of the points that a Case lacks which a skill is hoped to win: a direction, and a modest size."""
_LONGEST = 160  # characters of a description that a hypothesis repeats
_WORDS = {INSERT: "new", UPDATE: "updated", DELETE: "removed"}


def changed_titles(before: Sequence[Skill], after: Sequence[Skill]) -> tuple[str, ...]:
    """Return the titles of skills that are new, changed or gone, in order."""
    old = {skill.title: skill for skill in before}
    new = {skill.title: skill for skill in after}
    return tuple(dict.fromkeys(title for title in (*new, *old) if old.get(title) != new.get(title)))


def hypothesis_of(before: Sequence[Skill], after: Sequence[Skill]) -> str:
    """Return what the changed skills claim: in one sentence, then what each says it is for."""
    old = {skill.title: skill for skill in before}
    new = {skill.title: skill for skill in after}
    changed = changed_titles(before, after)
    acts = {
        "added": [title for title in changed if title not in old],
        "reworked": [title for title in changed if title in old and title in new],
        "removed": [title for title in changed if title not in new],
    }
    told = _listed([f"{_listed(titles)} {act}" for act, titles in acts.items() if titles])
    claims = [f"{title}: {_sentence(new[title].description)}" for title in changed if title in new]
    return " ".join([f"With {told}, tasks of their kind score higher.", *claims]) if told else ""


def prediction_of(
    changed: Sequence[str],
    before: Sequence[Skill],
    after: Sequence[Skill],
    statements: Mapping[str, str],
    scores: Mapping[str, float],
    learnt_from: Iterable[str],
    *,
    min_overlap: float,
) -> dict[str, Any]:
    """Return the prediction of a Candidate; its `cases` are empty where nothing can gain.

    `statements` and `scores` are those of the measured Cases, `learnt_from` the Cases whose Sessions led to a change.
    Where neither they nor any statement points to a Case, the skills come from work outside the benchmark, and every
    Case that lacks points is expected to gain.
    """
    wanted = set(changed)
    moved = {case for case in learnt_from if case in scores}
    for case, statement in statements.items():
        for skills in (before, after):
            hits = retrieve(skills, statement, top_k=1, min_overlap=min_overlap)
            if case in scores and any(hit.skill.title in wanted for hit in hits):
                moved.add(case)
    gaining = [case for case in sorted(moved or scores) if scores[case] < 100]
    cases = [
        {"case_id": case, "expected_score": round(scores[case] + HOPE * (100 - scores[case]), 1)} for case in gaining
    ]
    return {"overall": "higher", "cases": cases}


def title_of(operations: Iterable[str]) -> str:
    """Return a title of a few words from the names of the valid operations."""
    counts = Counter(operations)
    told = [f"{counts[name]} {word}" for name, word in _WORDS.items() if counts[name]]
    told += [f"{count} other" for name, count in sorted(counts.items()) if name not in _WORDS]
    return f"Curated skills: {', '.join(told) or 'none'}"


def _sentence(text: str) -> str:
    """Return a description as a short sentence: what is listed after its first part is for finding, not for saying."""
    flat = " ".join(text.split())
    if len(flat) > _LONGEST:
        flat = flat[: flat.rfind(" ", 0, _LONGEST)].rstrip(" ,;:-") + "..."
    return flat if flat.endswith((".", "!", "?")) else f"{flat}."


def _listed(texts: Sequence[str]) -> str:
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)
