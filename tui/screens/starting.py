"""The form that starts a run: each field explained, the last values kept, the estimate before the y."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult

from tui import commands
from tui.actions import bindings
from tui.messages import Outcome, Said
from tui.screens.base import ConsoleScreen
from tui.screens.deeds import ANOTHER, is_anothers
from tui.screens.form import START, FormLines, Told
from tui.screens.panes.sessions import RunStarted, SessionsPane
from tui.screens.works import failure
from tui.stores import forms, start_form
from tui.stores.start_form import Facts
from tui.widgets.bars import Bar, Rule
from tui.widgets.prompt import Prompt
from tui.widgets.spans import Line, wrap

if TYPE_CHECKING:
    from core.evolution.run_view import RunView
    from core.evolution.specs import RunSpec
    from core.state.paths import ProjectPaths
    from tui.screens.frame import Frame
    from tui.stores.sessions import RunLine
    from tui.work import Work

KIND = "kind"
_TITLES = {
    "build": "Builder",
    "optimize": "Optimizer",
    "curate": "Curator",
    "try": "Trial",
    "evaluate": "Evaluation",
}


class StartScreen(ConsoleScreen):
    """What to start, field by field. Esc leaves; what was typed is there again next time, per kind of run.

    Invariant: `values` is what is on screen; `send` hears a spec only after a y; `_set_aside` is what a reset took
    away, for another Ctrl-R to bring back.
    """

    BINDINGS = bindings("global", only=("back", "redraw", "interrupt"))
    DEFAULT_CSS = """
    StartScreen #form-lines { height: 1fr; }
    StartScreen #form-says { height: 3; }
    StartScreen #form-estimate { height: 2; }
    """

    def __init__(
        self,
        facts: Facts,
        given: dict[str, str],
        send: Callable[[RunSpec, bool], None],
        beside: Callable[[str], bool] = lambda agent_id: False,
    ) -> None:
        """`beside` tells whether another program seems at work on an agent; `send` hears whether that was agreed to."""
        super().__init__(id="starting")
        self._facts, self._given, self._send, self._beside = facts, given, send, beside
        self.values = self._begin(given.get(KIND) or forms.remembered("last").get(KIND, ""))
        self._set_aside: dict[str, str] = {}

    def _begin(self, kind: str, *, anew: bool = False) -> dict[str, str]:
        """Return what the form of a kind begins with: what was typed last, and over it what is asked for now.

        With `anew` nothing that was typed counts.
        """
        kind = kind if kind in start_form.KINDS else start_form.KINDS[0]
        # A Builder makes something new, so only for the others is what is in sight what is meant.
        given = {} if kind == "build" else self._given
        typed = {} if anew else forms.remembered(kind)
        return start_form.filled({**typed, **given, KIND: kind}, self._facts)

    def compose(self) -> ComposeResult:
        yield Bar(id="form-title", reverse=True)
        yield FormLines("Start", id="form-lines")
        yield Rule(id="form-rule")
        yield Told(id="form-says")
        yield Told(id="form-estimate")
        yield Prompt(id="form-prompt")
        yield Bar(id="form-footer")

    def on_mount(self) -> None:
        self.whole = self.count()
        self.query_one("#form-footer", Bar).show(
            ((" Tab", "key"), (" next  ", "dim"), ("Left Right", "key"), (" choose  ", "dim"), ("PgUp", "key"),
             (" top  ", "dim"), ("PgDn", "key"), (" Start  ", "dim"), ("Ctrl-R", "key"), (" reset  ", "dim"),
             ("Esc", "key"), (" back, kept", "dim"))
        )  # fmt: skip
        self._draw()
        lines = self.query_one(FormLines)
        lines.focus()
        first = next((one.name for one in lines.fields if lines.faults.get(one.name)), START)
        lines.go_to(first)
        lines.shown_faults.clear()

    def restore_focus(self) -> None:
        self.query_one(FormLines).focus()

    def _draw(self) -> None:
        lines = self.query_one(FormLines)
        self.values = start_form.filled(self.values, self._facts)
        lines.show(
            start_form.fields_of(self.values, self._facts),
            self.values,
            start_form.faults_of(self.values, self._facts),
        )
        title = _TITLES[self.values[KIND]]
        self.query_one("#form-title", Bar).show(((f" Start: {title}", "strong"),))
        self._says()

    def _says(self) -> None:
        lines = self.query_one(FormLines)
        width = max(20, (self.size.width or 80) - 3)
        one = lines.field
        said = one.says if one else "Enter starts it, after a y. It runs on its own: you may close the console."
        self.query_one("#form-rule", Rule).show(((one.label if one else "Start", "strong"),))
        self.query_one("#form-says", Told).show([((" ", "plain"), *line) for line in wrap(((said, "plain"),), width)])
        expected = start_form.expected_of(self.values, self._facts)
        told: Line = (
            ("Estimate: ", "strong"),
            (expected.words() if expected else "not known from these values", "plain"),
        )
        if fault := lines.faults.get(""):
            told = ((fault, "bad"),)
        self.query_one("#form-estimate", Told).show([((" ", "plain"), *line) for line in wrap(told, width)][:2])

    def on_resize(self) -> None:
        if self.stands:
            self._says()

    def on_line_list_highlighted(self) -> None:
        if self.stands:
            self._says()

    def on_form_lines_changed(self, event: FormLines.Changed) -> None:
        event.stop()
        self.query_one(Prompt).clear()  # what was said was said of other values
        self._set_aside = {}
        values = self.query_one(FormLines).values
        if event.name == KIND:
            self._keep()
            self.values = self._begin(values[KIND])
            self.query_one(FormLines).shown_faults.clear()
        else:
            self.values = dict(values)
        self._draw()

    def on_key(self, event: events.Key) -> None:
        if event.key == "ctrl+r" and not self.query_one(Prompt).is_busy:
            event.stop()
            event.prevent_default()
            self._reset()

    def _reset(self) -> None:
        """Empty the form, or bring back what the last reset took away."""
        lines, back = self.query_one(FormLines), self._set_aside
        self._set_aside = {} if back else dict(self.values)
        self.values = back or self._begin(self.values[KIND], anew=True)
        lines.shown_faults.clear()
        self._draw()
        lines.end_of_value()
        said = " Back again." if back else " As it was at first. Ctrl-R again brings back what you typed."
        self.query_one(Prompt).flash(said)

    def on_form_lines_sent(self, event: FormLines.Sent) -> None:
        event.stop()
        lines = self.query_one(FormLines)
        faults = start_form.faults_of(self.values, self._facts)
        prompt = self.query_one(Prompt)
        if faults:
            lines.shown_faults |= {one.name for one in lines.fields}
            name = next((one.name for one in lines.fields if one.name in faults), "")
            if name:
                lines.go_to(name)
            lines.refresh()
            label = next((one.label for one in lines.fields if one.name == name), "The form")
            prompt.flash(f" {label}: {faults[name]}", "bad")
            return
        spec = start_form.spec_of(self.values, self._facts)
        expected = start_form.expected_of(self.values, self._facts)
        cost = ""
        if expected is not None and not expected.rehearsal:
            cost = " Cost unknown." if expected.low is None else f" ${expected.low:.2f} to ${expected.high:.2f}."

        beside = self._beside(spec.agent_id)

        def answered(yes: bool) -> None:
            if yes:
                self._keep()
                self.dismiss()
                self._send(spec, beside)
            else:
                prompt.flash(" Not started.")

        if beside:
            prompt.confirm(f"{ANOTHER} {spec.agent_id}. Start the {_TITLES[spec.kind]} beside it?{cost}", answered)
            return
        prompt.confirm(f"Start the {_TITLES[spec.kind]} on {spec.agent_id} / {spec.benchmark_id}?{cost}", answered)

    def run_action_by_id(self, action_id: str) -> None:
        if action_id in ("back", "interrupt"):
            self._keep()
            self.dismiss()
        elif action_id == "redraw":
            self.refresh(repaint=True, layout=True)

    def _keep(self) -> None:
        forms.remember(self.values[KIND], {name: value for name, value in self.values.items() if name != KIND})
        forms.remember("last", {KIND: self.values[KIND]})


def open_form(frame: Frame, run: RunLine | None) -> None:
    """Gather what the form stands on, off the screen's thread, and open it; `run` is the one that is selected."""

    def gather() -> None:
        try:
            facts = start_form.gather(frame.project, _views(frame.project))
        except Exception as error:  # without the facts there is no form, and that is said
            told = failure(error)
            frame.post_message(Said(told.text, "bad", told.hint))
            return
        frame.app.call_from_thread(_push, frame, facts, given_by(frame, run))

    frame.run_worker(gather, thread=True, exit_on_error=False, group="form", description="reading agents and models")


