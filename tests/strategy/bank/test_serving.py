"""What answers whom, taken up without a restart; stages that go on by themselves; two writers at once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from core.strategy.bank import executions, outcomes
from core.strategy.bank.assign import User
from core.strategy.bank.bank import Bank
from core.strategy.bank.board import board
from core.strategy.bank.drawing import enter_stage
from core.strategy.bank.progress import advance
from core.strategy.bank.serving import Serving, arms, group_of, profile
from core.strategy.execution.clock import VirtualClock
from core.strategy.execution.session import SessionState
from core.strategy.execution.store import ContextStore
from core.strategy.execution.suggestion import Suggestion
from core.strategy.execution.turn import run_turn
from tests.strategy.bank.banks import ADA, make, release_text, step, strategy_text, to_active, to_gray, write
from tests.strategy.bank.test_records import NOON, execution
from tests.strategy.bank.test_shadow import SCHEMAS, TRIGGER, World

HALF = "rollout: {stages: [{percent: 50, hold_hours: 24}, {percent: 100, hold_hours: 24}]}\n"


def text(version: int, plan: str, more: str = "") -> str:
    return strategy_text(version=version, more=TRIGGER + more, plan=plan)


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    made = make(tmp_path)
    write(made, text(1, "{run: look}"))
    made.publish("shop.refund", ADA)
    to_active(made)
    return made


def second(bank: Bank, more: str = "", rollout: str = HALF) -> None:
    write(bank, text(2, "{run: hand_off}", more))
    write(bank, release_text(2, rollout), ending=".release.yaml")
    bank.publish("shop.refund", ADA)
    to_gray(bank, 2)


def ran(serving: Serving, user: User) -> int | None:
    """Run a turn for a user; return the version that answered."""
    found = serving.for_user(user, NOON)
    clock = VirtualClock()
    session = SessionState("session-1", ContextStore(), {"id": user.id})
    result = asyncio.run(
        run_turn(
            found.bank, session, "money back", Suggestion(intent="refund"), World(clock).skills(), clock,
            assignment=found.assignment,
        )
    )  # fmt: skip
    return result.executions[0].version


@pytest.mark.meets("S67", "S79", "S80")
def test_gray_users_meet_the_new_version_with_the_next_turn(bank: Bank) -> None:
    serving = Serving(bank, SCHEMAS)
    users = [User(f"u{n}") for n in range(40)]
    assert {ran(serving, user) for user in users[:4]} == {1}
    held = serving.for_user(users[0], NOON)
    second(bank)
    standing = bank.standing("shop.refund", 2)
    assert [ran(serving, user) for user in users] == [2 if group_of(standing, u) == "gray" else 1 for u in users]
    assert {one.version for one in held.served} == {1}  # a session in flight keeps what it began with
    bank.take_back("shop.refund", ADA, "no")
    assert {ran(serving, user) for user in users} == {1}
    assert serving.for_user(users[0], NOON).bank is serving.for_user(users[1], NOON).bank  # compiled once


@pytest.mark.meets("S62")
def test_a_gray_version_outside_its_dates_leaves_the_old_one(bank: Bank) -> None:
    second(bank, 'effective_from: "2027-01-01T00:00:00Z"\n')
    serving = Serving(bank, SCHEMAS)
    assert {ran(serving, User(f"u{n}")) for n in range(12)} == {1}


def test_a_gray_version_with_faults_answers_nobody_and_is_told(bank: Bank) -> None:
    write(bank, text(2, "{run: nowhere}"))
    bank.publish("shop.refund", ADA)
    to_gray(bank, 2)
    serving = Serving(bank, SCHEMAS)
    assert {ran(serving, User(f"u{n}")) for n in range(12)} == {1}
    assert any("nowhere" in str(fault) for fault in serving.faults)


def test_copies_in_the_agents_state_are_the_base(bank: Bank, tmp_path: Path) -> None:
    copies = tmp_path / "agent_state" / "strategies"
    copies.mkdir(parents=True)
    (copies / "shop.refund.yaml").write_text(text(7, "{run: note}"))
    serving = Serving(bank, SCHEMAS, in_force=copies)
    assert ran(serving, User("u")) == 7
    second(bank, rollout="rollout: {stages: [{percent: 100}]}\n")
    assert ran(serving, User("u")) == 2
    (copies / "shop.refund.yaml").write_text(text(8, "{run: note}"))
    bank.take_back("shop.refund", ADA, "no")
    assert ran(serving, User("u")) == 8


@pytest.mark.meets("S101", "S102")
def test_the_arms_of_a_test_are_read_off_who_was_drawn(bank: Bank) -> None:
    second(bank, rollout="rollout: {stages: [{percent: 50}], ab: {against: 1}}\n")
    standing = bank.standing("shop.refund", 2)
    lines = []
    for number in range(400):
        group = group_of(standing, User(f"u{number}"))
        version = 2 if group == "gray" else 1
        lines.append(execution(number, version=version, user={"id": f"u{number}", "device": "ios"}))
    lines += [execution(900), execution(901, NOON - timedelta(days=9), user={"id": "u1"})]
    found = arms(standing, lines)
    assert len(found.old) + len(found.new) + found.left_out == 401
    assert {one.version for one in found.old} == {1}
    assert {one.version for one in found.new} == {2}
    assert abs(len(found.new) - 100) < 30
    assert abs(len(found.old) - 100) < 30
    report = profile(standing, lines, ["device"])
    assert (report.drawn, report.population) == (len(found.new), 400)
    assert report.representativeness == 1.0


RULE = "  rollback_when: [{metric: failure_rate, over: 0.5, hours: 24, min_samples: 10}]\n"


@pytest.mark.meets("S67", "S73")
def test_a_stage_goes_on_when_it_has_held_and_its_rules_know_enough(bank: Bank) -> None:
    rollout = "rollout:\n  stages: [{percent: 50, hold_hours: 24}, {percent: 100}]\n" + RULE
    second(bank, rollout=rollout)
    day = datetime(2026, 6, 2, 1, 0, tzinfo=UTC)
    (told,) = advance(bank, day - timedelta(hours=2))
    assert (told.what, "0 of 10 samples" in told.why) == ("waits", True)
    executions.append(bank.records, [execution(n, NOON, version=2) for n in range(10)])
    (told,) = advance(bank, day - timedelta(hours=2))
    assert (told.what, "holds until" in told.why) == ("waits", True)
    (told,) = advance(bank, day)
    assert (told.what, told.why) == ("advanced", "stage 2 of 2")
    assert bank.standing("shop.refund", 2).stage == 1
    assert bank.journal().events[-1].actor == "stages"
    (told,) = advance(bank, day + timedelta(days=30))
    assert (told.what, "a person gives it all traffic" in told.why) == ("waits", True)
    late = [execution(100 + n, day + timedelta(hours=1), version=2, code="TIMEOUT") for n in range(30)]
    executions.append(bank.records, late)
    (told,) = advance(bank, day + timedelta(hours=2))
    assert (told.what, "failure_rate" in told.why) == ("taken back", True)
    assert bank.standing("shop.refund", 2).state == "offline"
    assert advance(bank, day + timedelta(hours=2)) == ()


@pytest.mark.meets("S73")
def test_an_active_version_that_fails_gives_all_traffic_back(bank: Bank) -> None:
    second(bank, rollout="rollout:\n  stages: [{percent: 100}]\n" + RULE)
    bank.move("shop.refund", 2, step("active", 12))
    executions.append(bank.records, [execution(n, NOON + timedelta(hours=1), version=2, code="X") for n in range(12)])
    (told,) = advance(bank, NOON + timedelta(hours=2))
    assert (told.what, told.restored) == ("taken back", 1)
    assert bank.standing("shop.refund", 1).state == "active"


@pytest.mark.meets("S75", "S76")
def test_the_board_is_one_look_at_the_files(bank: Bank) -> None:
    second(bank, rollout=HALF + "track: {business_impact: {metric: resolved, alert: {below: 0.5, hours: 3}}}\n")
    lines = [
        execution(n, NOON - timedelta(hours=n % 3, minutes=30), version=1 + n % 2, user={"device": "ios"})
        for n in range(12)
    ]
    executions.append(bank.records, [*lines, execution(99, NOON - timedelta(days=3))])
    for one in lines:
        outcomes.record(
            bank.records, one.session, {"resolved": False, "nps": 3}, source="desk", time="2026-06-01T13:00:00Z"
        )
    found = board(bank, NOON)
    assert found.whole.executions == 12
    assert found.strategies["shop.refund"].impact_mean == 0.0
    assert [one.state for one in found.alarms] == ["alarm"]
    assert len(found.satisfaction) == 12
    assert [one.version for one in found.released] == [2]
    assert {name: one.executions for name, one in found.by("version").items()} == {
        "shop.refund/1": 6,
        "shop.refund/2": 6,
    }
    assert found.findings == ()
    write(bank, "x: [", ending=".release.yaml")
    assert board(bank, NOON).findings


def test_two_processes_that_publish_at_once_make_one_version_each(bank: Bank) -> None:
    script = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from core.foundation.errors import ConflictError
        from core.state.paths import ProjectPaths
        from core.strategy.bank.bank import bank_of
        from core.strategy.bank.states import Actor
        bank = bank_of(ProjectPaths(Path(sys.argv[1])))
        for _ in range(12):
            bank.publish("shop.refund", Actor(sys.argv[2], True))
            try:
                bank.take_back("shop.refund", Actor(sys.argv[2], True), "race")
            except Exception as error:
                assert "has no version" in str(error), error
        """
    )
    write(bank, text(2, "{run: note}"))
    project: Any = bank.project
    argv = [sys.executable, "-P", "-c", script, str(project.root)]
    running = [subprocess.Popen([*argv, name], stderr=subprocess.PIPE) for name in ("ada", "bo")]
    assert [process.communicate(timeout=60)[1] for process in running] == [b"", b""]
    told = bank.journal()
    assert told.findings == ()
    assert [event.event for event in told.events if event.version == 2] == ["published"]
    assert [event.to for event in told.events if event.version == 1].count("offline") == 1


