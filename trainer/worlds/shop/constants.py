"""The shop's constants: every choice that an Episode depends on, hashed before training (honest constants)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from core.strategy.shop import catalogue
from trainer.worlds.shop import demand, game, reading, search

EVALUATION_MIX: Mapping[str, int] = {"plain": 20, "feature": 24, "color": 24, "fit": 24, "price": 24, "deal": 24}
FAMILIES = tuple(EVALUATION_MIX)
VERSION = 1  # of the rules in code; raise it with any change of behaviour that no constant below shows


@dataclass(frozen=True, slots=True)
class Habits:
    """What an executor does right without a skill: chances, drawn once a task.

    `query`: search by kind and attribute instead of by the kind alone. `scan`: read titles before opening. `back`:
    leave a product that doesn't fit instead of buying it. `next`: turn the page. `features`, `color`, `size`, `price`:
    make the check or choice that the task asks for. `buy`: buy the first product that passes instead of looking at all
    of them. `late_price`: look at the price after the size was chosen, not before. `wanders`: read descriptions, which
    decide nothing. `misjudge`: be wrong about its own success.
    """

    query: float
    scan: float
    back: float
    next: float
    features: float
    color: float
    size: float
    price: float
    buy: float
    late_price: float
    wanders: float
    misjudge: float


@dataclass(frozen=True, slots=True)
class Trust:
    """How likely an executor follows the first skill it was given, and what lowers that (CURATION 1.8, 2c).

    `base` less a share for each vague sentence, each name of a single thing, each further retrieved skill, each
    sentence over `length`, each step that the task doesn't ask for. Never below `least`. `dulled`: the factor on habits
    while it follows a skill that lacks the step.
    """

    base: float = 0.96
    vague: float = 0.1
    specific: float = 0.08
    extra_skill: float = 0.05
    length: int = 9
    over_length: float = 0.06
    needless: float = 0.06
    least: float = 0.05
    dulled: float = 0.8


@dataclass(frozen=True, slots=True)
class Constants:
    """All of it. `limits`: price caps are the next multiple of this step, in cents, above the goal's price."""

    executors: Mapping[str, Habits] = field(
        default_factory=lambda: {
            "weak": Habits(0.35, 0.2, 0.4, 0.3, 0.25, 0.35, 0.35, 0.3, 0.5, 0.4, 0.4, 0.12),
            "mid": Habits(0.5, 0.35, 0.55, 0.4, 0.4, 0.5, 0.5, 0.45, 0.6, 0.5, 0.3, 0.1),
            "strong": Habits(0.65, 0.5, 0.7, 0.55, 0.5, 0.65, 0.65, 0.55, 0.7, 0.6, 0.2, 0.07),
        }
    )
    trust: Trust = field(default_factory=Trust)
    limit_step: int = 500


CONSTANTS = Constants()


def fingerprint(goods: catalogue.Catalogue, constants: Constants = CONSTANTS) -> str:
    """Return a sha256 over the constants, the mix, the goods and the rules of reading."""
    document = {
        "version": VERSION,
        "constants": asdict(constants),
        "mix": EVALUATION_MIX,
        "goods": [
            [product.id, product.title, product.cents, product.features, product.colors, dict(product.extra)]
            for product in goods.products.values()
        ],
        "reading": dict(reading.PATTERNS),
        "rules": [game.PER_PAGE, game.MAX_STEPS, search.K1, search.B, search.RESULTS],
        "reward": [demand.SAME_CATEGORY, demand.OTHER_CATEGORY],
    }
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
