"""The parts of the Strategies pane: the bank with the selected strategy, the strip of views, and one view at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.message import Message
from textual.widget import Widget

from core.foundation.errors import ExuviaError
from core.state.paths import ProjectPaths
from tui.actions import by_id, shown_keys
from tui.messages import ReadWanted
from tui.screens.base import own_screen
from tui.screens.panes.base import Pane
from tui.screens.panes.strategies_bank import bank_rows, overview
from tui.screens.panes.strategies_pages import BANK, TITLES, Asked, Page, make_page, of_one
from tui.stores.strategies_lines import StrategyLine
from tui.stores.views import StrategiesView
from tui.widgets.bars import Bar, Rule
from tui.widgets.facts import Facts
from tui.widgets.line_list import LineList, Row, RowList
from tui.widgets.spans import Line, wrap
from tui.widgets.wrapped_text import WrappedText

if TYPE_CHECKING:
    from core.strategy.feedback.bad_cases import BadCase

Key = tuple[str, str, int, bool, int]
"""What the facts of a view depend on: view, strategy, choice in it, its other form, and the serial of the bank."""


class PageRead(Message):
    """A view's facts were read, or could not be (`fault`)."""

    def __init__(self, key: Key, facts: object, fault: str = "") -> None:
        self.key, self.facts, self.fault = key, facts, fault
        super().__init__()