@pytest.mark.meets("S128", "S129")
def test_known_users_are_drawn_inside_their_strata(bank: Bank) -> None:
    write(bank, text(2, "{run: hand_off}"))
    rollout = """rollout:
  assign: {stratify: active_days_30d, strata: [0, 7]}
  shadow: {by: [region]}
  stages: [{percent: 10, device: [ios], hold_hours: 1}, {percent: 50, hold_hours: 1}, {percent: 100}]
"""
    write(bank, release_text(2, rollout), ending=".release.yaml")
    bank.publish("shop.refund", ADA)
    bank.move("shop.refund", 2, step("review"))
    bank.move("shop.refund", 2, step("shadow"))
    users = [
        {"id": f"u{n}", "device": "ios" if n % 2 else "web", "active_days_30d": 20 if n % 5 else 3, "region": n % 3}
        for n in range(400)
    ]
    executions.append(bank.records, [execution(n, user=user) for n, user in enumerate(users)])
    entered = enter_stage(bank, "shop.refund", 2, ADA, NOON + timedelta(hours=1))
    assert entered.standing.stage == 0
    assert (entered.representation.drawn, entered.representation.population) == (20, 200)
    (line, *_) = [level for level in entered.representation.levels if level.attribute == "active_days_30d"]
    assert line.bias == 0
    (told,) = advance(bank, NOON + timedelta(hours=3))
    assert told.what == "advanced"
    assert len(bank.standing("shop.refund", 2).cuts) == 2
    standing = bank.standing("shop.refund", 2)
    drawn = [user for user in users if group_of(standing, User(str(user["id"]), user)) == "gray"]
    assert len(drawn) == 200
