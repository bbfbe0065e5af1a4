"""`exuvia stream`: arms of having skills, measured on the same stream of tasks."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from core.foundation.errors import ExitCode, ExuviaError, UsageError
from core.foundation.visible import decode
from core.state.paths import DEFAULT_PROJECT, ProjectPaths
from tui.cli.common import (
    Place,
    group_options,
    here,
    json_option,
    note,
    place_options,
    print_json,
    print_table,
    say,
    say_text,
)
from tui.cli.stream_asked import arms_of, options_of, policy_of, retrieval_of

if TYPE_CHECKING:
    from core.curation.stream_files import StreamPaths
    from core.curation.streams import StreamRun

_EXIT = {"finished": ExitCode.DONE, "stopped": ExitCode.INTERRUPTED}
_LOOK_S = 0.2
_LIVE = {"starting", "running", "paused"}


@click.group(epilog="Examples:  exuvia stream run --world household   |   exuvia stream list")
@group_options
def stream() -> None:
    """Measure what skills bring: arms on the same tasks, each from an empty repository.

    A stream gives one task after another; what was learned from one is there for the next. 'none' has no skills and
    is measured again with every run; 'oracle' has those that someone wrote who knows the world.
    """


@stream.command(
    "run",
    epilog="Examples:  exuvia stream run --world household   |   "
    "exuvia stream run --world household --curator my-training-run --seeds 5 --min-overlap 0.51   |   "
    "exuvia stream run --world shop --arms none,prompted,oracle --model openai/gpt-5 --tasks 40 --max-cost 5",
)
@click.option(
    "--world", required=True, metavar="NAME", help="household, shop, reasoning, alfworld or benchmark:AGENT/ID."
)
@click.option("--arms", metavar="A,B,...", help="Arms, or 'all' (default: those that can run with what is named here).")
@click.option("--seeds", type=click.IntRange(1, 1000), default=3, show_default=True, metavar="N", help="Streams.")
@click.option(
    "--first-seed", type=click.IntRange(min=0), default=1, show_default=True, metavar="N", help="Their first."
)
@click.option("--tasks", type=click.IntRange(min=1), metavar="N", help="Tasks a stream (else the world's own number).")
@click.option("--order", type=click.Choice(["mixed", "grouped"]), default="mixed", show_default=True, help="Of tasks.")
@click.option("--family", metavar="NAME", help="With --order grouped: the family (else drawn by each seed).")
@click.option("--split", type=click.Choice(["train", "test"]), default="test", show_default=True, help="Of the world.")
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="Of the world; repeatable.")
@click.option("--executor", metavar="NAME", help="weak, mid, strong, or PROVIDER/MODEL (else the world's weakest).")
@click.option("--curator", metavar="PATH", help="A trained policy: a training run, a checkpoint, an export, 'in-use'.")
@click.option("--base", metavar="PATH", help="The policy before training (else the untrained checkpoint beside it).")
@click.option("--temperature", type=click.FloatRange(0, 10, min_open=True), metavar="T", help="The policy samples by.")
@click.option("--model", metavar="PROVIDER/MODEL", help="For the arms prompted, reasoningbank and memp.")
@click.option("--judge", metavar="WHO", default="self", show_default=True, help="self, world, or PROVIDER/MODEL.")
@click.option(
    "--content-judge", metavar="WHO", default="rules", show_default=True, help="rules, off, or PROVIDER/MODEL."
)
@click.option(
    "--top-k", type=click.IntRange(min=1), metavar="K", help="Skills a task (else as the curator was trained, or 5)."
)
@click.option(
    "--min-overlap",
    type=click.FloatRange(0, 1),
    help="Share of a skill's title that the task must hold (else as the curator was trained, or 0).",
)
@click.option("--max-turns", type=click.IntRange(min=1), default=30, show_default=True, help="Turns of a model.")
@click.option("--history", type=click.IntRange(min=0), default=3, show_default=True, help="Actions a model is shown.")
@click.option("--extra", is_flag=True, help="Offer merge, split and link too.")
@click.option("--max-cost", "max_usd", type=click.FloatRange(min=0, min_open=True), metavar="USD", help="Budget.")
@click.option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="Budget of all models in tokens.")
@click.option("--parallel", type=click.IntRange(1, 64), default=8, show_default=True, help="Requests at a time.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Curators and models draw by it."
)
@click.option("--detach", is_flag=True, help="Start it and return; follow it with 'exuvia stream report'.")
@json_option
@place_options
def run(
    world: str,
    arms: str | None,
    seeds: int,
    first_seed: int,
    executor: str | None,
    curator: str | None,
    base: str | None,
    model: str | None,
    options: tuple[str, ...],
    top_k: int | None,
    min_overlap: float | None,
    detach: bool,
    as_json: bool,
    place: Place,
    **settings: object,
) -> int:
    """Walk a task stream with each arm and report what separates.

    It runs here, in front; Ctrl-C stops it, and 'exuvia stream resume' goes on where it was. An arm that lacks what it
    needs is not run, and the report says so. Where --arms names such an arm nothing begins (exit code 2), or, where
    only the arm itself can tell, the exit code is 1.
    """
    from core.curation import streams
    from core.curation.stream_spec import StreamSpec

    project = _project(place)
    policy = policy_of(project, curator)
    retrieval = retrieval_of(policy, top_k, min_overlap)
    spec = StreamSpec(
        world=world,
        arms=arms_of(arms, policy=curator is not None or base is not None, model=model is not None),
        seeds=tuple(range(first_seed, first_seed + seeds)),
        executor=executor or "",
        curator=policy,
        base=policy_of(project, base),
        model=model,
        options=options_of(options),
        top_k=retrieval.top_k,
        min_overlap=retrieval.min_overlap,
        **settings,  # type: ignore[arg-type]  # click has checked each by its option
    )
    named = spec.arms if arms not in (None, "all") else ()
    streams.check(project, spec, named)
    paths = streams.prepare(project, spec)
    return _carry_out(project, paths, named=named, detach=detach, as_json=as_json)


@stream.command("resume", epilog="Example:  exuvia stream resume stream-20261201-101500-a1b2")
@click.argument("run_id", metavar="RUN")
@click.option("--detach", is_flag=True, help="Start it and return.")
@json_option
@place_options
def resume(run_id: str, detach: bool, as_json: bool, place: Place) -> int:
    """Go on with a run that was stopped, failed or died; what it had done stays."""
    from core.curation import streams

    return _carry_out(place.project, streams.resume(place.project, run_id), detach=detach, as_json=as_json)


@stream.command("stop", epilog="Example:  exuvia stream stop stream-20261201-101500-a1b2")
@click.argument("run_id", metavar="RUN")
@json_option
@place_options
def stop(run_id: str, as_json: bool, place: Place) -> None:
    """Stop a run; every task that is done stays."""
    from core.curation import streams

    stopped = streams.stop(place.project, run_id)
    if as_json:
        print_json(_facts(stopped))
    else:
        then = "" if stopped.state == "finished" else f" Go on: exuvia stream resume {run_id}"
        say(here(f"{run_id}: {stopped.state}.{then}"))


@stream.command("list", epilog="Example:  exuvia stream list --json")
@json_option
@place_options
def list_streams(as_json: bool, place: Place) -> None:
    """List the runs, newest first."""
    from core.curation import streams
    from core.curation.stream_report import percent

    found = streams.list_runs(place.project)
    if as_json:
        print_json({"streams": [_facts(one) for one in found]})
    elif not found:
        say(here("No stream runs. Start one: exuvia stream run --world household"))
    else:
        print_table(
            ("run", "state", "world", "executor", "success"),
            [
                (
                    one.id,
                    one.state,
                    one.spec.world,
                    one.summary.facts.executor if one.summary.facts is not None else one.spec.executor or None,
                    ", ".join(f"{arm.name} {percent(arm.success_micro)}" for arm in one.summary.arms if arm.attempts),
                )
                for one in found
            ],
        )


@stream.command("report", epilog="Example:  exuvia stream report stream-20261201-101500-a1b2")
@click.argument("run_id", metavar="RUN")
@json_option
@place_options
def report(run_id: str, as_json: bool, place: Place) -> None:
    """Report on a run as far as it is: success, steps, each arm against none, what separates and what doesn't."""
    from core.curation import streams
    from core.curation.stream_report import report_text, summary_json

    found = streams.read_run(place.project, run_id)
    if as_json:
        print_json({**_facts(found), "report": summary_json(found.summary, found.spec)})
        return
    if found.state == "dead":
        note(here(f"{found.reason} Go on: exuvia stream resume {run_id}"))
    say_text(report_text(run_id, found.summary, found.spec).rstrip("\n"))


