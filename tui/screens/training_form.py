"""The form that starts a training run: presets as the trainer tells of them, the last values kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import ComposeResult
from textual.message import Message

from core.curation import training_presets
from core.curation.training_presets import Preset
from core.curation.training_run import TrainingRun
from tui import commands_training
from tui.actions import bindings
from tui.messages import Outcome, Said
from tui.screens.base import ConsoleScreen
from tui.screens.form import START, FormLines, Told
from tui.screens.works import failure
from tui.stores import forms, training_form
from tui.stores.training_estimate import Estimate, estimate
from tui.stores.training_form import PRESET
from tui.widgets.bars import Bar, Rule
from tui.widgets.prompt import Prompt
from tui.widgets.spans import Line, short, wrap
from tui.work import Work

if TYPE_CHECKING:
    from tui.screens.frame import Frame

_REMEMBERED = "training"
Answer = Callable[[Outcome], None]
Send = Callable[[str, int | None, dict[str, Any], Answer], None]


class Answered(Message):
    """A run was started, or the trainer says why it can't be."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        super().__init__()


class TrainingForm(ConsoleScreen):
    """What to train, field by field. Esc leaves; what was typed is there again next time.

    Invariant: `values` is what is on screen; `send` hears a preset, a seed and settings only after a y, one start at a
    time. The form stays until the run has begun: a refusal is shown in it, beside what is to be mended.
    """

    BINDINGS = bindings("global", only=("back", "redraw", "interrupt"))
    DEFAULT_CSS = """
    TrainingForm #form-lines { height: 1fr; }
    TrainingForm #form-says { height: 4; }
    TrainingForm #form-table { height: 2; }  /* as high as there is room for; see _says */
    """

    def __init__(self, presets: Sequence[Preset], runs: Sequence[TrainingRun], send: Send) -> None:
        super().__init__(id="training-form")
        self._presets, self._runs, self._send = tuple(presets), tuple(runs), send
        self.values = training_form.filled(forms.remembered(_REMEMBERED), self._presets)
        self._starting = False
        self._refusal: Outcome | None = None

    def compose(self) -> ComposeResult:
        yield Bar(id="form-title", reverse=True)
        yield FormLines("Start", id="form-lines")
        yield Rule(id="form-rule")
        yield Told(id="form-says")
        yield Told(id="form-table")
        yield Prompt(id="prompt")
        yield Bar(id="form-footer")

    def on_mount(self) -> None:
        self.whole = self.count()
        self.query_one("#form-title", Bar).show(((" Start: training run", "strong"),))
        self.query_one("#form-footer", Bar).show(
            ((" Up Down", "key"), (" field  ", "dim"), ("Left Right", "key"), (" choose  ", "dim"),
             ("Enter on", "key"), (" Start  ", "dim"), ("Ctrl-R", "key"), (" reset  ", "dim"),
             ("Esc", "key"), (" back, kept", "dim"))
        )  # fmt: skip
        self._draw()
        self.query_one(FormLines).focus()
        self.query_one(FormLines).go_to(START)
        self.query_one(FormLines).shown_faults.clear()

    def restore_focus(self) -> None:
        self.query_one(FormLines).focus()

    def _draw(self) -> None:
        fields = training_form.fields_of(self.values, self._presets)
        self.query_one(FormLines).show(fields, self.values, training_form.faults_of(self.values, self._presets))
        self._says()

    def _says(self) -> None:
        lines = self.query_one(FormLines)
        width = max(20, (self.size.width or 80) - 3)
        one = lines.field
        said = one.says if one else "Enter starts it, after a y. It runs on its own: you may close the console."
        self.query_one("#form-rule", Rule).show(((one.label if one else "Start", "strong"),))
        self.query_one("#form-says", Told).show([((" ", "plain"), *line) for line in wrap(((said, "plain"),), width)])
        told: list[Line] = [((lines.faults[""], "bad"),)] if "" in lines.faults else self._about()
        if self._refusal is not None:
            told = [((self._refusal.text, "bad"),), ((self._refusal.hint, "plain"),), *told]
        table = self.query_one("#form-table", Told)
        shown = [((" ", "plain"), *line) for each in told for line in wrap(each, width)]
        room = max(2, self.size.height - _AROUND - lines.row_count())
        if len(shown) > room:
            shown = [((" ", "plain"), *line) for each in told for line in wrap(each, width - 4)][:room]
            shown[-1] = (*shown[-1], (" ...", "dim"))
        table.styles.height = max(2, len(shown))
        table.show(shown)

    def _about(self) -> list[Line]:
        """Return how long it may take, what is at work already, and every key with the value that it will have."""
        keys = training_form.resolved(self.values, self._presets)
        found: list[Line] = []
        told = self._estimate(keys)
        if told is None:
            found.append((("Time: ", "strong"), ("unknown, no run of this preset was made here yet", "dim")))
        else:
            as_of = f"as {told.of} went here" + (", which had other keys" if told.differs else "")
            found.append((("Time: ", "strong"), (f"about {long(told.seconds)}, ", "plain"), (as_of, "dim")))
        live = [run.id for run in self._runs if run.state in ("starting", "running")]
        if live:
            found.append(((f"! {', '.join(live)} trains now: each of them will be slower.", "warn"),))
        if keys:
            listed = ", ".join(f"{key} {'-' if value == '' else value}" for key, value in keys.items())
            found.append((("Keys: ", "strong"), (listed, "dim")))
        return found

    def _estimate(self, keys: dict[str, Any]) -> Estimate | None:
        return estimate(self._runs, self.values[PRESET], keys)

    def on_resize(self) -> None:
        if self.stands:
            self._says()

    def on_line_list_highlighted(self) -> None:
        if self.stands:
            self._says()

    def on_form_lines_changed(self, event: FormLines.Changed) -> None:
        event.stop()
        self.query_one(Prompt).clear()
        self.values = dict(self.query_one(FormLines).values)
        self._refusal = None  # it spoke of other values
        self._draw()

    def on_key(self, event: events.Key) -> None:
        if event.key == "ctrl+r" and not self.query_one(Prompt).is_busy:
            event.stop()
            event.prevent_default()
            self.values = training_form.filled({PRESET: self.values[PRESET]}, self._presets)
            self.query_one(FormLines).shown_faults.clear()
            self._draw()
            self.query_one(FormLines).end_of_value()
            self.query_one(Prompt).flash(" As the preset has it.")

    def on_form_lines_sent(self, event: FormLines.Sent) -> None:
        event.stop()
        lines, prompt = self.query_one(FormLines), self.query_one(Prompt)
        if self._starting:
            prompt.flash(" The trainer is being asked already; Esc leaves it to that.")
            return
        faults = training_form.faults_of(self.values, self._presets)
        if faults:
            lines.shown_faults |= {one.name for one in lines.fields}
            name = next((one.name for one in lines.fields if one.name in faults), "")
            if name:
                lines.go_to(name)
            lines.refresh()
            label = next((one.label for one in lines.fields if one.name == name), "The form")
            prompt.flash(f" {label}: {faults[name]}", "bad")
            return
        preset = self.values[PRESET]
        seed, settings = training_form.settings_of(self.values, self._presets)

        def answered(yes: bool) -> None:
            if yes:
                self._keep()
                self._starting, self._refusal = True, None
                self._says()
                prompt.flash(" Asking the trainer whether this can begin...")
                self._send(preset, seed, settings, self._answer)
            else:
                prompt.flash(" Not started.")

        told = self._estimate(training_form.resolved(self.values, self._presets))
        time = f" About {long(told.seconds)}." if told else ""
        words = training_form.in_words(self.values, self._presets)
        room = max(20, (self.size.width or 80) - len(time) - 35)
        prompt.confirm(f"Train {short(words, room)}?{time}", answered)

    def _answer(self, outcome: Outcome) -> None:
        """Take what came of a start; called from a thread."""
        self.post_message(Answered(outcome))

    def on_answered(self, event: Answered) -> None:
        event.stop()
        self._starting = False
        if not self.stands:
            return  # left meanwhile: the frame says what came of it
        if event.outcome.ok:
            self.dismiss()
            return
        self._refusal = event.outcome
        self._says()
        self.query_one(Prompt).flash(" Not started. What you typed is kept.", "bad")

    def run_action_by_id(self, action_id: str) -> None:
        if action_id in ("back", "interrupt"):
            self._keep()
            self.dismiss()
        elif action_id == "redraw":
            self.refresh(repaint=True, layout=True)

    def _keep(self) -> None:
        forms.remember(_REMEMBERED, self.values)


