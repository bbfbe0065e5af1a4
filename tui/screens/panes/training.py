"""Pane 8: training runs, how one goes, its figures and curves, and the skills that it writes: what each key does."""

from __future__ import annotations

from core.curation.training_run import OVER
from tui.actions import bindings
from tui.messages import Said
from tui.screens.base import own_screen
from tui.screens.panes import training_deeds as deeds
from tui.screens.panes.training_lines import heading_of, overview, plain_text
from tui.screens.panes.training_parts import Page, TrainingParts
from tui.screens.panes.training_rows import chart_with, compared_rows, figure_rows
from tui.screens.panes.training_samples import LOOKS, text_of
from tui.widgets.line_list import LineList
from tui.widgets.spans import Line
from tui.widgets.wrapped_text import WrappedText


class TrainingPane(TrainingParts):
    """The pane as an operator uses it."""

    BINDINGS = bindings("training")

    def on_line_list_opened(self, event: LineList.Opened) -> None:
        event.stop()
        if self.page == "runs":
            self._go("figures")
        elif self.page == "figures":
            chart = chart_with(event.key.partition(":")[2])
            self._go("plot")
            if chart:
                self._rows("charts").go_to(chart)
        elif self.page == "samples":
            self.query_one("#training-text", WrappedText).focus()

    def _go(self, page: Page) -> None:
        """Go to a page about the selected run."""
        run = self.selected
        if run is None:
            self.post_message(Said("There is no training run yet.", "plain", f"{self._key('start')} starts one"))
            return
        self.run_id, self.page = run.id, page
        self.draw()
        own_screen(self).restore_focus()
        own_screen(self).lines()
        self.call_after_refresh(self.redraw)  # once the parts have their sizes

    def go_back(self) -> bool:
        """Let go of what is held, leave the page, take the mark away: one at a time."""
        focused = self.screen.focused
        if self.page == "samples" and focused is self.query_one("#training-text"):
            self._rows("positions").focus()
        elif self.held is not None:
            self.do_pause()
        elif self.page != "runs":
            self.page = "runs"
            self.draw()
            self._rows("list").go_to(self.run_id)
            own_screen(self).restore_focus()
            self.call_after_refresh(self.redraw)
        elif self.marked:
            self.marked = ""
            self.draw()
        else:
            return False
        return True

    def _toggle(self, page: Page) -> None:
        if self.page == page:
            self.go_back() if self.held is None else self._go("runs")
        else:
            self._go(page)

    def do_training_plot(self) -> None:
        self._toggle("plot")

    def do_training_samples(self) -> None:
        self._toggle("samples")

    def do_training_look(self) -> None:
        """In samples, look at the position in the next way."""
        if self.page != "samples":
            self._go("samples")
            return
        self.looking = LOOKS[(LOOKS.index(self.looking) + 1) % len(LOOKS)]
        self.draw()

    def do_training_older(self) -> None:
        self._turn(-1)

    def do_training_newer(self) -> None:
        self._turn(1)

    def _turn(self, by: int) -> None:
        if self.page == "samples":
            before, self.book = self.book.step, self.book.turned(by)
            if self.book.steps and self.book.step == before:
                self.post_message(Said(f"This is the {'first' if by < 0 else 'latest'} step that was sampled."))
            self.draw()
            own_screen(self).lines()
        else:
            self._go("samples")

    def do_training_rollout(self) -> None:
        self._other_rollout(1)

    def do_training_rollout_before(self) -> None:
        self._other_rollout(-1)

    def _other_rollout(self, by: int) -> None:
        if self.page == "samples":
            self.book = self.book.other_rollout(by)
            self.draw()

    def do_training_mark(self) -> None:
        run = self.selected
        if run is None or self.page == "compare":
            return
        self.marked = "" if self.marked == run.id else run.id
        self.draw()
        if self.marked:
            self.post_message(Said(f"{run.id} is marked.", "mark", "d on another run sets the two beside each other"))

    def do_training_compare(self) -> None:
        run = self.selected
        if self.page == "compare":
            self.go_back()
        elif run is None or not self.marked or self.marked == run.id:
            self.post_message(Said("m marks a run; d on another sets the two beside each other."))
        else:
            self._go("compare")

    def do_pause(self) -> None:
        """Hold what is shown, or go on with what came meanwhile."""
        self.held = None if self.held is not None else self.view.training
        self.draw()
        held = "Held; curves are drawn finely while it is. Space goes on."
        self.post_message(Said(held if self.held is not None else "It follows again."))

    # Deeds

    def do_start(self) -> None:
        deeds.start(self)

    def do_continue(self) -> None:
        deeds.go_on(self, self.selected)

    def do_stop(self) -> None:
        deeds.stop(self, self.selected)

    def do_training_pause(self) -> None:
        deeds.pause(self, self.selected)

    def do_training_promote(self) -> None:
        deeds.promote(self, self.selected)

    # What others ask of a pane

    def useless(self) -> frozenset[str]:
        run = self.selected
        useless = {"stop", "continue", "training.pause", "training.promote", "training.compare"}
        in_samples = {"training.look", "training.newer", "training.rollout"}
        if run is None:
            of_runs = {"training.plot", "training.samples", "training.mark", "open", "filter"}
            return frozenset(useless | of_runs | in_samples)
        if run.state not in OVER:
            useless -= {"stop", "continue"} if run.pausing or run.state == "paused" else {"stop", "training.pause"}
        elif run.state != "finished":
            useless.discard("continue")
        if run.best is not None:
            useless.discard("training.promote")
        if self.marked and self.marked != run.id:
            useless.discard("training.compare")
        if self.page != "samples":
            useless |= in_samples
        elif not self.book.steps or self.book.step == self.book.steps[-1]:
            useless.add("training.newer")
        return frozenset(useless)

    def heading(self) -> Line:
        run = self.selected
        return () if run is None else heading_of(run)

    def resting(self) -> Line:
        run = self.selected
        if run is None:
            key = self._key("start")
            return ((f" {key} starts a training run; its form explains each field." if key else "", "dim"),)
        if self.page == "samples":
            return (
                (" [ and ] go through the sampled steps, n through rollouts, s looks at it in another way.", "dim"),
            )
        if self.page == "compare":
            return ((" One run against one run: seeds alone move results by several points.", "dim"),)
        if self.page == "plot" and run.state not in OVER and self.held is None:
            return ((" Space holds it and draws it finely.", "dim"),)
        if run.state in ("failed", "dead"):
            return ((f" {run.reason}", "bad"), ("   C goes on from its last checkpoint", "dim"))
        if self.page == "figures":
            return ((" Below stands what the figure means; Enter draws it, / shows only some.", "dim"),)
        if self.page == "plot":
            return ((" Up and Down choose what is drawn; Esc goes back.", "dim"),)
        ways = [("open", "shows every figure"), ("training.plot", "draws curves"), ("training.samples", "shows skills")]
        told = ", ".join(f"{self._key(action)} {does}" for action, does in ways if self._key(action))
        return ((f" {told}", "dim"),) if self.page == "runs" else ()

    def copied(self, *, whole: bool) -> tuple[str, str] | None:
        run = self.selected
        if run is None:
            return None
        return (self.reading(), "what is shown") if whole else (run.id, "the run's id")

    def reading(self) -> str:
        run = self.selected
        if run is None:
            return ""
        if self.page == "samples":
            number = self._rows("positions").key.removeprefix("position:")
            positions = self.book.chosen.positions if self.book.chosen else ()
            position = next((one for one in positions if str(one.position) == number), None)
            return plain_text(text_of(self.book, position, self.looking))
        left = self.training.run(self.marked)
        if self.page == "compare" and left is not None:
            return plain_text([line for row in compared_rows(left, run, 200) for line in row.lines])
        lines = overview(run, self.training, 120, 60)
        return plain_text([*lines, (), *(line for row in figure_rows(run, 120) for line in row.lines)])
