"""The rule judge against operations that were judged by hand (K9)."""

from __future__ import annotations

import pytest

from core.curation.worlds import Episode
from tests.trainer.worlds.household_operations import Judged, operations
from trainer.worlds.household import Household

WORLD = Household()


def agreement(among: list[Judged]) -> float:
    return sum(WORLD.judge(one.content, one.episode).valid is one.valid for one in among) / len(among)


@pytest.mark.meets("K9")
def test_it_agrees_with_a_person() -> None:
    """60 or more by hand, 85 % or more alike; also among those that were put aside while the judge was written."""
    everything = list(operations())
    assert len(everything) >= 60
    assert len({one.id for one in everything}) == len(everything)
    assert 0.35 < sum(one.valid for one in everything) / len(everything) < 0.65
    assert agreement(everything) >= 0.85
    assert agreement([one for one in everything if one.aside]) >= 0.85
    assert agreement([one for one in everything if one.valid]) >= 0.85
    assert agreement([one for one in everything if not one.valid]) >= 0.85


@pytest.mark.parametrize("criterion", ["ABSTRACTION", "REUSABILITY", "ACTIONABILITY", "FAITHFULNESS"])
def test_it_finds_what_a_person_finds(criterion: str) -> None:
    """What fails one criterion alone by hand fails that one here, in most cases."""
    alone = [one for one in operations() if one.fails == (criterion,)]
    found = [criterion in WORLD.judge(one.content, one.episode).issues for one in alone]
    assert len(found) >= 3
    assert sum(found) / len(found) >= 0.7


def _transcript(episode: Episode) -> str:
    steps = "\n".join(f"{step.action}\n{step.observation}" for step in episode.trajectory)
    return f"---\nname: {episode.task.text}\ndescription: A run.\n---\n\n# Workflow\n{steps}\n"


@pytest.mark.meets("K9")
def test_a_verbatim_copy_fails() -> None:
    for task in WORLD.stream("train", 2, 40):
        verdict = WORLD.judge(_transcript(WORLD.run(task, (), "weak")), WORLD.run(task, (), "weak"))
        assert verdict.valid is False
        assert "ABSTRACTION" in verdict.issues


@pytest.mark.meets("K9")
def test_an_unsupported_claim_fails() -> None:
    """The oracle's skill of one family, written after an Episode of another, claims what nobody saw."""
    by_family = dict(zip(("pick", "look", "clean", "heat", "cool", "two"), WORLD.oracle(), strict=True))
    for family in ("pick", "look", "clean", "heat", "cool", "two"):
        episode = next(
            found
            for seed in range(9)
            if (found := WORLD.run(WORLD.group("train", seed, 1, family)[0], (), "weak")).success
        )
        for other in ("look", "clean", "heat", "cool"):
            verdict = WORLD.judge(by_family[other].content, episode)
            assert verdict.valid is (other == family)
            assert other == family or verdict.issues == ("FAITHFULNESS",)


def test_the_oracle_is_valid() -> None:
    for family, skill in zip(("pick", "look", "clean", "heat", "cool", "two"), WORLD.oracle(), strict=True):
        episode = WORLD.run(WORLD.group("train", 1, 1, family)[0], (), "weak")
        assert WORLD.judge(skill.content, episode).valid is True, skill.title
