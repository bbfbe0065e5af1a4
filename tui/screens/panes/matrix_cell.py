"""A cell, opened: rows for verdict, items, checks, answer, Sessions and files, and the text of the one chosen. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tui.palette import MARKS, score_tone
from tui.screens.panes.base import points
from tui.screens.panes.matrix_words import FAILURES, STATES, measured, next_step
from tui.stores.cell import CellPage, CheckOutcome, ItemResult
from tui.stores.kept_files import Kept, Preview
from tui.stores.matrix_facts import difference
from tui.stores.matrix_page import Cell, MatrixPage
from tui.widgets.line_list import Row
from tui.widgets.spans import Line, Span, fit, joined, plain, short

_WHAT = {"made": "good", "changed": "warn", "given": "dim", "removed": "bad", "link": "warn", "special": "warn"}


def rows(cell: Cell, page: CellPage | None, other: CellPage | None, width: int) -> Sequence[Row]:
    """Return the rows of an open cell; `other` is the same Case and Run of the Reference, to set beside it."""
    made = [Row("verdict", (_verdict(cell),), find="verdict")]
    if page is not None and page.stopped:
        told = stopped_words(page.stopped)
        made.append(Row("stopped", ((("! ", "warn"), (told, "warn")),), find=told))
    if page is None:
        return [*made, Row("reading", ((("Reading what is known of it...", "dim"),),), selectable=False)]
    if page.items:
        total = sum(item.of or 0 for item in page.items)
        told = f"{points(page.score)} of {total:g}" if total else points(page.score)
        said = "  as the rubric reads now" if page.text_of_now else ""
        made.append(_heading("Rubric items", told + said))
        before = {item.number: item for item in other.items} if other else None
        made += [_item(item, before, width) for item in page.items]
    if page.checks:
        passed = sum(check.passed for check in page.checks)
        made.append(_heading("Checks", f"{passed} of {len(page.checks)} passed"))
        was = {check.id: check for check in other.checks} if other else None
        made += [_check(check, was, width) for check in page.checks]
    made.append(_heading("Sessions", ""))
    again = f"  sent again {page.asked_again}x" if page.asked_again else ""
    if page.answer:
        first = page.answer.strip().replace("\n", "  ")
        made.append(Row("answer", (((fit("Answer", 11), "plain"), (short(first, width - 11), "dim"), (again, "warn")),),
                        find="answer " + first))  # fmt: skip
    for key, name, session_id in (("target", "Target", cell.session_id), ("evaluator", "Evaluator", cell.evaluator_id)):
        if session_id:
            opens = f"   {key[0]} opens its trace"
            line: Line = ((fit(name, 11), "plain"), (session_id, "plain"), (opens, "dim"))
            made.append(Row(key, (line,), find=f"{name} {session_id}"))
    if page.workspace:
        more = f", {page.more_files} more not shown" if page.more_files else ""
        made.append(_heading("Workspace", f"{len(page.files)} files{more}"))
        made += [_file(kept, width) for kept in page.files]
    made += [
        Row(f"missing:{at}", ((("! ", "warn"), (text, "dim")),), find=text) for at, text in enumerate(page.missing)
    ]
    return made


def _heading(name: str, told: str) -> Row:
    return Row(f"heading:{name}", (((name, "title"), (f"  {told}", "dim")),), selectable=False)


def _verdict(cell: Cell) -> Line:
    mark, tone = MARKS.get(cell.state, ("?", "warn"))
    if cell.score is None:
        code = cell.failure.replace("_", " ")
        return joined([(f"{mark} {cell.state}", tone), (code, "bad"), (cell.reason, "plain")])
    line: list[Span] = [(f"{mark} ", tone), (points(cell.score), score_tone(cell.score)), (" points", "dim")]
    delta = difference(cell.score, cell.before)
    if delta is not None:
        line += [("  ", "plain"), (f"{delta:+.2f}", _moved(delta)), (f" against {points(cell.before)}", "dim")]
    if cell.state != "scored":
        line.append((f"  {cell.state}", "dim"))
    line += [(f"  {text}", tone) for text, tone in measured(cell) if not text.startswith("Target")]
    return tuple(line)


def _moved(delta: float) -> str:
    return "dim" if not delta else "good" if delta > 0 else "bad"


def _gained(got: float | None, of: float | None) -> str:
    if got is None:
        return "dim"
    if of is None:
        return "plain"
    return "good" if got >= of else "bad" if got <= 0 else "warn"


def _item(item: ItemResult, before: dict[int, ItemResult] | None, width: int) -> Row:
    got = "-" if item.points is None else f"{item.points:g}"
    of = "" if item.of is None else f" of {item.of:g}"
    line: list[Span] = [
        (f"{item.number:>3}  ", "dim"),
        (fit(got + of, 11), _gained(item.points, item.of)),
    ]
    if before is not None:
        line += _was(item.points, before[item.number].points if item.number in before else None)
    used = 16 + (16 if before is not None else 0)
    line.append((short(item.text or item.reason, max(8, width - used)), "plain"))
    return Row(f"item:{item.number}", (tuple(line),), find=f"item {item.number} {item.text} {item.reason}")


def _was(now: float | None, was: float | None) -> list[Span]:
    delta = difference(now, was)
    told = "" if was is None else f"was {was:g}"
    return [(fit(told, 8), "dim"), (fit("" if not delta else f"{delta:+g}", 8), _moved(delta or 0.0))]


def _check(check: CheckOutcome, before: dict[str, CheckOutcome] | None, width: int) -> Row:
    mark, tone = ("●", "good") if check.passed else ("x", "bad")
    of = "" if check.of is None else f" of {check.of:g}"
    line: list[Span] = [
        (f"  {mark}  ", tone),
        (fit(f"{check.points:g}{of}", 11), tone),
    ]
    if before is not None:
        line += _was(check.points, before[check.id].points if check.id in before else None)
    used = 16 + (16 if before is not None else 0)
    said = check.output.strip().partition("\n")[0]
    text = f"{check.id}  {check.asserts}" + (f"  {said}" if said else "")
    line.append((short(text, max(8, width - used)), "plain"))
    return Row(f"check:{check.id}", (tuple(line),), find=f"check {text} {'passed' if check.passed else 'failed'}")


def _file(kept: Kept, width: int) -> Row:
    name = max(12, min(44, width - 34))
    line: Line = (
        (fit(kept.what, 9), _WHAT.get(kept.what, "plain")),
        (fit(kept.path, name), "plain"),
        (fit(size_of(kept), 10, right=True), "dim"),
        (f"  {kept.digest[:12] or kept.leads_to}", "dim"),
    )
    return Row(f"file:{kept.path}", (line,), find=f"file {kept.what} {kept.path}")


def size_of(kept: Kept) -> str:
    """Return a file's size as people read it, "" for what has none."""
    if kept.what in ("removed", "link", "special"):
        return ""
    if kept.size < 1000:
        return f"{kept.size} B"
    return f"{kept.size / 1000:.1f} KB" if kept.size < 1_000_000 else f"{kept.size / 1_000_000:.1f} MB"


