"""The hash over every constant that an Episode of the household depends on."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from functools import cache

from core.foundation.strict_json import dumps
from trainer.worlds.household import things, wordings
from trainer.worlds.household.constants import CONSTANTS
from trainer.worlds.household.tasks import TEMPLATES

RULES = 2
"""Raised when what the code does to an Episode changes without a constant changing."""


@cache
def fingerprint() -> str:
    """Return the sha256, in hexadecimal."""
    facts = {
        "rules": RULES,
        "constants": asdict(CONSTANTS),
        "holds": things.HOLDS,
        "can": {verb: sorted(kinds) for verb, kinds in things.CAN.items()},
        "held_out": sorted(things.HELD_OUT),
        "kitchen": sorted(things.KITCHEN_THINGS),
        "rooms": things.ROOMS,
        "family_rooms": things.FAMILY_ROOMS,
        "counts": things.COUNTS,
        "templates": TEMPLATES,
        "reading": wordings.patterns(),
    }
    return hashlib.sha256(dumps(facts).encode()).hexdigest()
