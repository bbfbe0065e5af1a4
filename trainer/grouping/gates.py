"""The gates that a pair of tasks must pass to follow each other in a group (CURATION 1.5, Table 5).

Each gate is a function of what the pair shares; `refusal` names the first that a pair fails.
"""

from __future__ import annotations

import math
from typing import Literal

from trainer.grouping.attributes import Annotated
from trainer.grouping.settings import GroupingSettings
from trainer.grouping.similarity import Overlap

Mode = Literal["harder", "same", "easier"]


def shares_concepts(overlap: Overlap, settings: GroupingSettings) -> bool:
    """m(C) >= kappa_C."""
    return overlap.matched["concepts"] >= settings.kappa_c


def shares_skills(overlap: Overlap, settings: GroupingSettings) -> bool:
    """m(S) >= kappa_S."""
    return overlap.matched["skills"] >= settings.kappa_s


def shares_reasoning(overlap: Overlap, settings: GroupingSettings) -> bool:
    """m(R) + m(P) >= 1: a way of reasoning or a mistake in common."""
    return overlap.matched["strategies"] + overlap.matched["pitfalls"] >= settings.shared_reasoning


def differs_in_topic(overlap: Overlap, settings: GroupingSettings) -> bool:
    """soft-Jaccard(T) <= theta_T: the same topic again would teach the topic, not the skill."""
    return overlap.jaccard["topics"] <= settings.theta_t


def weighted_overlap(overlap: Overlap, settings: GroupingSettings) -> float:
    """Return Omega: the mean of the five soft-Jaccards by the normalised weights."""
    return similarity_score(overlap, settings) / settings.weights.total


def in_band(overlap: Overlap, settings: GroupingSettings) -> bool:
    """sigma_min <= Omega <= sigma_max: related, and no near copy."""
    low, high = settings.sigma
    return low <= weighted_overlap(overlap, settings) <= high


def progresses(overlap: Overlap, settings: GroupingSettings) -> bool:
    """|C_t| > m(C) or |S_t| > m(S): the target asks for a concept or a skill that the source doesn't."""
    target = overlap.target
    more_concepts = len(set(target.concepts)) > overlap.matched["concepts"]
    return more_concepts or len(set(target.skills)) > overlap.matched["skills"]


def steps_forward(gap: float, mode: Mode, settings: GroupingSettings) -> bool:
    """d_t - d_s >= delta_min; only a step that is meant to be easier may go back."""
    return mode == "easier" or gap >= settings.delta_min


def fits_mode(gap: float, mode: Mode, settings: GroupingSettings) -> bool:
    """Whether a gap of difficulty is one of the curriculum's mode: forward, level, or the mirror of forward."""
    low, high = settings.forward
    if mode == "harder":
        return low <= gap <= high
    if mode == "easier":
        return -high <= gap <= -low
    return abs(gap) <= settings.level


def bonus(gap: float) -> float:
    """Return b: 0 for no step forward, 1 for a step of one, falling again beyond: bounded, for moderate steps.

    The paper says that b is bounded and rewards moderate forward steps, not what it is [amb].
    """
    return gap * math.exp(1 - gap) if gap > 0 else 0.0


def similarity_score(overlap: Overlap, settings: GroupingSettings) -> float:
    """Return the weighted sum of the five soft-Jaccards."""
    weights = settings.weights
    return (
        weights.concepts * overlap.jaccard["concepts"]
        + weights.skills * overlap.jaccard["skills"]
        + weights.strategies * overlap.jaccard["strategies"]
        + weights.pitfalls * overlap.jaccard["pitfalls"]
        + weights.topics * overlap.jaccard["topics"]
    )


def score(overlap: Overlap, gap: float, settings: GroupingSettings) -> float:
    """Return what a pair is ranked by: shared attributes by weight, and lambda times the bonus."""
    return similarity_score(overlap, settings) + settings.bonus * bonus(gap)


def refusal(source: Annotated, target: Annotated, overlap: Overlap, mode: Mode, settings: GroupingSettings) -> str:
    """Return the name of the first gate that a pair fails; empty where it passes all."""
    gap = target.difficulty - source.difficulty
    checks = (
        ("mode", fits_mode(gap, mode, settings)),
        ("forward", steps_forward(gap, mode, settings)),
        ("concepts", shares_concepts(overlap, settings)),
        ("skills", shares_skills(overlap, settings)),
        ("reasoning", shares_reasoning(overlap, settings)),
        ("topics", differs_in_topic(overlap, settings)),
        ("band", in_band(overlap, settings)),
        ("progression", progresses(overlap, settings)),
    )
    return next((name for name, passed in checks if not passed), "")