@stream.command(
    "compare", epilog="Example:  exuvia stream compare stream-20261201-101500-a1b2 stream-20261201-111500-c3d4"
)
@click.argument("first", metavar="RUN")
@click.argument("second", metavar="OTHER")
@json_option
@place_options
def compare(first: str, second: str, as_json: bool, place: Place) -> None:
    """Compare OTHER with RUN, arm by arm, task by task where both are over the same tasks."""
    from core.curation import streams
    from core.curation.stream_compare import compare as compared
    from core.curation.stream_compare import comparison_json
    from core.curation.stream_files import read_journal
    from core.curation.stream_report import interval_text, p_text, percent, points

    specs = tuple(streams.read_run(place.project, run_id).spec for run_id in (first, second))
    one, other = (read_journal(streams.run_paths(place.project, run_id)) for run_id in (first, second))
    found = compared(one, other, (specs[0], specs[1]))
    if as_json:
        print_json({"first": first, "second": second, **comparison_json(found)})
        return
    if not found.arms:
        say("There is no arm that both have measured.")
        return
    print_table(
        ("arm", "first", "second", "difference", "gained", "lost", "over streams", "p"),
        [
            (
                arm.arm,
                percent(arm.first),
                percent(arm.second),
                points(arm.difference),
                None if arm.paired is None else arm.paired.gained,
                None if arm.paired is None else arm.paired.lost,
                interval_text(arm.over_streams),
                p_text(arm.p_holm),
            )
            for arm in found.arms
        ],
    )
    for arm in found.arms:
        if arm.verdict:
            say(arm.verdict)
    if found.unpaired:
        say(f"Not paired: the {found.unpaired} differs, so no difference is claimed.")
    if found.apart:
        say(f"They also differ in: {', '.join(found.apart)}.")


