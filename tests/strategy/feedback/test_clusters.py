"""Bad cases of one trouble come together, and say what to do (S99, S100)."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.foundation.errors import UsageError
from core.strategy.feedback.clusters import cluster
from core.strategy.feedback.encoders import THRESHOLDS, Characters, Pair, calibrate, encoder
from core.strategy.feedback.suggestions import suggest
from tests.strategy.feedback.making import case, schema

PAIRS = Path(__file__).parents[2] / "fixtures" / "feedback" / "pairs.jsonl"
LABELLED = [Pair(**json.loads(line)) for line in PAIRS.read_text("utf-8").splitlines()]
SAID = [
    "compare the price of the iPhone at JD and Tmall",
    "iPhone price comparison JD Tmall please",
    "compare iPhone prices at JD and Tmall!",
    "where is my parcel, it never arrived",
    "my parcel never arrived, where is it",
]


class Same:
    """An encoder from elsewhere: whatever begins alike is the same."""

    name = "first_letter"

    def cosines(self, first: Sequence[str], second: Sequence[str]) -> Sequence[Sequence[float]]:
        return [[float(a[:1] == b[:1]) for b in second] for a in first]


@pytest.mark.meets("S99")
def test_structure_comes_first_then_what_was_said() -> None:
    cases = [case(text, f"s{number}") for number, text in enumerate(SAID)]
    cases.append(case(SAID[0], "s9", code="SERVICE_UNAVAILABLE"))
    found = cluster(cases, Characters())
    assert [(one.count, one.structure.code) for one in found] == [
        (3, "TIMEOUT"),
        (2, "TIMEOUT"),
        (1, "SERVICE_UNAVAILABLE"),
    ]
    assert found[0].example in SAID[:3]
    assert found[0].sessions == 3


@given(st.randoms(use_true_random=False))
def test_the_order_of_cases_changes_nothing(dice: random.Random) -> None:
    cases = [case(text, f"s{number}") for number, text in enumerate(SAID * 2)]
    shuffled = list(cases)
    dice.shuffle(shuffled)
    assert cluster(shuffled, Characters()) == cluster(cases, Characters())


def test_a_cluster_keeps_its_name_while_it_grows() -> None:
    cases = [case(text, f"s{n}", time=f"2026-06-0{n + 1}T10:00:00+00:00") for n, text in enumerate(SAID[:3])]
    assert cluster(cases[:2], Characters())[0].id == cluster(cases, Characters())[0].id


@pytest.mark.meets("S99")
def test_each_encoder_has_a_threshold_that_its_labelled_pairs_give() -> None:
    found = calibrate(LABELLED, Characters())
    assert found.threshold == pytest.approx(THRESHOLDS["characters"], abs=0.01)
    assert found.precision > 0.8
    assert found.recall > 0.6
    assert all(abs(cosine - found.threshold) <= 0.05 for _, cosine in found.near)
    assert calibrate(LABELLED, Same()).threshold != pytest.approx(found.threshold, abs=0.01)
    with pytest.raises(UsageError, match="both kinds"):
        calibrate([pair for pair in LABELLED if pair.same], Characters())


def test_pairs_near_the_cut_are_told() -> None:
    cases = [case(text, f"s{number}") for number, text in enumerate(SAID[:2])]
    cosine = Characters().cosines([SAID[0].casefold()], [SAID[1].casefold()])[0][0]
    near = cluster(cases, Characters(), cosine - 0.01)[0].near
    assert [(pair.first, pair.second) for pair in near] in ([(cases[0].id, cases[1].id)], [(cases[1].id, cases[0].id)])
    assert cluster(cases, Characters(), cosine - 0.2)[0].near == ()


def test_other_encoders_are_handed_in() -> None:
    assert encoder("characters").name == "characters"
    assert encoder("first_letter", {"first_letter": Same}).name == "first_letter"
    with pytest.raises(UsageError, match="no text encoder 'minilm'"):
        encoder("minilm")


@given(st.text(max_size=40), st.text(max_size=40))
def test_cosines_are_symmetric_and_one_for_the_same(first: str, second: str) -> None:
    one, other = Characters().cosines([first], [second])[0][0], Characters().cosines([second], [first])[0][0]
    assert one == pytest.approx(other)
    assert 0 <= one <= 1
    assert Characters().cosines([f"a{first}"], [f"a{first}"])[0][0] == pytest.approx(1)


@pytest.mark.meets("S100")
def test_a_cluster_suggests_with_count_and_evidence() -> None:
    cases = [case(f"price of the iPhone at JD {number}", f"s{number}") for number in range(47)]
    clusters = cluster(cases, Characters())
    found = suggest(clusters, {one.id: one for one in cases}, {"price_query": schema()})
    assert (found[0].kind, found[0].count, found[0].sessions) == ("cache", 47, 47)
    assert "47 times" in found[0].text
    assert "price_cache_ttl" in found[0].text
    assert set(found[0].evidence) <= {one.id for one in cases}
    assert len(found[0].evidence) == 20


@pytest.mark.meets("S100")
def test_what_is_suggested_depends_on_what_failed() -> None:
    def kind(code: str, effects: str = "read", **more: Any) -> str:
        cases = [case(SAID[0], f"s{number}", code=code, **more) for number in range(3)]
        schemas = {"price_query": schema(effects=effects, codes=("TIMEOUT", "KNOWN", "PSEUDO_SUCCESS"))}
        return suggest(cluster(cases, Characters()), {one.id: one for one in cases}, schemas)[0].kind

    assert kind("TIMEOUT", "write") == "time_limit"
    assert kind("PSEUDO_SUCCESS") == "fallback"
    assert kind("MISSING_CONTEXT") == "provider"
    assert kind("NEVER_SEEN") == "declare"
    assert kind("HTTP_503") == "cache"
    assert kind("KNOWN", fallbacks=("run hand_over",)) == "fallback"
    assert kind("KNOWN") == "draft"


@pytest.mark.meets("S100")
def test_different_words_for_one_failure_ask_for_one_change() -> None:
    cases = [case(text, f"s{number}") for number, text in enumerate(SAID)]
    clusters = cluster(cases, Characters())
    (found,) = suggest(clusters, {one.id: one for one in cases}, {"price_query": schema()})
    assert (found.count, len(found.clusters)) == (5, 2)


def test_few_cases_suggest_nothing() -> None:
    cases = [case(SAID[0], f"s{number}") for number in range(2)]
    assert suggest(cluster(cases, Characters()), {one.id: one for one in cases}, {}) == ()
