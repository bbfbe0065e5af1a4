"""The parts of the Training pane: its pages, which of them is in sight, and what each shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from textual.app import ComposeResult
from textual.message import Message
from textual.widget import Widget

from core.curation.training_run import OVER, TrainingRun
from tui.actions import by_id, shown_keys
from tui.curves import live, named, still
from tui.messages import ReadWanted
from tui.screens.base import own_screen
from tui.screens.panes import training_deeds as deeds
from tui.screens.panes.base import Pane
from tui.screens.panes.training_lines import empty_lines, overview, run_rows, state_of, status
from tui.screens.panes.training_rows import chart_of, chart_rows, compared_rows, figure_rows, says_of
from tui.screens.panes.training_samples import Looking, position_rows, text_of, title_of
from tui.stores.training_book import SampleBook
from tui.stores.training_figures import axis, charted, figures, shown
from tui.stores.views import TrainingView
from tui.widgets.bars import Rule
from tui.widgets.facts import Facts
from tui.widgets.line_list import LineList, Row, RowList
from tui.widgets.spans import Line
from tui.widgets.wrapped_text import WrappedText

Page = Literal["runs", "figures", "plot", "samples", "compare"]
_SHOWN: dict[Page, frozenset[str]] = {
    "runs": frozenset({"list", "rule", "overview"}),
    "figures": frozenset({"figures", "rule", "text"}),
    "plot": frozenset({"plot", "charts"}),
    "samples": frozenset({"positions", "rule", "text"}),
    "compare": frozenset({"compared"}),
}
_PARTS = ("list", "figures", "plot", "charts", "positions", "compared", "rule", "overview", "text")
_FIRST: dict[Page, str] = {
    "runs": "list", "figures": "figures", "plot": "charts", "samples": "positions", "compare": "compared"
}  # fmt: skip


class SamplesRead(Message):
    """Samples of a step were read, or could not be (`fault`)."""

    def __init__(self, run_id: str, step: int, found: object, fault: str = "") -> None:
        self.run_id, self.step, self.found, self.fault = run_id, step, found, fault
        super().__init__()


class RunStarted(Message):
    """A training run was started here: the pane goes to it once it is listed."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__()


