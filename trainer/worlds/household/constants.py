"""Every number that the frozen executors and the world depend on; hashed into the world's fingerprint.

They are set once, so that an executor without skills succeeds about as often as the paper's (weak 38 to 48 %), and
are never fitted to what a learner reaches. docs/training.md says what each means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Habits:
    """What an executor does by itself and how it takes a skill. All are probabilities or losses of probability."""

    needs: Mapping[str, float]  # by family: takes the step that makes the family (clean it, ..., fetch the second)
    dulled: float  # factor on `needs` while it follows a skill that lacks the step
    lands: float  # brings it to the destination though the skill it follows does not say so
    systematic: float  # searches place by place without being told
    opens: float  # opens a closed receptacle without being told
    second_look: float  # a step "verify" lets it notice a missing need
    wary: float  # puts a skill aside that was written for another family
    compliance: float  # follows a good skill at all
    per_vague: float  # loss for each line that says nothing
    per_object: float  # loss for each line that names an object
    per_place: float  # loss for each line that names a place which is not the family's tool
    per_extra: float  # loss for each retrieved skill after the first
    least: float = 0.05  # compliance never falls below


WEAK = Habits(
    needs={"clean": 0.5, "heat": 0.5, "cool": 0.42, "look": 0.55, "two": 0.55},
    dulled=0.8,
    lands=0.6,
    systematic=0.1,
    opens=0.65,
    second_look=0.4,
    wary=0.0,
    compliance=0.95,
    per_vague=0.12,
    per_object=0.2,
    per_place=0.1,
    per_extra=0.05,
)
MID = Habits(
    needs={"clean": 0.64, "heat": 0.64, "cool": 0.6, "look": 0.7, "two": 0.68},
    dulled=0.85,
    lands=0.75,
    systematic=0.3,
    opens=0.75,
    second_look=0.55,
    wary=0.3,
    compliance=0.96,
    per_vague=0.09,
    per_object=0.15,
    per_place=0.07,
    per_extra=0.04,
)
STRONG = Habits(
    needs={"clean": 0.76, "heat": 0.76, "cool": 0.72, "look": 0.8, "two": 0.78},
    dulled=0.9,
    lands=0.85,
    systematic=0.5,
    opens=0.8,
    second_look=0.7,
    wary=0.6,
    compliance=0.97,
    per_vague=0.06,
    per_object=0.1,
    per_place=0.05,
    per_extra=0.03,
)


@dataclass(frozen=True, slots=True)
class Constants:
    """The world's own numbers."""

    max_steps: int = 30
    distractors: tuple[int, int] = (8, 14)  # objects in a room beside the wanted ones, fewest and most
    lamps: float = 0.3  # share of bedrooms and living rooms that have a desklamp where none is needed
    judge_misses: float = 0.04  # a success that the executor takes for a failure (K5)
    judge_flatters: float = 0.12  # a failure that it takes for a success
    executors: Mapping[str, Habits] = field(default_factory=lambda: {"weak": WEAK, "mid": MID, "strong": STRONG})


CONSTANTS = Constants()
