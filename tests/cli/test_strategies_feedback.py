"""`exuvia strategy cases|clusters|nightly|review|ab`: from what went wrong to a draft that a person decides."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from core.state.paths import ProjectPaths
from core.strategy.bank import assign, executions, shadow
from core.strategy.bank.assign import User
from core.strategy.bank.bank import Bank, bank_of
from core.strategy.bank.changes import FEEDBACK
from core.strategy.bank.comparison import Comparison
from core.strategy.bank.states import Actor, Step
from core.strategy.execution.records import Execution
from core.strategy.feedback.ab_report import ab_report, settle
from core.strategy.feedback.bad_cases import Queue
from tests.cli.program import tree_hash
from tests.cli.strategy_home import NAME, out, strategy
from tests.strategy.feedback.making import case, execution

NOW = datetime.now(UTC)
ADA = Actor("ada", person=True)


def bank(home: Path) -> Bank:
    return bank_of(ProjectPaths(home / "default_project"))


@pytest.fixture
def queue(shop: Path) -> Path:
    """A home in whose queue are four cases of a carrier that doesn't answer, and one of something else."""
    held = Queue(bank(shop).records / FEEDBACK)
    for number, said in enumerate(
        ("where is my parcel", "where is my parcel now", "is my parcel lost", "my parcel is late")
    ):
        made = case(said, f"s{number}", skill="query_logistics", code="CARRIER_UNAVAILABLE", strategy_id=None)
        assert held.add(made)
    assert held.add(case("compare the price", "s9", skill="query_price", code="HTTP_503", strategy_id=None))
    return shop


@pytest.mark.meets("S96", "S97")
def test_bad_cases_are_listed_filtered_and_shown_whole(queue: Path) -> None:
    before = tree_hash(queue)
    listed = strategy(queue, "cases", "--json").document["cases"]
    assert len(listed) == 5
    assert out(queue, "cases", "--code", "HTTP_503").count("case-") == 1
    assert "No bad case like that is kept." in out(queue, "cases", "--skill", "nothing")
    one = listed[0]
    told = out(queue, "cases", one["id"])
    assert "Failed: query_logistics with CARRIER_UNAVAILABLE" in told
    assert "Said: where is my parcel" in told
    assert strategy(queue, "cases", one["id"], "--json").document == one
    missing = strategy(queue, "cases", "case-0")
    assert missing.code == 2
    assert "List them: exuvia strategy cases" in missing.err
    assert tree_hash(queue) == before


@pytest.mark.meets("S99", "S100")
def test_clusters_tell_what_belongs_together_and_what_would_settle_it(queue: Path) -> None:
    told = strategy(queue, "clusters", "--json").document
    assert sum(len(one["cases"]) for one in told["clusters"]) == 5
    assert told["suggestions"][0]["count"] == 4
    largest = told["clusters"][0]
    shown = out(queue, "clusters", largest["id"])
    assert "Suggested: query_logistics failed with CARRIER_UNAVAILABLE 4 times" in shown
    assert all(name in shown for name in largest["cases"])
    assert len(out(queue, "clusters", "--least", "2").splitlines()) < len(out(queue, "clusters").splitlines())
    assert strategy(queue, "clusters", "cluster-0").code == 2


