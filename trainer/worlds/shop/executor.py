"""The shop's frozen executors: they follow the skill they trust, and their habits otherwise.

The same task with the same skills and the same executor gives the same trip: the habits of a task are drawn first, in a
fixed order, from the task's seed, so that arms differ by their skills alone.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.curation.worlds import Step
from core.skillrepo.skill import Skill
from core.strategy.shop.catalogue import Product
from trainer.worlds.shop.constants import Habits, Trust
from trainer.worlds.shop.demand import Demand
from trainer.worlds.shop.game import BACK as SEARCH_PAGE
from trainer.worlds.shop.game import BUY as BUY_NOW
from trainer.worlds.shop.game import DESCRIPTION as DESCRIPTION_PAGE
from trainer.worlds.shop.game import FEATURES as FEATURES_PAGE
from trainer.worlds.shop.game import NEXT as NEXT_PAGE
from trainer.worlds.shop.game import PREV, ShopGame
from trainer.worlds.shop.reading import (
    BACK,
    BROWSING,
    BUY,
    COLOR,
    FEATURES,
    NEEDS,
    NEXT,
    PRICE,
    QUERY,
    SCAN,
    SIZE,
    Reading,
    read,
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What the executor means to do.

    `browsing` steps hold all the trip, `page` steps are done in order on each product's page. `decided`: buys as soon
    as a product passes. `wanders`: reads descriptions, which decide nothing. `followed`: titles of the skills used.
    """

    browsing: frozenset[str]
    page: tuple[str, ...]
    decided: bool
    wanders: bool
    followed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Habit:
    """The habits of one task, drawn: for each step whether the executor would do it unasked.

    `dulled` is the same while it follows a skill that doesn't tell the step. It follows a skill whose trust is above
    `doubt`.
    """

    does: Mapping[str, bool]
    dulled: Mapping[str, bool]
    late_price: bool
    wanders: bool
    doubt: float
    misjudges: bool


def habits_of(habits: Habits, trust: Trust, draw: random.Random) -> Habit:
    """Draw the habits of one task, in a fixed order."""
    chance = {
        QUERY: habits.query,
        SCAN: habits.scan,
        BACK: habits.back,
        NEXT: habits.next,
        FEATURES: habits.features,
        COLOR: habits.color,
        SIZE: habits.size,
        PRICE: habits.price,
        BUY: habits.buy,
    }
    does = {key: draw.random() < share for key, share in chance.items()}
    dulled = {key: draw.random() < trust.dulled and doing for key, doing in does.items()}
    late_price, wanders = draw.random() < habits.late_price, draw.random() < habits.wanders
    return Habit(does, dulled, late_price, wanders, draw.random(), draw.random() < habits.misjudge)


def needs_of(demand: Demand) -> tuple[str, ...]:
    """Return the page steps a demand asks for, in an order that works."""
    asked = {
        FEATURES: demand.feature is not None,
        COLOR: demand.color is not None,
        SIZE: demand.size is not None,
        PRICE: demand.below is not None,
    }
    return tuple(key for key in NEEDS if asked[key])


def trust_in(reading: Reading, needs: Sequence[str], skills: int, trust: Trust) -> float:
    """Return the chance that a skill is followed."""
    needless = sum(key not in needs for key in NEEDS if reading.has(key))
    lost = (
        trust.vague * reading.vague
        + trust.specific * reading.specific
        + trust.extra_skill * (skills - 1)
        + trust.over_length * max(0, reading.lines - trust.length)
        + trust.needless * needless
    )
    return max(trust.least, trust.base - lost)


def _own_page(needs: Sequence[str], does: Mapping[str, bool], late_price: bool) -> list[str]:
    page = [key for key in needs if does[key]]
    if PRICE in page and not late_price:
        page.remove(PRICE)
        page.insert(0, PRICE)
    return page


