"""The shop: its game, its goods, its executors, what its skills are worth."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace

import pytest

from core.curation.worlds import Episode, Split, Task
from core.foundation.errors import UsageError
from core.skillrepo.retrieval import retrieve
from core.skillrepo.skill import Skill, write
from core.strategy.shop.catalogue import CATEGORIES, Product, catalogue
from trainer.worlds import open_world
from trainer.worlds.shop.constants import CONSTANTS, EVALUATION_MIX, Constants, Trust, fingerprint
from trainer.worlds.shop.demand import Demand, fits, reward
from trainer.worlds.shop.game import ShopGame
from trainer.worlds.shop.search import SearchEngine
from trainer.worlds.shop.world import Shop

SHOP = Shop()
ENGINE = SearchEngine(catalogue().products.values())


def retrieved(task: Task) -> list[Skill]:
    return [hit.skill for hit in retrieve(SHOP.oracle(), task.text, top_k=5, min_overlap=0.51)]


def runs(split: Split, seeds: Sequence[int], executor: str, *, oracle: bool) -> list[Episode]:
    return [
        SHOP.run(task, retrieved(task) if oracle else (), executor)
        for seed in seeds
        for task in SHOP.stream(split, seed)
    ]


def success(episodes: Sequence[Episode]) -> float:
    return sum(bool(episode.success) for episode in episodes) / len(episodes)


def product_of(task: Task) -> Product:
    demand = Demand.from_json(task.data["demand"])
    return next(product for product in catalogue().by_kind[demand.kind] if fits(demand, product))


def test_the_splits_share_no_kind_of_product_and_no_product() -> None:
    kinds = catalogue().kinds
    assert not set(kinds["train"]) & set(kinds["test"])
    assert {kind for category in CATEGORIES for kind in (*category.train, *category.test)} == set(catalogue().by_kind)
    for split in ("train", "test"):
        for task in SHOP.stream(split, 3):
            assert task.data["demand"]["kind"] in kinds[split]


@pytest.mark.meets("K6")
def test_a_stream_has_the_mix_of_the_evaluation_and_its_own_order() -> None:
    first, again, other = SHOP.stream("test", 1), SHOP.stream("test", 1), SHOP.stream("test", 2)
    assert first == again
    assert [task.id for task in first] != [task.id for task in other]
    assert {family: sum(task.family == family for task in first) for family in SHOP.families} == dict(EVALUATION_MIX)
    assert len(SHOP.stream("train", 1, 7)) == 7
    assert len(SHOP.stream("train", 1, 300)) == 300


@pytest.mark.meets("K7")
def test_a_group_is_of_one_family() -> None:
    assert {task.family for task in SHOP.group("train", 5, 10)} == {SHOP.group("train", 5, 1)[0].family}
    assert {task.family for task in SHOP.group("train", 5, 10, "deal")} == {"deal"}
    assert len({SHOP.group("train", seed, 1)[0].family for seed in range(40)}) == len(SHOP.families)
    with pytest.raises(UsageError, match="no family 'rent'"):
        SHOP.group("train", 5, 10, "rent")


@pytest.mark.parametrize("split", ["train", "test"])
def test_every_task_can_be_solved_within_the_cap_by_who_knows_the_product(split: Split) -> None:
    for seed in (0, 1):
        for task in SHOP.stream(split, seed):
            demand, goal = Demand.from_json(task.data["demand"]), product_of(task)
            game = SHOP.play(task)
            game.step(f"search[{goal.title}]")
            while f"click[{goal.id.lower()}]" not in game.admissible:
                game.step("click[next >]")
            game.step(f"click[{goal.id.lower()}]")
            for option in (demand.color, demand.size):
                if option is not None:
                    game.step(f"click[{option}]")
            assert game.step("click[buy now]").endswith("1.00")
            assert game.won
            assert game.done
            assert game.score == 1.0


def test_the_reward_is_webshops_on_hand_computed_purchases() -> None:
    jackets = Product("B0X", "t", "fashion", "jackets", ("slim",), ("flat seams",), ("navy",), ("small", "large"), 2000,
                      {"small": 0, "large": 500})  # fmt: skip
    asked = Demand("jackets", color="navy", size="large", below=2400)

    def worth(demand: Demand, color: str | None, size: str | None) -> float:
        return reward(demand, jackets, color, size, "kitchen" if demand.kind == "kettles" else "fashion")

    assert worth(asked, "navy", "large") == pytest.approx(2 / 3)  # both options, but 25.00 is too dear
    assert worth(asked, "navy", "small") == pytest.approx(2 / 3)  # the price is met, one option isn't
    assert worth(asked, None, None) == pytest.approx(1 / 3)
    assert worth(replace(asked, below=2600), "navy", "large") == 1.0
    assert worth(Demand("jackets", attribute="quilted"), None, None) == pytest.approx(1 / 2)
    assert worth(Demand("sneakers", attribute="slim"), None, None) == 0.5  # a neighbour in the category
    assert worth(Demand("kettles"), None, None) == pytest.approx(0.1)


def test_the_game_has_webshops_pages_and_an_illegal_action_costs_a_step_and_no_more() -> None:
    game = ShopGame(Demand("jackets", color="navy"), catalogue(), ENGINE)
    assert game.intro == "Instruction: [SEP] Find me jackets, with color: navy. [SEP] Search"
    assert not game.admissible
    before = game.page
    assert "Nothing happens" in game.step("click[buy now]")
    assert (game.page, game.steps) == (before, 1)
    text = game.step("search[jackets]")
    assert text.startswith("Back to Search [SEP] Page 1 (Total results: ")
    assert len([name for name in game.admissible if name.startswith("click[b0")]) == 10
    first = game.shown[0]
    page = game.step(f"click[{first.id}]")
    assert first.title in page
    assert f"Price: ${first.cents / 100:.2f}" in page
    assert "Buy Now" in page
    assert game.step("click[features]") == " [SEP] ".join(("Back to Search", "< Prev", *first.features))
    game.step("click[< prev]")
    dear = first.sizes[-1]
    assert f"Price: ${first.price(dear) / 100:.2f}" in game.step(f"click[{dear}]")
    assert game.score == 0.0
    game.step("click[buy now]")
    assert game.done
    assert game.step("click[buy now]") == "The shopping trip is over."
    assert not game.admissible


def test_a_trip_ends_at_its_cap_without_a_purchase() -> None:
    game = ShopGame(Demand("jackets"), catalogue(), ENGINE, max_steps=3)
    for _ in range(3):
        game.step("search[jackets]")
    assert game.done
    assert not game.won
    assert game.score == 0.0


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_clicked_the_game_stays_whole(seed: int) -> None:
    """A walk of legal clicks never breaks the pages, and only Buy Now scores."""
    draw = random.Random(seed)
    game = ShopGame(Demand("kettles", size="single", below=3000), catalogue(), ENGINE, max_steps=60)
    while not game.done:
        legal = game.admissible
        text = game.step(draw.choice(legal) if legal else "search[rustic kettles]")
        assert "Nothing happens" not in text
        assert (game.product is not None) == (game.page in ("product", "features", "description", "end"))
    assert game.won == (game.score == 1.0)


def test_the_search_finds_the_kind_first_and_breaks_ties_by_order() -> None:
    search = ENGINE.search
    found = search("waterproof jackets")
    assert {"waterproof", "jackets"} <= set(found[0].title.lower().split())
    assert all("jackets" in product.title for product in search("jackets"))
    assert search("xylophone") == ()
    assert len(search("navy black white ceramic modern vegan wireless")) == 50


@pytest.mark.meets("K4")
def test_the_same_task_skills_and_executor_give_the_same_episode() -> None:
    for task in SHOP.stream("test", 4, 30):
        skills = retrieved(task)
        assert SHOP.run(task, skills, "weak") == SHOP.run(task, skills, "weak")


def test_the_run_is_the_same_in_processes_with_other_hash_seeds() -> None:
    program = (
        "from trainer.worlds import open_world\n"
        "world = open_world('shop')\n"
        "print(world.fingerprint)\n"
        "for task in world.stream('train', 2, 40):\n"
        "    print(world.run(task, world.oracle()[:3], 'mid'))\n"
        "import sys; print('torch' in sys.modules)\n"
    )
    said = [
        subprocess.run(
            [sys.executable, "-P", "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1]
    assert said[0].endswith("False\n")


@pytest.mark.meets("K6")
def test_without_skills_the_weak_executor_has_room_and_the_oracle_fills_most_of_it() -> None:
    none, oracle = runs("train", range(3), "weak", oracle=False), runs("train", range(3), "weak", oracle=True)
    assert 0.10 <= success(none) <= 0.35
    assert success(oracle) >= 0.80
    assert sum(e.steps for e in oracle) / len(oracle) < sum(e.steps for e in none) / len(none) - 4
    by_family = {family: [e for e in oracle if e.task.family == family] for family in SHOP.families}
    for family, episodes in by_family.items():
        alone = [e for e in none if e.task.family == family]
        assert success(episodes) > success(alone) + 0.25, family


def test_executors_are_ordered_by_strength_with_and_without_skills() -> None:
    shares = [success(runs("train", (7,), executor, oracle=False)) for executor in SHOP.executors]
    assert shares == sorted(shares)
    with pytest.raises(UsageError, match="no executor 'huge'"):
        SHOP.run(SHOP.stream("train", 1, 1)[0], (), "huge")


def test_another_familys_skill_and_bad_skills_are_worth_less_than_the_right_one() -> None:
    tasks = [task for seed in range(3) for task in SHOP.group("train", seed, 60, "color")]
    oracle = {skill.title: skill for skill in SHOP.oracle()}
    right = oracle["find color"]

    def share(*skills: Skill) -> float:
        return success([SHOP.run(task, skills, "weak") for task in tasks])

    good = share(right)
    assert good > share() + 0.4
    assert good > share(oracle["find feature"]) + 0.25
    vague = write(right.title, right.description, right.body + "\n\n# Tips\n" + "Stay calm and be patient.\n" * 5)
    assert good > share(vague) + 0.2
    specific = write(right.title, right.description, right.body + "\n7. Look for navy jackets by Arden.")
    assert good > share(specific) + 0.1
    assert good > share(right, *(skill for skill in SHOP.oracle() if skill is not right)) + 0.05


def test_in_a_deal_the_price_must_be_checked_after_the_size() -> None:
    tasks = SHOP.group("train", 11, 120, "deal")
    steps = ["Select the size that is asked for.", "Check that the price is below the limit."]

    def share(order: list[str]) -> float:
        body = "\n".join((*order, "Go back when a demand is not met.", "Buy it."))
        return success([SHOP.run(task, (write("deal", "how", body),), "weak") for task in tasks])

    assert share(steps) > share(steps[::-1]) + 0.08


@pytest.mark.meets("K5")
def test_the_executors_opinion_is_kept_apart_from_the_worlds_and_is_mostly_right() -> None:
    episodes = runs("train", range(4), "weak", oracle=False)
    wrong = sum(episode.judged != episode.success for episode in episodes) / len(episodes)
    assert 0.05 < wrong < 0.2


def test_what_was_used_was_retrieved_and_steps_are_counted() -> None:
    for episode in runs("train", (0,), "strong", oracle=True):
        assert set(episode.used) <= {skill.title for skill in SHOP.oracle()}
        assert episode.steps == len(episode.trajectory) <= SHOP.max_steps
        assert episode.tokens is None
        assert episode.coerced == 0


def test_a_scripted_trip_can_be_replayed_in_the_game() -> None:
    for episode in runs("test", (0,), "weak", oracle=True)[:60]:
        game = SHOP.play(episode.task)
        assert game.intro == episode.intro
        assert tuple(game.step(step.action) for step in episode.trajectory) == tuple(
            step.observation for step in episode.trajectory
        )
        assert (game.won, game.score) == (episode.success, episode.score)


def test_the_fingerprint_moves_with_a_constant() -> None:
    # Pinned: what was measured was measured with these constants. Change the number only with a reason, and say so.
    assert SHOP.fingerprint.startswith("398ce475c3af7c86")
    assert SHOP.fingerprint == fingerprint(catalogue(), CONSTANTS) == open_world("shop").fingerprint
    assert fingerprint(catalogue(), Constants(trust=Trust(vague=0.11))) != SHOP.fingerprint


@pytest.mark.parametrize("split", ["train", "test"])
def test_each_oracle_skill_passes_the_gate_for_its_own_family(split: Split) -> None:
    titles = dict(zip(SHOP.families, (skill.title for skill in SHOP.oracle()), strict=True))
    for task in SHOP.stream(split, 9):
        found = [skill.title for skill in retrieved(task)]
        assert found[0] == titles[task.family], task.text
