"""What the base is made from: an unselective scripted curator (CURATION 2c).

It stands where an untrained language model stands in the paper: it knows the form of an answer and some of the right
words, inserts four times in five whatever happened, forgets steps, adds fillers, names objects, and now and then
invents a title. Its text comes from the world's oracle and lexicon, damaged on purpose. A policy that imitates it is
labelled "pre-trained on synthetic traces", nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from core.curation.curators import CurationInput
from core.curation.worlds import Episode, World
from core.skillrepo import calls
from core.skillrepo.repository import Repository
from core.skillrepo.retrieval import retrieve
from core.skillrepo.skill import Skill
from trainer.policies.phrases import BODY, END, POINTERS, PhraseBook
from trainer.seeds import derive
from trainer.settings import RetrievalOptions


@dataclass(frozen=True, slots=True)
class Demonstration:
    """An input and the answer to it: as phrases of the book, END and the like among them, and as literal text."""

    given: CurationInput
    phrases: tuple[str, ...]
    text: str


_WALK = 8  # tasks of one repository before it starts anew


@dataclass(frozen=True, slots=True)
class Carelessness:
    """How often the scripted curator does what; all are shares of its answers, or of its lines."""

    update: float = 0.16
    delete: float = 0.04
    forgets_rare: float = 0.55  # a line of the right skill is left out that no other skill of the oracle has
    forgets_common: float = 0.15  # one that all of them have
    confuses: float = 0.06  # a line is another one
    verifies: float = 0.2  # a line is added that fits anywhere
    fills: float = 0.6  # a useless line is added
    names: float = 0.3  # the task's own object is named
    places: float = 0.25  # some thing is named
    invents: float = 0.04  # the title is made of any words
    titles_thing: float = 0.06  # the title names the object
    twice: float = 0.05  # a second, random skill is inserted


def demonstrations(
    world: World,
    book: PhraseBook,
    executor: str,
    retrieval: RetrievalOptions,
    *,
    count: int,
    longest: int,
    seed: int,
    careless: Carelessness | None = None,
) -> list[Demonstration]:
    """Return `count` demonstrations from walks of the scripted curator over tasks of the split "train".

    `longest` is the most phrases of an answer, its end token among them.
    """
    draw = Random(derive(seed, "demonstrations"))
    found: list[Demonstration] = []
    walk = 0
    while len(found) < count:
        source = derive(seed, "demonstration-tasks", walk)
        tasks = world.stream("train", source, _WALK) if draw.random() < 0.5 else world.group("train", source, _WALK)
        repository = Repository()
        for task in tasks:
            hits = retrieve(repository.skills, task.text, top_k=retrieval.top_k, min_overlap=retrieval.min_overlap)
            skills = tuple(hit.skill for hit in hits)
            given = CurationInput(world.run(task, skills, executor), skills)
            phrases = demonstrate(book, world.oracle(), given, draw, longest=longest, careless=careless)
            text = book.render(book.encode(phrases), given)
            found.append(Demonstration(given, phrases, text))
            repository.apply(calls.parse(text))
        walk += 1
    return found[:count]


def demonstrate(
    book: PhraseBook,
    oracle: Sequence[Skill],
    given: CurationInput,
    draw: Random,
    *,
    longest: int,
    careless: Carelessness | None = None,
) -> tuple[str, ...]:
    """Return one answer of the scripted curator, in phrases."""
    much = careless or Carelessness()
    title, lines = _right(book, oracle, given.episode)
    own = [token for token in book.lexicon.task_tokens(given.episode.task) if token in book.lexicon.things]
    body = _damaged(book, lines, own, draw, much)
    chance = draw.random()
    pointer = draw.choice(POINTERS[: len(given.retrieved)]) if given.retrieved else None
    if pointer and chance < much.update:
        return ("UPDATE", pointer, BODY, *body, END)
    if pointer and chance < much.update + much.delete:
        return ("DELETE", pointer, END)
    words = book.lexicon.words
    if draw.random() < much.invents:
        title = draw.sample(words, draw.randint(1, 3))
    if own and draw.random() < much.titles_thing:
        title = [*title, draw.choice(own)]
    answer = ["INSERT", *title, BODY, *body, END]
    if draw.random() < much.twice:
        noise = draw.sample([*book.lexicon.fillers, *book.lexicon.lines], 3)
        second = ["INSERT", *draw.sample(words, 2), BODY, *noise, END]
        answer += second if len(answer) + len(second) < longest else []
    return tuple(answer)


def _damaged(
    book: PhraseBook, lines: Sequence[tuple[str, float]], own: Sequence[str], draw: Random, much: Carelessness
) -> list[str]:
    """Return the right lines as a careless curator remembers them; `own` are the task's things.

    `lines` come with the share of the oracle's skills that have them: what makes a kind of task special is forgotten
    soonest.
    """
    every = list(book.lexicon.lines)
    body = [line for line, share in lines if draw.random() >= _forgetting(share, much)]
    body = [draw.choice(every) if draw.random() < much.confuses else line for line in body]
    extras = (
        (much.verifies, every),
        (much.fills, list(book.lexicon.fillers)),
        (much.names, own),
        (much.places, book.lexicon.things),
    )
    for share, pool in extras:
        if pool and draw.random() < share:
            body.insert(draw.randrange(len(body) + 1), draw.choice(pool))
    return body or [draw.choice(every)]


def _forgetting(share: float, much: Carelessness) -> float:
    return much.forgets_rare + (much.forgets_common - much.forgets_rare) * share


def _right(book: PhraseBook, oracle: Sequence[Skill], episode: Episode) -> tuple[list[str], list[tuple[str, float]]]:
    """Return the title and the lines of the oracle's skill for a task, each line with the share of skills that have it.

    The title is made of the words that the lexicon knows; a task that no skill is for lends its own words.
    """
    hits = retrieve(oracle, episode.task.text, top_k=1)
    skill = hits[0].skill if hits else oracle[0]
    title, keys = book.skill(skill)
    words = [word for word in title if word in book.lexicon.words] if hits else []
    asked = book.lexicon.task_tokens(episode.task)
    own = list(dict.fromkeys(token for token in asked if token in book.lexicon.words))
    every = [set(book.skill(one)[1]) for one in oracle]
    lines = [(key, sum(key in keys for keys in every) / len(every)) for key in keys if key in book.lexicon.lines]
    return words or own or [book.lexicon.words[0]], lines
