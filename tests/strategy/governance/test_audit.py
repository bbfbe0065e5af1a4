"""The monthly audit and the gauge (S111 to S116), and which layers pay (S5, S6)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.strategy.execution.records import Execution, LevelResult
from core.strategy.governance.advisor import advise, banner
from core.strategy.governance.audit import Audit, InForce, audit, gauge
from tests.strategy.feedback.making import execution, strategy

NOW = datetime(2026, 6, 30, tzinfo=UTC)
TRIGGER = "trigger: {when: 'true'}"


def at(days_ago: float) -> str:
    return (NOW - timedelta(days=days_ago)).isoformat()


def runs(name: str, count: int, failed: int, days_ago: float = 5, **more: Any) -> list[Execution]:
    return [
        execution(
            strategy_id=name,
            session=f"{name}{n}{days_ago}",
            time=at(days_ago),
            code="BAD" if n < failed else "",
            **more,
        )
        for n in range(count)
    ]


def look(*executions: list[Execution], names: tuple[str, ...] = ("shop.a",), since: float = 90) -> Audit:
    held = [InForce(strategy(TRIGGER, name), NOW - timedelta(days=since)) for name in names]
    return audit(held, [one for group in executions for one in group], NOW)


@pytest.mark.meets("S111", "S112")
def test_what_was_not_called_for_a_month_is_proposed_for_the_archive() -> None:
    assert look().of("archive") == ("shop.a",)
    assert look(runs("shop.a", 1, 0, days_ago=31)).of("archive") == ("shop.a",)
    assert look(runs("shop.a", 1, 0, days_ago=29)).of("archive") == ()
    assert look(since=10).of("archive") == ()
    assert look(runs("shop.a", 1, 0, dry_run=True)).of("archive") == ("shop.a",)


@pytest.mark.meets("S113")
def test_what_fails_often_and_does_not_improve_goes_off_line() -> None:
    often, before = runs("shop.a", 100, 16), runs("shop.a", 100, 16, days_ago=40)
    assert look(often, before).of("offline") == ("shop.a",)
    assert look(often, runs("shop.a", 100, 30, days_ago=40)).of("offline") == ()
    assert look(runs("shop.a", 100, 15), before).of("offline") == ()
    assert look(often).of("offline") == ()
    assert look(often).of("optimise") == ("shop.a",)
    few = look(runs("shop.a", 10, 10), before).rows[0]
    assert (few.failure_rate, few.actions) == (None, ())


@pytest.mark.meets("S114")
def test_what_stands_in_too_often_needs_work() -> None:
    steps = [
        execution(strategy_id="shop.b", session=f"s{n}", time=at(3), fallbacks=("call shop.a",)) for n in range(100)
    ]
    assert look(steps).rows[0].fallbacks == 100
    assert look(steps).of("optimise") == ()
    assert look(steps).of("archive") == ()
    more = runs("shop.a", 1, 0, event="strategy_failed:shop.b")
    found = look(steps, more)
    assert (found.rows[0].fallbacks, found.of("optimise")) == (101, ("shop.a",))


@pytest.mark.meets("S115")
def test_the_load_that_is_freed_is_told() -> None:
    found = look(runs("shop.a", 3, 0), names=("shop.a", "shop.b", "shop.c", "shop.d"))
    assert found.of("archive") == ("shop.b", "shop.c", "shop.d")
    assert (found.load.strategies, found.load.conditions, found.load.time) == (0.75, 0.75, 0.0)
    nothing = audit([], [], NOW).load
    assert (nothing.strategies, nothing.conditions, nothing.time) == (None, None, None)


@pytest.mark.meets("S116")
def test_the_gauge() -> None:
    assert [gauge(count).level for count in (319, 320, 400, 401)] == ["ok", "near", "near", "over"]


def tasks(count: int, calls: int, branches: int, *, failed: bool = False) -> list[Execution]:
    levels = {"level0": LevelResult(passed=1, failed=("CHECK_FAILED",) if failed else ())}
    return [
        execution(session=f"s{n}", skill_calls=calls, branches=branches, validation_result=levels) for n in range(count)
    ]


@pytest.mark.meets("S5")
def test_layers_follow_from_calls_and_branches() -> None:
    complex_ = advise(tasks(30, 3, 1), skills=5, kinds=2)
    assert (complex_.size, complex_.layers) == ("complex", ("trigger", "plan", "validate"))
    medium = advise(tasks(30, 1, 0, failed=True), skills=5, kinds=2)
    assert (medium.size, medium.layers, medium.effects) == ("medium", ("trigger", "validate"), 1.0)
    small = advise(tasks(30, 3, 0), skills=5, kinds=2)
    assert (small.size, small.layers) == ("small", ("trigger",))
    assert "does not pay" in small.reason
    assert (small.calls, small.calls_error) == (3.0, 0.0)


@pytest.mark.meets("S5")
def test_a_task_is_a_turn_and_too_few_say_nothing() -> None:
    two = [execution(skill_calls=1), execution(skill_calls=1, branches=1)]
    found = advise(two * 1, skills=5, kinds=2)
    assert (found.tasks, found.calls, found.branches) == (1, 2.0, 1.0)
    assert (found.size, found.layers) == ("unknown", ())
    assert advise([], skills=0, kinds=0).calls is None


@pytest.mark.meets("S6")
def test_the_banner_stands_from_that_size_on() -> None:
    assert [bool(banner(*size)) for size in ((12, 5), (13, 4), (13, 5), (47, 9))] == [False, False, True, True]
    assert "reported" in banner(13, 5)
