"""What a step did, as the fields of a `step` record, and its sample rollouts (K17, K18)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean, pstdev
from typing import Any

from core.curation import behaviour
from core.skillrepo.skill import Skill
from trainer.grpo import UpdateReport, is_flat
from trainer.rewards import TERMS, Reward
from trainer.rollout import Clock, Rollout, Turn

REMEMBERED = (
    "step", "reward", "ops", "positions", "judge_unmeasured", "zero_variance_groups", "success", "steps_mean",
    "valid_calls", "repo_skills", "entropy", "seconds",
)  # fmt: skip
"""What of a step's record a checkpoint keeps: alarms and the summary look back on it."""


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def reward_fields(groups: Sequence[Sequence[Reward]], totals: Sequence[Sequence[float | None]]) -> dict[str, Any]:
    """Return means over all rollouts, and the mean standard deviation within a group, of r and of each term."""

    def columns(name: str) -> list[list[float]]:
        if name == "total":
            found = [[value for value in group if value is not None] for group in totals]
        else:
            found = [[value for one in group if (value := one.of(name)) is not None] for group in groups]
        return [column for column in found if column]

    names = ("total", *TERMS)
    return {
        "reward": {name: _mean([value for column in columns(name) for value in column]) for name in names},
        "spread": {name: _mean([pstdev(column) for column in columns(name)]) for name in names},
        "zero_variance_groups": _mean([float(is_flat(group)) for group in totals]),
        "positions": {
            "expected": sum(one.expected for group in groups for one in group),
            "measured": sum(one.measured for group in groups for one in group),
        },
        "judge_unmeasured": sum(one.judge_unmeasured for group in groups for one in group),
    }


def advantage_fields(values: Sequence[float]) -> dict[str, Any]:
    """Return the spread of the advantages of a step's rollouts."""
    if not values:
        return {"advantage": {"min": None, "max": None, "std": None}}
    return {"advantage": {"min": min(values), "max": max(values), "std": pstdev(values)}}


def update_fields(report: UpdateReport | None, lr: float) -> dict[str, Any]:
    """Return what the optimizer did; None where nothing could be learned from the step."""
    if report is None:
        names = ("entropy", "clip_fraction", "gradient_norm", "loss", "kl")
        return {**dict.fromkeys(names), "lr": lr}
    return {
        "entropy": report.entropy,
        "clip_fraction": report.clip_fraction,
        "gradient_norm": report.gradient_norm,
        "loss": report.loss,
        "kl": report.kl,
        "lr": lr,
    }


def rollout_fields(rollouts: Sequence[Rollout], max_steps: int) -> dict[str, Any]:
    """Return what executors and curators did: operations, successes, repositories, tokens, behaviour."""
    turns = [turn for rollout in rollouts for turn in rollout.turns]
    tried = [turn.episode for turn in turns if turn.episode.success is not None]
    verdicts = [verdict for turn in turns for verdict in turn.verdicts]
    last = [rollout.turns[-1] for rollout in rollouts if rollout.turns]
    repositories = [turn.skills for turn in last]
    usages = [_usage(rollout) for rollout in rollouts]
    metas = [behaviour.meta_share(skills) for skills in repositories]
    return {
        "ops": behaviour.operation_counts(verdicts),
        "valid_calls": _mean([float(verdict.valid) for verdict in verdicts]),
        "masked": sum(turn.answer is None for turn in turns),
        "success": _mean([float(bool(episode.success)) for episode in tried]),
        "steps_mean": _mean([float(e.steps if e.success else max_steps) for e in tried]),
        "repo_skills": _mean([float(len(skills)) for skills in repositories]),
        "repo_tokens": _mean([float(turn.repo_tokens) for turn in last]),
        "tokens": {
            "prompt": sum(len(turn.prompt) for turn in turns),
            "answer": sum(len(turn.answer.ids) for turn in turns if turn.answer),
        },
        "headings": _headings(repositories),
        "meta_share": _mean([share for share in metas if share is not None]),
        "coverage": _mean([usage.coverage for usage in usages if usage.coverage is not None]),
        "skills_per_example": _mean(
            [usage.skills_per_example for usage in usages if usage.skills_per_example is not None]
        ),
    }


def _headings(repositories: Sequence[Sequence[Skill]]) -> dict[str, int]:
    # Rollouts share most skills; each text is read once.
    times: Counter[Skill] = Counter(skill for skills in repositories for skill in skills)
    total: Counter[str] = Counter()
    for skill, count in times.items():
        for name, found in behaviour.heading_counts([skill]).items():
            total[name] += found * count
    return {name: total[name] for name in behaviour.HEADING_CLASSES}


def _usage(rollout: Rollout) -> behaviour.Usage:
    ever: dict[str, None] = {}
    given: list[tuple[int, list[str]]] = []
    held: tuple[Skill, ...] = ()
    for turn in rollout.turns:
        ever.update(dict.fromkeys(skill.title for skill in held))
        given.append((len(held), [skill.title for skill in turn.retrieved]))
        if turn.answer is not None:
            held = turn.skills
    return behaviour.usage(ever, given)


def samples(step: int, rollouts: Sequence[Rollout]) -> dict[str, Any]:
    """Return the samples file of a step: the first rollout of each group, position by position."""
    return {
        "step": step,
        "rollouts": [
            {
                "group": rollout.stream.group,
                "rollout": rollout.stream.rollout,
                "positions": [_position(turn) for turn in rollout.turns],
            }
            for rollout in rollouts
            if rollout.stream.rollout == 0
        ],
    }


def _position(turn: Turn) -> Mapping[str, Any]:
    task = turn.episode.task
    return {
        "position": turn.position,
        "task": task.text,
        "family": task.family,
        "success": turn.episode.success,
        "judged": turn.episode.judged,
        "retrieved": [skill.title for skill in turn.retrieved],
        "ops": [
            {
                "op": behaviour.operation_kind(verdict.call.name),
                "title": str((verdict.call.arguments or {}).get("skill_name", "")),
                "valid": verdict.valid,
                "reason": verdict.reason,
                "content": verdict.after.content if verdict.after else verdict.call.raw if not verdict.valid else "",
            }
            for verdict in turn.verdicts
        ],
        "repo": [{"title": skill.title, "content": skill.content} for skill in turn.skills],
    }


def time_fields(tokens: Mapping[str, int], clock: Clock, updating: float, total: float) -> dict[str, Any]:
    """Return what a step of `total` seconds spent them on, and its tokens a second (None for no time at all)."""
    other = total - clock.generate - clock.executor - updating
    return {
        "tokens_per_s": (tokens["prompt"] + tokens["answer"]) / total if total else None,
        "seconds": {
            "total": round(total, 4),
            "generate": round(clock.generate, 4),
            "executor": round(clock.executor, 4),
            "update": round(updating, 4),
            "other": round(max(0.0, other), 4),
        },
    }