def _project(place: Place) -> ProjectPaths:
    """Return the Project to run in; a home that is not there yet is made, as a stream needs no agent."""
    from core.state.fresh import ensure_home

    return ensure_home(place.home) if place.project_id == DEFAULT_PROJECT else place.project


def _carry_out(
    project: ProjectPaths, paths: StreamPaths, *, detach: bool, as_json: bool, named: Sequence[str] = ()
) -> int:
    """Follow a run to its end and report; the exit code is 1 also where an arm of `named` was not run."""
    from core.curation import jobs, streams
    from core.curation.stream_report import report_text, summary_json

    told = paths.log.stat().st_size if paths.log.exists() else 0
    if not jobs.alive(paths.root):  # a paused one only goes on
        streams.launch(paths)
    if detach:
        if as_json:
            print_json({"run_id": paths.id})
        else:
            say(here(f"Started {paths.id}. Look at it: exuvia stream report {paths.id}"))
        return int(ExitCode.DONE)
    note(f"Started {paths.id}. Ctrl-C stops it; it can be resumed.")
    try:
        _follow(paths, told)
    except KeyboardInterrupt:
        note("Stopping it.")
        with contextlib.suppress(UsageError):  # it may have ended meanwhile
            streams.stop(project, paths.id)
    ended = streams.read_run(project, paths.id)
    if as_json:
        print_json({**_facts(ended), "report": summary_json(ended.summary, ended.spec)})
    else:
        if ended.summary.facts is None:
            raise ExuviaError(ended.reason or "The run ended before it began.", hint=f"All it said: {paths.log}")
        say_text(report_text(paths.id, ended.summary, ended.spec).rstrip("\n"))
        if ended.state != "finished":
            say("")
            say(here(f"Go on: exuvia stream resume {paths.id}"))
    missing = [arm for arm in ended.summary.arms if arm.name in named and arm.state == "not run"]
    if ended.state == "finished" and missing:
        for arm in missing:
            note(f"The arm {arm.name} was not run: {arm.reason}")
        return int(ExitCode.FAILED)
    return int(_EXIT.get(ended.state, ExitCode.FAILED))


def _follow(paths: StreamPaths, told: int) -> None:
    """Pass on what the process says, from byte `told` of its log, until it has ended."""
    from core.curation import jobs

    while True:
        living = jobs.alive(paths.root)  # before the log: one that has ended has said all
        told = _pass_on(paths, told)
        if not living:
            return
        time.sleep(_LOOK_S)


def _pass_on(paths: StreamPaths, told: int) -> int:
    with paths.log.open("rb") as log:
        log.seek(told)
        whole, newline, _ = log.read().rpartition(b"\n")
    for line in whole.splitlines() if newline else ():
        note(decode(line))
    return told + len(whole) + len(newline)


def _facts(run: StreamRun) -> dict[str, object]:
    from core.curation.stream_spec import spec_json

    return {
        "run_id": run.id,
        "state": run.state,
        "reason": run.reason,
        "pid": run.pid,
        "spec": spec_json(run.spec),
        "success": {arm.name: arm.success_micro for arm in run.summary.arms},
    }
