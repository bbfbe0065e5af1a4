"""The Strategies pane: the bank, its faults while a file changes, and the ways of a version, by key and on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.state.paths import ProjectPaths
from core.strategy.bank.bank import Bank, bank_of
from core.strategy.bank.states import Standing
from tests.tui import strategies_home as home
from tests.tui.driving import console, foot, until
from tests.tui.strategies_home import REPLAYED
from tui.settings import Loaded, Settings
from tui.stores.strategies import StrategiesStore
from tui.widgets import prompt

SIZES = [(80, 24), (120, 40), (200, 60)]
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m[/bold][red]\u202egnp.exe"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt, "GUARD_S", 0.0)


@pytest.fixture
def released(tmp_path: Path) -> ProjectPaths:
    return home.released_home(tmp_path / "home")


@pytest.fixture
def shop(tmp_path: Path) -> ProjectPaths:
    return home.shop_home(tmp_path / "home")


def standing(bank: Bank, name: str, version: int) -> Standing:
    return bank.standing(name, version)


@pytest.mark.meets("S58", "S77")
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_it_lists_the_bank_with_where_each_version_stands(released: ProjectPaths, size: tuple[int, int]) -> None:
    async with console(released, size) as (app, pilot):
        await pilot.press("9", "down")
        text = await until(app, pilot, lambda text: "stage 1 of 3: 1 % of users" in text)
        for words in ("9 Strategies  16 strategies", "4 gray 1 %", "3 active", "aftersale-team", "review overdue"):
            assert words in text, words
        assert "strategies 16  1 in gray  1 in review" in text.split("\n")[0]
        assert "approved by ada" in text
        assert all(len(line) <= size[0] for line in text.split("\n"))
        assert "a advance" in foot(text)
        await pilot.press("slash", *"state:review owner:service", "enter")
        text = await until(app, pilot, lambda text: "1 review" in text)
        assert "paid_no_parcel" not in text
        await pilot.press("escape", "slash", *"domain:presale", "enter")
        await until(app, pilot, lambda text: "compare_prices" in text and "paid_no_parcel" not in text)


async def test_an_empty_bank_says_what_strategies_are(empty: ProjectPaths) -> None:
    async with console(empty, (80, 24)) as (app, pilot):
        await pilot.press("9")
        await until(app, pilot, lambda text: "No strategy yet." in text and "docs/strategies.md" in text)
        await pilot.press(
            "e", "d", "n", "a", "x", "R", "enter", "right_square_bracket", "y", "v"
        )  # nothing to do it to
        await until(app, pilot, lambda text: "No strategy yet." in text)


@pytest.mark.meets("S81", "S82")
async def test_faults_follow_the_file_at_their_lines(released: ProjectPaths) -> None:
    bank = bank_of(released)
    async with console(released, (120, 40)) as (app, pilot):
        await pilot.press("9", "down", "e")
        await until(app, pilot, lambda text: "purpose: Paid order" in text and "no fault" in text)  # as published
        home.break_lines(bank, REPLAYED, [("order.status ==", "order.stats =="), ("plan:", "plam:")])
        text = await until(app, pilot, lambda text: "plam: is no key of this format" in text)
        assert "1 fault" in text  # what can't be read can't be compiled either
        home.break_lines(bank, REPLAYED, [("plam:", "plan:")])
        text = await until(app, pilot, lambda text: "order.stats" in text and "^ trigger.when" in text)
        assert "not publishable yet" in text  # version 4 is published with another text
        lines = text.split("\n")
        at = next(number for number, line in enumerate(lines) if "^ trigger.when" in line)
        assert "when: intent.name" in lines[at - 1]
        await pilot.press("f")
        await pilot.press("escape")
        await until(app, pilot, lambda text: "! paid_no_parcel" in text and "1 fault" in text)
        home.break_lines(bank, REPLAYED, [("order.stats ==", "order.status ==")])
        await until(app, pilot, lambda text: "! paid_no_parcel" not in text)


async def test_older_versions_and_what_differs(released: ProjectPaths) -> None:
    async with console(released, (120, 40)) as (app, pilot):
        await pilot.press("9", "down", "enter", "left")
        await until(app, pilot, lambda text: f"{REPLAYED}  3 active" in text and "version: 3" in text)
        await pilot.press("d")
        await until(app, pilot, lambda text: "what differs from version 2" in text and "-version: 2" in text)
        await pilot.press("d", "left", "left")
        await until(app, pilot, lambda text: "version: 1" in text)
        await pilot.press("left")
        await until(app, pilot, lambda text: "oldest version" in text)


async def test_a_published_version_that_was_changed_on_disk_is_told_not_shown(released: ProjectPaths) -> None:
    path = bank_of(released).root / ".versions" / REPLAYED / "2.yaml"
    path.chmod(0o644)
    path.write_text(path.read_text() + "# changed\n")
    async with console(released, (120, 40)) as (app, pilot):
        await pilot.press("9", "down", "enter", "left", "left")
        text = await until(app, pilot, lambda text: "is not what was published" in text)
        assert "# changed" not in text


@pytest.mark.meets("S106")
async def test_a_version_goes_from_the_file_to_all_users_by_keys(shop: ProjectPaths) -> None:
    bank, name = bank_of(shop), "aftersale.change_address"
    async with console(shop, (120, 40)) as (app, pilot):
        await pilot.press("9")
        await until(app, pilot, lambda text: "+ change_address" in text and "n publishes it" in text)
        await pilot.press("n", *"first", "enter")
        await until(app, pilot, lambda text: "version 1 is published, a draft" in text and "1 draft" in text)
        await pilot.press("a", "enter")
        await until(app, pilot, lambda text: "1 review" in text)
        await pilot.press("a", "enter")  # approving needs a reason
        await until(app, pilot, lambda text: "It needs a reason" in text)
        assert standing(bank, name, 1).state == "review"
        await pilot.press("a", *"read it", "enter")
        await until(app, pilot, lambda text: "1 shadow" in text)
        assert standing(bank, name, 1).reviewed_by
        await pilot.press("a", "y")
        await until(app, pilot, lambda text: "1 gray 1 %" in text and "holds until" in text)
        await pilot.press("a")
        await until(app, pilot, lambda text: "Force aftersale.change_address 1 on?" in text)
        await pilot.press(*"tested elsewhere", "enter")
        await until(app, pilot, lambda text: "1 gray 10 %" in text)
        assert standing(bank, name, 1).stage == 1
        await pilot.press("R", "enter")
        await until(app, pilot, lambda text: "It needs a reason" in text)
        await pilot.press("R", *"complaints", "enter")
        await until(app, pilot, lambda text: "1 offline" in text)
        await pilot.press("x", *"not good", "enter")
        await until(app, pilot, lambda text: "1 archived" in text)
    events = [(event.event, event.to, event.why) for event in bank.journal().events]
    assert events == [
        ("published", "", "first"),
        ("moved", "review", ""),
        ("moved", "shadow", "read it"),
        ("moved", "gray", ""),
        ("moved", "gray", "tested elsewhere"),
        ("moved", "offline", "complaints"),
        ("moved", "archived", "not good"),
    ]


@pytest.mark.meets("S73")
async def test_a_rollback_names_who_answers_then_and_brings_it_back(released: ProjectPaths) -> None:
    bank = bank_of(released)
    async with console(released, (120, 40)) as (app, pilot):
        await pilot.press("9", "down", "R")
        await until(app, pilot, lambda text: "so that 3 answers? Because:" in text)
        await pilot.press(*"fallbacks rose", "enter")
        await until(app, pilot, lambda text: "4 offline" in text)
        assert standing(bank, REPLAYED, 3).state == "active"
        await pilot.press("R")
        await until(app, pilot, lambda text: "aftersale.paid_no_parcel 3, so that 2 answers?" in text)
        await pilot.press("escape")
        await until(app, pilot, lambda text: "Nothing was changed" in text)
        assert standing(bank, REPLAYED, 3).state == "active"


@pytest.mark.meets("S77")
async def test_a_domain_that_was_looked_through_is_no_longer_overdue(released: ProjectPaths) -> None:
    async with console(released, (120, 40)) as (app, pilot):
        await pilot.press("9", "slash", *"domain:presale", "enter")
        await until(app, pilot, lambda text: "presale  3  presale-team  review overdue" in text)
        await pilot.press("D", *"as it should be", "enter")
        await until(app, pilot, lambda text: "presale  3  presale-team  review due" in text)
    assert bank_of(released).journal().events[-1].why == "as it should be"


async def test_undo_here_takes_back_no_agents_rollback(released: ProjectPaths) -> None:
    async with console(released, (120, 40)) as (app, pilot):
        await pilot.press("9", "u")
        await until(app, pilot, lambda text: "comes again through review" in text)


async def test_two_files_of_one_id_are_told(released: ProjectPaths) -> None:
    bank = bank_of(released)
    path = bank.files()[REPLAYED]
    (bank.root / "service" / path.name).write_text(path.read_text())
    async with console(released, (120, 40)) as (app, pilot):
        await pilot.press("9")
        await until(app, pilot, lambda text: "1 not taken" in text and "another file has this id" in text)


async def test_of_several_versions_that_can_go_on_one_is_chosen(released: ProjectPaths) -> None:
    bank = bank_of(released)
    home.break_lines(bank, REPLAYED, [("version: 4", "version: 5"), ("parent_version: 3", "parent_version: 4")])
    bank.publish(REPLAYED, home.ADA, "next")
    async with console(released, (120, 40)) as (app, pilot):
        await pilot.press("9", "down", "a")
        await until(app, pilot, lambda text: "goes on?" in text and "version 5" in text and "version 4" in text)
        await pilot.press("enter", "enter")
        await until(app, pilot, lambda text: "5 review" in text)


async def test_a_version_that_somebody_moved_meanwhile_is_not_moved_twice(released: ProjectPaths) -> None:
    bank = bank_of(released)
    async with console(released, (120, 40)) as (app, pilot):
        await pilot.press("9", "slash", *"state:review", "enter", "a")
        text = await until(app, pilot, lambda text: "into shadow? Because:" in text)
        name = next(one.id for one in bank.entries() if one.state == "review")
        assert name in text
        home.move(bank, name, 1, "archived", 4)
        await pilot.press(*"fine", "enter")
        await until(app, pilot, lambda text: "is archived meanwhile" in text)


async def test_a_draft_of_no_person_needs_evidence_before_its_approval(shop: ProjectPaths) -> None:
    bank, name = bank_of(shop), "aftersale.silent_carrier"
    assert bank.publish(name, home.NIGHTLY, "drafted").origin == "synthesized"
    home.move(bank, name, 1, "review", 1)
    async with console(shop, (120, 40)) as (app, pilot):
        await pilot.press("9", "slash", *"silent", "enter", "a")
        await until(app, pilot, lambda text: "It rests on (ids)" in text)
        await pilot.press("enter")
        await until(app, pilot, lambda text: "must be named" in text)
        await pilot.press("a", *"check-7", "enter")
        await until(app, pilot, lambda text: "Approve it? Because:" in text)
        await pilot.press(*"looked", "enter")
        await until(app, pilot, lambda text: "1 shadow" in text)
    assert bank.journal().events[-1].evidence == ("check-7",)


async def test_read_only_shows_all_and_changes_nothing(released: ProjectPaths) -> None:
    before = (bank_of(released).root / "state.jsonl").read_bytes()
    async with console(released, (80, 24), read_only=True) as (app, pilot):
        await pilot.press("9", "down")
        text = await until(app, pilot, lambda text: "4 gray 1 %" in text)
        assert "advance" not in foot(text)
        await pilot.press("a")
        await until(app, pilot, lambda text: "Opened read-only: advance is off" in text)
        await pilot.press("n", "x", "R", "e")
        await until(app, pilot, lambda text: "version: 4" in text)
    assert (bank_of(released).root / "state.jsonl").read_bytes() == before


async def test_what_files_hold_reaches_no_terminal_as_it_is(released: ProjectPaths) -> None:
    bank = bank_of(released)
    path = bank.root / "aftersale" / "aftersale.bad.yaml"
    path.write_text(f"schema: strategy/v1\nid: {EVIL}\npurpose: x\n", encoding="utf-8")
    (bank.root / "aftersale" / f"aftersale.{EVIL.replace('/', '')}.yaml").write_text("a: b\n")
    async with console(released, (120, 40)) as (app, pilot):
        await pilot.press("9", "f", "e")
        text = await until(app, pilot, lambda text: "^" in text and "fault" in text)
        await pilot.press("escape", "f", "e")
        text += await until(app, pilot, lambda text: "^" in text)
        assert not {"\x1b", "\x9b", "\x07", "\u202e"} & set(text)


async def test_it_can_be_read_in_ascii_without_colours(released: ProjectPaths) -> None:
    loaded = Loaded(Settings(theme="mono", characters="ascii"))
    async with console(released, (80, 24), loaded=loaded) as (app, pilot):
        await pilot.press("9", "down")
        text = await until(app, pilot, lambda text: "4 gray 1 %" in text)
        assert text.isascii()


async def test_a_line_of_the_journal_that_breaks_the_rule_is_told(released: ProjectPaths) -> None:
    journal = bank_of(released).root / "state.jsonl"
    async with console(released, (120, 40)) as (app, pilot):
        await pilot.press("9")
        await until(app, pilot, lambda text: "16 strategies" in text)
        with journal.open("a") as file:
            file.write(
                '{"time": "2026-06-01T00:00:00Z", "event": "moved", "id": "shop.none", "version": 1, "to": "active"}\n'
            )
        await until(app, pilot, lambda text: "1 not taken" in text and "was never published" in text)


def test_an_unchanged_bank_is_not_read_again(released: ProjectPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    store = StrategiesStore(released)
    view = store.load()
    while store.unread:
        view = store.load()
    read: list[str] = []
    look = Bank.look

    def counted(bank: Bank, name: str, file: Path | None, told: object) -> object:
        read.append(name)
        return look(bank, name, file, told)  # type: ignore[arg-type]  # as given

    monkeypatch.setattr(Bank, "look", counted)
    signs = store.signs()
    assert store.load() is view
    assert read == []
    home.break_lines(bank_of(released), REPLAYED, [("priority: 60", "priority: 61")])
    assert store.load() is not view
    assert read == [REPLAYED]
    assert store.signs() == signs  # the text of one file is told by the watcher, not by the net
    home.move(bank_of(released), "service.question", 1, "archived", 5)
    assert store.signs() != signs
    moved = store.load().line("service.question")
    assert moved is not None
    assert moved.entry.state == "archived"
    assert read == [REPLAYED]  # where a version stands is in the journal


def test_a_large_bank_comes_in_parts(released: ProjectPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.stores.strategies.PART_S", 0.0)
    store = StrategiesStore(released)
    counts: list[int] = []
    while not counts or store.unread:
        counts.append(len(store.load().lines))
    assert counts[0] < 16
    assert counts[-1] == 16
    assert counts == sorted(counts)


async def test_the_palette_goes_to_a_strategy(released: ProjectPaths) -> None:
    async with console(released, (120, 40)) as (app, pilot):
        await pilot.press("colon", *"compare_prices", "enter")
        await until(app, pilot, lambda text: "presale.compare_prices" in text and "Enter opens it" in text)
