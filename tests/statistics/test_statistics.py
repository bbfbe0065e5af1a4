"""Values worked out by hand or taken from tables, and properties that hold for any numbers."""

from __future__ import annotations

import math
import random
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.statistics import power
from core.statistics.holm import holm
from core.statistics.intervals import clustered_bootstrap, over_clusters, wilson
from core.statistics.paired import Paired, differences, mcnemar, pair
from core.statistics.spread import spread
from core.statistics.student import incomplete_beta, normal_quantile, student_cdf, student_quantile

pytestmark = pytest.mark.meets("K6")

# ---------------------------------------------------------------------------------------------------- paired


def test_pairs_are_counted_and_what_was_not_measured_is_left_out() -> None:
    first = [True, True, False, False, None, True]
    second = [True, False, True, False, True, None]
    assert pair(first, second) == Paired(both=1, gained=1, lost=1, neither=1, masked=2)
    assert pair(first, second).difference == 0.0
    assert pair([None], [True]).difference is None
    assert pair([None], [True]).p_value is None
    with pytest.raises(ValueError, match="shorter"):
        pair([True], [])


def test_mcnemar_by_hand() -> None:
    # 6 discordant, 1 against 5: 2 * (1 + 6) / 64.
    assert mcnemar(5, 1) == mcnemar(1, 5) == 14 / 64
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(4, 4) == 1.0  # twice the tail would be above 1
    assert mcnemar(10, 0) == 2 / 1024


def test_mcnemar_of_the_prototype_is_tiny_and_not_zero() -> None:
    # CURATION 2c finding 1: 190 gained, 15 lost.
    assert 0 < mcnemar(190, 15) < 1e-15
    assert mcnemar(5000, 100) == 0.0  # below the smallest float, and no overflow on the way


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test(gained: int, lost: int) -> None:
    n = gained + lost
    weights = [Fraction(math.comb(n, k), 2**n) for k in range(n + 1)]
    # Two-sided: everything as unlikely as what was seen. For a fair coin that is twice the smaller tail.
    expected = sum((w for w in weights if w <= weights[gained]), Fraction(0))
    assert mcnemar(gained, lost) == pytest.approx(float(expected))
    assert mcnemar(gained, lost) == mcnemar(lost, gained)


def test_differences_need_both_sides() -> None:
    assert differences([1.0, None, 0.25], [0.5, 1.0, 1.0]) == (-0.5, 0.75)


# ------------------------------------------------------------------------------------------------ quantiles


@pytest.mark.parametrize(
    ("probability", "degrees", "expected"),
    # Any printed table of Student's distribution.
    [(0.975, 1, 12.7062), (0.975, 2, 4.30265), (0.975, 4, 2.77645), (0.95, 10, 1.81246), (0.995, 30, 2.75000)],
)
def test_student_quantiles_are_those_of_the_tables(probability: float, degrees: int, expected: float) -> None:
    assert student_quantile(probability, degrees) == pytest.approx(expected, abs=5e-5)
    assert student_quantile(1 - probability, degrees) == pytest.approx(-expected, abs=5e-5)


@given(st.floats(-30, 30), st.integers(1, 200))
def test_student_quantile_undoes_its_distribution(t: float, degrees: int) -> None:
    probability = student_cdf(t, degrees)
    if 1e-9 < probability < 1 - 1e-9:
        assert student_cdf(student_quantile(probability, degrees), degrees) == pytest.approx(probability, abs=1e-10)


def test_student_becomes_normal() -> None:
    assert student_quantile(0.975, 1e6) == pytest.approx(normal_quantile(0.975), abs=1e-5)
    assert student_cdf(0.0, 7) == pytest.approx(0.5)
    assert incomplete_beta(2, 3, 0.4) == pytest.approx(0.5248)  # 6 x^2 - 8 x^3 + 3 x^4 at 0.4


@pytest.mark.parametrize("probability", [0.0, 1.0, -0.1])
def test_a_probability_is_inside(probability: float) -> None:
    with pytest.raises(ValueError, match="probability"):
        student_quantile(probability, 3)
    with pytest.raises(ValueError, match="probability"):
        normal_quantile(probability)


# ------------------------------------------------------------------------------------------------ intervals


def test_wilson_by_hand() -> None:
    # 8 of 10: (0.8 + 0.19207) / 1.38415 +- 1.95996 / 1.38415 * sqrt(0.016 + 0.009604).
    found = wilson(8, 10)
    assert found is not None
    assert [found.low, found.high] == pytest.approx([0.4902, 0.9433], abs=1e-4)
    assert wilson(0, 0) is None
    nothing, everything = wilson(0, 20), wilson(20, 20)
    assert nothing is not None
    assert everything is not None
    assert nothing.low == 0.0 < nothing.high
    assert everything.low < 1.0 == everything.high


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_share_and_shrinks(counts: tuple[int, int]) -> None:
    successes, count = counts
    found, larger = wilson(successes, count), wilson(successes * 4, count * 4)
    assert found is not None
    assert larger is not None
    assert 0 <= found.low <= successes / count <= found.high <= 1
    assert larger.high - larger.low < found.high - found.low


def test_the_bootstrap_resamples_streams_and_not_tasks() -> None:
    # Within a stream all is the same: only streams vary. A bootstrap over 300 tasks would call this +-0.05.
    streams = [[0.0] * 100, [0.3] * 100, [0.6] * 100]
    found = clustered_bootstrap(streams, seed=1)
    assert found is not None
    assert [found.low, found.high] == pytest.approx([0.0, 0.6])
    wide = over_clusters(streams)
    assert wide is not None
    # 0.3 +- 4.30265 * 0.3 / sqrt(3)
    assert [wide.low, wide.high] == pytest.approx([0.3 - 0.74524, 0.3 + 0.74524], abs=1e-4)


