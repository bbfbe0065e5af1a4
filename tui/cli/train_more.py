"""`exuvia train compare|promote|presets` and what the trainer does beside training: ablate, arms, transfer, export."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from tui.cli.common import Place, here, json_option, note, place_options, print_json, print_table, say
from tui.cli.train import train

if TYPE_CHECKING:
    from tui.stores.training_catalogue import Unit


@train.command("compare", epilog="Example:  exuvia train compare RUN OTHER")
@click.argument("left_id", metavar="RUN")
@click.argument("right_id", metavar="OTHER")
@json_option
@place_options
def compare(left_id: str, right_id: str, as_json: bool, place: Place) -> None:
    """Set RUN and OTHER beside each other: settings, held-out tasks, and every figure of the latest five steps."""
    from core.curation import training
    from tui.stores.training_figures import compared, settings_differ, shown

    left, right = (training.read_run(place.project, run_id) for run_id in (left_id, right_id))
    found, differ = compared(left, right), settings_differ(left, right)
    if as_json:
        print_json(
            {
                "left": left.id,
                "right": right.id,
                "settings": [{"key": key, "left": one, "right": other} for key, one, other in differ],
                "figures": [
                    {
                        "group": one.group,
                        "name": one.name.strip(),
                        "left": one.left,
                        "right": one.right,
                        "difference": one.difference,
                        "note": one.note,
                    }
                    for one in found
                ],
            }
        )
        return
    say(f"RUN    {left.id}")  # an id in a heading would be in capitals, and many columns wide
    say(f"OTHER  {right.id}")
    say("")
    if differ:
        print_table(("set otherwise", "run", "other"), differ)
        say("")
    rows = [
        (
            one.group,
            one.name.strip(),
            shown(one.left, one.unit),
            shown(one.right, one.unit),
            _signed(one.difference, one.unit),
            one.note,
        )
        for one in found
    ]
    print_table(("group", "figure", "run", "other", "difference", ""), rows)
    if left.id == right.id:
        say("It is one run beside itself.")
    say("One run against one run: seeds alone move results by several points (exuvia train ablate measures that).")


def _signed(difference: float | None, unit: Unit) -> str:
    from tui.stores.training_figures import shown

    if difference is None:
        return "-"
    sign = "+" if difference >= 0 else "-"
    if unit == "share":
        return f"{sign}{100 * abs(difference):.1f} pts"
    return f"{sign}{shown(abs(difference), unit)}"


@train.command("promote", epilog="Example:  exuvia train promote RUN --step 40")
@click.argument("run_id", metavar="RUN")
@click.option("--step", type=click.IntRange(min=0), metavar="N", help="Checkpoint; else the best on held-out tasks.")
@json_option
@place_options
def promote(run_id: str, step: int | None, as_json: bool, place: Place) -> None:
    """Propose a checkpoint of RUN as the curator in use. The inbox decides: exuvia approvals, or the console."""
    from core.curation import promotion

    asked = promotion.propose(place.project, run_id, step)
    if as_json:
        print_json({"approval_id": asked.id, "step": asked.body.get("step"), "sha256": asked.body.get("sha256")})
        return
    say(f"Proposed: step {asked.body.get('step')} of {run_id}.")
    say(here(f"Decide it: exuvia approvals show {asked.id}"))


@train.command("dismiss", epilog="Example:  exuvia train dismiss")
@json_option
@place_options
def dismiss(as_json: bool, place: Place) -> None:
    """Let no trained curator be in use any more."""
    from core.curation import promotion

    was = promotion.dismiss(place.project, actor="cli")
    if as_json:
        print_json({"run_id": was.run_id, "step": was.step, "dismissed": True})
    else:
        say(f"Step {was.step} of {was.run_id} is no longer in use.")


@train.command("remove", epilog="Examples:  exuvia train remove RUN   |   exuvia train remove RUN OTHER --yes")
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True)
@click.option("--yes", "weights", is_flag=True, help="Also runs that hold checkpoints.")
@json_option
@place_options
def remove(run_ids: tuple[str, ...], weights: bool, as_json: bool, place: Place) -> None:
    """Remove runs with all their files, for good; never one at work, in use or proposed."""
    from core.curation import training_removal

    for run_id in run_ids:
        training_removal.remove(place.project, run_id, weights=weights, actor="cli")
        if not as_json:
            say(f"{run_id} is removed.")
    if as_json:
        print_json({"removed": list(run_ids)})


@train.command("presets", epilog="Examples:  exuvia train presets   |   exuvia train presets cpu-demo")
@click.argument("name", required=False)
@json_option
@place_options
def presets(name: str | None, as_json: bool, place: Place) -> None:
    """List presets; with NAME every key of one with its value, for --set."""
    from core.curation import training_presets

    del place  # presets are the trainer's, whatever the home
    listed = (training_presets.preset(name),) if name else training_presets.presets()
    if as_json:
        print_json(
            {
                "presets": [
                    {"name": one.name, "says": one.says, "needs": one.needs, "settings": dict(one.settings)}
                    for one in listed
                ]
            }
        )
    elif name:
        (one,) = listed
        say(f"{one.name}: {one.says}" + (f" Needs {one.needs}." if one.needs else ""))
        print_table(("key", "value"), [(key, str(value)) for key, value in one.settings.items()])
    else:
        for one in listed:
            say(f"{one.name:<20} {one.says}" + (f" Needs {one.needs}." if one.needs else ""))


def _tool(name: str, command: str, epilog: str, words: str) -> Callable[..., int]:
    """Make a command that hands its arguments to the trainer's own of the same name, in a process of its own."""

    more = f"{words} Its own options: exuvia train {name} -- --help"

    @train.command(name, epilog=epilog, help=more, context_settings={"ignore_unknown_options": True})
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[TRAINER OPTIONS]...")
    @json_option
    @place_options
    def tool(arguments: tuple[str, ...], as_json: bool, place: Place) -> int:
        return _hand_over(command, arguments, as_json=as_json, place=place)

    return tool