def given_by(frame: Frame, run: RunLine | None) -> dict[str, str]:
    """Return what the form begins with because of what is in sight: the Optimizer where a Baseline stands."""
    if run is not None and run.then:
        return {KIND: "optimize", "agent_id": run.agent_id, "benchmark_id": run.benchmark_id}
    subject = frame.view.subject
    return {"agent_id": subject.agent_id, "benchmark_id": subject.benchmark_id} if subject else {}


def _views(project: ProjectPaths) -> tuple[RunView, ...]:
    from core.evolution.runs import list_runs

    return list_runs(project)


def _push(frame: Frame, facts: Facts, given: dict[str, str]) -> None:
    if frame.stands and frame.app.screen is frame:
        send, beside = partial(_start, frame), lambda agent_id: is_anothers(frame.view, agent_id)
        frame.app.push_screen(StartScreen(facts, given, send, beside))


def _start(frame: Frame, spec: RunSpec, beside: bool) -> None:
    sessions = frame.query_one(SessionsPane)

    def do(work: Work) -> Outcome:
        run_id, outcome = commands.start(frame.project, spec, beside=beside)
        sessions.post_message(RunStarted(run_id))
        return outcome

    frame.activate("sessions")
    frame.start(do, f"starting the {_TITLES[spec.kind]}")
