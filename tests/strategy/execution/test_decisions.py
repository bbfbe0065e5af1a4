"""The pure parts of execution: who wins, when a call is repeated, when a breaker opens, what a path gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.strategy.documents.plan import Circuit, Retry
from core.strategy.documents.skill import SkillSchema
from core.strategy.execution.breaker import Breakers
from core.strategy.execution.paths import MISSING, chosen, filled, look, plain, provided, references, with_value
from core.strategy.execution.retry import may_repeat, pause_ms
from core.strategy.execution.selection import Rival, choose

CIRCUIT = Circuit(open_after=3, window_s=60.0, half_open_s=30.0)


def never(wide: str, narrow: str) -> bool:
    return False


@pytest.mark.meets("S7", "S124", "S125")
def test_the_rules_of_selection_in_their_order() -> None:
    low, high = Rival("a.low", 1, 10), Rival("a.high", 1, 90)
    assert choose([low], never).reason == "alone"
    assert (choose([low, high], never).winner, choose([low, high], never).reason) == ("a.high", "priority")
    loud = Rival("a.loud", 1, 10, overrides=("a.high",))
    assert (choose([high, loud], never).winner, choose([high, loud], never).reason) == ("a.loud", "overrides")
    meek = Rival("a.meek", 1, 99, yields_to=("a.low",))
    assert choose([meek, low], never).winner == "a.low"
    old, new = Rival("a.old", 1, since="2026-01-01"), Rival("a.new", 1, since="2026-02-01")
    assert (choose([old, new], never).winner, choose([old, new], never).reason) == ("a.new", "newest")
    narrow = choose([old, new], lambda wide, other: (wide, other) == ("a.new", "a.old"))
    assert (narrow.winner, narrow.reason, narrow.beaten) == ("a.old", "specificity", ("a.new",))
    tied = choose([Rival("a.y", 1), Rival("a.x", 1)], never)
    assert (tied.winner, tied.reason) == ("a.x", "tie")


RIVALS = st.lists(
    st.builds(
        Rival,
        id=st.sampled_from("abcdef"),
        version=st.integers(1, 2),
        priority=st.integers(0, 2),
        overrides=st.frozensets(st.sampled_from("abcdef"), max_size=2),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda rival: rival.id,
)


@given(RIVALS, st.randoms())
def test_the_winner_is_one_that_fired_and_order_does_not_matter(fired: list[Rival], chance: Any) -> None:
    def wide(a: str, b: str) -> bool:
        return a > b

    choice = choose(fired, wide)
    assert choice.winner in {rival.id for rival in fired}
    shuffled = list(fired)
    chance.shuffle(shuffled)
    assert choose(shuffled, wide) == choice


@pytest.mark.meets("S33")
def test_a_breaker_opens_after_so_many_failures_and_lets_one_probe_through() -> None:
    breakers = Breakers()

    def fail(now: float) -> bool:
        return breakers.note("n", CIRCUIT, now, ok=False)

    assert [breakers.admit("n", CIRCUIT, 0), fail(0), fail(1), fail(2)] == ["closed", False, False, True]
    assert breakers.admit("n", CIRCUIT, 29_000) == "open"
    assert breakers.admit("n", CIRCUIT, 31_000) == "half_open"
    assert breakers.admit("n", CIRCUIT, 31_000) == "open"  # the probe is still under way
    assert fail(31_500)
    assert breakers.admit("n", CIRCUIT, 60_000) == "open"
    assert breakers.admit("n", CIRCUIT, 62_000) == "half_open"
    breakers.note("n", CIRCUIT, 62_000, ok=True)
    assert breakers.admit("n", CIRCUIT, 62_001) == "closed"


def test_failures_outside_the_window_do_not_count() -> None:
    breakers = Breakers()
    assert [breakers.note("n", CIRCUIT, now, ok=False) for now in (0, 1, 70_000, 70_001)] == [False] * 4


@given(st.integers(0, 60_000), st.integers(1, 6), st.text())
def test_a_pause_with_jitter_is_drawn_by_name_and_lies_between_half_and_whole(ms: int, attempt: int, seed: str) -> None:
    retry = Retry(max=5, backoff_ms=(ms,), jitter=True)
    pause = pause_ms(retry, attempt, seed)
    assert ms / 2 - 0.001 <= pause <= ms
    assert pause == pause_ms(retry, attempt, seed)


def test_the_last_pause_repeats() -> None:
    retry = Retry(max=5, backoff_ms=(100, 400))
    assert [pause_ms(retry, attempt, "") for attempt in (1, 2, 3, 9)] == [100, 400, 400, 400]


@pytest.mark.meets("X2")
def test_a_write_that_may_have_happened_is_repeated_only_where_that_has_no_second_effect() -> None:
    def schema(effects: str, *, idempotent: bool) -> SkillSchema:
        return SkillSchema.model_validate(
            {
                "skill": "s",
                "side_effects": effects,
                "idempotent": idempotent,
                "signature": {"inputs": {}, "outputs": {}},
                "context": {},
                "failure_modes": [],
            }
        )

    assert may_repeat(schema("write", idempotent=True), "TIMEOUT")
    assert may_repeat(schema("read", idempotent=False), "NETWORK_TIMEOUT")
    assert not may_repeat(schema("irreversible", idempotent=False), "NETWORK_TIMEOUT")
    assert not may_repeat(schema("write", idempotent=False), "SKILL_RAISED")
    assert may_repeat(schema("write", idempotent=False), "INVALID_SKU")


def test_paths() -> None:
    values = {"order": {"id": "o1", "paid": None}, "n": 2}
    assert look(values, "order.id") == "o1"
    assert look(values, "order.nothing") is MISSING
    assert look(values, "n.deeper") is MISSING
    changed = with_value(values, "order.status", "paid")
    assert (changed["order"]["status"], "status" in (values["order"] or {})) == ("paid", False)  # type: ignore[operator]

    def look_up(path: str) -> Any:
        return look(values, path)

    assert filled({"a": "$order.id", "b": "refund:$order.id", "c": "$gone", "d": ["$n", 3]}, look_up) == {
        "a": "o1",
        "b": "refund:o1",
        "d": [2, 3],
    }
    assert references({"a": "$order.id", "b": ["x $n y"]}) == {"order.id", "n"}
    assert chosen(look_up, ["order.id", "gone", "n"]) == {"order": {"id": "o1"}, "n": 2}
    assert chosen(look_up, ["order", "order.id"]) == {"order": values["order"]}
    assert provided({"status": "ok"}, "refund.status") == "ok"
    assert provided({"refund": {"status": "no"}, "status": "ok"}, "refund.status") == "no"
    assert provided({}, "refund.status") is MISSING
    with pytest.raises(TypeError, match="object is no JSON value"):
        plain({"a": object()})