def text_of(
    key: str, cell: Cell, page: CellPage | None, of: MatrixPage | None, title: str, shown: Preview | None
) -> list[Line]:
    """Return what the row with `key` says at length."""
    kind, _, name = key.partition(":")
    if page is None or kind in ("verdict", "stopped"):
        return _about(cell, of, title, page)
    match kind:
        case "item":
            found = next((item for item in page.items if str(item.number) == name), None)
            return _about_item(found, page) if found else []
        case "check":
            outcome = next((check for check in page.checks if check.id == name), None)
            return _about_check(outcome) if outcome else []
        case "answer":
            return [(("The Evaluator's answer, as it came:", "dim"),), *plain(page.answer.rstrip("\n").split("\n"))]
        case "target":
            return plain([f"The Target's Session {cell.session_id}: what the agent did. t or Enter opens its trace."])
        case "evaluator":
            return plain([f"The Evaluator's Session {cell.evaluator_id}: how it was scored. e or Enter opens it."])
        case "file":
            kept = next((kept for kept in page.files if kept.path == name), None)
            return _about_file(kept, shown) if kept else []
        case "missing":
            return plain([page.missing[int(name)]])
    return []


def stopped_words(reason: str) -> str:
    """Return that a Target did not end by itself: by its budget, or by something else."""
    by, _, rest = reason.partition("budget: ")
    return f"Target stopped by its budget: {rest}" if not by and rest else f"Target stopped: {reason}"


