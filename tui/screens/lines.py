"""The one-row texts of the frame, as pure functions of what is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tui.actions import PANES, footer
from tui.palette import score_tone, sparkline
from tui.stores.console import ConsoleView
from tui.widgets.spans import Line, Span, width_of


def status_lines(
    view: ConsoleView, width: int, heading: Line = (), *, isolation: str, read_only: bool
) -> tuple[Line, Line]:
    """Return the two sides of the status row: what is looked at and how it stands; what lives and what waits.

    `heading` stands for the agent where the pane in front is about something else.
    """
    left = ((f" {view.project_id}", "strong"), *heading) if heading else _agent_line(view, width)
    return left, _state_line(view, width, isolation=isolation, read_only=read_only, of_agent=not heading)


def _agent_line(view: ConsoleView, width: int) -> Line:
    subject = view.subject
    where = f" {view.project_id}" + (f"/{subject.agent_id}" if subject else "")
    left: list[Span] = [(where, "strong")]
    if view.versions.present is not None:
        left.append((f"  v{view.versions.present}", "accent"))
    board = view.board
    if board.curve:
        of_present = [entry for entry in board.curve if entry[0] == view.versions.present]
        if not of_present and view.versions.present is not None:
            left.append((" being measured" if view.sessions.live else " not measured", "warn"))
        version, score = (of_present or board.curve)[-1]
        left += [("  score ", "dim"), (f"{score:.2f}", score_tone(score))]
        left += [] if of_present else [(f" of v{version}", "dim")]
        if width >= (70 if of_present else 100):
            left.append((f" {sparkline([score for _, score in board.curve], 8 if width < 100 else 20)}", "accent"))
    return tuple(left)


def _state_line(view: ConsoleView, width: int, *, isolation: str, read_only: bool, of_agent: bool) -> Line:
    board = view.board
    right: list[Span] = []
    waiting = len(view.inbox.pending)
    if waiting:
        right.append((f" {waiting} to decide: 6 ", "mark"))
    live = len(view.sessions.live)
    trained = len(view.training.live)
    if live or of_agent or not trained:
        right.append((f" {live} live" if live else " idle", "good" if live else "dim"))
    if trained:
        right.append((f"  {trained} training", "good"))
    if of_agent and board.is_example and not live:
        right.append(("  example", "warn"))
    elif (of_agent and board.is_rehearsal) or any("rehearsal/" in run.model for run in view.sessions.live):
        right.append(("  rehearsal", "warn"))
    if isolation and width >= 90:
        right.append((f"  {isolation}", "bad" if isolation == "none" else "dim"))
    elif isolation == "none":
        right.append(("  NOT ISOLATED", "bad"))
    if read_only:
        right.append(("  READ-ONLY", "mark"))
    right.append((" ", "plain"))
    return tuple(right)


def tabs_line(active: str, waiting: int, width: int = 80) -> Line:
    """Return the panes with their digits; the active one is marked.

    Where there is little room they stand closer, then with short names; the active one keeps its own if it can.
    """
    labels = _labels(waiting, {})
    if _closely(labels) > width:
        labels = _labels(waiting, _SHORT)
        whole = labels | {active: _labels(waiting, {})[active]}
        labels = whole if _closely(whole) <= width else labels
    close = 1 + sum(len(label) + 2 for label in labels.values()) > width
    line: list[Span] = [] if close else [(" ", "plain")]
    for pane, label in labels.items():
        tone = "bar" if pane == active else "mark" if pane == "inbox" and waiting else "dim"
        line.append((f" {label}" if close else f" {label} ", tone))
    return tuple(line)


_SHORT = {"sessions": "Sess", "training": "Train", "strategies": "Strat"}


def _labels(waiting: int, names: Mapping[str, str]) -> dict[str, str]:
    counted = f"({waiting})" if waiting else ""
    return {pane: f"{digit} {names.get(pane, name)}" + counted * (pane == "inbox") for pane, digit, name in PANES}


def _closely(labels: Mapping[str, str]) -> int:
    return sum(len(label) + 1 for label in labels.values())


def footer_line(
    pane: str,
    width: int,
    without: Iterable[str],
    *,
    read_only: bool,
    changed: Mapping[str, tuple[str, ...]] | None = None,
) -> Line:
    """Return as many of the pane's keys as fit; help and quit always do."""
    pairs = footer(pane, read_only=read_only, without=without, changed=changed)
    last = [pair for pair in pairs if pair[1] in ("help", "quit")]
    shown: list[tuple[str, str]] = []
    used = 1 + sum(width_of(f"{key} {word}   ") for key, word in last)
    for key, word in pairs:
        if (key, word) in last:
            continue
        used += width_of(f"{key} {word}   ")
        if used <= width:
            shown.append((key, word))
    line: list[Span] = [(" ", "plain")]
    for key, word in (*shown, *last):
        line += [(key, "key"), (f" {word}   ", "dim")]
    return tuple(line)


def useless(view: ConsoleView) -> frozenset[str]:
    """Return the actions of the whole console that would do nothing now."""
    found = set()
    if not view.versions.undo:
        found.add("undo")
    if not view.sessions.live:
        found.add("stop")
        if not view.inbox.pending:
            found.add("say")
    if not any(run.state in ("stopped", "blocked", "failed", "dead") for run in view.sessions.runs):
        found.add("continue")
    if view.versions.target is None:
        found.add("rollback")
    if not view.inbox.pending:
        found |= {"approve", "reject"}
    return frozenset(found)


def resting_line(view: ConsoleView, filtered: str, *, read_only: bool = False) -> Line:
    """Return what the prompt line says while nothing was asked: a filter, a fault, what waits, or what to do next."""
    start = "Opened read-only, so runs start elsewhere" if read_only else "S starts a run"
    if filtered:
        return ((f" showing rows with {filtered!r}", "mark"), ("   Esc shows all", "dim"))
    if view.fault:
        return ((f" This is not up to date: {view.fault}", "bad"), ("   r reads it again", "dim"))
    if view.inbox.pending:
        first = view.inbox.pending[0]
        what = f"freeze of {first.benchmark_id}" if first.kind == "freeze" else first.kind.replace("_", " ")
        how = "Enter answers" if first.kind == "question" else "then a or x"
        way = "6 shows it; decide it elsewhere, this is read-only" if read_only else f"press 6, read, {how}"
        return ((f" A {what} waits for your decision: {way}", "mark"),)
    if view.sessions.live:
        run = view.sessions.live[0]
        step = f" {run.step}" if run.step else ""
        doing = f" {run.role}{step}, {run.phase}" + (f": {', '.join(run.cases)}" if run.cases else "")
        return ((doing, "dim"),)
    if view.subject is None:
        return ((f" Nothing here yet. {start}; exuvia demo shows the whole loop", "dim"),)
    if not view.sessions.runs:
        return ((f" No run yet. {start}", "dim"),)
    return ((" No run is live. o looks at another agent, ? shows all keys", "dim"),)
