"""`python -P -m trainer check`: reads a request on stdin and says whether it can begin, before anything is made.

The request is one JSON object: `project` (a directory) with `preset`, `seed` and `settings` of a training run, or with
`stream`, a stream's spec. The answer is `{"problem": "", "hint": ""}`, with words where it can't. Without torch.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from core.curation.arm_building import Workshop
from core.curation.arms import NotRun
from core.curation.fields import Fields
from core.curation.meter import Budget, Meter
from core.curation.stream_engine import draw_streams
from core.curation.stream_spec import read_spec
from core.foundation import strict_json
from core.foundation.errors import ExuviaError, UsageError
from core.state.paths import ProjectPaths
from trainer import presets
from trainer.commands.run import opened
from trainer.commands.stream import opened as opened_stream
from trainer.frozen import executor_of, judge_of, opinion_of
from trainer.policies import options
from trainer.settings import Training, lacking
from trainer.worlds.lexicon import lexicon_of


def main(argv: list[str]) -> int:
    """Answer and return 0, whatever the answer."""
    del argv
    problem, hint = "", ""
    try:
        request = strict_json.parse(sys.stdin.buffer.read())
        if not isinstance(request, dict):
            raise ValueError("the request is no JSON object")
        fields = Fields(request)
        project = ProjectPaths(Path(fields.text("project")))
        if fields.has("stream"):
            stream_can_begin(project, fields.mapping("stream"), fields.texts("named"))
        else:
            can_begin(
                presets.resolve(fields.text("preset"), seed=request.get("seed"), settings=fields.mapping("settings")),
                project,
            )
    except ExuviaError as error:
        problem, hint = str(error), error.hint
    except ValueError as error:
        problem = str(error)
    sys.stdout.write(strict_json.dumps({"problem": problem, "hint": hint}) + "\n")
    return 0


def can_begin(training: Training, project: ProjectPaths) -> None:
    """Raise ExuviaError naming what a resolved run would fail by at once: an option, a world, a file, a model."""
    if problem := lacking(training):
        raise UsageError(f"The run can't begin: {problem}.", hint="Set it with --set, or take another preset.")
    options.check(training.policy.kind, training.policy.options)
    world = opened(training)
    if training.policy.kind == "tiny":
        lexicon_of(training.world)
    elif training.policy.path != "tiny" and not (Path(training.policy.path) / "config.json").is_file():
        raise UsageError(
            f"There is no model at policy.path {training.policy.path!r}.",
            hint='Name the folder that holds its config.json, or "tiny".',
        )
    if training.group.by == "pipeline" and not Path(training.group.file).is_file():
        raise UsageError(
            f"There is no file {training.group.file!r} (group.file).", hint="exuvia train annotate writes it."
        )
    try:
        executor_of(training, world, project)
        if training.imitation.steps and training.executor.name not in world.executors:
            own = ", ".join(world.executors)
            raise UsageError(
                f"What is imitated needs an executor of the world's own, not {training.executor.name!r}.",
                hint=f"Set executor.name to one of {own}, or imitation.steps=0."
                if own
                else "Set imitation.steps=0: this world has none.",
            )
        opinion_of(training, project)
        judge_of(training, world, project, None)
    finally:
        getattr(world, "close", _nothing)()


def stream_can_begin(project: ProjectPaths, spec: Mapping[str, Any], named: Sequence[str] = ()) -> None:
    """Raise ExuviaError naming what a stream would fail by before its first task, or lacks for an arm of `named`."""
    asked = read_spec(spec)
    world = opened_stream(asked, project)
    try:
        shop = Workshop(asked, world, project, Meter(Budget(asked.max_tokens, asked.max_usd)))
        executor = shop.executor()
        shop.judge(executor)
        draw_streams(asked, world)
        for arm in shop.arms():
            if isinstance(arm, NotRun) and arm.name in named:
                raise UsageError(f"The arm {arm.name!r} can't run: {arm.reason}.", hint="Leave it out of --arms.")
    finally:
        getattr(world, "close", _nothing)()


def _nothing() -> None:
    """What a world does that has nothing to close."""
