"""`python -P -m trainer run DIRECTORY`: the process of one training run.

The directory holds `request.json` (preset, seed, settings), or `spec.json` where the run was resolved before: then it
goes on from its last checkpoint. `--preset` makes a run of its own in an empty directory. `--json` prints the summary
instead of the settings.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.curation import jobs, training_records
from core.curation.jobs import JobPaths, Work
from core.curation.worlds import World
from core.foundation import strict_json
from core.foundation.errors import DamagedError, ExuviaError, UsageError
from core.foundation.visible import visible_line
from core.state import atomic
from core.state.atomic import StorageError
from trainer import presets
from trainer.settings import Training, lacking, problem_of, table, with_settings
from trainer.worlds import world_of


def main(argv: list[str]) -> int:
    """Run it and return the exit code: 0 finished, 3 stopped before the end, 1 or 2 failed."""
    arguments = _arguments(argv)
    root = Path(arguments.directory).absolute()
    try:
        if int(os.environ.get("RANK", "0")):  # one of several that torchrun started, not the first
            _follow(root)
            return 0
        with jobs.at_work(root) as work:
            summary = _worked(work, arguments)
    except OSError as error:  # a directory that is none, a file that may not be read
        sys.stderr.write(f"{visible_line(str(error))}\n")
        return 1
    except ExuviaError as error:
        sys.stderr.write(f"{visible_line(str(error))} {visible_line(error.hint)}\n")
        return int(error.exit_code)
    if summary is None:
        return 3
    if arguments.json:
        sys.stdout.write(strict_json.dumps(summary, indent=1) + "\n")
    return 0


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -P -m trainer run")
    parser.add_argument("directory")
    parser.add_argument("--preset")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=JSON", help="another value of a setting")
    parser.add_argument("--json", action="store_true", help="print the summary, and nothing else, on stdout")
    parser.add_argument("--settings-apart", action="store_true", help="write the settings to DIRECTORY/settings.txt")
    return parser.parse_args(argv)


def _resolved(job: JobPaths, arguments: argparse.Namespace) -> Training:
    """Return the run as it is written down, after writing it where it is new."""
    if job.spec.is_file():
        return _told(job)
    asked: Mapping[str, Any] = {}
    if arguments.preset:
        settings = dict(setting(text) for text in arguments.set)
        asked = {"preset": arguments.preset, "seed": arguments.seed, "settings": settings}
        atomic.write_text(job.request, strict_json.dumps(asked, indent=1) + "\n")
    elif job.request.is_file():
        asked = _document(job.request)
    else:
        raise UsageError(f"{visible_line(str(job.root))} holds no request for a run.", hint="Give it a --preset.")
    settings = asked.get("settings") or {}
    if not isinstance(settings, dict):
        raise DamagedError("The settings in request.json are no JSON object.", hint="Start a new run.")
    training = presets.resolve(str(asked.get("preset")), seed=asked.get("seed"), settings=settings)
    if problem := lacking(training):
        raise UsageError(f"The run can't begin: {problem}.", hint="Set it with --set, or take another preset.")
    world = opened(training)
    spec = {
        "preset": training.preset,
        "seed": training.seed,
        "world": {"name": world.name, "fingerprint": world.fingerprint},
        "executor": training.executor.name,
        "steps": training.steps,
        "settings": table(training),
        "table4": {
            key: {"run": ours, "paper": theirs} for key, (ours, theirs) in presets.differences(training).items()
        },
    }
    atomic.write_text(job.spec, strict_json.dumps(spec, indent=1) + "\n")
    return training


def _worked(work: Work, arguments: argparse.Namespace) -> dict[str, Any] | None:
    """Train, and leave the reason in the run's events where it fails, whatever an earlier process said there."""
    try:
        training = _resolved(work.job, arguments)
        _tell(training, work.job, arguments)
        return _train(training, work)
    except Exception as error:
        text = visible_line(str(error)) or type(error).__name__
        with contextlib.suppress(StorageError):  # a full disk: what failed is told on stderr all the same
            training_records.write(work.job.events, "end", state="failed", reason=text[:500], summary=None)
        raise


def _tell(training: Training, job: JobPaths, arguments: argparse.Namespace) -> None:
    """Say what every setting is, before the run: on stdout, or in settings.txt where stdout is the run's log."""
    lines = "\n".join(presets.resolved_lines(training)) + "\n"
    if arguments.settings_apart:
        atomic.write_text(job.root / "settings.txt", lines)
    elif not arguments.json:
        sys.stdout.write(lines)
        sys.stdout.flush()


def _train(training: Training, work: Work) -> dict[str, Any] | None:
    os.environ.setdefault("OMP_NUM_THREADS", str(training.threads))
    # Threads that spin while they wait for one another starve where other programs want the cores too: two of them
    # then take ten times as long as one.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from trainer.distributed import joined
    from trainer.making import make_trainer  # torch: only now, so that a wrong request costs nothing

    world = opened(training)
    if _fingerprint(work.job) != world.fingerprint:
        raise DamagedError(
            f"The world {world.name!r} is another one than when this run began.",
            hint="Start a new run; its numbers can't be compared with this one's.",
        )
    with joined() as together:
        together.gather([None])  # the others may read the spec now
        return make_trainer(training, world, work, together=together).run()


def _follow(root: Path) -> None:
    """Run the same loop as the first process, which alone holds the lock and writes."""
    from trainer.distributed import Follower, joined
    from trainer.making import make_trainer

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # the first process decides, and this one hears it from there
    work = Follower(root)
    with joined() as together:
        together.gather([None])
        training = _told(work.job)
        world = opened(training)
        make_trainer(training, world, work, together=together).run()


def opened(training: Training) -> World:
    """Return the world that the settings name. Raises UsageError where it takes no such options."""
    return world_of(training.world, training.world_options)


def _told(job: JobPaths) -> Training:
    """Return the run that spec.json tells."""
    settings = _document(job.spec).get("settings")
    if not isinstance(settings, dict):
        raise DamagedError("spec.json tells no settings.", hint="Start a new run.")
    training = with_settings(Training(), settings)  # a key of another version is named, never left out
    if problem := problem_of(training):
        raise DamagedError(f"spec.json tells what can't be trained: {problem}.", hint="Start a new run.")
    return training


def _fingerprint(job: JobPaths) -> object:
    world = _document(job.spec).get("world")
    return world.get("fingerprint") if isinstance(world, dict) else None


def _document(path: Path) -> dict[str, Any]:
    try:
        document = strict_json.parse(path.read_bytes())
    except ValueError as error:
        raise DamagedError(f"{path.name} cannot be read: {error}", hint="Start a new run.") from error
    if not isinstance(document, dict):
        raise DamagedError(f"{path.name} is no JSON object.", hint="Start a new run.")
    return document


def setting(text: str) -> tuple[str, Any]:
    """Read KEY=JSON; what is no JSON is text."""
    key, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--set {visible_line(text)!r} is not KEY=VALUE.", hint="For example --set grpo.beta=0.001")
    try:
        return key.strip(), strict_json.parse(value)
    except ValueError:
        return key.strip(), value
