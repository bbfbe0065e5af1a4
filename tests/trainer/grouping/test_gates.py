"""Every gate of Table 5 on its edge, and the numbers of the table (K7)."""

from __future__ import annotations

import math
from dataclasses import asdict, replace

import pytest

from core.foundation.errors import UsageError
from tests.trainer.grouping.annotated import annotated, attributes, overlap
from trainer.grouping.gates import (
    bonus,
    differs_in_topic,
    fits_mode,
    in_band,
    progresses,
    refusal,
    score,
    shares_concepts,
    shares_reasoning,
    shares_skills,
    similarity_score,
    steps_forward,
    weighted_overlap,
)
from trainer.grouping.settings import TABLE_5, GroupingSettings, Weights

pytestmark = pytest.mark.meets("K7")


def test_the_defaults_are_table_5() -> None:
    assert asdict(TABLE_5) == {
        "tau": 0.60,
        "kappa_c": 1,
        "kappa_s": 1,
        "shared_reasoning": 1,
        "theta_t": 0.65,
        "sigma": (0.30, 0.85),
        "delta_min": 0.0,
        "weights": {"concepts": 5.0, "skills": 4.0, "strategies": 3.0, "pitfalls": 1.0, "topics": 2.0},
        "bonus": 1.0,
        "harder": 0.80,
        "same": 0.20,
        "easier": 0.00,
        "forward": (0.5, 3.0),
        "level": 0.3,
        "pool": 2_000,
        "fallback": 200,
        "choice": "best",
    }
    assert GroupingSettings() == TABLE_5


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(UsageError, match="must sum to 1"):
        GroupingSettings(harder=0.9)
    with pytest.raises(UsageError, match="empty or upside down"):
        GroupingSettings(sigma=(0.9, 0.3))


def test_concepts_and_skills_need_a_match_each() -> None:
    source = attributes(s="count", c="parity")
    assert shares_concepts(overlap(source, attributes(c="parity other")), TABLE_5)
    assert not shares_concepts(overlap(source, attributes(c="other")), TABLE_5)
    assert shares_skills(overlap(source, attributes(s="count")), TABLE_5)
    assert not shares_skills(overlap(source, attributes(s="measure")), TABLE_5)
    two = replace(TABLE_5, kappa_c=2)
    assert not shares_concepts(overlap(source, attributes(c="parity other")), two)


def test_a_strategy_or_a_pitfall_in_common_is_enough() -> None:
    source = attributes(r="induction", p="off-by-one")
    assert shares_reasoning(overlap(source, attributes(r="induction")), TABLE_5)
    assert shares_reasoning(overlap(source, attributes(p="off-by-one")), TABLE_5)
    assert not shares_reasoning(overlap(source, attributes(r="contradiction", p="sign")), TABLE_5)


def test_topics_may_be_alike_up_to_theta() -> None:
    source = attributes(t="a b c")
    assert differs_in_topic(overlap(source, attributes(t="a b d")), TABLE_5)  # 2 of 4
    assert not differs_in_topic(overlap(source, attributes(t="a b c")), TABLE_5)
    assert not differs_in_topic(overlap(source, attributes(t="a b c d")), TABLE_5)  # 3 of 4
    exact = replace(TABLE_5, theta_t=0.75)
    assert differs_in_topic(overlap(source, attributes(t="a b c d")), exact)  # the bound itself passes


def test_omega_is_the_mean_by_normalised_weights_on_a_hand_computed_pair() -> None:
    source = attributes(t="a b", s="x", c="k l", r="m", p="q")
    target = attributes(t="a c", s="x y", c="k l", r="n", p="q")
    pair = overlap(source, target)
    # T 1/3, S 1/2, C 1, R 0, P 1; weights C 5, S 4, R 3, P 1, T 2 of 15
    assert similarity_score(pair, TABLE_5) == pytest.approx(5 * 1 + 4 * 0.5 + 3 * 0 + 1 * 1 + 2 / 3)
    assert weighted_overlap(pair, TABLE_5) == pytest.approx((5 + 2 + 0 + 1 + 2 / 3) / 15)
    assert in_band(pair, TABLE_5)


