"""What holds for every plan: bounded, deterministic, and no write in a dry run (S29, S91, S70, X1, X6)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from core.strategy.execution.turn import TurnResult
from tests.strategy.execution.making import World

READS, WRITES = ("r0", "r1"), ("w0", "w1")
CODES = ("DOWN", "HTTP_503", "PSEUDO_SUCCESS")
CONDITIONS = ("true", "false", "flag.a == 1", "n.b > 2", "missing.c")
IDS = ("shop.s0", "shop.s1", "shop.s2")

extras = st.fixed_dictionaries(
    {},
    optional={
        "as": st.sampled_from(("x", "y")),
        "timeout_ms": st.sampled_from((5, 50, 500)),
        "retry": st.fixed_dictionaries(
            {"max": st.integers(0, 3), "backoff_ms": st.just([20]), "jitter": st.booleans()}
        ),
        "optional": st.booleans(),
        "circuit": st.just({"open_after": 2, "window_s": 60.0, "half_open_s": 30.0}),
        "tx": st.just({"reserve": "ticket_id"}),
    },
)


def leaf(callable_ids: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    kinds = [
        st.sampled_from((*READS, *WRITES)).map(lambda name: {"run": name}),
        st.sampled_from(READS).map(lambda name: {"skip": name}),
        st.just({"emit": "noted"}),
    ]
    if callable_ids:
        kinds.append(st.sampled_from(callable_ids).map(lambda name: {"call": name}))
    return st.one_of(kinds)


def plans(callable_ids: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    def composite(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
        some = st.lists(inner, min_size=1, max_size=3)
        kind = st.one_of(
            some.map(lambda nodes: {"sequence": nodes}),
            st.tuples(some, st.sampled_from(("all", "any"))).map(
                lambda both: {"parallel": {"branches": both[0], "join": both[1]}}
            ),
            st.tuples(st.sampled_from(CONDITIONS), inner, inner).map(
                lambda three: {"switch": [{"if": three[0], "do": three[1]}, {"else": three[2]}]}
            ),
            st.tuples(inner, st.sampled_from(CONDITIONS), st.integers(1, 3)).map(
                lambda three: {"loop": {"do": three[0], "until": three[1], "max_iterations": three[2]}}
            ),
        )
        recover = st.dictionaries(
            st.sampled_from((*CODES, "*", "TIMEOUT")),
            st.fixed_dictionaries({"do": inner}, optional={"retry": st.just(2)}),
            max_size=1,
        )
        return st.tuples(kind, extras, recover).map(lambda three: {**three[0], **three[1], "recover": three[2]})

    base = st.tuples(leaf(callable_ids), extras).map(lambda both: {**both[0], **both[1]})
    return st.recursive(base, composite, max_leaves=10)


said = st.one_of(st.sampled_from(CODES), st.fixed_dictionaries({"ok": st.booleans()}))
scripts = st.fixed_dictionaries(
    {
        name: st.tuples(st.lists(said, min_size=1, max_size=4), st.sampled_from((0, 3, 80, 5_000)))
        for name in (*READS, *WRITES)
    }
)
banks = st.tuples(plans(IDS[1:]), plans(IDS[2:]), plans(()))
Scripts = dict[str, tuple[list[Any], int]]


def turn(plan_of: tuple[Any, ...], scripts: Scripts, *, dry_run: bool = False) -> tuple[World, TurnResult]:
    world = World()
    for name, (script, ms) in scripts.items():
        world.skill(name, *script, ms=ms, effects="write" if name in WRITES else "read")
    rows: list[dict[str, Any]] = [{"id": IDS[0], "plan": plan_of[0]}]
    rows += [{"id": name, "called": True, "plan": plan} for name, plan in zip(IDS[1:], plan_of[1:], strict=True)]
    rows.append(
        {"id": "shop.event", "trigger": {"event": "skill_result:r1", "when": "flag.a == 1"}, "plan": plan_of[2]}
    )
    rows.append({"id": "shop.noting", "trigger": {"event": "emitted:noted", "when": "true"}, "plan": plan_of[1]})
    registry = {"flag.a": "number", "n.b": "number", "missing.c": "boolean"}
    bank = world.bank(*map(yaml.safe_dump, rows), registry=registry, turn={"max_steps": 24, "max_ms": 20_000})
    session = world.session(flag={"a": 1}, n={"b": 1})
    return world, asyncio.run(world.turn(bank, session=session, dry_run=dry_run))


@pytest.mark.meets("S29", "S126", "X6")
@settings(max_examples=60, deadline=None)
@given(banks, scripts)
def test_whatever_the_plan_a_turn_ends_within_its_budget(plan_of: tuple[Any, ...], scripts: Scripts) -> None:
    world, result = turn(plan_of, scripts)
    assert result.kind in ("done", "failed")
    assert len(world.called) <= 24
    assert world.clock.monotonic_ms() <= 20_000
    for execution in result.executions:
        assert execution.latency_ms <= 20_000


@pytest.mark.meets("S91")
@settings(max_examples=40, deadline=None)
@given(banks, scripts)
def test_the_same_inputs_give_the_same_trace(plan_of: tuple[Any, ...], scripts: Scripts) -> None:
    first, second = (turn(plan_of, scripts)[1] for _ in range(2))
    assert first.trace.to_bytes() == second.trace.to_bytes()
    assert first.executions == second.executions


@pytest.mark.meets("S70", "X1")
@settings(max_examples=60, deadline=None)
@given(banks, scripts)
def test_no_skill_that_writes_is_ever_called_in_a_dry_run(plan_of: tuple[Any, ...], scripts: Scripts) -> None:
    world, result = turn(plan_of, scripts, dry_run=True)
    assert not set(world.called) & set(WRITES)
    assert all(call.dry_run for _, _, call in world.calls)
    assert world.store.read("s1").body == {"values": {"flag": {"a": 1}, "n": {"b": 1}}}
    assert world.store.reserve("ticket_id", "s").number == 1
    assert result.kind in ("done", "failed")


@pytest.mark.meets("S86")
@settings(max_examples=30, deadline=None)
@given(banks, scripts)
def test_every_reservation_is_settled_when_the_turn_is_over(plan_of: tuple[Any, ...], scripts: Scripts) -> None:
    world, result = turn(plan_of, scripts)
    begun = [event["id"] for event in result.trace.of("reserved")]
    ended = [event["id"] for event in result.trace.of("reservation")]
    assert sorted(begun) == sorted(ended)
    held = world.store._database.execute("SELECT COUNT(*) FROM reservation WHERE state = 'held'").fetchone()
    assert held == (0,)