def test_one_stream_has_no_interval() -> None:
    assert clustered_bootstrap([[0.1, 0.2]], seed=1) is None
    assert clustered_bootstrap([[0.1, 0.2], []], seed=1) is None
    assert over_clusters([[0.1]]) is None


def test_the_bootstrap_is_the_seeds() -> None:
    draw = random.Random(3)
    streams = [[draw.random() for _ in range(20)] for _ in range(8)]
    assert clustered_bootstrap(streams, seed=5) == clustered_bootstrap(streams, seed=5)
    assert clustered_bootstrap(streams, seed=5) != clustered_bootstrap(streams, seed=6)


def test_many_streams_are_covered_as_often_as_promised() -> None:
    draw = random.Random(11)
    covered = 0
    for trial in range(150):
        streams = []
        for _ in range(20):
            own = draw.gauss(0, 0.2)
            streams.append([0.1 + own + draw.gauss(0, 0.3) for _ in range(8)])
        found = clustered_bootstrap(streams, seed=trial, resamples=400)
        assert found is not None
        covered += not found.excludes(0.1)
    assert 0.85 <= covered / 150 <= 0.99


# ---------------------------------------------------------------------------------------------------- power


def test_a_paired_study_of_140_tasks_sees_13_points() -> None:
    # CURATION 1.8: n = 140 has an MDE of 13 points, where three pairs in ten differ.
    found = power.paired_shares(140, 0.3)
    assert found == pytest.approx(0.13, abs=0.005)


@given(st.integers(20, 2000), st.floats(0.05, 1.0))
def test_the_paired_effect_solves_its_formula(pairs: int, discordant: float) -> None:
    d = power.paired_shares(pairs, discordant)
    if d is None:
        # Not even if every difference went one way, d = psi.
        reach = normal_quantile(0.975) + normal_quantile(0.8) * math.sqrt(1 - discordant)
        assert pairs * discordant < reach**2
        return
    needed = (
        normal_quantile(0.975) * math.sqrt(discordant) + normal_quantile(0.8) * math.sqrt(discordant - d * d)
    ) ** 2
    assert needed / d**2 == pytest.approx(pairs, rel=1e-6)
    more = power.paired_shares(pairs * 2, discordant)
    assert more is not None
    assert more < d


def test_an_unpaired_study_by_hand() -> None:
    # 0.5 against 0.6 needs 388 an arm at 80 % (any textbook), so 388 an arm see about 10 points above 0.5.
    assert power.unpaired_shares(0.5, 388) == pytest.approx(0.1, abs=0.0015)
    assert power.unpaired_shares(0.95, 10) is None
    assert power.unpaired_shares(0.4, 0) is None
    assert power.paired_shares(0, 0.3) is None
    assert power.paired_shares(100, 0.0) is None


def test_five_seeds_see_little() -> None:
    # CURATION 2c finding 4: seeds vary by 8 points; (2.30600 + 0.88889) * 0.08 * sqrt(2 / 5).
    assert power.means(0.08, 5) == pytest.approx(0.16166, abs=2e-4)
    assert power.means(0.08, 1) is None
    assert power.clusters(0.05, 3) == pytest.approx((4.30265 + 1.06066) * 0.05 / math.sqrt(3), abs=1e-5)
    assert power.clusters(0.05, 1) is None


# ------------------------------------------------------------------------------------------- spread and Holm


def test_spread() -> None:
    found = spread([0.1, None, 0.3])
    assert found is not None
    assert [found.mean, found.count] == pytest.approx([0.2, 2])
    assert found.std == pytest.approx(math.sqrt(0.02))
    alone = spread([0.5])
    assert alone is not None
    assert alone.std is None
    assert spread([None]) is None


def test_holm_by_hand() -> None:
    found = holm({"a": 0.01, "b": 0.04, "c": None, "d": 0.03, "e": 0.005})
    assert found == {"a": 0.03, "b": 0.06, "c": None, "d": 0.06, "e": 0.02}


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_keeps_the_order_and_never_helps(values: list[float]) -> None:
    given_ = {str(number): value for number, value in enumerate(values)}
    found = holm(given_)
    ordered = sorted(given_, key=lambda name: given_[name])
    adjusted = [found[name] for name in ordered]
    assert all(p is not None and given_[name] <= p <= 1 for name, p in zip(ordered, adjusted, strict=True))
    assert adjusted == sorted(p for p in adjusted if p is not None)


# --------------------------------------------------------------------------------------- what is no measurement


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused_and_never_averaged(value: float) -> None:
    # FAULTS: non-finite values.
    for ask in (
        lambda: spread([0.5, value]),
        lambda: over_clusters([[0.5], [value]]),
        lambda: clustered_bootstrap([[0.5], [value, 0.1]], seed=1, resamples=10),
    ):
        with pytest.raises(ValueError, match="not finite"):
            ask()


def test_an_exact_test_of_thousands_of_pairs_takes_no_time() -> None:
    began = time.process_time()
    assert mcnemar(10_000, 10_001) == 1.0
    assert mcnemar(9_000, 10_000) == pytest.approx(4.2e-13, rel=0.05)  # 2 (1 - Phi(999 / sqrt(19,000)))
    assert time.process_time() - began < 5