_AROUND = (
    9  # rows of the form that are neither fields nor table: title, rule, what a field says, prompt, footer, one free
)


def long(seconds: float) -> str:
    """Return a time that is only guessed: 40 s, 8 min, 2 h 10 min."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def open_form(frame: Frame) -> None:
    """Ask the trainer for its presets, off the screen's thread, and open the form."""

    def gather() -> None:
        try:
            presets = training_presets.presets()
        except Exception as error:  # without presets there is no form, and that is said
            told = failure(error)
            frame.post_message(Said(told.text, "bad", told.hint))
            return
        frame.app.call_from_thread(_push, frame, presets)

    frame.flash("Asking the trainer for its presets...")
    frame.run_worker(gather, thread=True, exit_on_error=False, group="form", description="asking the trainer")


def _push(frame: Frame, presets: Sequence[Preset]) -> None:
    if frame.stands and frame.app.screen is frame:
        frame.query_one(Prompt).clear()
        frame.app.push_screen(TrainingForm(presets, frame.view.training.runs, partial(_start, frame)))


def _start(frame: Frame, preset: str, seed: int | None, settings: dict[str, Any], answer: Answer) -> None:
    from tui.screens.panes.training_parts import RunStarted, TrainingParts

    pane = frame.query_one(TrainingParts)

    def start(_: Work) -> Outcome:
        try:
            outcome = commands_training.start(frame.project, preset, seed, settings)
        except Exception as error:  # also one that nobody foresaw: the form waits for an answer
            outcome = failure(error)
        if outcome.made:
            pane.post_message(RunStarted(outcome.made))
        answer(outcome)
        return outcome

    frame.start(start, f"starting training by {preset}")
