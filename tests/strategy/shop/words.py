"""What may be said in each split, as a pattern."""

from __future__ import annotations

import re
from typing import Literal

from core.strategy.shop.talk import utterances


def spoken(split: Literal["train", "held_out"]) -> re.Pattern[str]:
    forms = [re.sub(r"\\{\w+\\}", ".+", re.escape(said)) for rows in utterances().values() for said in rows[split]]
    return re.compile("|".join(forms))
