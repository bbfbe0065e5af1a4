"""`exuvia train`: learn a curator in a process of its own, watch it, stop it, go on, compare, promote."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from core.foundation.errors import ExitCode, UsageError
from core.state.paths import DEFAULT_PROJECT, HomePaths, ProjectPaths
from tui.cli.common import (
    Place,
    group_options,
    group_place,
    here,
    json_option,
    note,
    place_options,
    print_json,
    print_table,
    say,
)

if TYPE_CHECKING:
    from core.curation.training_records import Evaluation
    from core.curation.training_run import TrainingRun

_EXIT = {"finished": ExitCode.DONE, "stopped": ExitCode.INTERRUPTED}
_PRESET = click.option("--preset", metavar="NAME", help="What to train and how; 'exuvia train presets' lists them.")
_SEED = click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Seed; the preset's own otherwise.")
_SET = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Another value for a key of the preset; repeatable."
)


@click.group(
    invoke_without_command=True,
    epilog="Examples:  exuvia train --preset cpu-demo   |   exuvia train --preset cpu-demo --seed 7 --json   |   "
    "exuvia train start --preset cpu-demo   |   exuvia train list",
)
@group_options
@_PRESET
@_SEED
@_SET
@json_option
@click.pass_context
def train(
    context: click.Context, preset: str | None, seed: int | None, settings: tuple[str, ...], as_json: bool
) -> object:
    """Train a curator: the policy that decides which skills to write, change and delete.

    With --preset it trains here, in front, and tells each step on stderr; --json prints the summary on stdout. Ctrl-C
    stops it with a checkpoint, and 'exuvia train resume' goes on. 'start' leaves it to itself: it goes on without this
    terminal, and the console's pane 8 shows it.
    """
    if context.invoked_subcommand is not None:
        if preset is not None or seed is not None or settings or as_json:
            raise click.UsageError(f"Say the options after '{context.invoked_subcommand}'.")
        return None
    if preset is None:
        if seed is not None or settings or as_json:
            raise click.UsageError("Name what to train: --preset NAME ('exuvia train presets' lists them).")
        raise click.exceptions.NoArgsIsHelpError(context)
    project = home_of(group_place())
    from core.curation import training

    _note_others(project)
    run_id = training.start(project, preset, seed=seed, settings=settings_of(settings))
    note(here(f"Training {run_id}. Ctrl-C stops it; the console (pane 8) shows it too."))
    return _in_front(project, run_id, as_json=as_json)


def home_of(place: Place) -> ProjectPaths:
    """Return the Project to train in; a home that is not there yet is made, as training needs no agent."""
    from core.state.fresh import ensure_home

    if place.project_id == DEFAULT_PROJECT:
        return ensure_home(place.home)
    return place.project


def _note_others(project: ProjectPaths) -> None:
    """Say which runs are at work here: they and a new one share the machine."""
    from core.curation import training

    for run in training.list_runs(project):
        if run.pid is not None:
            far = "" if run.last is None else f", at step {run.last.step} of {run.last.steps}"
            note(f"{run.id} trains here already{far}: the runs share this machine, and each takes longer.")


def settings_of(pairs: tuple[str, ...]) -> dict[str, Any]:
    """Return KEY=VALUE pairs as settings: a value that is JSON is that, any other a text. Raises UsageError."""
    from core.foundation import strict_json

    found: dict[str, Any] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip():
            raise UsageError(
                f"{pair!r} is no KEY=VALUE.", hint="For example: --set steps=20 --set retrieval.min_overlap=0"
            )
        try:
            found[key.strip()] = strict_json.parse(value)
        except ValueError:
            found[key.strip()] = value
    return found


def _in_front(project: ProjectPaths, run_id: str, *, as_json: bool) -> int:
    """Tell a run until it ends; Ctrl-C stops it. Returns the exit code."""
    from core.curation import training

    try:
        run = told(project, run_id)
    except KeyboardInterrupt:
        note("Stopping it; it writes a checkpoint first. Once more leaves it running.")
        with _leaving(run_id):
            with contextlib.suppress(UsageError):  # it may have ended meanwhile
                training.stop(project, run_id)
            run = told(project, run_id, quiet=True)
    _tell_end(project, run, as_json=as_json)
    return _EXIT.get(run.state, ExitCode.FAILED)


@contextlib.contextmanager
def _leaving(run_id: str) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        note(here(f"Left alone: exuvia train stop {run_id}"))
        raise


def told(project: ProjectPaths, run_id: str, *, quiet: bool = False) -> TrainingRun:
    """Tell a run on stderr until it is over; return it then."""
    from core.curation import training
    from tui.cli.train_lines import TrainingTeller

    async def follow() -> TrainingRun:
        teller = TrainingTeller()
        async for run in training.follow(project, run_id):
            for line in teller.news(run) if not quiet else ():
                note(line)
        return training.read_run(project, run_id)

    return asyncio.run(follow())


def _tell_end(project: ProjectPaths, run: TrainingRun, *, as_json: bool) -> None:
    from core.curation.training import run_paths

    if as_json:
        print_json(dict(run.summary) if run.summary is not None else run_facts(project, run))
        return
    paths = run_paths(project, run.id)
    for line in result_lines(run):
        say(line)
    if run.state == "finished":
        say(here(f"Use it: exuvia train promote {run.id}   Compare: exuvia train compare {run.id} OTHER"))
    elif run.history.checkpoints:
        say(here(f"Go on: exuvia train resume {run.id}"))
    say(f"Files: {paths.root}")


def result_lines(run: TrainingRun) -> list[str]:
    """Return what a run came to: the arms on one set of tasks, what training brought there, and what was best."""
    from tui.cli.train_lines import ARM_NAMES, evaluation_line, gain_lines, number, percent

    lines = [f"{run.id}  {run.state}" + (f": {run.reason}" if run.reason else "")]
    found = [one for arm in ARM_NAMES for stream in ("mixed", "grouped") if (one := run.heldout(arm, stream))]
    lines += [evaluation_line(one) for one in found]
    lines += gain_lines(run)
    if run.best is not None:
        heldout = f", {percent(run.best.heldout)} on validation tasks" if run.best.heldout is not None else ""
        lines.append(f"best checkpoint: step {run.best.step}{heldout}")
    last = run.last
    if last is not None:
        lines.append(f"reward at the last step: {number(last.reward.total, 2)}")
    return lines


def run_facts(project: ProjectPaths, run: TrainingRun) -> dict[str, Any]:
    """Return a run as plain facts."""
    from core.curation.training import run_paths
    from core.curation.training_records import ARMS

    last = run.last
    return {
        "run_id": run.id,
        "state": run.state,
        "reason": run.reason,
        "preset": run.preset,
        "world": run.world,
        "seed": run.seed,
        "pid": run.pid,
        "pausing": run.pausing,
        "step": None if last is None else last.step,
        "steps": None if last is None else last.steps,
        "seconds_left": run.seconds_left,
        "reward": None if last is None else {term: last.reward.of(term) for term in _terms()},
        "heldout": {
            f"{arm}/{stream}": _measured(one)
            for arm in ARMS
            for stream in ("mixed", "grouped")
            if (one := run.heldout(arm, stream)) is not None
        },
        "gain": {"over_none": run.gain("none"), "over_base": run.gain("base"), "split": run.split or None},
        "measurements": [{"arm": one.arm, "stream": one.stream, **_measured(one)} for one in run.history.evaluations],
        "alarms": [{"step": one.step, "kind": one.kind, "text": one.text} for one in run.history.alarms],
        "checkpoints": [
            {"step": one.step, "path": one.path, "sha256": one.sha256, "heldout": one.heldout}
            for one in run.history.checkpoints
        ],
        "best_step": None if run.best is None else run.best.step,
        "damaged_lines": run.damaged_lines,
        "passed_lines": run.passed_lines,
        "summary": None if run.summary is None else dict(run.summary),
        "files": str(run_paths(project, run.id).root),
    }


def _measured(one: Evaluation) -> dict[str, Any]:
    return {
        "split": one.split or None,
        "step": one.step,
        "weights": one.weights,
        "success_micro": one.success_micro,
        "success_macro": one.success_macro,
        "steps": one.steps_mean,
        "tasks": one.tasks,
    }


def _terms() -> tuple[str, ...]:
    from core.curation.training_records import TERMS

    return TERMS


@train.command("start", epilog="Example:  exuvia train start --preset cpu-demo --seed 7")
@_PRESET
@_SEED
@_SET
@json_option
@place_options
def start(preset: str | None, seed: int | None, settings: tuple[str, ...], as_json: bool, place: Place) -> None:
    """Start a training run that goes on by itself, without this terminal."""
    from core.curation import training

    if preset is None:
        raise UsageError("Name what to train: --preset NAME.", hint="List them: exuvia train presets")
    project = home_of(place)
    _note_others(project)
    run_id = training.start(project, preset, seed=seed, settings=settings_of(settings))
    if as_json:
        print_json({"run_id": run_id})
    else:
        say(here(f"Started {run_id}. Follow it: exuvia train show {run_id} --follow"))


@train.command("list", epilog="Example:  exuvia train list --json")
@json_option
@place_options
def list_all(as_json: bool, place: Place) -> None:
    """List training runs, newest first, and the curator in use."""
    from core.curation import promotion, training
    from core.curation.training_records import SPLITS
    from tui.cli.train_lines import number, percent

    # Training needs no agent: in a home that isn't there yet there is no run, which is no error.
    project = HomePaths(place.home).project(place.project_id) if place.project_id == DEFAULT_PROJECT else place.project
    runs, used = training.list_runs(project), promotion.in_use(project)
    if as_json:
        print_json(
            {
                "runs": [run_facts(project, run) for run in runs],
                "in_use": None if used is None else {"run_id": used.run_id, "step": used.step, "sha256": used.sha256},
            }
        )
        return
    if not runs:
        say(here(f"No training run yet in {place.home}. Start one: exuvia train --preset cpu-demo"))
        return
    rows = []
    for run in runs:
        last, heldout = run.last, {arm: run.heldout(arm) for arm in ("none", "base", "trained")}
        rows.append(
            (
                run.id,
                "pausing" if run.pausing else run.state,
                None if last is None else f"{last.step}/{last.steps}",
                None if last is None else number(last.reward.total, 2),
                *(None if one is None else percent(one.success_micro) for one in heldout.values()),
                SPLITS[run.split] if any(heldout.values()) else None,
                "in use" if used is not None and used.run_id == run.id else None,
            )
        )
    print_table(("run", "state", "step", "reward", "none", "base", "trained", "tasks", "curator"), rows)


@train.command("show", epilog="Example:  exuvia train show cpu-demo-20260101-120000-ab12 --follow")
@click.argument("run_id", metavar="RUN")
@click.option("--follow", "-f", is_flag=True, help="Tell what happens until it ends.")
@json_option
@place_options
def show(run_id: str, follow: bool, as_json: bool, place: Place) -> int | None:
    """Show RUN: how far it is, what was measured, its alarms and checkpoints."""
    from core.curation import training
    from tui.cli.train_lines import TrainingTeller, imitation_line, step_line

    project = place.project
    run = told(project, run_id) if follow else training.read_run(project, run_id)
    code = _EXIT.get(run.state, ExitCode.FAILED) if follow else None
    if as_json:
        print_json(run_facts(project, run))
        return code
    came = result_lines(run)
    if not follow:
        last = [step_line(step, run.seconds_left) for step in run.history.steps[-1:]]
        last += [imitation_line(one) for one in run.history.imitation[-1:]]
        # The steps before the last, and what the lines below say again, would hide what matters.
        left_out = ("step ", "imitation ", f"{run.id} is ")
        for line in TrainingTeller().news(run):
            if line in last or (line not in came and not line.startswith(left_out)):
                say(line)
    for line in came:
        say(line)
    if run.passed_lines:
        say(
            f"Note: its events are many: {run.passed_lines:,} were passed over; a step that was read stands for others."
        )
    if run.damaged_lines:
        say(f"Note: {run.damaged_lines} lines of its events cannot be read and are not counted.")
    say(f"Files: {training.run_paths(project, run_id).root}")
    return code


@train.command("stop", epilog="Example:  exuvia train stop RUN")
@click.argument("run_id", metavar="RUN")
@json_option
@place_options
def stop(run_id: str, as_json: bool, place: Place) -> None:
    """Stop RUN: it writes a checkpoint and ends; what does not end within 20 s is killed."""
    from core.curation import training

    run = training.stop(place.project, run_id)
    if as_json:
        print_json(run_facts(place.project, run))
    else:
        then = "" if run.state == "finished" else f" Go on later: exuvia train resume {run_id}"
        say(here(f"{run_id}: {run.state}.{then}"))


@train.command("pause", epilog="Example:  exuvia train pause RUN")
@click.argument("run_id", metavar="RUN")
@json_option
@place_options
def pause(run_id: str, as_json: bool, place: Place) -> None:
    """Let RUN wait after the step or measurement it is in; it keeps its memory, and 'resume' lets it go on."""
    from core.curation import training

    training.pause(place.project, run_id)
    if as_json:
        print_json({"run_id": run_id, "pausing": True})
    else:
        say(here(f"{run_id} waits as soon as its step or measurement is done. Go on: exuvia train resume {run_id}"))


@train.command("resume", epilog="Example:  exuvia train resume RUN --follow")
@click.argument("run_id", metavar="RUN")
@click.option("--follow", "-f", is_flag=True, help="Tell what happens until it ends.")
@json_option
@place_options
def resume(run_id: str, follow: bool, as_json: bool, place: Place) -> int | None:
    """Go on with RUN: a paused one at once, one that was stopped or killed from its last checkpoint."""
    from core.curation import training

    training.resume(place.project, run_id)
    if follow:
        return _in_front(place.project, run_id, as_json=as_json)
    if as_json:
        print_json({"run_id": run_id, "resumed": True})
    else:
        say(here(f"{run_id} goes on. Follow it: exuvia train show {run_id} --follow"))
    return None


from tui.cli import train_annotate as train_annotate  # noqa: E402
from tui.cli import train_more as train_more  # noqa: E402  # its commands belong to the group
