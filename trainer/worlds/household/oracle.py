"""The skills of someone who knows the household: one for each family, in prose (the ceiling of an arm's comparison)."""

from __future__ import annotations

from functools import cache

from core.skillrepo.skill import Skill, write

_FIND = """Work through the receptacles one by one and visit none of them twice, the surfaces in the open first.
When a receptacle is closed, open it before you go on to the next."""

_SKILLS = (
    (
        "Put",
        "Put some object in or on a place, where the task asks for nothing else: find it, carry it there, put it down.",
        "Pick up the object as soon as you see it.\nCarry it to the destination and put it down there.",
    ),
    (
        "Look, examine, desklamp",
        "Look at an object under the desklamp, or examine it with the desklamp: hold it beside the lamp that is on.",
        """Pick up the object as soon as you see it, and note where the lamp stands.
With the object in hand, walk up to the lamp and turn on the desklamp. Do not put the object down.""",
    ),
    (
        "Put clean",
        "Put a clean object in a place, or clean some object and put it there: wash it at the sinkbasin first.",
        """Pick up the object as soon as you see it.
Take it to the sinkbasin and wash it.
Only then bring it to the destination and put it down there.""",
    ),
    (
        "Put hot, heat",
        "Put a hot object in a place, or heat some object and put it there: heat it in the microwave first.",
        """Pick up the object as soon as you see it.
Take it to the microwave and heat it; keep it in your hand.
Only then bring it to the destination and put it down there.""",
    ),
    (
        "Put cool",
        "Put a cool object in a place, or cool some object and put it there: cool it in the fridge first.",
        """Pick up the object as soon as you see it.
Take it to the fridge and cool it; keep it in your hand.
Only then bring it to the destination and put it down there.""",
    ),
    (
        "Put two",
        "Put two objects in a place, or find two objects and put them there: one after the other.",
        """Pick up the first object that you see of the kind.
Carry it to the destination and put it down there.
Then do the same again for the second object, and put it into the same receptacle.""",
    ),
)


@cache
def skills() -> tuple[Skill, ...]:
    """Return the six skills."""
    return tuple(write(title, description, f"# Workflow\n{_FIND}\n{steps}") for title, description, steps in _SKILLS)
