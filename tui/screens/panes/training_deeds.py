"""The questions before something is done to a training run, and what is done on a yes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.message import Message
from textual.widget import Widget

from core.curation.training_run import OVER, TrainingRun
from core.foundation.errors import ExuviaError
from core.state.paths import ProjectPaths
from tui import commands_training
from tui.messages import DeedWanted, Outcome, Said
from tui.stores.training_figures import shown
from tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from tui.screens.frame import Frame

_NONE = "There is no training run here."


def start(pane: Widget) -> None:
    """Open the form that starts a run."""
    from tui.screens.training_form import open_form

    open_form(cast("Frame", pane.screen))


def stop(pane: Widget, run: TrainingRun | None) -> None:
    """Ask whether to stop a run."""
    if run is None:
        pane.post_message(Said(_NONE))
    elif run.state in OVER and run.pid is None:
        pane.post_message(Said(f"{run.id} is {run.state} already."))
    else:
        do = partial(commands_training.stop, _project(pane), run.id)
        _sure(
            pane, f"Stop training {run.id}? It writes a checkpoint first.", do, f"stopping {run.id}, with a checkpoint"
        )


def pause(pane: Widget, run: TrainingRun | None) -> None:
    """Let a run wait after its step: at once, as C takes it back."""
    if run is None:
        pane.post_message(Said(_NONE))
    elif run.state in OVER:
        pane.post_message(Said(f"{run.id} is {run.state}; there is nothing to pause.", "warn"))
    elif run.pausing or run.state == "paused":
        pane.post_message(Said(f"{run.id} is {'about to pause' if run.pausing else 'paused'}.", "plain", "C goes on"))
    else:
        _do(pane, partial(commands_training.pause, _project(pane), run.id), "pausing")


def go_on(pane: Widget, run: TrainingRun | None) -> None:
    """Let a paused run go on; ask whether to start one again that had ended."""
    if run is None:
        pane.post_message(Said(_NONE, "plain", "S starts one"))
        return
    do = partial(commands_training.go_on, _project(pane), run.id)
    if run.pausing or run.state == "paused":
        _do(pane, do, "going on")
    elif run.state == "finished":
        pane.post_message(Said(f"{run.id} is finished.", "plain", "S starts another"))
    elif run.state not in OVER:
        pane.post_message(Said(f"{run.id} is {run.state}.", "plain", "P pauses it, K stops it"))
    else:
        kept = run.history.checkpoints
        at = f"from the checkpoint of step {kept[-1].step}" if kept else "from its beginning: it has no checkpoint yet"
        _sure(pane, f"Go on with {run.id}, {at}?", do, "starting it again")


def promote(pane: Widget, run: TrainingRun | None) -> None:
    """Let a checkpoint be chosen, and propose it as the curator in use."""
    if run is None or run.best is None:
        pane.post_message(Said(_NONE if run is None else f"{run.id} has no trained checkpoint yet.", "warn"))
        return
    from tui.screens.picker import Choice, PickerScreen

    best, kept = run.best, [one for one in run.history.checkpoints[::-1] if one.step]  # step 0 is the untrained one
    found = [
        Choice(
            f"{one.step}",
            f"step {one.step}",
            (f"{shown(one.heldout, 'share')} of the validation tasks" if one.heldout is not None else "not measured")
            + ("   the best" if one is best else ""),
            "weights",
        )
        for one in kept
    ]
    run_id, project = run.id, _project(pane)

    def chosen(key: str) -> None:
        do = partial(commands_training.promote, project, run_id, int(key))
        _sure(pane, f"Propose step {key} of {run_id} as the curator in use? The Inbox decides.", do, "hashing it")

    pane.app.push_screen(PickerScreen("Propose a checkpoint", found, chosen, at=f"{best.step}"))


def read_sample(project: ProjectPaths, run_id: str, step: int, file: str) -> Message:
    """Read the samples of a step and return the message that carries them, or why it could not be done."""
    from core.curation.training import run_paths
    from core.curation.training_samples import read_samples
    from tui.screens.panes.training_parts import SamplesRead

    root = run_paths(project, run_id).root
    path = root / file
    try:
        if not path.resolve().is_relative_to(root.resolve()):
            return SamplesRead(run_id, step, None, f"{file} leads out of the run.")
        return SamplesRead(run_id, step, read_samples(path))
    except ExuviaError as error:
        return SamplesRead(run_id, step, None, str(error))


def _project(pane: Widget) -> ProjectPaths:
    return cast("Frame", pane.screen).project


def _do(pane: Widget, do: Callable[[], Outcome], doing: str) -> None:
    pane.post_message(DeedWanted(lambda _: do(), doing))


def _sure(pane: Widget, question: str, do: Callable[[], Outcome], doing: str) -> None:
    def answered(yes: bool) -> None:
        if yes:
            _do(pane, do, doing)
        else:
            pane.post_message(Said("Nothing was changed."))

    pane.screen.query_one(Prompt).confirm(question, answered)
