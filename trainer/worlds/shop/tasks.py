"""The shop's tasks: six kinds of demand, each made from a product that answers it, so that every task can be solved."""

from __future__ import annotations

import random

from core.curation.worlds import Split, Task
from core.foundation.errors import UsageError
from core.strategy.shop.catalogue import Catalogue, Product
from trainer.worlds.shop.constants import CONSTANTS, EVALUATION_MIX, FAMILIES
from trainer.worlds.shop.demand import Demand
from trainer.worlds.shop.executor import needs_of

_TRIES = 10_000


def _goal(split: Split, draw: random.Random, goods: Catalogue) -> Product:
    """Draw a product that can be asked for in every family's way: with an attribute, a feature, a color and a size."""
    for _ in range(_TRIES):
        goal = draw.choice(goods.by_kind[draw.choice(goods.kinds[split])])
        if goal.attributes and goal.features and goal.colors and goal.sizes:
            return goal
    raise UsageError(
        f"No product of the {split} split has an attribute, a feature, a color and a size.",
        hint="Load a larger catalogue.",
    )


def demand_of(family: str, split: Split, draw: random.Random, goods: Catalogue) -> Demand:
    """Draw a goal product of the split's kinds and ask for it the way the family asks."""
    goal = _goal(split, draw, goods)
    kind = goal.kind
    attribute, feature = draw.choice(goal.attributes), draw.choice(goal.features)
    color, size = draw.choice(goal.colors), draw.choice(goal.sizes)
    step = CONSTANTS.limit_step
    if family == "plain":
        return Demand(kind, attribute=attribute)
    if family == "feature":
        return Demand(kind, feature=feature)
    if family == "color":
        return Demand(kind, color=color)
    if family == "fit":
        return Demand(kind, color=color, size=size)
    if family == "price":
        return Demand(kind, attribute=attribute, below=(goal.price() // step + 1) * step)
    if family == "deal":
        return Demand(kind, size=size, below=(goal.price(size) // step + 1) * step)
    raise UsageError(f"The shop has no family {family!r}.", hint=f"Families: {', '.join(FAMILIES)}.")


def task(family: str, split: Split, seed: int, goods: Catalogue) -> Task:
    """Return the task of a seed. Its difficulty is the number of things asked beside the kind."""
    draw = random.Random(f"shop:{split}:{family}:{seed}")
    demand = demand_of(family, split, draw, goods)
    asked = len(needs_of(demand)) + (demand.attribute is not None)
    return Task(
        f"shop-{split}-{family}-{seed}", family, demand.text(), split, seed, float(asked), {"demand": demand.as_json()}
    )


def group(split: Split, seed: int, count: int, family: str | None, goods: Catalogue) -> tuple[Task, ...]:
    """Return tasks of one family, drawn by the seed where none is named."""
    draw = random.Random(f"shop:group:{split}:{seed}")
    chosen = draw.choice(FAMILIES) if family is None else family
    return tuple(task(chosen, split, draw.getrandbits(31), goods) for _ in range(count))


def stream(split: Split, seed: int, count: int | None, goods: Catalogue) -> tuple[Task, ...]:
    """Return a shuffled stream in the evaluation mix; another length keeps the mix as far as it can."""
    draw = random.Random(f"shop:stream:{split}:{seed}")
    families = [family for family, share in EVALUATION_MIX.items() for _ in range(share)]
    draw.shuffle(families)
    wanted = len(families) if count is None else count
    while len(families) < wanted:
        families += draw.sample(families, min(len(families), wanted - len(families)))
    return tuple(task(family, split, draw.getrandbits(31), goods) for family in families[:wanted])