def _lost(page: CellPage | None) -> list[Line]:
    """Return where the points went, most first."""
    lost = [
        (item.of - item.points, item)
        for item in (page.items if page is not None else ())
        if item.of is not None and item.points is not None and item.points < item.of
    ]
    lost.sort(key=lambda entry: -entry[0])
    return [
        ((f"{f'-{points:g}':>5} ", "bad"), (f"item {item.number}: {item.text or item.reason}", "plain"))
        for points, item in lost
    ]


def _about(cell: Cell, of: MatrixPage | None, title: str, page: CellPage | None) -> list[Line]:
    lines: list[Line] = [((title, "strong"),)] if title and title != cell.case_id else []
    lines.append(((STATES.get(cell.state, cell.state), "plain"),))
    if cell.failure:
        meaning, advice = FAILURES.get(cell.failure, ("A code that this program does not know.", ""))
        lines.append(((f"{cell.failure.replace('_', ' ')}: ", "bad"), (meaning, "plain")))
        if cell.reason:
            lines.append((("Reason  ", "dim"), (cell.reason, "plain")))
        lines.append((("Next    ", "dim"), (advice, "plain")))
        lines.append((("        ", "dim"), (next_step(cell, live=bool(of and of.run_lives)), "plain")))
    elif cell.reason:
        lines.append(((cell.reason, "warn"),))
    if page is not None and page.stopped:
        lines.append(((stopped_words(page.stopped), "warn"),))
        lines.append((("What it had done by then was scored: more turns may be all it lacks.", "plain"),))
    if of is not None:
        delta = difference(cell.score, cell.before)
        against = f"  {delta:+.2f} against {points(cell.before)} of {of.against}" if delta is not None else ""
        lines.append(((f"{of.title}{against}", "dim"),))
    lines.append(joined(measured(cell)))
    return [*lines, *_lost(page)]


def _about_item(item: ItemResult, page: CellPage) -> list[Line]:
    got = "-" if item.points is None else f"{item.points:g}"
    of = "" if item.of is None else f" of {item.of:g}"
    lines: list[Line] = [((f"{got}{of} points", _gained(item.points, item.of)), (f"  item {item.number}", "dim"))]
    if item.text:
        lines.append(((item.text, "plain"),))
    if item.reason:
        lines.append((("Reason  ", "dim"), (item.reason, "plain")))
    own = [check for check in page.checks if check.item == item.number]
    for check in own:
        mark, tone = ("●", "good") if check.passed else ("x", "bad")
        lines.append(((f"  {mark} ", tone), (f"{check.id}: {check.asserts}", "plain")))
    judged = (item.points or 0.0) - sum(check.points for check in own)
    if own and judged > 0.005:
        lines.append(((f"  {judged:g} points judged by the Evaluator", "dim"),))
    return lines


def _about_check(check: CheckOutcome) -> list[Line]:
    told = ("passed: exit code 0", "good") if check.passed else ("failed: an exit code other than 0", "bad")
    of = "" if check.of is None else f" of {check.of:g}"
    lines: list[Line] = [(told, (f"  {check.points:g}{of} points", "dim"))]
    if check.item is not None:
        lines[0] = (*lines[0], (f" of item {check.item}", "dim"))
    if check.asserts:
        lines.append(((f"It asserts: {check.asserts}", "plain"),))
    if check.output.strip():
        lines += [(("Its output:", "dim"),), *plain(check.output.rstrip("\n").split("\n"))]
    else:
        lines.append((("It wrote nothing.", "dim"),))
    return lines


def _about_file(kept: Kept, shown: Preview | None) -> list[Line]:
    what = {
        "made": "made by the Target",
        "changed": "changed by the Target",
        "given": "as the Case's statement has it now",
        "removed": "in the Case's statement, gone here",
        "link": f"a link to {kept.leads_to}; it is not followed",
        "special": "no regular file",
    }.get(kept.what, kept.what)
    lines: list[Line] = [joined([(kept.path, "strong"), (what, "dim"), (size_of(kept), "dim")])]
    if kept.digest:
        lines.append(((f"sha256 {kept.digest}", "dim"),))
    if shown is not None and shown.path == kept.path:
        lines += plain(shown.text.rstrip("\n").split("\n"), "plain" if shown.is_text else "dim")
        if shown.more:
            lines.append(((f"... {shown.more} bytes more", "dim"),))
    return lines
