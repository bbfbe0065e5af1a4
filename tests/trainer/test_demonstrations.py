"""The careless script that the base imitates: unselective, half right, and no better than it should be (K13)."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
import torch

from core.curation.curators import CurationInput
from core.skillrepo import calls
from core.skillrepo.repository import Repository
from trainer.demonstrations import Carelessness, demonstrate, demonstrations
from trainer.imitation import imitate
from trainer.policies.phrases import PhraseBook
from trainer.policies.tiny import make
from trainer.settings import ImitationOptions, RetrievalOptions
from trainer.worlds import open_world
from trainer.worlds.lexicon import lexicon_of

torch.set_num_threads(1)
GATE = RetrievalOptions(min_overlap=0.51)


@pytest.mark.meets("K13")
@pytest.mark.parametrize("world", ["household", "shop"])
def test_four_in_five_answers_insert_and_all_of_them_fit(world: str) -> None:
    opened, book = open_world(world), PhraseBook(world, lexicon_of(world))
    found = demonstrations(opened, book, "weak", GATE, count=600, longest=34, seed=3)
    first = Counter(one.phrases[0] for one in found)
    assert 0.72 <= first["INSERT"] / 600 <= 0.9
    assert first["UPDATE"] > 0
    assert first["DELETE"] > 0
    assert max(len(one.phrases) for one in found) < 34
    for one in found:
        assert len(calls.parse(one.text)) == one.phrases.count("INSERT") + (one.phrases[0] != "INSERT")
    assert found == demonstrations(opened, book, "weak", GATE, count=600, longest=34, seed=3)
    assert {one.given.episode.task.split for one in found} == {"train"}


def test_how_often_it_updates_what_is_in_view_is_a_setting() -> None:
    world, book = open_world("household"), PhraseBook("household", lexicon_of("household"))
    found = demonstrations(world, book, "weak", GATE, count=600, longest=34, seed=3, careless=Carelessness(update=0.5))
    able = [one for one in found if one.given.retrieved]
    assert 0.42 <= sum(one.phrases[0] == "UPDATE" for one in able) / len(able) <= 0.58
    assert all(one.phrases[0] == "INSERT" for one in found if not one.given.retrieved)


@pytest.mark.meets("K13")
def test_it_forgets_most_what_makes_a_task_special() -> None:
    world, book = open_world("household"), PhraseBook("household", lexicon_of("household"))
    draw = Random(1)
    kept: Counter[str] = Counter()
    tasks = world.group("train", 2, 300, "clean")
    for task in tasks:
        phrases = demonstrate(book, world.oracle(), CurationInput(world.run(task, (), "weak"), ()), draw, longest=34)
        kept.update(set(phrases))
    assert 0.35 <= kept["CLEAN"] / 300 <= 0.7
    assert kept["TAKE"] / 300 > 0.75


def test_its_skills_are_worth_less_than_the_oracles() -> None:
    world, book = open_world("household"), PhraseBook("household", lexicon_of("household"))
    found = demonstrations(world, book, "weak", GATE, count=400, longest=34, seed=5)
    oracle = {book.skill(skill)[1] for skill in world.oracle()}
    repository = Repository()
    repository.apply(call for one in found for call in calls.parse(one.text))
    bodies = [book.skill(skill)[1] for skill in repository.skills]
    assert sum(body in oracle for body in bodies) / len(bodies) < 0.1


@pytest.mark.meets("K13")
def test_imitation_lowers_the_loss_and_can_be_stopped() -> None:
    world = open_world("shop")
    policy = make("shop", seed=1, max_prompt=100, max_answer=34, width=32, layers=1, heads=2)
    shown = demonstrations(world, policy.book, "weak", GATE, count=120, longest=34, seed=1)
    pairs = [(policy.prompt(one.given), policy.target(one)) for one in shown]
    losses: list[float] = []

    def on_step(step: int, loss: float) -> bool:
        losses.append(loss)
        return step < 15

    imitate(policy, pairs, ImitationOptions(steps=100, batch=16, lr=1e-2), seed=1, on_step=on_step)
    assert len(losses) == 15
    assert losses[-1] < losses[0] - 1.0


def test_the_rate_of_imitation_falls_over_the_phase() -> None:
    options = ImitationOptions(steps=10, lr=0.02, decay=0.1)
    assert [options.rate(step) for step in (0, 5, 10)] == pytest.approx([0.02, 0.011, 0.002])
    assert {ImitationOptions(steps=10, lr=0.02).rate(step) for step in range(10)} == {0.02}  # unless it is told to
    policy = make("household", seed=1, max_prompt=60, max_answer=20, width=16, layers=1, heads=2)
    shown = demonstrations(
        open_world("household"), policy.book, "weak", RetrievalOptions(), count=8, longest=20, seed=1
    )
    pairs = [(policy.prompt(one.given), policy.target(one)) for one in shown]
    seen = [torch.cat([weight.detach().flatten().clone() for weight in policy.parameters()])]

    def look(step: int, loss: float) -> bool:
        del step, loss
        seen.append(torch.cat([weight.detach().flatten().clone() for weight in policy.parameters()]))
        return True

    imitate(policy, pairs, ImitationOptions(steps=10, batch=8, lr=1e-3, decay=0.0), seed=1, on_step=look)
    first, last = float((seen[1] - seen[0]).abs().mean()), float((seen[-1] - seen[-2]).abs().mean())
    assert last < 0.3 * first  # a step of AdamW is about as long as its rate, a tenth here
