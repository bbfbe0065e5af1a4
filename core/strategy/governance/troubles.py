"""The table of troubles: the first help page that a new user sees (STRATEGY S120 to S130).

Rows are data. `reported` is what the account that this layer follows claims for the fix; nobody measured it here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Name = Literal["logged_success", "other_path", "swallowed", "heavy", "left_out"]


@dataclass(frozen=True, slots=True)
class Trouble:
    """A row: what one sees, where to look, what is done about it. `name` is the diagnosis that looks at records."""

    name: Name
    symptom: str
    look: str
    fix: str
    items: tuple[str, ...]
    reported: str


TROUBLES: tuple[Trouble, ...] = (
    Trouble(
        "logged_success",
        "A task fails, but its log says success.",
        "Is every check of the strategy true in every run? Put the provider's raw answer beside it.",
        "Check key fields at level 1, or look at the effect with a probe (validate.cross).",
        ("S120", "S45", "S39"),
        "reported: failures -62 %, complaints -41 %",
    ),
    Trouble(
        "other_path",
        "The same question takes another path each time.",
        "Compare the context's snapshots, intent.confidence and the utterance in its normal form between the turns.",
        "Lock the first path of an unsteady session: trigger.stability {min_score: 0.6, below: lock_first_path}.",
        ("S121", "S122"),
        "reported: consistency 58 to 93 %",
    ),
    Trouble(
        "swallowed",
        "An old skill is hardly called any more since a new strategy came.",
        "Does the new trigger contain the old one whole, and does it go first?",
        "Give the narrower one more weight (priority), or an explicit rule (conflict_resolution.overrides).",
        ("S123", "S124", "S125"),
        "reported: conflicts 17 to 0.3 %",
    ),
    Trouble(
        "heavy",
        "The processor is busy above 90 %, answers are slow.",
        "Which strategies take the time, which loops go round inside others, which checks are waited for?",
        "Bound loops (max_iterations, three at most), and move heavy checks to level 2, which nobody waits for.",
        ("S126", "S127", "S29"),
        "reported: 92 to 41 % of the processor, P99 350 ms",
    ),
    Trouble(
        "left_out",
        "In a gray release something is gone for some users.",
        "Compare the drawn group with all users by age, region, device and activity.",
        "Draw inside strata of activity: rollout.assign {stratify: active_days_30d, strata: [0, 1, 7, 20]}.",
        ("S128", "S129"),
        "reported: 98 % representative, bias below 2 %",
    ),
)
"""In the account's order."""