def _hand_over(command: str, arguments: tuple[str, ...], *, as_json: bool, place: Place) -> int:
    from core.curation.training import require_trainer
    from core.state import readonly

    readonly.refuse(place.home)
    require_trainer()
    given: list[Any] = [*arguments, *(["--json"] if as_json else [])]
    try:
        where = {**os.environ, "EXUVIA_HOME": str(place.home)}
        argv = [sys.executable, "-P", "-m", "trainer", command, *given]
        return subprocess.run(argv, env=where, check=False).returncode
    except KeyboardInterrupt:
        note("Ended; what is finished is kept.")
        raise


transfer = _tool(
    "transfer",
    "transfer",
    "Example:  exuvia train transfer household=RUN shop=RUN",
    "Measure policies of kind hf, each trained on a world, on every other: the table world x world. "
    "Nothing is trained, but a language model answers once a task: it takes long without a GPU.",
)
ablate = _tool(
    "ablate",
    "ablate",
    "Example:  exuvia train ablate --arms full,-content --seeds 5",
    "Train without one part at a time, several seeds each: mean, spread, and what separates. Takes long.",
)
arms = _tool(
    "arms",
    "arms",
    "Example:  exuvia train arms --world shop",
    "Measure arms x executors on the same tasks, three seeds: the main table.",
)
export = _tool(
    "export",
    "export",
    "Examples:  exuvia train export RUN FOLDER   |   exuvia train export RUN FOLDER --skills --step 20 --group 1",
    "Write the best policy of RUN as a folder (--step N: another checkpoint; --adapter: LoRA adapters apart). With "
    "--skills write SKILL.md folders instead: the repository at the end of a sample rollout, of the last step and the "
    "first task group unless --step N and --group N say otherwise. A tiny policy's skills are put together from its "
    "world's phrases and read like that.",
)
export_verl = _tool(
    "export-verl",
    "export-verl",
    "Example:  exuvia train export-verl",
    "Write a configuration and adapter with which verl trains the same on many machines.",
)