@pytest.mark.meets("S99", "S100", "S104", "S105", "S106")
def test_the_night_drafts_a_person_decides_and_a_second_night_changes_nothing(queue: Path) -> None:
    first = strategy(queue, "nightly", "--model", "rehearsal/rehearsal-1", "--least", "2", "--json")
    assert first.code == 0, first.err
    drafted = first.document["drafted"]
    assert len(drafted) >= 1
    assert first.document["changed"]
    before = tree_hash(queue)
    again = strategy(queue, "nightly", "--model", "rehearsal/rehearsal-1", "--least", "2", "--json").document
    assert (again["drafted"], again["changed"]) == ([], False)
    assert tree_hash(queue) == before
    waiting = strategy(queue, "review", "list", "--json").document["waiting"]
    assert [one["id"] for one in waiting] == sorted(drafted)
    assert {one["origin"] for one in waiting} == {"synthesized"}
    name = drafted[0]
    assert name in out(queue, "review")
    shown = out(queue, "review", "show", name)
    assert "schema: strategy/v1" in shown
    assert "Rests on: cluster-" in shown
    early = strategy(queue, "gray", name)
    assert (early.code, "is review" in early.err) == (1, True)
    bare = strategy(queue, "review", "approve", name, "--reason", "read it")
    assert bare.code == 1
    assert "nothing says how it did" in bare.err
    assert f"{name} version 1: shadow" in out(
        queue, "review", "approve", name, "--reason", "read it", "--evidence", "check-1"
    )
    gone = strategy(queue, "review", "approve", name, "--reason", "again")
    assert "version 1 is shadow" in gone.err
    for other in drafted[1:]:
        assert "archived" in out(queue, "review", "reject", other, "--reason", "not needed")
    assert "Nothing waits for review" in out(queue, "review")
    assert strategy(queue, "review", "reject", "drafts.nothing", "--reason", "x").code == 2


def test_a_night_without_a_model_drafts_nothing_and_an_empty_one_says_so(queue: Path, fresh: Path) -> None:
    told = strategy(queue, "nightly", "--json").document
    assert (told["drafted"], told["refused"]) == ([], {})
    assert len(told["suggestions"]) == 1
    assert "0 clusters, 0 suggestions." in out(fresh, "nightly")
    wrong = strategy(queue, "nightly", "--model", "nobody/nothing")
    assert wrong.code == 2
    assert "nobody" in wrong.err
    refused = strategy(queue, "nightly", "--agent", "nobody")
    assert "Agents here:" in refused.err


RELEASE = """schema: release/v1
id: aftersale.paid_no_parcel
version: 5
rollout:
  stages: [{percent: 100, hold_hours: 0}]
  ab: {against: 4, split: 50, min_samples: 100}
  shadow: {by: [age_band]}
"""


def released(home: Path) -> Bank:
    """Bring version 4 to all, and version 5 into gray with an A/B test, four days ago."""
    held = bank(home)
    shutil.rmtree(held.records / "executions")
    began = NOW - timedelta(days=4)
    file = held.root / "aftersale" / f"{NAME}.yaml"
    text = file.read_text()
    assert "version: 4\nparent_version: 3\n" in text  # this bank never had a version 3

    def move(version: int, to: str, hours: int, **more: object) -> None:
        held.move(NAME, version, Step(to, ADA, (began + timedelta(hours=hours)).isoformat(), **more))  # type: ignore[arg-type]

    for version, head in ((4, "version: 4\n"), (5, "version: 5\nparent_version: 4\n")):
        file.write_text(text.replace("version: 4\nparent_version: 3\n", head))
        if version == 5:
            (held.root / "aftersale" / f"{NAME}.release.yaml").write_text(RELEASE)
        held.publish(NAME, ADA)
        move(version, "review", version)
        move(version, "shadow", version)
        move(version, "gray", version, stage=0)
        if version == 4:
            move(version, "active", version, force=True, why="known from before")
    return held


def traffic(held: Bank, tasks: int, new_fails: float, old_fails: float) -> None:
    """Log `tasks` a day and arm, on four days; a failed one ended in a fallback and was not completed."""
    executions.append(held.records, _traffic(held, tasks, new_fails, old_fails))


def _traffic(held: Bank, tasks: int, new_fails: float, old_fails: float) -> Iterator[Execution]:
    release = held.standing(NAME, 5).release
    assert release is not None
    for day in range(4):
        counts = {"a": 0, "b": 0}
        number = 0
        while min(counts.values()) < tasks:
            user = User(f"user-{day}-{number}", {})
            number += 1
            arm = assign.arm(release, user)
            assert arm is not None
            if counts[arm] == tasks:
                continue
            failed = counts[arm] < tasks * (new_fails if arm == "b" else old_fails)
            counts[arm] += 1
            at = NOW - timedelta(days=3 - day, minutes=5)
            yield replace(
                execution(session=f"s-{day}-{number}", time=at.isoformat(), strategy_id=NAME),
                version=5 if arm == "b" else 4,
                code="TIMEOUT" if failed else "",
                fallbacks=("run hand_off",) if failed else (),
                user={"id": user.id},
            )


