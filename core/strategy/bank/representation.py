"""Whether those who see a new version are like all users: representativeness and bias by attribute (S128, S129)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.strategy.bank.assign import UNKNOWN, User


@dataclass(frozen=True, slots=True)
class Level:
    """One value of an attribute: its share among the drawn and in the population."""

    attribute: str
    value: str
    drawn: float
    population: float

    @property
    def bias(self) -> float:
        """Drawn minus population, as a share: -0.05 means five points too few."""
        return self.drawn - self.population


@dataclass(frozen=True, slots=True)
class Representation:
    """What a comparison found. `drawn` and `population` count users; `levels` are sorted by the size of their bias."""

    drawn: int
    population: int
    levels: tuple[Level, ...]

    @property
    def representativeness(self) -> float | None:
        """1 less the total variation distance of the attribute that fits worst, from 0 to 1; None without users."""
        if not self.levels:
            return None
        worst: defaultdict[str, float] = defaultdict(float)
        for level in self.levels:
            worst[level.attribute] += abs(level.bias)
        return 1 - max(worst.values()) / 2

    @property
    def bias(self) -> float | None:
        """The largest difference of a share, from 0 to 1; None without users."""
        return abs(self.levels[0].bias) if self.levels else None

    def lines(self, most: int = 5) -> tuple[str, ...]:
        """Return it in words, the worst levels below."""
        if self.representativeness is None or self.bias is None:
            return (f"representativeness unknown: {self.drawn} of {self.population} users drawn",)
        head = (
            f"representativeness {self.representativeness:.1%}, bias {self.bias:.1%} "
            f"({self.drawn} of {self.population} users)"
        )
        rows = (
            f"{level.attribute} {level.value}: {level.drawn:.1%} drawn of {level.population:.1%}, {level.bias:+.1%}"
            for level in self.levels[:most]
        )
        return (head, *rows)


def represent(drawn: Sequence[User], population: Iterable[User], attributes: Sequence[str]) -> Representation:
    """Compare the drawn with all users, by each attribute. Who lacks one counts as the value "unknown"."""
    everyone = list(population)
    if not drawn or not everyone:
        return Representation(len(drawn), len(everyone), ())
    levels: list[Level] = []
    for attribute in attributes:
        here, there = (Counter(_value(user, attribute) for user in group) for group in (drawn, everyone))
        levels += (
            Level(attribute, value, here[value] / len(drawn), there[value] / len(everyone))
            for value in sorted({*here, *there})
        )
    levels.sort(key=lambda level: -abs(level.bias))
    return Representation(len(drawn), len(everyone), tuple(levels))


def _value(user: User, attribute: str) -> str:
    value = user.attributes.get(attribute)
    return UNKNOWN if value is None else str(value)
