"""The views of the Strategies pane on real traffic: the shop's visits, served by the executor, by what is on disk."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from core.state.paths import ProjectPaths
from core.strategy.bank import executions, outcomes, turns
from core.strategy.bank.bank import bank_of
from core.strategy.bank.changes import FEEDBACK
from core.strategy.feedback.bad_cases import Queue
from tests.tui import strategies_home as home
from tests.tui.driving import console, foot, until
from tests.tui.strategies_home import REPLAYED
from tui.stores.strategies import StrategiesStore
from tui.stores.strategies_log import GrowingLog
from tui.widgets import prompt

SIZES = [(80, 24), (120, 40), (200, 60)]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt, "GUARD_S", 0.0)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> ProjectPaths:
    """A home with traffic, made once: it takes seconds."""
    root = tmp_path_factory.mktemp("busy")
    return home.busy_home(root / "home")


@pytest.fixture
def busy(served: ProjectPaths, tmp_path: Path) -> ProjectPaths:
    copy = tmp_path / "busy"
    shutil.copytree(served.root.parent, copy)
    return ProjectPaths(copy / served.root.name)


@pytest.mark.meets("S75", "S85", "S91")
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_turns_show_what_was_decided_and_what_was_known(busy: ProjectPaths, size: tuple[int, int]) -> None:
    async with console(busy, size) as (app, pilot):
        await pilot.press("9", "down", "t", "s")
        text = await until(app, pilot, lambda text: f"turns with {REPLAYED}" in text and "suggested" in text)
        assert all(len(line) <= size[0] for line in text.split("\n"))
        await pilot.press("tab")
        seen = text
        for _ in range(14):
            await pilot.press("pagedown")
            seen += "\n" + await until(app, pilot, lambda _: True)
        for words in ("judged", "chosen", "fired", "Executed", "path", "level0", "The context after it", "order."):
            assert words in seen, words
        await pilot.press("escape", "s")
        await until(app, pilot, lambda text: f"turns with {REPLAYED}" not in text and " turns" in text)
        await pilot.press("slash", *"kind:question", "enter")
        await until(app, pilot, lambda text: "question" in text and " done " not in text)


async def test_a_new_turn_comes_first_while_one_looks_and_can_be_held(busy: ProjectPaths) -> None:
    records = bank_of(busy).records
    one = turns.read(records, turns.sessions(records)[0])[0][0]

    def later(number: int, said: str) -> None:
        time = (datetime.now(UTC) + timedelta(seconds=number)).isoformat(timespec="milliseconds")
        turns.append(records, replace(one, session=f"late-{number}", turn=1, time=time, utterance=said))

    async with console(busy, (120, 40)) as (app, pilot):
        await pilot.press("9", "t")
        await until(app, pilot, lambda text: "suggested" in text)
        later(1, "Where is my sofa?")
        await until(app, pilot, lambda text: "late-1 turn 1" in text and "Where is my sofa?" in text)
        await pilot.press("space")
        later(2, "And my lamp?")
        await until(app, pilot, lambda text: "held, Space goes on" in text)
        await asyncio.sleep(1.5)  # two turns of the feed: what comes meanwhile must not be drawn
        assert "late-2" not in await until(app, pilot, lambda _: True)
        await pilot.press("space")
        await until(app, pilot, lambda text: "late-2 turn 1" in text)


@pytest.mark.meets("S43", "S71", "S72", "S75", "S101", "S102", "S128")
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_board_sets_the_new_version_beside_the_old(busy: ProjectPaths, size: tuple[int, int]) -> None:
    async with console(busy, size) as (app, pilot):
        await pilot.press("9", "down", "p")
        text = await until(app, pilot, lambda text: "4 gray 100 % beside 3 active" in text and "fallback used" in text)
        seen = text
        for _ in range(8):
            await pilot.press("pagedown")
            seen += "\n" + await until(app, pilot, lambda _: True)
        for words in (
            "* 3 all users", "held long enough", "new: 4", "old: 3", "success", "latency p95", "context missing",
            "Validation mix", "checked, level 0", "Taken back by itself when", "A/B against 3", "underpowered so far",
            "In shadow of 3", "all users", "device ios", "representativeness", "New, by device",
        ):  # fmt: skip
            assert words in seen, words
        assert "a advance" in foot(text)
        assert all(len(line) <= size[0] for line in seen.split("\n"))
        await pilot.press("home", "slash", *"fallback used", "enter")
        await until(app, pilot, lambda text: "A recovery ran." in text and "(95 %)" in text)
        await pilot.press("escape", "slash", *"underpowered", "enter")
        await until(app, pilot, lambda text: "tasks in the smaller arm, 200 are needed" in text)


@pytest.mark.meets("S76")
async def test_an_alarm_is_raised_by_outcomes_and_seen_from_the_list(busy: ProjectPaths) -> None:
    bank = bank_of(busy)
    sample = next(one for one in executions.read(bank.records).executions if one.strategy_id == REPLAYED)
    hour = datetime.now(UTC).replace(minute=10, second=0, microsecond=0)
    async with console(busy, (120, 40)) as (app, pilot):
        await pilot.press("9", "down")
        text = await until(app, pilot, lambda text: "4 gray 100 %" in text)
        assert "ALARM" not in text
        for back in (1, 2, 3):
            at = hour - timedelta(hours=back)
            executions.append(bank.records, [replace(sample, session=f"bad-{back}", time=at.isoformat())])
            outcomes.record(bank.records, f"bad-{back}", {"resolved_without_human": False}, source="desk",
                            time=(at + timedelta(minutes=1)).isoformat())  # fmt: skip
        text = await until(app, pilot, lambda text: "ALARM" in text and "1 alarm" in text.split("\n")[0])
        assert "resolved_without_human below 50% for 3 h: 0%, 0%, 0%" in " ".join(text.split())
        await pilot.press("p")
        await until(app, pilot, lambda text: "ALARM" in text and "0% 0% 0%" in text)


@pytest.mark.meets("S66", "S108", "S109", "S110")
async def test_the_graph_marks_what_a_change_concerns_and_its_tests(busy: ProjectPaths) -> None:
    async with console(busy, (120, 40)) as (app, pilot):
        await pilot.press("9", "down", "down", "w")
        text = await until(app, pilot, lambda text: "a change of it concerns 1 other" in text)
        assert "! aftersale.paid_no_parcel" in text
        assert "calls it: plan" in text
        assert "routing examples of 2 strategies" in text
        assert "call paths of its skills" in text
        await pilot.press("down")
        await until(app, pilot, lambda text: "in red because" in text)
        await pilot.press("enter")
        await until(app, pilot, lambda text: f"{REPLAYED}  a change of it concerns no others" in text)


@pytest.mark.meets("S99", "S100", "S105")
async def test_bad_cases_come_in_clusters_with_a_suggestion_and_drafts_are_decided_there(busy: ProjectPaths) -> None:
    bank = bank_of(busy)
    waits = next(one for one in bank.entries() if one.state == "review")
    async with console(busy, (120, 40)) as (app, pilot):
        await pilot.press("9", "b")
        text = await until(app, pilot, lambda text: "Suggestions (" in text and "Clusters (" in text)
        assert f"{waits.id} 1" in text
        count = len(Queue(bank.records / FEEDBACK).read().cases)
        assert f"of {count} bad cases" in text
        await pilot.press("slash", *"suggestion http_503", "enter")
        await until(app, pilot, lambda text: "price_cache_ttl" in text and "cache:" in text)
        await pilot.press("a")
        await until(app, pilot, lambda text: "No version of presale.compare_prices has a next step" in text)
        await pilot.press("escape", "slash", *"review", "enter", "a")
        await until(app, pilot, lambda text: f"Approve {waits.id} 1 into shadow?" in text)
        await pilot.press(*"read it", "enter")
        await until(app, pilot, lambda text: "Waiting for a person (0)" in text)
    assert bank.standing(waits.id, 1).state == "shadow"


@pytest.mark.meets("S5", "S45", "S111", "S112", "S115", "S116")
async def test_the_audit_says_what_the_law_says(busy: ProjectPaths) -> None:
    async with console(busy, (120, 40)) as (app, pilot):
        await pilot.press("9", "A")
        text = await until(app, pilot, lambda text: "12 of 400" in text and "archive" in text)
        assert "It would free" in text
        assert "Layers that pay" in text
        await pilot.press("slash", *"cancel_order", "enter")
        await until(app, pilot, lambda text: "not called for 30 days" in text)
        await pilot.press("enter")
        await until(app, pilot, lambda text: "service.cancel_order  1 active" in text)


@pytest.mark.meets("S117", "S119")
async def test_a_model_is_blocked_while_a_strategy_in_force_is_red(busy: ProjectPaths) -> None:
    async with console(busy, (120, 40)) as (app, pilot):
        await pilot.press("9", "M")
        text = await until(app, pilot, lambda text: "may be changed to" in text)
        assert "no: 12 red" in text
        await pilot.press("slash", *"paid_no_parcel", "enter")
        await until(app, pilot, lambda text: "0.72" in text and "tested 2026-05-20" in text)


@pytest.mark.meets("S120", "S130")
async def test_troubles_name_what_the_records_show_and_greet_an_empty_bank(
    busy: ProjectPaths, empty: ProjectPaths
) -> None:
    async with console(busy, (120, 40)) as (app, pilot):
        await pilot.press("9", "H")
        await until(app, pilot, lambda text: "! aftersale.pay_back: success is logged" in text)
        await pilot.press("down")
        await until(app, pilot, lambda text: "check key fields at level 1" in text and "pseudo_success 6" in text)
    async with console(empty, (80, 24)) as (app, pilot):
        await pilot.press("9")
        await until(app, pilot, lambda text: "1 A task fails, but its log says success." in text and "look  " in text)


@pytest.mark.meets("S96", "S98")
async def test_a_bad_case_becomes_a_case_beside_what_was_measured(busy: ProjectPaths) -> None:
    agent = next(agent for one in busy.agent_ids() if (agent := busy.agent(one)).benchmark_ids())
    measured = agent.benchmark(agent.benchmark_ids()[0])
    assert measured.scoreboard.is_file()
    before = {path: path.read_bytes() for path in measured.root.rglob("*") if path.is_file()}
    async with console(busy, (120, 40)) as (app, pilot):
        await pilot.press("9", "b", "slash", *"case case-", "enter", "c")
        await until(app, pilot, lambda text: "Draft a Case for which benchmark?" in text)
        await pilot.press(*measured.id, "enter")
        await until(app, pilot, lambda text: "Draft a Case from case-" in text)
        await pilot.press("y")
        await until(app, pilot, lambda text: f"lies in {measured.id}-2." in text)
    assert {path: path.read_bytes() for path in measured.root.rglob("*") if path.is_file()} == before
    made = agent.benchmark(f"{measured.id}-2")
    assert not made.scoreboard.exists()
    drafted = next(made.case(name) for name in made.case_ids() if name not in measured.case_ids())
    assert "A customer says" in drafted.statement_readme.read_text()
    assert "pts:" in drafted.rubric_readme.read_text()
    assert len(made.case_ids()) == len(measured.case_ids()) + 1


async def test_what_users_and_models_say_reaches_no_terminal_as_it_is(busy: ProjectPaths) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\x9b31m[/bold][red]\u202egnp.exe"
    records = bank_of(busy).records
    one = turns.read(records, turns.sessions(records)[0])[0][0]
    event = {"event": evil, "at": evil, "what": {evil: [evil]}}
    time = (datetime.now(UTC) + timedelta(seconds=5)).isoformat(timespec="milliseconds")
    turns.append(records, replace(one, session="evil", time=time, utterance=evil, suggestion={"intent": evil},
                                  events=(event,), context={evil: {evil: evil}}))  # fmt: skip
    queue = Queue(records / FEEDBACK)
    queue.add(replace(queue.read().cases[0], id=f"case-{evil}", time=time, utterance=evil, skill=evil, code=evil))
    async with console(busy, (120, 40)) as (app, pilot):
        await pilot.press("9", "t")
        text = await until(app, pilot, lambda text: "evil turn" in text and "gnp.exe" in text)
        await pilot.press("b", "slash", *"gnp", "enter")
        text += await until(app, pilot, lambda text: "gnp.exe" in text and "Clusters" in text)
        assert not {"\x1b", "\x9b", "\x07", "\u202e"} & set(text)


async def test_a_deed_needs_a_strategy_in_sight(busy: ProjectPaths) -> None:
    before = (bank_of(busy).root / "state.jsonl").read_bytes()
    async with console(busy, (120, 40)) as (app, pilot):
        await pilot.press("9", "down", "t")
        await until(app, pilot, lambda text: "suggested" in text)
        await pilot.press("R")
        await until(app, pilot, lambda text: "No strategy is selected here." in text)
    assert (bank_of(busy).root / "state.jsonl").read_bytes() == before


async def test_what_cannot_be_read_is_said_in_its_place(busy: ProjectPaths) -> None:
    bank = bank_of(busy)
    path = bank.root / ".versions" / "aftersale.pay_back" / "1.yaml"
    path.chmod(0o644)
    path.write_text("other\n")
    log = next((bank.records / "turns").glob("*.jsonl"))
    log.write_text('{"turn": "none"}\n' + log.read_text())
    async with console(busy, (120, 40)) as (app, pilot):
        await pilot.press("9", "A", "slash", *"!x", "enter")
        await until(app, pilot, lambda text: "not read: version 1 of aftersale.pay_back" in text)
        await pilot.press("escape", "escape", "t")
        await until(app, pilot, lambda text: "is no turn" in text)


def test_the_log_is_read_on_from_where_it_ended(busy: ProjectPaths) -> None:
    records = bank_of(busy).records
    log = GrowingLog(records)
    assert log.advance(lambda: False)
    count = len(log.executions)
    assert count == len(executions.read(records).executions)
    assert not log.advance(lambda: False)
    last = log.executions[-1]
    executions.append(records, [replace(last, session="next")])
    path = max((records / "executions").glob("*.jsonl"))
    with path.open("ab") as file:
        file.write(b'{"session": 5}\n{"half": ')
    assert log.advance(lambda: False)
    assert len(log.executions) == count + 1
    assert len(log.findings) == 1
    assert not log.advance(lambda: False)  # half a line is nothing yet
    path.write_bytes(b"")
    assert log.advance(lambda: False)
    assert len(log.executions) < count


def test_a_long_log_comes_in_parts(busy: ProjectPaths) -> None:
    log = GrowingLog(bank_of(busy).records)
    seen: list[int] = []
    while not seen or log.is_behind:
        steps = iter([False, True, True, True, True, True])
        log.advance(lambda steps=steps: next(steps, True))  # type: ignore[misc]  # bound now
        seen.append(len(log.executions))
    assert len(seen) > 1
    assert seen[-1] == len(executions.read(bank_of(busy).records).executions)


def test_an_alarm_needs_no_change_of_a_file(busy: ProjectPaths) -> None:
    store = StrategiesStore(busy)
    view = store.load()
    while store.unread:
        view = store.load()
    assert store.load() is view
    store._hour = None  # an hour later
    assert store.load() is not view
