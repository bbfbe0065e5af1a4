"""Virtual time: branches overlap, timeouts fall where they must, two clocks in one loop don't hold each other up."""

from __future__ import annotations

import asyncio
import time

import pytest

from core.foundation.errors import UsageError
from core.strategy.execution.clock import Clock, RealClock, VirtualClock


@pytest.mark.meets("S26")
async def test_branches_that_wait_together_take_as_long_as_the_longest() -> None:
    clock = VirtualClock()
    began = time.monotonic()
    await asyncio.gather(clock.sleep(60_000), clock.sleep(90_000), clock.sleep(30_000))
    assert clock.monotonic_ms() == 90_000
    assert time.monotonic() - began < 5


async def test_one_after_the_other_adds_up_and_order_is_by_time() -> None:
    clock, seen = VirtualClock(), []

    async def wait(name: str, *pauses: int) -> None:
        for pause in pauses:
            await clock.sleep(pause)
            seen.append((name, clock.monotonic_ms()))

    await asyncio.gather(wait("a", 100, 100), wait("b", 150, 10), wait("c", 100))
    assert seen == [("a", 100), ("c", 100), ("b", 150), ("b", 160), ("a", 200)]


async def test_a_timeout_cuts_a_wait_and_leaves_no_time_behind() -> None:
    clock = VirtualClock()
    with pytest.raises(TimeoutError):
        async with clock.timeout(3_000):
            await clock.sleep(10_000)
    assert clock.monotonic_ms() == 3_000
    async with clock.timeout(3_000):
        await clock.sleep(10)
    await clock.sleep(5)
    assert clock.monotonic_ms() == 3_015
    clock.advance(85)
    assert clock.monotonic_ms() == 3_100


async def test_the_inner_of_two_timeouts_is_told_from_the_outer() -> None:
    clock, inner_ended = VirtualClock(), False

    async def body() -> None:
        nonlocal inner_ended
        async with clock.timeout(100):
            try:
                async with clock.timeout(1_000):
                    await clock.sleep(5_000)
            except TimeoutError:
                inner_ended = True

    with pytest.raises(TimeoutError):
        await body()
    assert not inner_ended
    assert clock.monotonic_ms() == 100


async def test_code_that_waits_for_a_lock_holds_nothing_up() -> None:
    clock, lock = VirtualClock(), asyncio.Lock()

    async def hold() -> None:
        async with lock:
            await clock.sleep(100)

    await asyncio.gather(hold(), hold(), hold())
    assert clock.monotonic_ms() == 300


async def test_two_clocks_in_one_loop_keep_their_own_time() -> None:
    one, two = VirtualClock(), VirtualClock()

    async def walk(clock: VirtualClock, pause: int) -> None:
        for _ in range(50):
            await clock.sleep(pause)

    await asyncio.gather(walk(one, 10), walk(two, 1_000))
    assert (one.monotonic_ms(), two.monotonic_ms()) == (500, 50_000)


async def test_virtual_time_is_not_moved_by_hand_while_somebody_waits() -> None:
    clock = VirtualClock()
    waiting = asyncio.create_task(clock.sleep(10))
    await asyncio.sleep(0)
    with pytest.raises(UsageError, match="by itself"):
        clock.advance(5)
    await waiting


@pytest.mark.parametrize("clock", [RealClock(), VirtualClock()], ids=["real", "virtual"])
async def test_both_clocks_limit_a_body_and_let_an_outer_cancellation_through(clock: Clock) -> None:
    with pytest.raises(TimeoutError):
        async with clock.timeout(5):
            await clock.sleep(60_000)

    async def body() -> None:
        async with clock.timeout(60_000):
            await asyncio.Event().wait()

    task = asyncio.create_task(body())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
