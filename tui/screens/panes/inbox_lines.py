"""What the Inbox says of what waits and of what was decided, as pure functions."""

from __future__ import annotations

from dataclasses import dataclass

from tui.screens.panes.base import local
from tui.stores.freeze_page import CaseRow
from tui.stores.inbox import Call, Item, Promotion, Question
from tui.stores.views import TrainingView
from tui.widgets.grid_cells import number
from tui.widgets.line_list import Row
from tui.widgets.spans import Line, Span, joined, short, two_sided


@dataclass(frozen=True, slots=True)
class Kind:
    """How a kind of item is spoken of: its name, what `a` and `x` do to it ("" where they do nothing)."""

    name: str
    approve: str
    reject: str


KINDS: dict[str, Kind] = {
    "freeze": Kind("freeze", "approves it", "rejects it with a reason, which goes back to the Builder"),
    "question": Kind("question", "", "leaves it unanswered, with a reason"),
    "promotion": Kind("promotion", "puts it in use", "leaves it, with a reason for the record"),
    "strategy": Kind("strategy", "does what is asked", "leaves it, with a reason for the record"),
    "tool_call": Kind("tool call", "allows this call", "denies it with a reason, which the model reads"),
}
"""What the inbox can show. A new kind is a line here, its page in `tui.stores.inbox`, and its words in the deeds."""

VERDICTS = {"approve": ("approved", "good"), "reject": ("rejected", "bad"), "answer": ("answered", "good")}


def who(item: Item) -> str:
    """Return who asks: `Builder of data_helper`."""
    if isinstance(item.page, Promotion):
        return f"curator of {item.page.world}"
    if item.kind == "strategy":
        return "the bank of strategies"
    role = item.role.capitalize() if item.role else "Builder" if item.kind == "freeze" else "a Session"
    return f"{role} of {item.agent_id}" if item.agent_id else role


def came_of(item: Item) -> Line:
    """Return what was decided, by whom, when and why; () where it waits."""
    if item.decided is None:
        return ()
    word, tone = VERDICTS.get(item.decided.verdict, (item.decided.verdict, "warn"))
    because = item.decided.text or item.decided.reason
    return (
        (f"{word} ", tone),
        (f"by {item.decided.by}, {local(item.decided.time)}", "strong"),
        (f": {because}" if because else "", "plain"),
    )


def page_lines(item: Item, training: TrainingView) -> list[Line]:
    """Return the page of a question, a tool call or a promotion, line by line."""
    lines: list[Line] = [came_of(item), ()] if item.decided else []
    if isinstance(item.page, Promotion):
        from tui.screens.panes.inbox_promotion import promotion_lines  # few homes have one

        return [*lines, *promotion_lines(item, item.page, training)]
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


def note_row(key: str, first: tuple[str, str], second: tuple[str, str]) -> Row:
    """Return a row of two lines that only tells."""
    return Row(key, ((first,), (second,)), selectable=False)


def item_row(item: Item, width: int) -> Row:
    """Return what waits as a row of the list."""
    kind = KINDS.get(item.kind)
    head = joined(((kind.name if kind else item.kind, "mark"), (who(item), "strong")))
    first = two_sided(head, ((f"since {local(item.since)} ", "dim"),), width)
    second: Line = (("  ", "plain"), (short(item.what, max(1, width - 3)), "plain"))
    return Row(item.id, (first, second), find=f"kind:{item.kind} agent:{item.agent_id} {item.what} {item.run_id}")


def decided_row(item: Item, width: int) -> Row:
    """Return what was decided as a row of the list."""
    assert item.decided is not None
    word, tone = VERDICTS.get(item.decided.verdict, (item.decided.verdict, "warn"))
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


def text_rules(case: CaseRow, width: int) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Return the words on the rules above a Case's two texts, for rules `width` cells wide."""
    of, narrow = number(case.case_id), width < 60
    told = (
        (", for the agent", ", Evaluator only")
        if narrow
        else (": what the agent sees", ": what only the Evaluator sees")
    )
    return (
        ((f"{of} statement", "strong"), (told[0], "dim")),
        ((f"{of} rubric", "strong"), (told[1], "dim")),
    )
