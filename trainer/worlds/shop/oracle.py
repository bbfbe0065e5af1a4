"""Skills for the shop, written by hand by someone who knows it: the ceiling that an arm is compared to."""

from __future__ import annotations

from functools import cache

from core.skillrepo.skill import Skill, write

_SEARCH = "Search with the kind of product and every attribute that is asked for, and leave the options out."
_SCAN = "Read the titles on the result page and open only products of the right kind."
_BACK = "When a product misses one of the demands, go back and open another one."
_NEXT = "When no product of the page is right, turn to the next page."
_FEATURES = "Open the features page of the product and compare it with what is asked."
_COLOR = "Select the color that is asked for."
_SIZE = "Select the size that is asked for."
_PRICE = "Check that the price shown now is below the limit."
_BUY = "Buy it as soon as every demand is met."


def _skill(title: str, about: str, *steps: str) -> Skill:
    body = "# Workflow\n\n" + "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
    return write(title, about, body)


@cache
def skills() -> tuple[Skill, ...]:
    """Return one skill for each family; each title holds the words that tell its family from the others."""
    return (
        _skill(
            "find",
            "How to find a product by its kind and an attribute that its title names.",
            *(_SEARCH, _SCAN, _BACK, _NEXT, _BUY),
        ),
        _skill(
            "find feature",
            "How to find a product with the feature that only its features page tells.",
            *(_SEARCH, _SCAN, _FEATURES, _BACK, _NEXT, _BUY),
        ),
        _skill(
            "find color",
            "How to find a product with the color that is asked for, and select it.",
            *(_SEARCH, _SCAN, _COLOR, _BACK, _NEXT, _BUY),
        ),
        _skill(
            "find color size",
            "How to find a product with color and size as asked, and select both.",
            *(_SEARCH, _SCAN, _COLOR, _SIZE, _BACK, _NEXT, _BUY),
        ),
        _skill(
            "find lower price",
            "How to find a product with a price lower than a limit.",
            *(_SEARCH, _SCAN, _PRICE, _BACK, _NEXT, _BUY),
        ),
        _skill(
            "find size lower price",
            "How to find a product with a size whose price is lower than a limit: the size may cost more.",
            *(_SEARCH, _SCAN, _SIZE, _PRICE, _BACK, _NEXT, _BUY),
        ),
    )
