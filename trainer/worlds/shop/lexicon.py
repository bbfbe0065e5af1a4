"""What the shop lends to the tiny phrase policy."""

from __future__ import annotations

from functools import cache

from core.curation.worlds import Episode, Task
from core.skillrepo.skill import Skill
from core.skillrepo.words import words as words_of
from core.strategy.shop.catalogue import CATEGORIES, COLORS
from trainer.worlds.lexicon import Lexicon
from trainer.worlds.shop.reading import (
    BACK,
    BUY,
    COLOR,
    FEATURES,
    NEXT,
    PRICE,
    QUERY,
    SCAN,
    SIZE,
    names_in,
    sentence_steps,
    sentences,
)

WORDS = (
    "find",
    "feature",
    "color",
    "size",
    "price",
    "lower",
    "product",
    "option",
    "page",
    "attribute",
    "search",
    "buy",
)
LINES = {
    QUERY: "Search with the kind of product and every attribute that is asked for.",
    SCAN: "Read the titles on the result page and open only products of the right kind.",
    FEATURES: "Open the features page and compare it with what is asked.",
    COLOR: "Select the color that is asked for.",
    SIZE: "Select the size that is asked for.",
    PRICE: "Check that the price shown now is below the limit.",
    BACK: "When a demand is not met, go back and open another product.",
    NEXT: "When no product of the page is right, turn to the next page.",
    BUY: "Buy it once every demand is met.",
}
FILLERS = {
    "#TIPS": "# Tips\nStay calm and keep the goal in mind.",
    "#GUIDANCE": "# Guidance\nGood shoppers are careful shoppers.",
    "#OPTIMIZATION": "# Optimization\nWork as fast as possible.",
}
_FILLER_OF = {text.partition("\n")[2].rstrip(".").lower(): key for key, text in FILLERS.items()}
_ACTIONS = {
    "search[": "a:search",
    "click[features]": "a:features",
    "click[description]": "a:description",
    "click[< prev]": "a:prev",
    "click[next >]": "a:next",
    "click[back to search]": "a:back",
    "click[buy now]": "a:buy",
    "click[b0": "a:open",
}


@cache
def _things() -> tuple[str, ...]:
    names: list[str] = []
    for category in CATEGORIES:
        names += [*category.train, *category.test, *category.attributes, *category.features, *category.sizes]
    return (*names, *COLORS)


def task_tokens(task: Task) -> tuple[str, ...]:
    """See a task's text: its words, with the names of things whole."""
    text = task.text.lower()
    for place, name in enumerate(sorted(_things(), key=lambda name: (-len(name), name))):
        text = text.replace(name, f" thing{place}q ")
    by_length = sorted(_things(), key=lambda name: (-len(name), name))
    marks = {f"thing{place}q": name for place, name in enumerate(by_length)}
    return tuple(marks.get(word, word) for word in words_of(text) if word in marks or word in WORDS)


def trajectory_tokens(episode: Episode) -> tuple[str, ...]:
    """See the actions by their kind, options as a color or a size."""
    tokens = []
    for step in episode.trajectory:
        known = next((token for start, token in _ACTIONS.items() if step.action.startswith(start)), None)
        if known is None:
            known = "a:color" if step.action[6:-1] in COLORS else "a:size"
        tokens.append(known)
    return tuple(tokens)


def skill_tokens(skill: Skill) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """See a skill: the words of its title, then the steps, fillers and names of its body in order."""
    title = tuple(word for word in words_of(skill.title) if word in WORDS) + names_in(skill.title)
    keys: list[str] = []
    for sentence, aside in sentences(skill.body):
        names = [name for name in names_in(sentence) if name in _things()]
        told = () if aside else sentence_steps(sentence)
        keys += [*told, *names]
        if not told and not names and not aside:
            keys.append(_FILLER_OF.get(sentence.rstrip(".").lower(), "#GUIDANCE"))
    return title, tuple(keys)


@cache
def lexicon() -> Lexicon:
    """Return the shop's lexicon."""
    return Lexicon(
        words=WORDS,
        lines=LINES,
        fillers=FILLERS,
        things=_things(),
        actions=(*_ACTIONS.values(), "a:color", "a:size"),
        thing_line="Look for {thing}.",
        task_tokens=task_tokens,
        trajectory_tokens=trajectory_tokens,
        skill_tokens=skill_tokens,
    )