def test_the_band_keeps_out_strangers_and_near_copies() -> None:
    stranger = overlap(attributes(c="k", s="x"), attributes(c="l", s="y"))
    assert weighted_overlap(stranger, TABLE_5) == 0
    assert not in_band(stranger, TABLE_5)
    copy = attributes(t="a", s="x", c="k", r="m", p="q")
    assert weighted_overlap(overlap(copy, copy), TABLE_5) == 1
    assert not in_band(overlap(copy, copy), TABLE_5)
    only_concepts = replace(TABLE_5, weights=Weights(1, 0, 0, 0, 0))
    at_bound = overlap(
        attributes(c="a b c d e f g h i j k l m n o p q"), attributes(c="a b c d e f g h i j k l m n o p q r s t")
    )
    assert weighted_overlap(at_bound, only_concepts) == pytest.approx(0.85)
    assert in_band(at_bound, only_concepts)


def test_the_target_must_ask_for_something_new() -> None:
    source = attributes(s="x", c="k")
    assert progresses(overlap(source, attributes(s="x", c="k l")), TABLE_5)
    assert progresses(overlap(source, attributes(s="x y", c="k")), TABLE_5)
    assert not progresses(overlap(source, attributes(s="x", c="k", t="new")), TABLE_5)


def test_difficulty_goes_forward_unless_the_mode_goes_back() -> None:
    assert steps_forward(0.0, "harder", TABLE_5)
    assert steps_forward(0.2, "same", TABLE_5)
    assert not steps_forward(-0.1, "same", TABLE_5)
    assert steps_forward(-1.0, "easier", TABLE_5)
    assert not steps_forward(0.4, "harder", replace(TABLE_5, delta_min=0.5))


@pytest.mark.parametrize(
    ("gap", "mode"),
    [
        (0.5, "harder"),
        (3.0, "harder"),
        (0.0, "same"),
        (0.3, "same"),
        (-0.3, "same"),
        (-0.5, "easier"),
        (-3.0, "easier"),
    ],
)
def test_a_gap_belongs_to_its_mode_up_to_the_bounds(gap: float, mode: str) -> None:
    fitting = [each for each in ("harder", "same", "easier") if fits_mode(gap, each, TABLE_5)]
    assert fitting == [mode]


@pytest.mark.parametrize("gap", [0.49, 3.01, -0.49, -3.01, 0.31, 0.4])
def test_a_gap_between_the_modes_belongs_to_none(gap: float) -> None:
    assert not any(fits_mode(gap, mode, TABLE_5) for mode in ("harder", "same", "easier"))


def test_the_bonus_is_bounded_and_rewards_a_moderate_step() -> None:
    assert bonus(-1) == bonus(0) == 0
    assert bonus(1) == 1
    assert all(0 < bonus(gap / 10) <= 1 for gap in range(1, 60))
    assert bonus(0.5) < bonus(1) > bonus(3)
    assert bonus(3) == pytest.approx(3 * math.exp(-2))


def test_the_score_adds_lambda_times_the_bonus() -> None:
    pair = overlap(attributes(c="k"), attributes(c="k l"))
    assert score(pair, 1.0, TABLE_5) == pytest.approx(5 * 0.5 + 1.0)
    assert score(pair, 1.0, replace(TABLE_5, bonus=0.0)) == pytest.approx(2.5)


def test_a_pair_is_refused_by_the_first_gate_that_it_fails() -> None:
    source = annotated("a", 2.0, t="number-theory", s="count", c="parity", r="induction", p="off-by-one")
    good = annotated("b", 3.0, t="graphs", s="count", c="parity degree", r="induction", p="loops")

    def why(target_difficulty: float = 3.0, **changed: str) -> str:
        fields = {"t": "graphs", "s": "count", "c": "parity degree", "r": "induction", "p": "loops", **changed}
        target = annotated("b", target_difficulty, **fields)
        return refusal(source, target, overlap(source.attributes, target.attributes), "harder", TABLE_5)

    assert refusal(source, good, overlap(source.attributes, good.attributes), "harder", TABLE_5) == ""
    assert why(2.1) == "mode"
    assert why(c="degree") == "concepts"
    assert why(s="draw") == "skills"
    assert why(r="search") == "reasoning"
    assert why(t="number-theory") == "topics"
    assert why(c="parity a b c d e f", s="count a b c d e f") == "band"
    assert why(c="parity") == "progression"
