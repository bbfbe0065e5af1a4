"""What is tracked: executions, outcomes, alarms, numbers of the board, rules of rollback, what answers whom."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.foundation.errors import UsageError
from core.strategy.bank import alarms, dashboards, executions, outcomes, rollback
from core.strategy.bank.alarms import Hour
from core.strategy.bank.assign import User
from core.strategy.bank.bank import Bank
from core.strategy.bank.changes import changed, changed_strategies, stamp
from core.strategy.bank.inventory import inventory
from core.strategy.bank.serving import chosen, texts
from core.strategy.bank.states import Step
from core.strategy.documents.release import Alert, BankSettings, Impact
from core.strategy.execution.records import Execution, LevelResult
from tests.strategy.bank.banks import ADA, make, release_text, strategy_text, to_active, to_gray, write

NOON = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)


def execution(number: int = 0, at: datetime = NOON, **more: Any) -> Execution:
    made = Execution(
        session=f"session-{number}",
        turn=1,
        time=at.isoformat(),
        strategy_id="shop.refund",
        version=1,
        event="turn",
        trigger_condition_met=True,
        execution_path=("run:refund",),
        validation_result={"level0": LevelResult(passed=2, ms=1.5), "level1": None},
        business_impact=None,
        latency_ms=100.0,
        code="",
    )
    return dataclasses.replace(made, **more)


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    made = make(tmp_path)
    write(made, strategy_text())
    return made


@pytest.mark.meets("S74")
def test_every_line_of_the_log_has_every_field_of_its_type(bank: Bank) -> None:
    first = execution(1, user={"device": "ios"}, fallbacks=("hand_off",))
    late = execution(2, NOON + timedelta(days=1), version=None, strategy_id=None, trigger_condition_met=None)
    executions.append(bank.records, [late, first])
    assert executions.read(bank.records).executions == (first, late)
    assert executions.read(bank.records, since=NOON + timedelta(hours=1)).executions == (late,)
    assert executions.read(bank.records, until=NOON + timedelta(hours=1)).executions == (first,)
    good = first.to_json()
    for name in ("strategy_id", "trigger_condition_met", "execution_path", "validation_result", "business_impact"):
        assert executions.fault_of({key: value for key, value in good.items() if key != name}).startswith(name)
    assert executions.fault_of(good | {"latency_ms": "fast"}).startswith("latency_ms")
    assert executions.fault_of(good | {"extra": 1}).startswith("extra")
    assert executions.fault_of(good | {"time": "2026-06-01T00:00:00"}).startswith("time")
    with pytest.raises(UsageError, match="latency_ms"):
        executions.append(bank.records, [execution(latency_ms="fast")])


def test_a_damaged_line_costs_only_itself_and_is_told(bank: Bank) -> None:
    executions.append(bank.records, [execution(1)])
    path = bank.records / "executions" / "2026-06-01.jsonl"
    path.write_bytes(path.read_bytes() + b'{"session": 5}\nno json\n')
    executions.append(bank.records, [execution(2)])
    log = executions.read(bank.records)
    assert [one.session for one in log.executions] == ["session-1", "session-2"]
    assert len(log.findings) == 2


@pytest.mark.meets("S74", "S102")
def test_outcomes_come_from_outside_and_join_their_session(bank: Bank) -> None:
    values = outcomes.parse_pairs(["resolved=true", "nps=9", "note=well done", "paid=12.5"])
    assert values == {"resolved": True, "nps": 9, "note": "well done", "paid": 12.5}
    outcomes.record(bank.records, "session-1", values, source="cli", time="2026-06-01T13:00:00Z")
    lines = [
        '{"session": "session-2", "resolved": false, "time": "2026-06-01T14:00:00+00:00"}',
        "",
        '{"session": "session-2"}',
        '{"session": "session-2", "resolved": null}',
        '{"session": "", "resolved": true}',
        '{"session": "session-3", "resolved": true, "time": "2026-06-01"}',
        '{"session": "session-3", "Resolved": true}',
        '{"session": "session-4", "resolved": true, "time": "2026-06-01T11:00:00Z"}',
        "[1]",
    ]
    intake = outcomes.take(bank.records, "\n".join(lines), source="desk.jsonl")
    assert [(one.session, one.value) for one in intake.taken] == [("session-2", False), ("session-4", True)]
    assert [number for number, _ in intake.refused] == [3, 4, 5, 6, 7, 9]
    told = outcomes.read(bank.records)
    ran = [execution(number) for number in (1, 2, 3, 4)]
    found = outcomes.joined(ran, told, {"shop.refund": "resolved"})
    # The third has no outcome, the fourth only one from before it ran: unknown, never 0.
    assert [one.business_impact for one in found] == [1.0, 0.0, None, None]
    assert [one.business_impact for one in outcomes.joined(ran, told, {"shop.refund": "note"})] == [None] * 4
    outcomes.record(bank.records, "session-2", {"resolved": True}, source="cli", time="2026-06-01T15:00:00Z")
    later = outcomes.joined(ran, outcomes.read(bank.records), {"shop.refund": "resolved"})
    assert later[1].business_impact == 1.0
    assert outcomes.gaps(bank.records) == ()


def test_an_outcome_in_the_second_of_its_execution_counts() -> None:
    (told,) = outcomes.joined(
        [execution(1, NOON.replace(microsecond=900_000))],
        [outcomes.OutcomeLine("2026-06-01T12:00:00Z", "session-1", "resolved", True, "desk")],
        {"shop.refund": "resolved"},
    )
    assert told.business_impact == 1.0


@pytest.mark.parametrize("pair", ["resolved", "Resolved=1", "session=x", "=1", "x y=1"])
def test_a_pair_that_is_no_outcome_is_refused(pair: str) -> None:
    with pytest.raises(UsageError):
        outcomes.parse_pairs([pair])


@pytest.mark.meets("S102")
def test_a_survey_names_its_session() -> None:
    assert outcomes.survey_link("", "session-1") == ""
    assert outcomes.survey_link("https://example.org/s?id={session}", "a b&c") == "https://example.org/s?id=a%20b%26c"
    with pytest.raises(UsageError):
        outcomes.survey_link("https://example.org/s", "session-1")


ALERT = Alert(below=0.5, hours=3)


def of_means(*means: float | None) -> tuple[Hour, ...]:
    return tuple(Hour(NOON + timedelta(hours=n), 0 if mean is None else 4, mean) for n, mean in enumerate(means))


@pytest.mark.meets("S76")
@pytest.mark.parametrize(
    ("means", "state"),
    [
        ((0.4, 0.3, 0.49), "alarm"),
        ((0.4, 0.5, 0.1), "ok"),
        ((0.9, 0.4, 0.3, 0.2), "alarm"),
        ((0.4, None, 0.4), "unknown"),
        ((0.4, None, 0.9), "ok"),
        ((None, None, None), "unknown"),
        ((0.1, 0.1), "unknown"),
        ((0.0, 0.0, 0.0), "alarm"),
    ],
)
def test_three_known_hours_below_half_raise_the_alarm(means: tuple[float | None, ...], state: str) -> None:
    assert alarms.judge(of_means(*means), ALERT) == state


@pytest.mark.meets("S76")
@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=3, max_size=8))
def test_an_unknown_hour_never_counts_as_zero(means: list[float | None]) -> None:
    state = alarms.judge(of_means(*means), ALERT)
    low, high = ([fill if mean is None else mean for mean in means] for fill in (0.0, 1.0))
    possible = {alarms.judge(of_means(*low), ALERT), alarms.judge(of_means(*high), ALERT)}
    assert state == ("unknown" if len(possible) == 2 else possible.pop())


@pytest.mark.meets("S76")
def test_hours_are_those_of_the_clock_and_the_present_one_waits() -> None:
    ran = [
        execution(n, NOON - timedelta(hours=back, minutes=-30), business_impact=value)
        for n, (back, value) in enumerate([(3, 0.0), (2, 0.0), (2, 1.0), (1, 0.0), (0, 1.0)])
    ]
    ran.append(execution(9, NOON - timedelta(minutes=10), business_impact=1.0, dry_run=True))
    (watched,) = alarms.watched(ran, {"shop.refund": Impact(metric="resolved")}, NOON + timedelta(minutes=45))
    assert [(hour.start.hour, hour.samples, hour.mean) for hour in watched.hours] == [
        (9, 1, 0.0),
        (10, 2, 0.5),
        (11, 1, 0.0),
    ]
    assert watched.state == "ok"
    (quiet,) = alarms.watched([], {"shop.refund": Impact(metric="resolved")}, NOON)
    assert quiet.state == "unknown"
    assert "unknown whether resolved below 50%" in quiet.text


@pytest.mark.meets("S39", "S43", "S75")
def test_the_boards_numbers_and_what_is_not_known() -> None:
    both: dict[str, LevelResult | None] = {"level0": LevelResult(1, ms=2), "level1": LevelResult(1, ms=4, overrun=True)}
    ran = [
        execution(1, latency_ms=100),
        execution(2, latency_ms=300, code="TIMEOUT", fallbacks=("a",), validation_result=both),
        execution(3, latency_ms=200, pseudo_success=True, missed=("order.id",)),
        execution(4, latency_ms=200, pseudo_success=False, business_impact=1.0),
        execution(5, dry_run=True, latency_ms=9_000),
    ]
    found = dashboards.numbers(ran, {"session-1": True, "session-2": False, "other": True})
    assert (found.executions, found.success.value, found.fallback.value) == (4, 0.5, 0.25)
    assert (found.pseudo_success.hits, found.pseudo_success.count) == (1, 2)
    assert found.mistrigger.value == 0.5
    assert {level: share.value for level, share in found.levels.items()} == {
        "level0": 1.0,
        "level1": 0.25,
        "level2": 0.0,
        "cross": 0.0,
    }
    assert (found.latency_mean, found.latency_p50, found.latency_p95) == (200, 200, 300)
    assert (found.impact_mean, found.impact_known, found.overruns.hits, found.missed.hits) == (1.0, 1, 1, 1)
    assert found.validation_ms == (1.5 * 3 + 6) / 4
    nothing = dashboards.numbers([])
    assert nothing.success.value is None
    assert nothing.latency_p95 is None
    assert nothing.success.interval is None


@pytest.mark.meets("S75")
def test_executions_fall_into_segments_and_the_unknown_is_one() -> None:
    ran = [execution(1, user={"age": "65+"}), execution(2), execution(3, user={"age": "65+"}, code="TIMEOUT")]
    assert {name: len(some) for name, some in dashboards.segments(ran, "age").items()} == {"65+": 2, "unknown": 1}
    assert list(dashboards.segments(ran, "code")) == ["TIMEOUT", "ok"]
    assert list(dashboards.segments(ran, "version")) == ["shop.refund/1"]


RULES = """rollout:
  stages: [{percent: 50}, {percent: 100}]
  shadow: {by: [age]}
  rollback_when:
    - {metric: fallback_rate, rel_increase: 0.2, hours: 1, min_samples: 20}
    - {metric: mistrigger_rate, over: 0.05, hours: 1, min_samples: 20, segment: any}
