"""The shop's rule judge: the four criteria, and its agreement with labels made by hand (K9)."""

from __future__ import annotations

from functools import cache

import pytest

from core.curation.worlds import Episode
from core.skillrepo.skill import write
from tests.trainer.worlds.shop_operations import LABELLED
from trainer.worlds.shop.world import Shop

SHOP = Shop()
pytestmark = pytest.mark.meets("K9")


@cache
def trip(family: str) -> Episode:
    """A trip of this family that did what the family needs and no more."""
    skill = SHOP.oracle()[SHOP.families.index(family)]
    for seed in range(50):
        episode = SHOP.run(SHOP.group("train", seed, 1, family)[0], (skill,), "strong")
        if episode.success:
            return episode
    raise AssertionError(family)


def judged(family: str, body: str) -> tuple[bool | None, tuple[str, ...]]:
    verdict = SHOP.judge(write("a skill", "how to shop", body).content, trip(family))
    return verdict.valid, verdict.issues


def test_the_judge_agrees_with_labels_made_by_hand() -> None:
    wrong = [one.body for one in LABELLED if judged(one.family, one.body)[0] != one.valid]
    assert len(LABELLED) >= 30
    assert len(wrong) <= 0.15 * len(LABELLED), wrong


def test_where_it_refuses_it_names_the_criterion() -> None:
    refused = [one for one in LABELLED if not one.valid and judged(one.family, one.body)[0] is False]
    named = [one.breaks in judged(one.family, one.body)[1] for one in refused]
    assert sum(named) >= 0.85 * len(named)


def test_a_verbatim_copy_of_the_trip_fails() -> None:
    for family in SHOP.families:
        episode = trip(family)
        for body in (
            "\n".join(f"{step.action}\n{step.observation}" for step in episode.trajectory),
            "\n".join(step.action for step in episode.trajectory),
            f"# Workflow\n1. {episode.task.text}\n2. Go back if it does not fit.\n3. Search by kind.\n4. Buy it.",
        ):
            assert judged(family, body)[0] is False, (family, body[:80])


def test_an_unsupported_claim_fails_and_the_familys_own_need_passes() -> None:
    lines = "Search with the kind.\n{}\nGo back if not.\nBuy it."
    assert judged("color", lines.format("Select the color.")) == (True, ())
    assert judged("plain", lines.format("Select the size.")) == (False, ("FAITHFULNESS",))


def test_what_is_no_skill_fails() -> None:
    verdict = SHOP.judge("no head at all", trip("plain"))
    assert (verdict.valid, verdict.issues) == (False, ("ACTIONABILITY",))


def test_every_oracle_skill_is_valid_after_a_trip_of_its_family() -> None:
    for family, skill in zip(SHOP.families, SHOP.oracle(), strict=True):
        assert SHOP.judge(skill.content, trip(family)).valid is True, family