@pytest.mark.meets("S101", "S102", "S103", "X4")
def test_a_better_version_is_put_before_the_operator_for_all_traffic(shop: Path) -> None:
    held = released(shop)
    assert "Nothing was counted yet." in out(shop, "ab", NAME)
    traffic(held, 100, new_fails=0.05, old_fails=0.4)
    told = strategy(shop, "ab", NAME, "--json").document
    assert told["verdict"]["decision"] == "promote"
    assert told["verdict"]["literal"]
    assert told["new"]["completion"] == pytest.approx(0.95)
    assert told["new"]["satisfaction"] is None
    shown = out(shop, "ab", NAME)
    assert "PROMOTE" in shown
    line = next(line for line in shown.splitlines() if line.startswith("version 5 ")).split()
    assert line[2:5] == ["400", "0", "95.0%"]
    assert "asked for all traffic" in out(shop, "nightly")
    assert "asked for all traffic" in out(shop, "nightly")
    asked = [path for path in held.project.approvals.iterdir() if "active" in path.name]  # type: ignore[union-attr]
    assert len(asked) == 1


@pytest.mark.meets("S103", "X4")
def test_a_worse_version_is_taken_back_by_its_test(shop: Path) -> None:
    held = released(shop)
    traffic(held, 100, new_fails=0.5, old_fails=0.05)
    (settled,) = settle(ProjectPaths(shop / "default_project"), NOW)
    assert settled.what == "taken back"
    assert held.standing(NAME, 5).state == "offline"
    assert held.journal().events[-1].evidence[0].startswith(f"ab:{NAME}@5:")
    assert settle(ProjectPaths(shop / "default_project"), NOW) == ()


@pytest.mark.meets("X4")
def test_equal_versions_wait_and_what_is_missing_is_said(shop: Path) -> None:
    held = released(shop)
    traffic(held, 20, new_fails=0.2, old_fails=0.25)
    report = ab_report(held, NAME, NOW)
    assert report.verdict is not None
    assert not report.decided
    told = out(shop, "ab", NAME)
    assert "WAIT" in told
    assert "80 tasks in the smaller arm, 100 are needed" in told


def test_a_strategy_without_a_test_says_how_to_get_one(shop: Path) -> None:
    ended = strategy(shop, "ab", NAME)
    assert ended.code == 1
    assert "in gray, so none is tested" in ended.err


@pytest.mark.meets("S71", "S72")
def test_the_report_of_a_shadow_run_is_by_group_of_users(shop: Path) -> None:
    held = released(shop)
    assert "was not compared in a turn yet" in out(shop, "report", NAME)
    for number in range(60):
        old = number % 3 == 0  # the version fires no more for elderly people
        comparison = Comparison(
            time=NOW.isoformat(), session=f"s{number}", turn=1, strategy_id=NAME, old_version=4, new_version=5,
            same={"path": not old, "output": None if number % 2 else not old, "validation": True}, fired_old=True,
            fired_new=not old, code_old="", code_new="", latency_old=100.0, latency_new=80.0,
            withheld=("apply_refund",) if number % 2 else (), user={"age_band": "60+" if old else "31-50"},
        )  # fmt: skip
        shadow.append(held, comparison)
    told = strategy(shop, "report", NAME, "--json").document
    assert (told["whole"]["turns"], told["withheld"]) == (60, 30)
    assert told["whole"]["differs"]["output"]["count"] == 30
    assert [row["value"] for row in told["segments"]] == ["60+", "31-50"]
    assert "lost" in told["segments"][0]["suspicious"]
    assert "100 to 80 ms" in out(shop, "report", NAME, "--version", "5")
    missing = strategy(shop, "report", NAME, "--version", "9")
    assert missing.code == 2
    assert "never published" in missing.err
