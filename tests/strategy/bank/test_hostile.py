"""A bank that somebody damaged, or means ill: pipes, devices, links, lines by hand, releases edited under way."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.foundation.errors import DamagedError, RefusedError
from core.strategy.bank import executions, journal, outcomes
from core.strategy.bank.assign import User
from core.strategy.bank.bank import STATE, Bank
from core.strategy.bank.comparison import Comparison
from core.strategy.bank.executions import fault_of
from core.strategy.bank.serving import chosen
from core.strategy.bank.turns import Turn
from core.strategy.documents.reading import FaultyFileError
from core.strategy.execution.records import Execution
from tests.strategy.bank.banks import ADA, make, release_text, step, strategy_text, to_gray, write


def _endless(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


NOT_FILES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "pipe": (os.mkfifo, "is no file"),
    "directory": (Path.mkdir, "directory"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "is no file"),
    "endless": (_endless, "is larger than 256 KiB"),
    "dangling": (lambda path: path.symlink_to("/nowhere/at-all"), "No such file"),
    "loop": (lambda path: path.symlink_to(path.name), "symbolic links"),
    "latin-1": (lambda path: path.write_bytes(b"purpose: caf\xe9\n"), "is not UTF-8"),
}
kinds = pytest.mark.parametrize("kind", NOT_FILES)


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    made = make(tmp_path)
    write(made, strategy_text())
    return made


@kinds
def test_what_is_no_file_of_ours_costs_itself_and_is_told(bank: Bank, kind: str) -> None:
    put, said = NOT_FILES[kind]
    put(bank.root / "shop" / "shop.bad.yaml")
    bad, good = bank.entries()
    assert said in str(bad.faults[0])
    assert str(bad.faults[0]).startswith(("shop.bad.yaml", "shop/shop.bad.yaml"))
    assert not good.faults
    assert bank.publish("shop.refund", ADA).state == "draft"
    with pytest.raises(FaultyFileError, match="bad"):
        bank.publish("shop.bad", ADA)


@kinds
def test_settings_and_releases_that_cannot_be_read_are_not_the_defaults(bank: Bank, kind: str) -> None:
    put, said = NOT_FILES[kind]
    put(bank.root / "bank.yaml")
    put(bank.root / "shop" / "shop.refund.release.yaml")
    with pytest.raises(FaultyFileError, match=said):
        bank.settings()
    with pytest.raises(FaultyFileError, match=said):
        bank.release("shop.refund")


@pytest.mark.parametrize("put", [os.mkfifo, Path.mkdir])
def test_records_that_are_no_files_end_no_reader(bank: Bank, put: Callable[[Path], Any]) -> None:
    for name in ("executions", "outcomes"):
        (bank.records / name).mkdir(parents=True)
        put(bank.records / name / "2026-06-01.jsonl")
    assert "is no file" in executions.read(bank.records).findings[0]
    assert outcomes.read(bank.records) == ()
    assert outcomes.gaps(bank.records) == ("2026-06-01.jsonl: is no file",)
    put(bank.root / STATE)
    with pytest.raises(DamagedError, match="is no file"):
        bank.journal()


AT = "2026-06-01T00:00:00Z"
PUBLISHED = {"time": AT, "event": "published", "id": "a.b", "version": 1, "sha256": "x", "actor": "a"}


def moves(*lines: dict[str, Any]) -> journal.Journal:
    head = [{**PUBLISHED, "event": "moved", "to": to, "person": True, "why": "w"} for to in ("review", "shadow")]
    gray = {**head[0], "to": "gray", "stage": 0}
    return journal.fold([PUBLISHED, *head, *({**gray, **line} for line in lines)])


LONG = {"schema": "release/v1", "id": "a.b", "version": 1, "rollout": {"stages": [{"percent": 1, "hold_hours": 1e300}]}}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"time": "9999-12-31T23:59:59+00:00"}, "outside the years"),
        ({"time": "0001-01-01T00:00:00+14:00"}, "outside the years"),
        ({"release": LONG}, "not readable"),
        ({"release": {**LONG, "rollout": {}, "id": "c.d"}}, "one of c.d"),
        ({"version": 10**30}, "no number of a version"),
        ({"version": -1}, "no number of a version"),
        ({"id": "../../../etc/x"}, "no id of a strategy"),
        ({"id": {"a": 1}}, "no id of a strategy"),
        ({"event": "domain_reviewed", "time": "soon"}, "is no event"),
    ],
)
def test_a_line_by_hand_that_cannot_be_changes_nothing_and_ends_nothing(line: dict[str, Any], said: str) -> None:
    told = moves(line, {"stage": 0}, {"stage": 1, "time": "2026-07-01T00:00:00Z"})
    assert said in told.findings[0]
    assert told.standings[("a.b", 1)].stage == 1  # what came after it counts
    assert [one.id for one in chosen(told, User("u"))] in ([], ["a.b"])


def test_a_version_that_no_journal_takes_is_refused_before_it_is_written(bank: Bank) -> None:
    write(bank, strategy_text(version=10**9))
    with pytest.raises(FaultyFileError, match="version"):
        bank.publish("shop.refund", ADA)
    assert not (bank.root / STATE).exists()


@pytest.mark.meets("S67")
@pytest.mark.parametrize(
    ("late", "said"),
    [
        ("rollout: {assign: {salt: other}}\n", "draws users in another way"),
        ("rollout: {assign: {unit: household}}\n", "draws users in another way"),
        ("rollout: {ab: {against: 1, split: 50}}\n", "the old one again"),
    ],
)
def test_a_release_file_that_comes_late_lets_nobody_out(bank: Bank, late: str, said: str) -> None:
    bank.publish("shop.refund", ADA)
    to_gray(bank)
    write(bank, release_text(rollout=late), ending=".release.yaml")
    with pytest.raises(RefusedError, match=said):
        bank.move("shop.refund", 1, step("gray", 30, stage=1))
    write(bank, release_text(rollout="rollout: {assign: {salt: shop.refund/1}}\n"), ending=".release.yaml")
    assert bank.move("shop.refund", 1, step("gray", 30, stage=1)).stage == 1  # the default, spelled out


def test_an_ab_test_under_way_takes_the_new_version_from_nobody(bank: Bank) -> None:
    def wanted(rest: str) -> None:
        write(bank, release_text(rollout=f"rollout: {{{rest}}}\n"), ending=".release.yaml")

    wanted("ab: {against: 1, split: 50}")
    bank.publish("shop.refund", ADA)
    to_gray(bank)
    wanted("ab: {against: 1, split: 20}")
    with pytest.raises(RefusedError, match="the old one again"):
        bank.move("shop.refund", 1, step("gray", 30, stage=1))
    wanted("ab: {against: 1, split: 80}")
    assert bank.move("shop.refund", 1, step("gray", 30, stage=1)).stage == 1


RAN = Execution("s", 1, AT, "shop.refund", 1, "turn", True, ("run a",), {"level0": None}, None, 1.0, "")
TURN = Turn("s", 1, AT, "clerk", "c", "done", "", "shop.refund", "hi", {}, ({"event": "x"},), (RAN,))
BESIDE = Comparison(AT, "s", 1, "shop.refund", 1, 2, {"path": True}, True, True, "", "", 1.0, 1.0, ())


def deep(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(levels):
        found = {"a": found}
    return found


@pytest.mark.parametrize(
    "lie",
    [
        {"strategy_id": "../../../up"},
        {"version": 0},
        {"latency_ms": -1.0},
        {"turn": -1},
        {"turn": 10**300},
        {"code": 5},
        {"code": "X" * 10_000},
        {"session": "s" * 10_000},
        {"execution_path": ["run " + "a" * 10_000]},
        {"time": "9999-12-31T23:59:59-12:00"},
        {"time": 5},
        {"validation_result": []},
        {"validation_result": {"level0": "x"}},
        {"validation_result": {"level0": {"passed": 0, "failed": [1], "unknown": 0, "overrun": False, "ms": 0.0}}},
        {"user": [1]},
        {"pseudo_success": "no"},
    ],
    ids=repr,
)
def test_an_execution_that_cannot_be_is_refused_wherever_it_comes_in(lie: dict[str, Any]) -> None:
    good = json.loads(json.dumps(RAN.to_json()))
    assert fault_of(good) == ""
    assert fault_of({**good, **lie})
    turn = json.loads(json.dumps(TURN.to_json()))
    assert Turn.from_json(turn) == TURN
    with pytest.raises((ValueError, TypeError, KeyError)):
        Turn.from_json({**turn, "executions": [{**good, **lie}]})


@pytest.mark.parametrize(
    "lie",
    [
        {"events": [{"no": "event"}]},
        {"events": [["event", "x"]]},
        {"events": [{"event": "x", "deep": deep(900)}]},
        {"suggestion": [1]},
        {"context": None},
        {"user": "u"},
        {"turn": True},
        {"executions": None},
        {"more": 1},
    ],
    ids=lambda lie: str(lie)[:40],
)
def test_a_turn_that_cannot_be_is_refused(lie: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        Turn.from_json({**json.loads(json.dumps(TURN.to_json())), **lie})


@pytest.mark.parametrize(
    "lie",
    [
        {"strategy_id": "../../../../up"},
        {"new_version": "../x"},
        {"latency_old": "fast"},
        {"latency_new": -3.0},
        {"same": {"path": "yes"}},
        {"withheld": [5]},
        {"fired_new": "x"},
        {"user": [1]},
        {"time": "never"},
    ],
    ids=repr,
)
def test_a_comparison_that_cannot_be_is_refused(lie: dict[str, Any]) -> None:
    good = json.loads(json.dumps(BESIDE.to_json()))
    assert Comparison.from_json(good) == BESIDE
    with pytest.raises((ValueError, TypeError)):
        Comparison.from_json({**good, **lie})


def test_a_sign_that_ends_no_line_of_json_cuts_no_outcome(bank: Bank) -> None:
    found = outcomes.take(bank.records, '{"session": "s", "said": "a\u2028b"}\r\n\n', source="t")
    assert [one.value for one in found.taken] == ["a\u2028b"]
    assert found.refused == ()