"""


def two_versions(bank: Bank) -> None:
    bank.publish("shop.refund", ADA)
    to_active(bank)
    write(bank, strategy_text(version=2))
    write(bank, release_text(2, RULES), ending=".release.yaml")
    bank.publish("shop.refund", ADA)
    to_gray(bank, 2)


def served(version: int, fallbacks: int, of: int = 40, age: str = "30") -> list[Execution]:
    return [
        execution(
            version * 1000 + n,
            NOON - timedelta(minutes=30),
            version=version,
            user={"age": age},
            fallbacks=("x",) if n < fallbacks else (),
        )
        for n in range(of)
    ]


@pytest.mark.meets("S73")
def test_a_rule_takes_a_release_back_by_itself(bank: Bank) -> None:
    two_versions(bank)
    executions.append(bank.records, [*served(1, 10), *served(2, 11)])
    judged = rollback.sweep(bank, NOON)["shop.refund"]
    assert [one.verdict for one in judged] == ["hold", "unknown", "unknown"]
    assert bank.standing("shop.refund", 2).state == "gray"
    executions.append(bank.records, served(2, 40))
    assert "roll_back" in [one.verdict for one in rollback.sweep(bank, NOON)["shop.refund"]]
    assert bank.standing("shop.refund", 2).state == "offline"
    assert bank.standing("shop.refund", 1).state == "active"
    last = bank.journal().events[-1]
    assert last.actor == "rollback rule"
    assert "fallback_rate 63.7% against 25.0%" in last.why
    assert rollback.sweep(bank, NOON) == {}  # nothing left to take back


@pytest.mark.meets("S72", "S73")
def test_a_release_that_harms_one_group_alone_is_taken_back(bank: Bank) -> None:
    two_versions(bank)
    ran = [
        *served(2, 0, of=960),
        *(dataclasses.replace(one, session=f"old-{one.session}") for one in served(2, 0, age="70")),
    ]
    executions.append(bank.records, ran)
    for one in ran:
        wrong = one.session in {f"old-session-{2000 + n}" for n in range(10)}
        outcomes.record(bank.records, one.session, {"mistrigger": wrong}, source="desk", time="2026-06-01T12:00:00Z")
    judged = {one.segment: one.verdict for one in rollback.sweep(bank, NOON)["shop.refund"] if one.rule.over}
    assert judged == {"": "hold", "age 30": "hold", "age 70": "roll_back"}
    assert bank.standing("shop.refund", 2).state == "offline"


def test_too_few_executions_are_unknown(bank: Bank) -> None:
    two_versions(bank)
    executions.append(bank.records, [*served(1, 0), *served(2, 19, of=19)])
    assert {one.verdict for one in rollback.sweep(bank, NOON)["shop.refund"]} == {"unknown"}
    assert bank.standing("shop.refund", 2).state == "gray"


@pytest.mark.meets("S67", "S101")
def test_what_answers_a_user_follows_the_states(bank: Bank) -> None:
    assert chosen(bank.journal(), User("u")) == ()
    bank.publish("shop.refund", ADA)
    assert chosen(bank.journal(), User("u")) == ()  # a draft answers nobody
    to_active(bank)
    write(bank, strategy_text(version=2, plan="{run: refund_fast}"))
    write(bank, release_text(2, "rollout: {stages: [{percent: 50}], ab: {against: 1}}\n"), ending=".release.yaml")
    bank.publish("shop.refund", ADA)
    to_gray(bank, 2)
    journal = bank.journal()
    found = [chosen(journal, User(f"u{n}"))[0] for n in range(2_000)]
    shares = {arm: sum(one.arm == arm for one in found) / 2_000 for arm in ("active", "gray", "control")}
    assert abs(shares["gray"] - 0.25) < 0.03
    assert abs(shares["control"] - 0.25) < 0.03
    assert {one.version for one in found if one.arm == "gray"} == {2}
    assert {one.version for one in found if one.arm != "gray"} == {1}
    gray = next(one for one in found if one.arm == "gray")
    assert "refund_fast" in texts(bank, (gray,))[".versions/shop.refund/2.yaml"]
    bank.take_back("shop.refund", ADA, "no")
    assert {chosen(bank.journal(), User(f"u{n}"))[0].version for n in range(50)} == {1}


@pytest.mark.meets("S77")
def test_domains_have_an_owner_and_a_review_that_is_due(bank: Bank) -> None:
    write(bank, strategy_text("shop.other"), "shop.other")
    write(bank, strategy_text("content.post"), "content.post")
    settings = BankSettings.model_validate(
        {
            "domains": {
                "shop": {"owner": "ada", "review_days": 7},
                "ops": {"owner": "bo", "reviewed": "2026-05-30T00:00:00Z"},
            }
        }
    )
    bank.publish("shop.refund", ADA)
    found = inventory(bank.entries(), bank.journal(), settings, NOON)
    assert [(one.name, one.owner, one.count, one.overdue) for one in found.domains] == [
        ("content", "", 1, False),
        ("ops", "bo", 0, False),
        ("shop", "ada", 2, True),
    ]
    bank.review_domain("shop", ADA, "weekly")
    (shop,) = (one for one in inventory(bank.entries(), bank.journal(), settings, NOON).domains if one.name == "shop")
    assert not shop.overdue
    bank.move("shop.refund", 1, Step("archived", ADA, "2026-06-01T00:00:00Z"))
    after = inventory(bank.entries(), bank.journal(), settings, NOON)
    assert (after.strategies, after.retired) == (2, 1)
    assert after.retired_share == pytest.approx(1 / 3)


def test_a_stamp_tells_what_changed(bank: Bank) -> None:
    first = stamp(bank)
    assert changed(first, stamp(bank)) == frozenset()
    assert "states" in changed(None, first)
    write(bank, strategy_text("shop.other"), "shop.other")
    write(bank, release_text(1), ending=".release.yaml")
    second = stamp(bank)
    assert changed(first, second) == {"strategies", "releases"}
    assert changed_strategies(first, second) == {"shop.other", "shop.refund"}
    bank.publish("shop.refund", ADA)
    third = stamp(bank)
    assert changed(second, third) == {"states", "versions"}
    executions.append(bank.records, [execution(1)])
    outcomes.record(bank.records, "session-1", {"resolved": True}, source="cli")
    assert changed(third, stamp(bank)) == {"executions", "outcomes"}
