"""A key that is held moves the cursor alone; what is shown of its row follows once it rests, and is never stale."""

from __future__ import annotations

import asyncio
from time import monotonic

from textual import events
from textual.app import App, ComposeResult
from textual.geometry import Region

from tui.widgets.line_list import HELD_S, RESTED_S, TRAIL_S, LineList
from tui.widgets.spans import Line, plain
from tui.widgets.wrapped_text import WrappedText


class Rows(LineList):
    def row_count(self) -> int:
        return 100

    def row_lines(self, index: int, width: int) -> tuple[Line, ...]:
        return (((f"row {index}", "plain"),),)


class Pad(App[None]):
    """A list, and a text that shows what it tells of its cursor."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def compose(self) -> ComposeResult:
        yield Rows()
        yield WrappedText(id="text")

    def on_line_list_highlighted(self, event: LineList.Highlighted) -> None:
        self.told.append(event.key)


async def _press(rows: Rows, key: str, moment: float) -> None:
    """Press a key as it comes from the keyboard at a moment."""
    event = events.Key(key, None)
    event.time = moment
    rows.on_key(event)
    rows.action_do({"down": "nav.down", "up": "nav.up", "home": "nav.home"}[key])


async def _held(rows: Rows, key: str, count: int) -> float:
    begun = monotonic() + 1.0  # long after whatever was pressed before
    for number in range(count):
        await _press(rows, key, begun + number * HELD_S / 2)
    return begun + count * HELD_S / 2


async def test_single_keys_are_told_at_once_and_a_held_one_when_it_rests() -> None:
    app = Pad()
    async with app.run_test() as pilot:
        rows = app.query_one(Rows)
        for number in range(3):
            await _press(rows, "down", monotonic() + number * HELD_S * 2)
        assert app.told == ["1", "2", "3"]
        await _held(rows, "down", 20)
        assert rows.cursor == 23
        assert app.told == ["1", "2", "3", "4", "5"], "two quick keys are told, a hold is not"
        await asyncio.sleep(RESTED_S * 2)
        await pilot.pause()
        assert app.told[-1] == "23"
        assert len(app.told) == 6


async def test_another_key_finds_what_is_shown_up_to_date() -> None:
    app = Pad()
    async with app.run_test():
        rows = app.query_one(Rows)
        moment = await _held(rows, "down", 10)
        event = events.Key("t", "t")
        event.time = moment
        rows.on_key(event)
        assert app.told[-1] == "10"
        await asyncio.sleep(RESTED_S * 2)
        assert app.told.count("10") == 1


async def test_a_text_of_another_length_lays_nothing_out_and_paints_only_the_lines_that_differ() -> None:
    app = Pad()
    async with app.run_test(size=(40, 20)) as pilot:
        text, laid = app.query_one("#text", WrappedText), 0
        painted: set[int] = set()
        text.show(plain(["head", "one", "foot"]), 1)
        await pilot.pause()
        lay, refresh = app.screen._refresh_layout, text.refresh

        def counted(*given: object) -> None:
            nonlocal laid
            laid += 1
            lay(*given)  # type: ignore[arg-type]

        def noticed(*regions: Region) -> WrappedText:
            painted.update(region.y for region in regions)
            return refresh(*regions)

        app.screen._refresh_layout = counted  # type: ignore[method-assign,assignment]
        text.refresh = noticed  # type: ignore[method-assign,assignment]
        text.show(plain(["head", "two", "foot"]), 2)
        assert painted == {1}
        text.show(plain([f"line {number}" for number in range(200)]), 3)
        await pilot.pause(0.05)
        assert text.max_scroll_y > 100
        text.show(plain(["head"]), 4)
        await pilot.pause(0.05)
        assert laid == 0
        assert text.max_scroll_y == 0


async def test_a_list_that_trails_is_told_once_a_single_move_rests_too() -> None:
    app = Pad()
    async with app.run_test() as pilot:
        rows = app.query_one(Rows)
        rows.trails = True
        moment = monotonic() + 1.0
        for number in range(4):
            await _press(rows, "down", moment + number * HELD_S * 2)
        assert rows.cursor == 4
        assert app.told == [], "only the cursor moves while keys come"
        await asyncio.sleep(TRAIL_S * 2)
        await pilot.pause()
        assert app.told == ["4"]


async def test_a_list_that_trails_is_up_to_date_for_any_other_key_and_for_jumps() -> None:
    app = Pad()
    async with app.run_test():
        rows = app.query_one(Rows)
        rows.trails = True
        moment = monotonic() + 1.0
        await _press(rows, "down", moment)
        event = events.Key("t", "t")
        event.time = moment + HELD_S * 2
        rows.on_key(event)
        assert app.told == ["1"]
        rows.select(7)
        assert app.told == ["1", "7"], "a jump is no passing over rows"
