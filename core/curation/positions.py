"""One place of a stream run: what happened to one stream of one arm at one position, as it is written down (K5, K6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.curation import behaviour
from core.curation.arms import Learned
from core.curation.fields import Fields
from core.curation.memories import Operation
from core.curation.worlds import ContentVerdict, Episode
from core.skillrepo.skill import Skill


@dataclass(frozen=True, slots=True)
class Written:
    """An operation and the judgement of what it wrote: `content_valid` None where it was not measured."""

    kind: str
    title: str
    valid: bool
    reason: str = ""
    content_judged: bool = False
    content_valid: bool | None = None
    issues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """`success` is the world's verdict, None where the attempt was lost (`failure` says how); `judged` the opinion that
    the curator saw. `held` counts the skills before the task, `retrieved` names those that were given, `used` those
    that a scripted executor followed. `change` is what was learned, None where nothing was; `unlearned` says why a
    curation was lost. `skills` and `characters` tell the size of the memory afterwards, `meta_share` and `headings`
    what its skills are like (K18).
    """

    seed: int
    task: str
    family: str
    success: bool | None
    score: float | None
    judged: bool | None
    steps: int
    tokens: int | None
    coerced: int
    failure: str
    held: int
    retrieved: tuple[str, ...]
    used: tuple[str, ...]
    change: Mapping[str, Any] | None
    unlearned: str
    prompt_tokens: int | None
    answer_tokens: int | None
    operations: tuple[Written, ...]
    skills: int
    characters: int
    meta_share: float | None = None
    headings: Mapping[str, int] = field(default_factory=dict)


def place_of(
    seed: int,
    episode: Episode,
    held: int,
    retrieved: Sequence[Skill],
    learned: Learned,
    operations: Sequence[Operation],
    contents: Sequence[ContentVerdict | None],
    after: Sequence[Skill],
) -> Place:
    """Return the record of what just happened."""
    return Place(
        seed=seed,
        task=episode.task.id,
        family=episode.task.family,
        success=episode.success,
        score=episode.score,
        judged=episode.judged,
        steps=episode.steps,
        tokens=episode.tokens,
        coerced=episode.coerced,
        failure=episode.failure,
        held=held,
        retrieved=tuple(skill.title for skill in retrieved),
        used=episode.used,
        change=learned.change,
        unlearned=learned.failure,
        prompt_tokens=learned.prompt_tokens,
        answer_tokens=learned.answer_tokens,
        operations=tuple(_written(one, verdict) for one, verdict in zip(operations, contents, strict=True)),
        skills=len(after),
        characters=sum(len(skill.content) for skill in after),
        meta_share=behaviour.meta_share(after),
        headings={name: count for name, count in behaviour.heading_counts(after).items() if count},
    )


def _written(operation: Operation, verdict: ContentVerdict | None) -> Written:
    judged = verdict is not None
    valid, issues = (verdict.valid, verdict.issues) if verdict is not None else (None, ())
    return Written(operation.kind, operation.title, operation.valid, operation.reason, judged, valid, issues)


def place_json(place: Place) -> dict[str, Any]:
    return {
        "seed": place.seed,
        "task": place.task,
        "family": place.family,
        "success": place.success,
        "score": place.score,
        "judged": place.judged,
        "steps": place.steps,
        "tokens": place.tokens,
        "coerced": place.coerced,
        "failure": place.failure,
        "held": place.held,
        "retrieved": list(place.retrieved),
        "used": list(place.used),
        "change": None if place.change is None else dict(place.change),
        "unlearned": place.unlearned,
        "prompt_tokens": place.prompt_tokens,
        "answer_tokens": place.answer_tokens,
        "ops": [
            {
                "op": one.kind,
                "title": one.title,
                "valid": one.valid,
                "reason": one.reason,
                "content_judged": one.content_judged,
                "content_valid": one.content_valid,
                "issues": list(one.issues),
            }
            for one in place.operations
        ],
        "skills": place.skills,
        "characters": place.characters,
        "meta_share": place.meta_share,
        "headings": dict(place.headings),
    }


def read_place(at: Fields) -> Place:
    """Return a record that was written down. Raises ValueError naming the field."""
    return Place(
        seed=at.whole("seed"),
        task=at.text("task"),
        family=at.text("family"),
        success=at.flag("success"),
        score=at.number("score"),
        judged=at.flag("judged"),
        steps=at.whole("steps"),
        tokens=at.count("tokens"),
        coerced=at.whole("coerced"),
        failure=at.text("failure", ""),
        held=at.whole("held"),
        retrieved=at.texts("retrieved"),
        used=at.texts("used"),
        change=at.mapping("change") if at.has("change") else None,
        unlearned=at.text("unlearned", ""),
        prompt_tokens=at.count("prompt_tokens"),
        answer_tokens=at.count("answer_tokens"),
        operations=tuple(_read_written(one) for one in at.parts("ops")),
        skills=at.whole("skills"),
        characters=at.whole("characters"),
        meta_share=at.share("meta_share"),
        headings={name: at.part("headings").whole(name) for name in at.part("headings").names},
    )


def _read_written(at: Fields) -> Written:
    valid = at.flag("valid")
    if valid is None:
        raise ValueError("valid: an operation without a verdict")
    return Written(
        at.text("op"),
        at.text("title", ""),
        valid,
        at.text("reason", ""),
        bool(at.flag("content_judged")),
        at.flag("content_valid"),
        at.texts("issues"),
    )
