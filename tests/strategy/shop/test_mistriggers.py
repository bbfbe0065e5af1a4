"""Which triggers fire where they should not (S14), on utterances that none was written with."""

from __future__ import annotations

from itertools import pairwise

import pytest

from core.strategy.conditions.memory import Memory, Past
from core.strategy.conditions.utterance import holds
from core.strategy.shop.mistriggers import Said, fired, measure, phrases
from core.strategy.shop.talk import AFTER, TASKS, utterances
from core.strategy.shop.visits import visits
from tests.strategy.shop.words import spoken

SEEDS = range(20)


def test_every_keyword_was_said_in_the_utterances_that_triggers_are_written_with() -> None:
    for task, found in phrases().items():
        for phrase in found:
            assert any(holds(said, phrase) for said in utterances()[task]["train"]), (task, phrase)


def test_what_is_measured_is_said_in_words_that_were_held_out() -> None:
    heard = {turn.utterance for seed in SEEDS for visit in visits(seed) for turn in visit.turns}
    assert all(spoken("held_out").fullmatch(said) for said in heard)
    assert not [said for said in heard if spoken("train").fullmatch(said)]
    assert all(spoken("train").fullmatch(turn.utterance) for visit in visits(0, split="train") for turn in visit.turns)


@pytest.mark.meets("S14", "S11", "S12", "S13")
def test_confidence_and_memory_each_take_mistriggers_away() -> None:
    shares = {share.rule: share for share in measure(SEEDS)}
    three = [shares[rule] for rule in ("keywords", "confidence", "memory")]
    assert three[0].mistriggers > three[1].mistriggers > three[2].mistriggers
    for wider, narrower in pairwise(three):
        assert wider.interval is not None
        assert narrower.interval is not None
        assert wider.interval[0] > narrower.interval[1]
    # What it costs is told too: whoever waits for a keyword and for certainty misses more.
    assert three[0].missed < three[1].missed
    assert shares["without keywords"].missed < three[2].missed
    assert {share.turns for share in three} == {three[0].turns}


@pytest.mark.meets("S13")
def test_memory_stops_what_was_done_and_lets_through_what_failed() -> None:
    said = "Perfect, so my refund is on its way, thanks"
    done, failed = (Memory((Past(1, "apply_refund", ok=ok),), 2) for ok in (True, False))
    echo = Said(f"{AFTER}refund", said, "refund", 0.95, done)
    assert fired(echo, "confidence") == {"refund"}
    assert fired(echo, "memory") == frozenset()
    assert fired(Said("refund", said, "refund", 0.95, failed), "memory") == {"refund"}


def test_the_same_seeds_give_the_same_shares() -> None:
    assert measure(range(3)) == measure(range(3))
    assert set(phrases()) == set(TASKS)
