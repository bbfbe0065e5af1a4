"""Pane 6: what waits for a person: a list, and each item as one page; below, what was decided, by whom and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widget import Widget

from tui.actions import bindings
from tui.screens.base import own_screen
from tui.screens.panes.base import Pane, local
from tui.screens.panes.inbox_freeze import freeze_rows
from tui.stores.freeze_page import CaseRow, FreezeView
from tui.stores.inbox import Call, Item, Question
from tui.widgets.bars import Rule
from tui.widgets.line_list import LineList, Row, RowList
from tui.widgets.spans import Line, joined, plain, reflow, short, two_sided
from tui.widgets.wrapped_text import WrappedText


@dataclass(frozen=True, slots=True)
class Kind:
    """How a kind of item is spoken of: its name, what `a` and `x` do to it ("" where they do nothing)."""

    name: str
    approve: str
    reject: str


KINDS: dict[str, Kind] = {
    "freeze": Kind("freeze", "approves it", "rejects it with a reason, which goes back to the Builder"),
    "question": Kind("question", "", "leaves it unanswered, with a reason"),
    "tool_call": Kind("tool call", "allows this call", "denies it with a reason, which the model reads"),
}
"""What the inbox can show. A new kind is a line here, its page in `tui.stores.inbox`, and its words in the deeds."""

_VERDICTS = {"approve": ("approved", "good"), "reject": ("rejected", "bad"), "answer": ("answered", "good")}


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

    def parts(self) -> ComposeResult:
        yield RowList(height=2, id="inbox-items")
        yield RowList(id="inbox-list")
        with Horizontal(id="inbox-texts"):
            with Vertical(classes="text"):
                yield Rule(id="inbox-statement-rule")
                yield WrappedText(id="inbox-statement")
            with Vertical(classes="text"):
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
        self.query_one("#inbox-list").display = self.query_one("#inbox-texts").display = freeze is not None
        self.query_one("#inbox-page").display = page is not None and freeze is None
        self.query_one("#inbox-options").display = bool(question and question.options and page and not page.decided)
        self._head(page)
        if page is None:
            self.query_one("#inbox-items", RowList).show(self._items)
        elif freeze is not None:
            rows = self.query_one("#inbox-list", RowList)
            rows.show(lambda width: freeze_rows(freeze, came_of(page), width))
            if page.id != self._shown and freeze.cases:
                rows.scroll_to(y=0, animate=False, immediate=True)
                rows.go_to(f"case:{freeze.cases[0].case_id}")
            self._texts()
        else:
            self.query_one("#inbox-page", WrappedText).show(page_lines(page), page.id)
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
            return self.query_one("#inbox-list", RowList)
        options = self.query_one("#inbox-options", RowList)
        return options if options.display else self.query_one("#inbox-page", WrappedText)

    # Keys

    def do(self, action_id: str) -> bool:
        if action_id == "say" and (item := self.item) is not None and item.kind == "question":
            self.post_message(AnswerWanted(item.id, ""))
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
        if page.decided:
            return ((" This is decided. Esc goes back to the list.", "dim"),)
        says = {"question": "Enter sends this answer, i your own words; x leaves it unanswered."}
        if self.read_only:
            return ((" Opened read-only: decide it in another console, or: exuvia approvals", "mark"), (more, "dim"))
        kind = KINDS.get(page.kind)
        told = says.get(page.kind) or (f"a {kind.approve}; x {kind.reject}." if kind else "Esc goes back.")
        return ((f" {told}", "mark"), (more, "dim"))

    def go_back(self) -> bool:
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
            return f"{case.statement}\n\n{case.rubric}" if case else ""
        return "\n".join("".join(text for text, _ in line) for line in page_lines(page))

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

    def _case(self) -> CaseRow | None:
        page, key = self.page, self.query_one("#inbox-list", RowList).key
        freeze = page.page if page is not None else None
        if not isinstance(freeze, FreezeView):
            return None
        return next((case for case in freeze.cases if f"case:{case.case_id}" == key), None)

    def _texts(self) -> None:
        case = self._case()
        if case is None:
            return
        self.query_one("#inbox-statement-rule", Rule).show((("Statement: what the agent sees", "strong"),))
        self.query_one("#inbox-rubric-rule", Rule).show((("Rubric: what only the Evaluator sees", "strong"),))
        self.query_one("#inbox-statement", WrappedText).show(plain(reflow(case.statement)), ("statement", case.case_id))
        self.query_one("#inbox-rubric", WrappedText).show(plain(reflow(case.rubric)), ("rubric", case.case_id))

    def _items(self, width: int) -> Sequence[Row]:
        inbox = self.view.inbox
        rows = [_note(f"damaged:{text}", ("Not readable:", "bad"), (text, "bad")) for text in inbox.damaged]
        rows += [_item_row(item, width) for item in inbox.pending]
        if not inbox.pending:
            rows.append(
                _note(
                    "none",
                    ("Freezes, questions and tool calls that wait for you are decided here.", "dim"),
                    ("Opened read-only: runs are started and decided elsewhere; you see it here.", "dim")
                    if self.read_only
                    else ("Start a run that asks: S. Its question then stands here, and 6 opens it.", "dim"),
                )
            )
        if inbox.decided:
            rows.append(_note("decided", ("", "plain"), ("Decided lately", "title")))
            rows += [_decided_row(item, width) for item in inbox.decided]
        return rows


def _in_sight(widget: Widget) -> bool:
    return all(node.display for node in widget.ancestors_with_self if isinstance(node, Widget))


def who(item: Item) -> str:
    """Return who asks: `Builder of data_helper`."""
    role = item.role.capitalize() if item.role else "Builder" if item.kind == "freeze" else "a Session"
    return f"{role} of {item.agent_id}" if item.agent_id else role


def came_of(item: Item) -> Line:
    """Return what was decided, by whom, when and why; () where it waits."""
    if item.decided is None:
        return ()
    word, tone = _VERDICTS.get(item.decided.verdict, (item.decided.verdict, "warn"))
    because = item.decided.text or item.decided.reason
    return (
        (f"{word} ", tone),
        (f"by {item.decided.by}, {local(item.decided.time)}", "strong"),
        (f": {because}" if because else "", "plain"),
    )


def page_lines(item: Item) -> list[Line]:
    """Return the page of a question or a tool call, line by line."""
    lines: list[Line] = [came_of(item), ()] if item.decided else []
    asked = f"asked {local(item.since)}" + (f" by {item.run_id}" if item.run_id else "")
    lines += [((asked, "dim"),), ((f"session {item.session_id}" if item.session_id else "", "dim"),), ()]
    if isinstance(item.page, Question):
        lines += [((text, "plain"),) for text in item.page.text.split("\n")]
        lines.append(())
        if item.decided:
            lines += [((f"{number}  {text}", "dim"),) for number, text in enumerate(item.page.options, 1)]
    elif isinstance(item.page, Call):
        reads = {"r": "reads only", "rw": "may change things"}.get(item.page.permission, item.page.permission)
        lines.append(((f"{item.page.tool}", "call"), (f"  {reads}", "dim")))
        if item.page.workspace:
            lines.append((("in ", "dim"), (item.page.workspace, "plain")))
        arguments = item.page.arguments if item.page.arguments.strip("{} \n") else "without arguments"
        lines.append(())
        lines += [((text, "plain"),) for text in arguments.split("\n")]
    else:
        lines += [((item.title, "plain"),), (), (("This kind of question is not known here.", "warn"),)]
    return lines


def option_rows(item: Item, width: int) -> list[Row]:
    """Return the answers that a question proposes."""
    options = item.page.options if isinstance(item.page, Question) else ()
    return [
        Row(str(number), (((f"{number + 1}  ", "strong"), (short(text, max(1, width - 3)), "plain")),), find=text)
        for number, text in enumerate(options)
    ]


def _note(key: str, first: tuple[str, str], second: tuple[str, str]) -> Row:
    return Row(key, ((first,), (second,)), selectable=False)


def _item_row(item: Item, width: int) -> Row:
    kind = KINDS.get(item.kind)
    head = joined(((kind.name if kind else item.kind, "mark"), (who(item), "strong")))
    first = two_sided(head, ((f"since {local(item.since)} ", "dim"),), width)
    second: Line = (("  ", "plain"), (short(item.what, max(1, width - 3)), "plain"))
    return Row(item.id, (first, second), find=f"kind:{item.kind} agent:{item.agent_id} {item.what} {item.run_id}")


def _decided_row(item: Item, width: int) -> Row:
    assert item.decided is not None
    word, tone = _VERDICTS.get(item.decided.verdict, (item.decided.verdict, "warn"))
    kind = KINDS.get(item.kind)
    name = kind.name if kind else item.kind
    head: Line = (
        (f"{word:<9} ", tone),
        (f"{name} ", "plain"),
        (item.benchmark_id if item.kind == "freeze" else item.what, "plain"),
    )
    first = two_sided(head, ((f"{local(item.decided.time)} ", "dim"),), width)
    because = item.decided.text or item.decided.reason
    second = f"  by {item.decided.by}" + (f": {because}" if because else "")
    find = f"kind:{item.kind} agent:{item.agent_id} {word} {item.decided.by} {item.what} {because}"
    return Row(item.id, (first, ((short(second, max(1, width - 1)), "dim"),)), find=find)
