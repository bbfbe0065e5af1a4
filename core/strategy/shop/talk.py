"""What customers say, and what a scripted model makes of it: a suggestion, often right, sometimes sure and wrong."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

from core.state import yaml12
from core.strategy.shop.orders import AGE_BANDS

TASKS = (
    "refund", "track", "return_item", "price_compare", "notify", "how_to", "find_product", "change_address",
    "complaint",
)  # fmt: skip
SMALLTALK, AFTER = "smalltalk", "after_"
"""Nothing is to be done in a turn of smalltalk, nor in one that is said after a task was done: `after_refund`."""
OLDEST = AGE_BANDS[-1]
SKILL_OF: Mapping[str, str] = {
    "refund": "apply_refund",
    "track": "query_logistics",
    "return_item": "create_return_request",
    "price_compare": "query_price",
    "notify": "send_sms",
    "how_to": "tutorial_generation",
    "find_product": "search_product",
    "change_address": "update_address",
    "complaint": "create_ticket",
}
"""The skill that a model has in mind for each task."""
NEAR: Mapping[str, tuple[str, ...]] = {
    "refund": ("return_item", "track", "complaint"),
    "track": ("refund", "notify", "change_address"),
    "return_item": ("refund", "how_to", "complaint"),
    "price_compare": ("find_product", "refund"),
    "notify": ("track", "how_to"),
    "how_to": ("find_product", "return_item"),
    "find_product": ("price_compare", "how_to"),
    "change_address": ("track", "notify"),
    "complaint": ("refund", "return_item"),
    "smalltalk": TASKS,
    **{f"after_{task}": (task,) for task in TASKS},
}
"""What each is taken for where the model is wrong."""


@dataclass(frozen=True, slots=True)
class Model:
    """How good the scripted model is. Confidence is drawn from Beta distributions: right and wrong ones overlap.

    `wrong` is the share of turns whose intent it gets wrong, `echoes` that share in what is said after a task was done,
    which sounds like the task; both are `elders` times as high for customers of 65 and more, whom it understands worse
    (what a report by segment is for, S72). `sure` and `unsure` are the Beta's two numbers where it is right and where
    it is wrong, `forgets` the share of arguments that it leaves out. Its name is part of every draw.
    """

    name: str = "scripted"
    wrong: float = 0.12
    echoes: float = 0.35
    elders: float = 1.75
    sure: tuple[float, float] = (24.0, 1.5)
    unsure: tuple[float, float] = (9.0, 3.0)
    forgets: float = 0.3


BUTTONS = Model("buttons", wrong=0.0, echoes=0.0, elders=1.0, sure=(400.0, 1.0), forgets=0.0)
"""No model at all: the customer of a kiosk presses buttons, so what is wanted is known and nothing is left out."""


@cache
def utterances() -> Mapping[str, Mapping[Literal["train", "held_out"], tuple[str, ...]]]:
    """Return what is said, by task and split."""
    text = resources.files("core.strategy.shop").joinpath("utterances.yaml").read_text(encoding="utf-8")
    return {task: {split: tuple(said) for split, said in rows.items()} for task, rows in yaml12.load(text).items()}


def suggest(model: Model, task: str, arguments: Mapping[str, Any], turn: str, age_band: str = "") -> dict[str, Any]:
    """Return what the model suggests for one turn of a task (S92); `turn` names the turn and seeds the draw."""
    draw = random.Random(f"shop:model:{model.name}:{turn}")
    share = (model.echoes if task.startswith(AFTER) else model.wrong) * (model.elders if age_band == OLDEST else 1)
    wrong = draw.random() < share
    intent = draw.choice(NEAR[task]) if wrong else task
    confidence = round(draw.betavariate(*(model.unsure if wrong else model.sure)), 3)
    kept = {name: value for name, value in arguments.items() if draw.random() >= model.forgets}
    return {
        "intent": intent,
        "confidence": confidence,
        "intended_skill": SKILL_OF.get(intent, ""),
        "required_context": [],
        "arguments": {} if wrong else kept,
    }
