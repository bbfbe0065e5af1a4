"""The live panes: what Builder and Optimizer do now, side by side where there is room, else one below the other."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical

from tui.palette import STATES
from tui.screens.base import own_screen
from tui.screens.panes.base import Pane, elapsed, money
from tui.screens.panes.session_rows import beat, counted
from tui.stores.session_lines import RunLine, SessionsView
from tui.widgets.bars import Bar
from tui.widgets.line_list import Row, RowList
from tui.widgets.spans import Line, Span, fit, joined, two_sided

BESIDE = 100
"""Cells from which two live panes stand side by side."""


class Lane(Vertical):
    """One run: its head, and the last records of its own Session with what streams in just now.

    Invariant: while it is held, the list stays as it was (`_held`) and the head goes on. Nothing in it can be
    selected, so it never takes the focus.
    """

    DEFAULT_CSS = "Lane { width: 1fr; height: 1fr; } Lane RowList { height: 1fr; }"

    def __init__(self, place: int) -> None:
        super().__init__(id=f"lane-{place}")
        self._place = place
        self.run: RunLine | None = None
        self._held: RunLine | None = None

    def compose(self) -> ComposeResult:
        yield Bar(id=f"lane-{self._place}-head")
        yield Bar(id=f"lane-{self._place}-facts")
        rows = RowList(id=f"lane-{self._place}-list")
        rows.can_focus = False
        yield rows

    def show(self, run: RunLine | None, *, held: bool) -> None:
        """Show a run as it stands now; with `held`, only its head."""
        if not held or run is None:
            self._held = None
        elif self._held is None or self._held.run_id != run.run_id:
            self._held = run
        self.run = run
        self.draw()

    def draw(self) -> None:
        """Draw the head and, unless it is held, the list."""
        run = self.run
        left, right = head_of(run, self.missed)
        self.query_one(f"#lane-{self._place}-head", Bar).show(left, right)
        facts = self.query_one(f"#lane-{self._place}-facts", Bar)
        facts.display = run is not None and self.size.height > 4
        if run is not None:
            facts.show(*facts_of(run))
        self.query_one(RowList).show(self._rows)

    @property
    def missed(self) -> int | None:
        """Lines that came since it was held, None where it is not; beyond what a tail holds, records."""
        if self._held is None or self.run is None:
            return None
        last = self._held.tail[-1].number if self._held.tail else -1
        newer = [line.number for line in self.run.tail if line.number > last]
        return newer[-1] - last if newer and len(newer) == len(self.run.tail) else len(newer)

    def _rows(self, width: int) -> Sequence[Row]:
        run = self._held or self.run
        if run is None:
            said = "What a run's Session does appears here. S starts a run."
            return [Row("none", (((said, "dim"),),), selectable=False)]
        room = max(1, self.query_one(RowList).size.height)
        return [
            Row(f"{number}", (two_sided(line, (), width),), selectable=False)
            for number, line in enumerate(lines_of(run)[-room:])
        ]

    def on_resize(self) -> None:
        if own_screen(self).stands:
            self.draw()


class Tail(Pane):
    """One lane, or two where two runs live."""

    pane_id = "tail"
    early = True
    DEFAULT_CSS = "Tail { layout: vertical; } Tail.-beside { layout: horizontal; }"

    def __init__(self) -> None:
        super().__init__()
        self.run: RunLine | None = None
        self.held = False

    def compose(self) -> ComposeResult:
        yield Lane(1)
        if not self.view.reading or len(self.view.sessions.live) > 1:
            yield Lane(2)

    async def complete(self) -> None:
        if not self.query("#lane-2"):
            await self.mount(Lane(2))

    def hold(self) -> bool:
        """Hold what is shown, or go on with what came meanwhile; tell which."""
        self.held = not self.held
        self.redraw()
        return self.held

    def of(self, run: RunLine | None) -> None:
        """Show the tail of a run, and of another that lives."""
        self.run = run
        self.redraw()

    def draw(self) -> None:
        lanes = lanes_of(self.run, self.view.sessions)
        pair = len(lanes) > 1
        own_screen(self).set_class(pair, "-pair")
        for place, lane in enumerate(self.query(Lane)):
            lane.display = place == 0 or pair
            lane.show(lanes[place] if place < len(lanes) else None, held=self.held)

    def on_resize(self) -> None:
        self.set_class(self.size.width >= BESIDE, "-beside")
        self.redraw()


def lanes_of(selected: RunLine | None, view: SessionsView) -> tuple[RunLine, ...]:
    """Return the one or two runs to stream: the selected one, and where it lives another that does, older first.

    Pure. A selected run that has ended stands alone: the operator chose to look at it.
    """
    live = view.live
    if selected is None:
        chosen = live[:2]
    elif not selected.is_live or len(live) < 2:
        newest = next((run for run in view.runs if run.run_id == selected.run_id), selected)
        chosen = (newest,)
    else:
        first = next((run for run in live if run.run_id == selected.run_id), live[0])
        chosen = (first, next(run for run in live if run.run_id != first.run_id))
    return tuple(sorted(chosen, key=lambda run: (run.started_ms or 0, run.run_id)))


def head_of(run: RunLine | None, missed: int | None) -> tuple[Line, Line]:
    """Return the first line of a lane: who, on what, how it stands; time, and the engine's sign of life."""
    if run is None:
        return (("   ", "plain"), ("Live", "title")), ()
    left: list[Span] = [
        ("   ", "plain"),
        (run.role, "title"),
        ("  ", "plain"),
        (run.state, STATES.get(run.state, "plain")),
        (f"  {run.step}" if run.step else "", "plain"),
        (f"  {run.agent_id}", "dim"),
    ]
    word, tone = beat(run)
    signs: list[Span] = [(f"held, +{missed} new" if missed is not None else "", "mark")]
    signs += [(elapsed(run.started_ms, None if run.is_live else run.updated_ms), "dim")]
    if word:
        signs.append((f"beat {word}" if run.is_live else f"engine {word}", tone))
    return tuple(left), (*joined(signs), (" ", "plain"))


