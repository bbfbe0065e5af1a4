"""Pane 6: what waits for a person: a list, and each item as one page; below, what was decided, by whom and when."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widget import Widget

from tui.actions import bindings
from tui.screens.base import own_screen
from tui.screens.panes.base import Pane
from tui.screens.panes.inbox_freeze import freeze_rows
from tui.screens.panes.inbox_lines import (
    KINDS,
    came_of,
    decided_row,
    item_row,
    note_row,
    option_rows,
    page_lines,
    text_rules,
    who,
)
from tui.stores.freeze_page import CaseRow, FreezeView
from tui.stores.inbox import Item, Question
from tui.widgets.bars import Rule
from tui.widgets.line_list import LineList, Row, RowList
from tui.widgets.spans import Line, plain, reflow
from tui.widgets.wrapped_text import WrappedText

__all__ = ["KINDS", "AnswerWanted", "InboxPane"]


class AnswerWanted(Message):
    """The operator chose an answer to a question; "" where they want to type one."""

    def __init__(self, item_id: str, text: str) -> None:
        self.item_id, self.text = item_id, text
        super().__init__()


class InboxPane(Pane):
    """The list of what waits, or one item's page.

    Invariant: `_open` is the id of the item whose page is in sight, "" for the list, None where nobody chose yet:
    then the page of the only thing that waits is shown, else the list.
    """

    pane_id = "inbox"
    BINDINGS = bindings("inbox")

    def __init__(self) -> None:
        super().__init__()
        self._open: str | None = None
        self._was_open = False
        self._shown = ""
        self._asked: set[str] = set()  # what waited when the list was drawn last
        self._of = ""  # the Case whose texts are in sight

    def parts(self) -> ComposeResult:
        yield RowList(height=2, id="inbox-items")
        yield RowList(id="inbox-list")
        with Horizontal(id="inbox-texts"):
            with Vertical(classes="text", id="inbox-left"):
                yield Rule(id="inbox-statement-rule")
                yield WrappedText(id="inbox-statement")
            with Vertical(classes="text", id="inbox-right"):
                yield Rule(id="inbox-rubric-rule")
                yield WrappedText(id="inbox-rubric")
        yield WrappedText(id="inbox-page")
        yield RowList(id="inbox-options")

    # What is in sight

    @property
    def read_only(self) -> bool:
        """Whether nothing can be decided or started here."""
        return bool(getattr(self.screen, "read_only", False))

    @property
    def page(self) -> Item | None:
        """Return the item whose page is in sight, None while the list is."""
        inbox = self.view.inbox
        if self._open is None:
            return inbox.pending[0] if len(inbox.pending) == 1 else None
        return inbox.item(self._open) if self._open else None

    @property
    def item(self) -> Item | None:
        """Return what waits and is in sight or selected: what a decision is about."""
        page = self.page
        if page is None and self.is_mounted:
            page = self.view.inbox.item(self.query_one("#inbox-items", RowList).key)
        return page if page is not None and page.decided is None else None

    def draw(self) -> None:
        page = self.page
        if page is not None and page.decided is not None and self._was_open:
            self._open, page = None, self.page  # it was decided while it was in sight: on to what still waits
            page = self.page
        self._was_open = page is not None and page.decided is None
        freeze = page.page if page is not None and isinstance(page.page, FreezeView) else None
        question = page.page if page is not None and isinstance(page.page, Question) else None
        self.query_one("#inbox-items").display = page is None
        if freeze is None or page is None or page.id != self._shown:
            self.remove_class("-statement", "-rubric")
        self.query_one("#inbox-list").display = freeze is not None and not self._whole
        self.query_one("#inbox-texts").display = freeze is not None
        self.query_one("#inbox-page").display = page is not None and freeze is None
        self.query_one("#inbox-options").display = bool(question and question.options and page and not page.decided)
        self._head(page)
        if page is None:
            items = self.query_one("#inbox-items", RowList)
            items.show(self._items)
            asked = {item.id for item in self.view.inbox.pending}
            if (
                asked - self._asked and not items.has_focus
            ):  # nobody is choosing here: what waits is what there is to see
                items.go_to(self.view.inbox.pending[0].id)
            self._asked = asked
        elif freeze is not None:
            rows = self.query_one("#inbox-list", RowList)
            verdict = page.decided.verdict if page.decided else ""
            rows.show(lambda width: freeze_rows(freeze, came_of(page), width, verdict))
            if page.id != self._shown and freeze.cases:
                rows.scroll_to(y=0, animate=False, immediate=True)
                rows.go_to(f"case:{freeze.cases[0].case_id}")
            self._texts()
        else:
            self.query_one("#inbox-page", WrappedText).show(page_lines(page, self.view.training), page.id)
            options = self.query_one("#inbox-options", RowList)
            options.show(lambda width: option_rows(page, width))
            self._share(len(question.options) if question and options.display else 0)
        self._shown = page.id if page is not None else ""
        self._keep_focus()

    def _share(self, options: int) -> None:
        """Let the answers stand right below the question where both fit, else at the bottom."""
        text = self.query_one("#inbox-page", WrappedText)
        self.query_one("#inbox-options", RowList).styles.height = max(1, options)
        room = self.size.height - 1 - options
        text.styles.height = min(text.virtual_size.height + 1, room) if options and room > 3 else "1fr"

    def _keep_focus(self) -> None:
        """Let the focus go on to what took the place of the list or text that had it."""
        first, focused = self.first_focus(), self.screen.focused
        if first is not None and focused is not None and focused in self.query("*") and not _in_sight(focused):
            first.focus()

    def _head(self, page: Item | None) -> None:
        pending = self.view.inbox.pending
        if page is None:
            self.title(
                f"{len(pending)} wait for you"
                if len(pending) > 1
                else "1 waits for you"
                if pending
                else "nothing waits for you"
            )
            return
        kind = KINDS.get(page.kind)
        name = kind.name if kind else page.kind
        place = f"{pending.index(page) + 1} of {len(pending)} " if page in pending else "decided "
        about = f"freeze {page.benchmark_id} for {page.agent_id}?" if page.kind == "freeze" else f"{name}: {who(page)}"
        self.title(about, ((place, "dim"),))

    def first_focus(self) -> LineList | WrappedText | None:
        page = self.page
        if not self.is_mounted:
            return None
        if page is None:
            return self.query_one("#inbox-items", RowList)
        if isinstance(page.page, FreezeView):
            return (
                self.query_one(f"#inbox-{self._whole}", WrappedText)
                if self._whole
                else self.query_one("#inbox-list", RowList)
            )
        options = self.query_one("#inbox-options", RowList)
        return options if options.display else self.query_one("#inbox-page", WrappedText)

    # Keys

    def do(self, action_id: str) -> bool:
        if action_id == "say" and (item := self.item) is not None and item.kind == "question":
            self.post_message(AnswerWanted(item.id, ""))
            return True
        if action_id == "zoom" and (self._whole or (self._freeze is not None and self.screen.has_class("-s"))):
            self._give("" if self._whole else "rubric" if self.query_one("#inbox-rubric").has_focus else "statement")
            return True
        if action_id in ("pane.next", "pane.previous") and self._whole:
            self._give("rubric" if self._whole == "statement" else "statement")
            return True
        return super().do(action_id)

    def resting(self) -> Line:
        page, pending = self.page, self.view.inbox.pending
        if not pending and page is None:
            return ()
        more = f" [ and ] go through all {len(pending)}." if len(pending) > 1 else ""
        if page is None:
            told = "Enter opens what is selected" + ("; a and x decide it." * (not self.read_only) or ".")
            return ((f" {told}", "mark"), (more, "dim"))
        if self._whole:
            return ((" Tab shows the other text; z or Esc shows the page again.", "mark"),)
        if page.decided:
            return ((" This is decided. Esc goes back to the list.", "dim"),)
        says = {"question": "Enter sends this answer, i your own words; x leaves it unanswered."}
        if self.read_only:
            return ((" Opened read-only: decide it in another console, or: exuvia approvals", "mark"), (more, "dim"))
        kind = KINDS.get(page.kind)
        told = says.get(page.kind) or (f"a {kind.approve}; x {kind.reject}." if kind else "Esc goes back.")
        return ((f" {told}", "mark"), (more, "dim"))

    def useless(self) -> frozenset[str]:
        return frozenset({"approve", "reject"} if self.item is None else ())

    def go_back(self) -> bool:
        if self._whole:
            self._give("")
            return True
        if self.page is None or not self._is_home():
            return False
        at = self.page.id
        self._go("")
        self.query_one("#inbox-items", RowList).go_to(at)
        return True

    def _is_home(self) -> bool:
        """Tell whether the focus is where a page begins: from a text beside it, Esc goes there first."""
        return self.screen.focused is self.first_focus()

    def do_freeze_older(self) -> None:
        self._flip(-1)

    def do_freeze_newer(self) -> None:
        self._flip(1)

    def copied(self, *, whole: bool) -> tuple[str, str] | None:
        page = self.page
        if page is None:
            key = self.query_one("#inbox-items", RowList).key
            return (key, "the id") if key else None
        if not whole or isinstance(page.page, FreezeView):
            return page.id, "the id"
        return self.reading(), "the page"

    def reading(self) -> str:
        page = self.page
        if page is None:
            return ""
        if isinstance(page.page, FreezeView):
            case = self._case()
            if case is not None and self.query_one("#inbox-list", RowList).key.startswith(("case:", "finding:")):
                return f"{case.statement}\n\n{case.rubric}"
            verdict = page.decided.verdict if page.decided else ""
            rows = freeze_rows(page.page, came_of(page), 100, verdict)
            return "\n".join("".join(text for text, _ in line) for row in rows for line in row.lines)
        return "\n".join("".join(text for text, _ in line) for line in page_lines(page, self.view.training))

    def _flip(self, step: int) -> None:
        page, pending = self.page, self.view.inbox.pending
        together = pending if page is None or page in pending else self.view.inbox.decided
        if not together:
            return
        at = together.index(page) + step if page in together else 0
        self._go(together[max(0, min(len(together) - 1, at))].id)

    def _go(self, item_id: str) -> None:
        self._open, self._was_open = item_id, False
        self.draw()
        own_screen(self).lines()
        if (first := self.first_focus()) is not None:
            first.focus()

    def on_line_list_highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        if own_screen(self).stands and event.rows.id == "inbox-list":
            self._texts()

    def on_line_list_opened(self, event: LineList.Opened) -> None:
        event.stop()
        page = self.page
        if event.rows.id == "inbox-items":
            self._go(event.key)
        elif event.rows.id == "inbox-options" and page is not None and isinstance(page.page, Question):
            self.post_message(AnswerWanted(page.id, page.page.options[int(event.key)]))
        else:
            self.query_one("#inbox-statement", WrappedText).focus()

    # Drawing

    @property
    def _freeze(self) -> FreezeView | None:
        page = self.page
        return page.page if page is not None and isinstance(page.page, FreezeView) else None

    def _case(self) -> CaseRow | None:
        """Return the Case under the cursor, that of a finding under it, else the one that was shown last."""
        freeze, key = self._freeze, self.query_one("#inbox-list", RowList).key
        if freeze is None or not freeze.cases:
            return None
        kind, _, rest = key.partition(":")
        number = rest.partition(":")[0]
        found = freeze.findings[int(number)].case_id if kind == "finding" and number.isdecimal() else ""
        wanted = rest if kind == "case" else found or self._of
        return next((case for case in freeze.cases if case.case_id == wanted), freeze.cases[0])

    def _texts(self) -> None:
        case = self._case()
        if case is None:
            return
        self._of = case.case_id
        alone = self.has_class("-statement") or self.has_class("-rubric")
        width = self.size.width if alone else self.size.width // 2
        way = (("   Tab: the other text", "dim"),) if alone else ()
        for name, text, words in zip(
            ("statement", "rubric"), (case.statement, case.rubric), text_rules(case, width), strict=True
        ):
            self.query_one(f"#inbox-{name}-rule", Rule).show((*words, *way))
            self.query_one(f"#inbox-{name}", WrappedText).show(plain(reflow(text)), (name, case.case_id))

    # One text on the whole pane

    @property
    def _whole(self) -> str:
        """The text that has the whole pane: "statement", "rubric", or "" where none has."""
        return next((name for name in ("statement", "rubric") if self.has_class(f"-{name}")), "")

    def _give(self, name: str) -> None:
        """Give the whole pane to a text, or share it out again ("")."""
        for each in ("statement", "rubric"):
            self.set_class(each == name, f"-{each}")
        self.draw()
        own_screen(self).lines()
        if (first := self.first_focus()) is not None:
            first.focus()

    def _items(self, width: int) -> Sequence[Row]:
        inbox = self.view.inbox
        rows = [note_row(f"damaged:{text}", ("Not readable:", "bad"), (text, "bad")) for text in inbox.damaged]
        rows += [item_row(item, width) for item in inbox.pending]
        if not inbox.pending:
            rows.append(
                note_row(
                    "none",
                    ("Freezes, questions and tool calls that wait for you are decided here.", "dim"),
                    ("Opened read-only: runs are started and decided elsewhere; you see it here.", "dim")
                    if self.read_only
                    else ("Start a run that asks: S. Its question then stands here, and 6 opens it.", "dim"),
                )
            )
        if inbox.decided:
            rows.append(note_row("decided", ("", "plain"), ("Decided lately", "title")))
            rows += [decided_row(item, width) for item in inbox.decided]
        return rows


def _in_sight(widget: Widget) -> bool:
    return all(node.display for node in widget.ancestors_with_self if isinstance(node, Widget))