def plan(demand: Demand, skills: Sequence[Skill], habit: Habit, trust: Trust) -> Plan:
    """Decide what to do.

    Browsing steps are taken from every skill. The first skill that tells a step on a product page is the one to follow
    whole, or not at all.
    """
    needs = needs_of(demand)
    readings = [(skill, read(skill)) for skill in skills]
    browsing: set[str] = set()
    followed: list[str] = []
    for skill, reading in readings:
        new = {key for key in BROWSING if reading.has(key)} - browsing
        if new:
            browsing |= new
            followed.append(skill.title)
    leading = next(((s, r) for s, r in readings if r.has(BUY) or any(r.has(key) for key in NEEDS)), None)
    if leading is None or habit.doubt >= trust_in(leading[1], needs, len(skills), trust):
        own = frozenset(browsing | {key for key in BROWSING if habit.does[key]})
        page = _own_page(needs, habit.does, habit.late_price)
        return Plan(own, tuple(page), habit.does[BUY], habit.wanders, tuple(followed))
    skill, reading = leading
    told = list(dict.fromkeys(key for key in reading.steps if key in NEEDS))
    page = [*told, *(key for key in _own_page(needs, habit.dulled, habit.late_price) if key not in told)]
    own = frozenset(browsing | {key for key in BROWSING if habit.dulled[key]})
    decided = reading.has(BUY) or habit.dulled[BUY]
    return Plan(own, tuple(page), decided, False, tuple(dict.fromkeys([skill.title, *followed])))


class Trip:
    """A shopping trip under way: the game, and what was done in it."""

    def __init__(self, game: ShopGame) -> None:
        self.game = game
        self.steps: list[Step] = []

    def act(self, action: str) -> None:
        """Act, unless the trip is over."""
        if not self.game.done:
            self.steps.append(Step(action, self.game.step(action)))

    def click(self, name: str) -> None:
        self.act(f"click[{name}]")

    def run(self, plan: Plan) -> None:
        """Search and open one product after the other.

        A decided shopper buys the first product that passes its checks, or the first of all where it wouldn't go back.
        An undecided one looks at all that there is before it chooses, and may run out of steps.
        """
        demand = self.game.demand
        query = f"{demand.attribute} {demand.kind}" if demand.attribute and QUERY in plan.browsing else demand.kind
        self.act(f"search[{query}]")
        first: Product | None = None
        best: Product | None = None
        while not self.game.done:
            for product in self.game.shown:
                if SCAN in plan.browsing and not _title_fits(demand, product):
                    continue
                self.click(product.id.lower())
                first, passed = first or product, self._inspect(product, plan)
                if self.game.done:
                    return
                if plan.decided and (passed or BACK not in plan.browsing):
                    self.click(BUY_NOW)
                    return
                best = best or (product if passed else None)
                self.click(PREV)
            if NEXT not in plan.browsing or f"click[{NEXT_PAGE}]" not in self.game.admissible:
                break
            self.click(NEXT_PAGE)
        self._settle(best or first, plan)

    def _inspect(self, product: Product, plan: Plan) -> bool:
        """Do the steps in their order and tell whether all that was checked is as asked."""
        demand, passed = self.game.demand, True
        if plan.wanders:
            self.click(DESCRIPTION_PAGE)
            self.click(PREV)
        for key in plan.page:
            if self.game.done:
                return passed
            if key == FEATURES:
                self.click(FEATURES_PAGE)
                self.click(PREV)
                passed &= demand.feature is None or demand.feature in product.features
            elif key == COLOR:
                passed &= self._choose(demand.color, product.colors)
            elif key == SIZE:
                passed &= self._choose(demand.size, product.sizes)
            elif key == PRICE:
                passed &= demand.below is None or product.price(self.game.size) < demand.below
            if not passed and BACK in plan.browsing:
                return False
        return passed

    def _choose(self, wanted: str | None, offered: Sequence[str]) -> bool:
        """Click the wanted option; one that wasn't asked for is guessed: the last one offered."""
        if wanted is not None and wanted not in offered:
            return False
        self.click(offered[-1] if wanted is None else wanted)
        return True

    def _settle(self, chosen: Product | None, plan: Plan) -> None:
        """All was looked at: buy the chosen product, searching for it again where it isn't on this page."""
        if chosen is None or self.game.done:
            return
        if chosen not in self.game.shown:
            self.click(SEARCH_PAGE)
            self.act(f"search[{self.game.demand.kind}]")
            if chosen not in self.game.shown:
                return
        self.click(chosen.id.lower())
        for key, wanted, offered in (
            (COLOR, self.game.demand.color, chosen.colors),
            (SIZE, self.game.demand.size, chosen.sizes),
        ):
            if key in plan.page and wanted in offered:
                self._choose(wanted, offered)
        self.click(BUY_NOW)


def _title_fits(demand: Demand, product: Product) -> bool:
    """Read a title: the kind of product itself, not something for it, and the attribute where one is asked."""
    if product.kind != demand.kind:
        return False
    return demand.attribute is None or demand.attribute in product.attributes