def facts_of(run: RunLine) -> tuple[Line, Line]:
    """Return the second line: phase and Cases; its own turns, tokens and cost with all below, as far as known."""
    doing = joined([(run.phase, "plain"), (", ".join(run.cases), "strong")])
    turns = f"{run.turns} own turn{'s' if run.turns > 1 else ''}" if run.turns else ""
    tokens = f"{counted(run.tokens)} tokens in all" if run.tokens else ""
    cost = money(run.cost, run.unknown) if run.cost or run.unknown else ""
    used = joined([(turns, "dim"), (tokens, "dim"), (cost, "dim")])
    return (("   ", "plain"), *doing), (*used, (" ", "plain"))


def lines_of(run: RunLine) -> list[Line]:
    """Return what a lane's list holds: records, words told and not read yet, what streams, and how it ended."""
    lines: list[Line] = [
        (
            (f"{line.time} ", "dim"),
            (fit(line.kind, 9), "strong" if line.kind == "model" else "call" if line.kind == "calls" else line.tone),
            (line.text, "plain" if line.tone in ("call", "plain", "accent") else line.tone),
        )
        for line in run.tail
    ]
    lines += [(("   now   ", "mark"), (text, "plain")) for text in run.said]
    lines += [(("   told: ", "mark"), (text, "plain"), ("  (not read yet)", "dim")) for text in run.told]
    if run.state == "waiting":
        lines.append((("   waits for you: 6 opens the question", "mark"),))
    elif not run.is_live:
        lines.append(((f"   {run.state}", "dim"), (f": {run.reason}" if run.reason else "", "dim")))
        if run.then:
            lines.append(((f"   {run.then}: S starts the Optimizer", "mark"),))
        elif run.state != "finished" and not run.observed:
            lines.append((("   C goes on with it; what is finished stays", "mark"),))
    return lines
