"""Table 5 of the paper as defaults (CURATION 1.5). Each number has the symbol that the table gives it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.foundation.errors import UsageError


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each attribute counts: concepts, skills, strategies, pitfalls, topics (w_C, w_S, w_R, w_P, w_T)."""

    concepts: float = 5.0
    skills: float = 4.0
    strategies: float = 3.0
    pitfalls: float = 1.0
    topics: float = 2.0

    @property
    def total(self) -> float:
        return self.concepts + self.skills + self.strategies + self.pitfalls + self.topics


@dataclass(frozen=True, slots=True)
class GroupingSettings:
    """All of Table 5.

    `tau`: cosine above which two phrases are one (encoder all-MiniLM-L6-v2). `kappa_c`, `kappa_s`: fewest matched
    concepts and skills. `shared_reasoning`: fewest matched strategies and pitfalls together. `theta_t`: most alike
    that topics may be. `sigma`: band of the weighted overlap. `delta_min`: fewest steps of difficulty forward.
    `bonus`: weight lambda of the bonus for a moderate step forward. `easier`, `same`, `harder`: chances of the three
    curriculum modes (p-down, p-equal, p-up). `forward`: gap of an easy-to-hard step. `level`: largest gap of a
    same-level step. `pool`: cap K_inv of what the inverted index gives. `fallback`: size F of the random pool where
    nothing passes. `choice` is [amb]: the paper doesn't say how a partner is taken among those that pass; "best" takes
    the highest score, "sample" draws by score.
    """

    tau: float = 0.60
    kappa_c: int = 1
    kappa_s: int = 1
    shared_reasoning: int = 1
    theta_t: float = 0.65
    sigma: tuple[float, float] = (0.30, 0.85)
    delta_min: float = 0.0
    weights: Weights = Weights()
    bonus: float = 1.0
    harder: float = 0.80
    same: float = 0.20
    easier: float = 0.00
    forward: tuple[float, float] = (0.5, 3.0)
    level: float = 0.3
    pool: int = 2_000
    fallback: int = 200
    choice: Literal["best", "sample"] = "best"

    def __post_init__(self) -> None:
        chances = (self.easier, self.same, self.harder)
        if min(chances) < 0 or abs(sum(chances) - 1) > 1e-9:
            raise UsageError(f"The chances of the curriculum modes are {chances}; they must sum to 1.")
        if not 0 <= self.sigma[0] <= self.sigma[1] <= 1 or not 0 <= self.forward[0] <= self.forward[1]:
            raise UsageError("A band of the grouping settings is empty or upside down.", hint="Write (low, high).")


TABLE_5 = GroupingSettings()
