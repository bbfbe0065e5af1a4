"""What the household lends to the tiny phrase policy. Each line reads as its key in `reading`: a test shows it."""

from __future__ import annotations

from functools import lru_cache

from core.curation.worlds import Episode, Task
from core.skillrepo.skill import Skill
from core.skillrepo.words import words
from trainer.worlds.household.reading import read_skill
from trainer.worlds.household.telling import NOTHING
from trainer.worlds.household.things import LIES_ON, PLACES, kind
from trainer.worlds.household.wordings import Meaning
from trainer.worlds.lexicon import Lexicon

WORDS = (
    "put", "find", "look", "examine", "desklamp", "clean", "heat", "hot", "cool", "two", "object", "place", "search",
    "open", "closed",
)  # fmt: skip
LINES = {
    Meaning.SEARCH.value: "Search every receptacle once, surfaces first, and do not go back to a checked one.",
    Meaning.OPEN.value: "Open closed receptacles before you judge them empty.",
    Meaning.TAKE.value: "Take the object that the task names.",
    Meaning.CLEAN.value: "Carry it to the sinkbasin and clean it there.",
    Meaning.HEAT.value: "Carry it to the microwave and heat it there.",
    Meaning.COOL.value: "Carry it to the fridge and cool it there.",
    Meaning.LAMP.value: "Holding it, go to the desklamp and switch it on.",
    Meaning.GOTO.value: "Go to the destination that the task names.",
    Meaning.PUT.value: "Put it down there.",
    Meaning.REPEAT.value: "Repeat these steps for the second object.",
    Meaning.VERIFY.value: "Verify that every condition of the task holds.",
}
FILLERS = {
    "tips": "## Tips\nTake care and pay attention.",
    "guidance": "## Guidance\nThink about what works best.",
    "optimization": "## Optimization\nBe efficient and avoid needless effort.",
}
ACTIONS = ("a:go", "a:open", "a:take", "a:put", "a:clean", "a:heat", "a:cool", "a:use", "a:idle", "a:nothing")
_VERBS = {
    "go": "a:go", "open": "a:open", "take": "a:take", "move": "a:put", "put": "a:put", "clean": "a:clean",
    "heat": "a:heat", "cool": "a:cool", "use": "a:use",
}  # fmt: skip
_TITLE = frozenset((*WORDS, *LIES_ON, *PLACES))


def task_tokens(task: Task) -> tuple[str, ...]:
    """The words of a task's text that the lexicon has, in order."""
    return tuple(word for word in words(task.text) if word in _TITLE)


def trajectory_tokens(episode: Episode) -> tuple[str, ...]:
    """Each step as its verb, with the kind of place for a walk, and a mark where nothing happened."""
    tokens: list[str] = []
    for step in episode.trajectory:
        verb, _, rest = step.action.partition(" ")
        tokens.append(_VERBS.get(verb, "a:idle"))
        if verb == "go":
            place = kind(rest.removeprefix("to "))
            if place in _TITLE:
                tokens.append(place)
        if step.observation == NOTHING:
            tokens.append("a:nothing")
    return tuple(tokens)


def skill_tokens(skill: Skill) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of a title, and a body as keys: what each line means, what it names, a filler where it says nothing."""
    return _skill_tokens(skill)


@lru_cache(maxsize=8_192)
def _skill_tokens(skill: Skill) -> tuple[tuple[str, ...], tuple[str, ...]]:
    keys: list[str] = []
    reading = read_skill(skill)
    filler = "tips"
    for line in reading.lines:
        keys += [at.meaning.value for at in line.instructions]
        keys += line.objects
        keys += [place for place in line.places if not line.instructions]
        if line.vague:
            filler = next((key for key, text in FILLERS.items() if text.endswith(line.text)), filler)
            keys.append(filler)
    return tuple(word for word in words(skill.title) if word in _TITLE), tuple(keys)


def lexicon() -> Lexicon:
    """Return the household's lexicon."""
    return Lexicon(
        words=WORDS,
        lines=LINES,
        fillers=FILLERS,
        things=tuple(dict.fromkeys((*sorted(LIES_ON), *PLACES))),
        actions=ACTIONS,
        thing_line="The {thing} is what matters here.",
        task_tokens=task_tokens,
        trajectory_tokens=trajectory_tokens,
        skill_tokens=skill_tokens,
    )