class StrategiesParts(Pane):
    """The list of the bank, and from it one view at a time.

    Invariant: `subject` is the strategy that a view of one is about; what a view draws are the facts of `_facts`,
    which are of this view and this strategy, if not of the newest bank: those are being read.
    """

    pane_id = "strategies"
    DEFAULT_CSS = """
    StrategiesParts #strategies-list { height: 1fr; min-height: 4; }
    StrategiesParts #strategies-rows { height: 1fr; min-height: 4; }
    StrategiesParts #strategies-text { height: 40%; }
    StrategiesParts.-brief #strategies-text { height: 25%; min-height: 5; }
    StrategiesParts.-turns #strategies-text { height: 60%; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.page = BANK
        self.subject = ""
        self.choice = 0
        self.wide = False
        self.held: StrategiesView | None = None
        self._pages: dict[str, Page[Any]] = {}
        self._facts: tuple[Key, object, str] | None = None
        self._asked: Key | None = None
        self._cursor: dict[str, str] = {}
        self._wanted_row = self._shown = ""

    def parts(self) -> ComposeResult:
        yield Facts(id="strategies-empty")
        yield Bar(id="strategies-views")
        yield RowList(id="strategies-list")
        yield RowList(id="strategies-rows")
        yield Rule(id="strategies-rule")
        yield WrappedText(id="strategies-text")

    # What is in sight

    @property
    def bank(self) -> StrategiesView:
        """Return what is drawn: the newest view, or the one that is held."""
        return self.held or self.view.strategies

    @property
    def selected(self) -> StrategyLine | None:
        """Return the strategy that a view is about; on the list the one under the cursor."""
        key = self.subject
        if self.page == BANK and self.is_mounted:
            key = self._rows("list").key or key
        return self.bank.line(key) or next(iter(self.bank.lines), None)

    def _rows(self, name: str) -> RowList:
        return self.query_one(f"#strategies-{name}", RowList)

    @property
    def here(self) -> str:
        """Return the view in sight: of an empty bank that is what helps whoever is new here (S130)."""
        return _FIRST_HELP if self.page == BANK and not self.bank.lines else self.page

    def first_focus(self) -> Widget | None:
        return self._rows("list" if self.here == BANK else "rows") if self.is_mounted else None

    def kind(self) -> Page[Any]:
        """Return the view in sight, which is none for the list."""
        if self.here not in self._pages:
            self._pages[self.here] = make_page(self.here)
        return self._pages[self.here]

    # Drawing

    def draw(self) -> None:
        if self.page != BANK and of_one(self.page) and self.bank.line(self.subject) is None:
            self.page = BANK
        shown = {
            "empty" if self.here != self.page else "views",
            "list" if self.here == BANK else "rows",
            "rule",
            "text",
        }
        for name in ("views", "list", "rows", "rule", "text", "empty"):
            widget = self.query_one(f"#strategies-{name}", Widget)
            if widget.display != (name in shown):
                widget.display = name in shown
        self.set_class(self.page == "turns", "-turns")
        self.set_class(self.here not in (BANK, "turns", "cases", _FIRST_HELP), "-brief")
        self._strip()
        if self.here == BANK:
            self._rows("list").show(lambda width: bank_rows(self.bank, width))
            self._draw_bank()
            return
        self._draw_page()
        if self.here != self.page:
            self._draw_empty()

    def _strip(self) -> None:
        line: list[tuple[str, str]] = []
        for name, title in TITLES.items():
            line.append((f" {title} ", "bar" if name == self.page else "dim"))
        self.query_one("#strategies-views", Bar).show(tuple(line))

    def _head(self, context: str, right: Line = ()) -> None:
        held: Line = (("held, Space goes on ", "mark"),) if self.held is not None else ()
        self.title(context, (*right, *held))

    def _draw_bank(self) -> None:
        bank, one = self.bank, self.selected
        faulty = sum(bool(line.faults) for line in bank.lines)
        told = f"{len(bank.lines)} strategies" if len(bank.lines) != 1 else "1 strategy"
        if bank.unread:
            told += f", {bank.unread} still to be read"
        right: Line = ((f"{faulty} with faults ", "bad"),) if faulty else ()
        if bank.findings or bank.fault:
            right = ((f"{len(bank.findings) + bool(bank.fault)} not taken ", "bad"), *right)
        self._head(told, right)
        if one is None:
            return
        self.query_one("#strategies-rule", Rule).show(((one.id, "strong"), (f"  {self._way()}", "dim")))
        lines = overview(one, bank, self.key_of("strategy.advance"))
        lines += [((f"not taken: {finding}", "bad"),) for finding in (bank.fault, *bank.findings[:3]) if finding]
        self.query_one("#strategies-text", WrappedText).show(lines, one.id)

    def _way(self) -> str:
        open_key = self.key_of("open")
        return f"{open_key} opens it" if open_key else ""

    def _draw_empty(self) -> None:
        self._head("none yet")
        lines: list[Line] = [((" No strategy yet.", "strong"),)]
        lines += wrap(((f" {_WHAT}", "plain"),), max(20, self.size.width - 2), 1)
        where = (" Write one: ", "plain"), ("strategies/<domain>/<id>.yaml", "strong")
        lines += [
            (
                *where,
                ("; docs/strategies.md shows how.", "plain"),
            ),
            (),
            ((_BELOW, "dim"),),
        ]
        facts = self.query_one("#strategies-empty", Facts)
        facts.styles.height = len(lines)
        facts.show(lines)

    def _draw_page(self) -> None:
        about = self.subject if of_one(self.here) or self.wide else ""
        wanted: Key = (self.here, about, self.choice, self.wide, self.bank.serial)
        self._ask(wanted)
        page, held = self.kind(), self._facts
        rows, rule = self._rows("rows"), self.query_one("#strategies-rule", Rule)
        if held is None or held[0][:2] != wanted[:2] or held[2]:
            fault = held[2] if held is not None and held[0][:2] == wanted[:2] else ""
            self._head(self.subject if of_one(self.here) else TITLES[self.here])
            told: Line = ((fault or "reading...", "bad" if fault else "dim"),)
            rows.show(lambda width: [Row("none", (told,), selectable=False)])
            rule.show(())
            self.query_one("#strategies-text", WrappedText).show([], "")
            return
        facts = held[1]
        self._head(page.title(facts))
        first = page.follows and rows.cursor == 0 and self._shown == self.here
        self._shown = self.here
        rows.show(lambda width: page.rows(facts, width))
        if first:
            rows.select(0)
        if self._wanted_row:
            rows.go_to(self._wanted_row)
            self._wanted_row = ""
        self._below()

    def row_leads_to(self) -> str:
        """Return the id of the strategy that the row under the cursor of a view is about, "" for none."""
        held = self._facts
        if held is None or held[2] or held[0][0] != self.here:
            return ""
        return self.kind().leads_to(held[1], self._rows("rows").key)

    def case_in_sight(self) -> BadCase | None:
        """Return the bad case under the cursor, None where there is none."""
        from tui.screens.panes.strategies_cases import CaseFacts, CasesPage

        held, page = self._facts, self.kind() if self.here == "cases" else None
        if not isinstance(page, CasesPage) or held is None or held[2] or not isinstance(held[1], CaseFacts):
            return None
        return page.case_of(held[1], self._rows("rows").key)

    def _below(self) -> None:
        """Show what stands below the list of a view for the row under the cursor."""
        held = self._facts
        if held is None or held[2] or held[0][0] != self.here:
            return
        key = self._rows("rows").key
        heading, lines = self.kind().below(held[1], key, max(20, self.size.width - 2))
        self.query_one("#strategies-rule", Rule).show(heading)
        self.query_one("#strategies-text", WrappedText).show(lines, (self.here, self.subject, key))

    def _ask(self, wanted: Key) -> None:
        """Ask for a view's facts, once."""
        if self._asked == wanted or (self._facts is not None and self._facts[0] == wanted):
            return
        self._asked = wanted
        page, bank = self.kind(), self.bank
        asked = Asked(bank, bank.line(wanted[1]), self.choice, self.wide)

        def read(project: ProjectPaths) -> Message:
            try:
                return PageRead(wanted, page.read(asked, project))
            except (ExuviaError, OSError) as error:
                return PageRead(wanted, None, str(error))

        self.post_message(ReadWanted(read, self, f"reading {TITLES[self.here]}"))

    def on_page_read(self, event: PageRead) -> None:
        event.stop()
        self._facts = (event.key, event.facts, event.fault)
        if event.key[0] == self.here:
            self.redraw()

    def on_resize(self) -> None:
        if own_screen(self).stands and self.display:
            self.call_after_refresh(self.redraw)

    def on_line_list_highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        if not own_screen(self).stands or self.view.reading:
            return
        if event.rows.id == "strategies-list" and self.here == BANK:
            self._draw_bank()
            own_screen(self).lines()  # which keys are of use differs from one to the next
        elif event.rows.id == "strategies-rows" and self.here != BANK:
            self._cursor[self.here] = event.key
            self._below()

    def key_of(self, action_id: str) -> str:
        """Return the key in force for an action, "" where it has none or does nothing here."""
        loaded, read_only = getattr(self.screen, "loaded", None), bool(getattr(self.screen, "read_only", False))
        action = by_id(action_id)
        if read_only and action.dangerous:
            return ""
        return shown_keys(action, loaded.keys if loaded is not None else {}).partition(" ")[0]


_FIRST_HELP = "troubles"
_BELOW = " What goes wrong, and what is done about it (reported: the account's claims):"
_WHAT = (
    "A strategy says when a skill is used, how skills are put together, and how a result is checked: a file, not a "
    "prompt. A model only suggests; the Executor decides by strategies. Each has versions that never change, which "
    "reach users step by step and can be taken back at once."
)
