"""Skills that a curator might write after a shopping trip, labelled by hand from the four criteria (CURATION 1.3).

They were labelled before the judge was run on them, and stay as they were.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

_FILE = Path(__file__).with_name("data") / "shop_operations.jsonl"


@dataclass(frozen=True, slots=True)
class Labelled:
    """A skill's body, written after a trip of `family`; `breaks` is the criterion that an invalid one breaks."""

    family: str
    valid: bool
    breaks: str
    body: str


LABELLED = tuple(Labelled(**json.loads(line)) for line in _FILE.read_text("utf-8").splitlines())