class TrainingParts(Pane):
    """The list of runs with the selected one's state, and from it one page at a time about that run.

    Invariant: `run_id` names the run that a page other than the list is about; `marked` is a run that is there, or "".
    While it is `held`, everything is drawn from that view, and curves as finely as they can be.
    """

    pane_id = "training"
    DEFAULT_CSS = """
    TrainingParts #training-list { height: auto; max-height: 35%; min-height: 2; }
    TrainingParts #training-overview { height: 1fr; }
    TrainingParts #training-plot { height: 1fr; }
    TrainingParts #training-charts { height: 30%; min-height: 3; }
    TrainingParts #training-figures, TrainingParts #training-compared { height: 1fr; }
    TrainingParts #training-positions { height: 40%; }
    TrainingParts.-figures #training-text { height: 3; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.page: Page = "runs"
        self.run_id = self.marked = self._wanted = ""
        self.held: TrainingView | None = None
        self.looking: Looking = "operations"
        self.book = SampleBook("")
        self._asked: set[tuple[str, int]] = set()

    def parts(self) -> ComposeResult:
        yield RowList(id="training-list")
        yield RowList(id="training-figures")
        yield Facts(id="training-plot")
        yield RowList(id="training-charts")
        yield RowList(id="training-positions")
        yield RowList(id="training-compared")
        yield Rule(id="training-rule")
        yield Facts(id="training-overview")
        yield WrappedText(id="training-text")

    # What is in sight

    @property
    def training(self) -> TrainingView:
        """Return what is drawn: the newest view, or the one that is held."""
        return self.held or self.view.training

    @property
    def selected(self) -> TrainingRun | None:
        """Return the run that a page is about, on the list the one under the cursor."""
        rows = self.query("#training-list").results(RowList) if self.is_mounted else ()
        key = self.run_id if self.page != "runs" else next((rows.key for rows in rows), "")
        return self.training.run(key) or (self.training.runs[0] if self.training.runs else None)

    def _rows(self, name: str) -> RowList:
        return self.query_one(f"#training-{name}", RowList)

    def first_focus(self) -> Widget | None:
        return self.query_one(f"#training-{_FIRST[self.page]}", Widget) if self.is_mounted else None

    # Drawing

    def draw(self) -> None:
        runs = {run.id for run in self.training.runs}
        self.marked = self.marked if self.marked in runs else ""
        if self.page != "runs" and self.run_id not in runs:
            self.page = "runs"
        if self.page == "compare" and self.marked in ("", self.run_id):
            self.page = "runs"
        self._arrange()
        self._rows("list").show(lambda width: self._listed(width))
        if self._wanted in runs:
            self._rows("list").go_to(self._wanted)
            self._wanted = ""
        draw: dict[Page, Callable[[], None]] = {
            "runs": self._draw_runs, "figures": self._draw_figures, "plot": self._draw_plot,
            "samples": self._draw_samples, "compare": self._draw_compare,
        }  # fmt: skip
        draw[self.page]()

    def _arrange(self) -> None:
        self.set_class(self.page == "figures", "-figures")
        for name in _PARTS:
            widget = self.query_one(f"#training-{name}", Widget)
            wanted = name in _SHOWN[self.page]
            if widget.display != wanted:
                widget.display = wanted
        rows = self._rows("list")
        count = len(self.training.runs) + 1 + bool(self.training.fault)
        count = max(2, min(count, max(3, self.size.height // 3)))
        if rows.styles.height is None or rows.styles.height.value != count:
            rows.styles.height = count

    def _listed(self, width: int) -> Sequence[Row]:
        if not self.training.runs:
            return []
        rows = run_rows(self.training, self.marked, width)
        if self.training.fault:
            rows.append(Row("fault", (((f"The curator in use: {self.training.fault}", "bad"),),), selectable=False))
        return rows

    def _head(self, context: str, right: Line = ()) -> None:
        held: Line = (("held, Space goes on ", "mark"),) if self.held is not None else ()
        self.title(context, (*right, *held))

    def _draw_runs(self) -> None:
        runs, run = self.training.runs, self.selected
        at_work = len(self.training.live)
        self._head(f"{len(runs)} run{'s' * (len(runs) != 1)}" + (f", {at_work} at work" if at_work else ""))
        rule, text = self.query_one("#training-rule", Rule), self.query_one("#training-overview", Facts)
        if run is None:
            from core.curation.training import INSTALL, can_train

            self._rows("list").display = False
            rule.display = False
            told = empty_lines(self.size.width, can_train=can_train(), install=INSTALL, start=self._key("start"))
            text.show(told)
            return
        rule.show(((run.id, "strong"), (f"  {self._way(run)}", "dim")))
        text.show(overview(run, self.training, max(20, self.size.width), max(3, self._room())))

    def _way(self, run: TrainingRun) -> str:
        keys = [("open", "figures"), ("training.plot", "curves"), ("training.samples", "samples")]
        return "  ".join(f"{self._key(action)} {word}" for action, word in keys if self._key(action))

    def _room(self) -> int:
        return self.size.height - 2 - int(self._rows("list").size.height or 2)

    def _draw_figures(self) -> None:
        run = self._run()
        self._head(status(run), ((f"{state_of(run)[0]} ", state_of(run)[1]),) if not run.history.steps else ())
        self._rows("figures").show(lambda width: self._figure_rows(width))
        self._says()

    def _figure_rows(self, width: int) -> Sequence[Row]:
        run = self._run()
        if not run.history.steps:
            return [
                Row("none", ((("No step of training yet; figures come with the first.", "dim"),),), selectable=False)
            ]
        return figure_rows(run, width)

    def _says(self) -> None:
        name, says = says_of(self._run(), self._rows("figures").key)
        self.query_one("#training-rule", Rule).show(((name, "strong"),) if name else ())
        self.query_one("#training-text", WrappedText).show([((says, "plain"),)], name)

    def _draw_plot(self) -> None:
        run = self._run()
        found = figures(run)
        places, each = axis(run)
        self._rows("charts").show(lambda width: chart_rows(found, places, width))
        chart = chart_of(self._rows("charts").key, found)
        drawn, facts = charted(chart, found), self.query_one("#training-plot", Facts)
        fine = self.held is not None or run.state in OVER
        self._head(f"{status(run)}: {chart.name}")
        if not drawn:
            facts.show([((" No step of training yet; curves come with the first.", "dim"),)])
            return
        curves = named([(figure.name.strip(), figure.values) for figure in drawn])
        draw = still if fine else live
        unit = drawn[0].unit if len({figure.unit for figure in drawn}) == 1 else "number"
        lines = draw(curves, places, facts.size.width - 2, facts.size.height, lambda value: shown(value, unit), each)
        facts.show([((" ", "plain"), *line) for line in lines])

    def _draw_samples(self) -> None:
        run = self._run()
        if self.book.run_id != run.id:
            self.book = SampleBook(run.id)
        self.book = self.book.at(tuple(sample.step for sample in run.history.samples))
        for step in self.book.wanted:
            self._read(run, step)
        self._head(*title_of(self.book, self.looking))
        self._rows("positions").show(lambda width: self._positions(width))
        self._sample_text()

    def _positions(self, width: int) -> Sequence[Row]:
        if self.book.chosen is not None:
            return position_rows(self.book.chosen, width)
        told = "No sample yet: rollouts are written down every few steps."
        if self.book.step:
            told = self.book.faults.get(self.book.step, f"Reading step {self.book.step}...")
        return [Row("none", (((told, "bad" if self.book.step in self.book.faults else "dim"),),), selectable=False)]

    def _sample_text(self) -> None:
        number = self._rows("positions").key.removeprefix("position:")
        chosen = self.book.chosen
        positions = chosen.positions if chosen else ()
        position = next((one for one in positions if str(one.position) == number), positions[0] if positions else None)
        rule = self.query_one("#training-rule", Rule)
        place = positions.index(position) + 1 if position else 0
        rule.show(((f"position {place}, a task of the family {position.family}", "strong"),) if position else ())
        text = self.query_one("#training-text", WrappedText)
        text.show(text_of(self.book, position, self.looking), (self.book.step, self.book.rollout, number, self.looking))

    def _read(self, run: TrainingRun, step: int) -> None:
        """Ask for the samples of a step, once."""
        if (run.id, step) in self._asked:
            return
        self._asked.add((run.id, step))
        file = next((sample.file for sample in run.history.samples if sample.step == step), "")
        run_id = run.id
        self.post_message(
            ReadWanted(lambda project: deeds.read_sample(project, run_id, step, file), self, f"reading step {step}")
        )

    def on_run_started(self, event: RunStarted) -> None:
        event.stop()
        self._wanted, self.page = event.run_id, "runs"
        self.redraw()

    def on_samples_read(self, event: SamplesRead) -> None:
        event.stop()
        self._asked.discard((event.run_id, event.step))
        if event.run_id == self.book.run_id:
            self.book = self.book.with_samples(event.step, event.fault or event.found)  # type: ignore[arg-type]  # as read
            self.redraw()

    def _draw_compare(self) -> None:
        left, right = self.training.run(self.marked), self._run()
        assert left is not None
        self._head(f"{left.id} (marked) beside {right.id}")
        self._rows("compared").show(lambda width: self._compared(width))

    def _compared(self, width: int) -> Sequence[Row]:
        left = self.training.run(self.marked)
        return compared_rows(left, self._run(), width) if left is not None else []

    def _run(self) -> TrainingRun:
        run = self.selected
        assert run is not None
        return run

    def on_resize(self) -> None:
        if own_screen(self).stands and self.display:
            self.call_after_refresh(self.redraw)

    def on_line_list_highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        if not own_screen(self).stands or self.view.reading:
            return
        match event.rows.id, self.page:
            case "training-list", "runs":
                self._draw_runs()
                own_screen(self).lines()  # which keys are of use differs from run to run
            case "training-figures", "figures":
                self._says()
            case "training-charts", "plot":
                self._draw_plot()
            case "training-positions", "samples":
                self._sample_text()

    def _key(self, action_id: str) -> str:
        """Return the key in force for an action, "" where it has none or does nothing here."""
        loaded, read_only = getattr(self.screen, "loaded", None), bool(getattr(self.screen, "read_only", False))
        action = by_id(action_id)
        if read_only and action.dangerous:
            return ""
        return shown_keys(action, loaded.keys if loaded is not None else {}).partition(" ")[0]
