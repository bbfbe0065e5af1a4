"""Putting a run together from its settings: threads, policy, executor, judge, task groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from core.curation.asking import model_named
from core.curation.content_judge import ContentJudge, Judgements, ModelJudge, RuleJudge
from core.curation.executors import Executor, ModelExecutor, ScriptedExecutor, check_executor
from core.curation.jobs import Work
from core.curation.self_judgement import ModelOpinion, OwnOpinion, SelfJudge, WorldVerdict
from core.curation.worlds import Task, World
from core.foundation.errors import UsageError
from core.state.paths import ProjectPaths
from trainer.distributed import Follower
from trainer.grouping.pipeline import task_groups as grouped
from trainer.loop import Trainer
from trainer.policies.loading import make_policy
from trainer.policies.policy import Policy
from trainer.seeds import derive
from trainer.settings import Training
from trainer.together import Alone, Together

_POOL = 1_000
"""Most groups that the pipeline makes for a run; steps draw from them."""


def make_trainer(
    training: Training, world: World, work: Work | Follower, *, together: Together | None = None
) -> Trainer:
    """Return the trainer of a run. Raises UsageError where something it names isn't there."""
    torch.set_num_threads(training.threads)
    torch.manual_seed(derive(training.seed, "torch"))
    root = work.job.root  # <project>/.exuvia/training/<id>; a directory of somebody's own may lie anywhere
    project = ProjectPaths(root.parents[2] if len(root.parents) > 2 else root)
    return Trainer(
        training=training,
        world=world,
        executor=executor_of(training, world, project),
        policy=policy_of(training, world),
        judge=judge_of(training, world, project, work.job.root / "judgements.jsonl"),
        opinion=opinion_of(training, project),
        work=work,
        together=together or Alone(),
        pool=pool_of(training, world),
    )


def pool_of(training: Training, world: World) -> Sequence[Sequence[Task]]:
    """Return the groups that a run by Table 5's pipeline draws from; none where it groups another way."""
    options = training.group
    if options.by != "pipeline":
        return ()
    tasks = world.stream("train", options.file_seed, options.file_tasks)
    found = grouped(
        tasks,
        Path(options.file),
        min(_POOL, max(1, training.steps * options.groups)),
        smallest=options.smallest,
        largest=options.largest,
        seed=derive(training.seed, "pipeline"),
    )
    return [group.tasks for group in found]


def policy_of(training: Training, world: World) -> Policy:
    """Return the untrained policy that the settings name."""
    options = dict(training.policy.options)
    if training.policy.path:
        options["path"] = training.policy.path
    return make_policy(
        training.policy.kind,
        world.name,
        seed=derive(training.seed, "weights"),
        max_prompt=training.max_prompt,
        max_answer=training.max_response,
        device=training.device,
        dtype=training.dtype,
        **options,
    )


def executor_of(training: Training, world: World, project: ProjectPaths) -> Executor:
    """Return the frozen executor that the settings name: one of the world's own, or PROVIDER/MODEL."""
    options = training.executor
    if "/" not in options.name:
        check_executor(world, options.name)
        return ScriptedExecutor(options.name)
    model = replace(model_named(project, options.name), max_tokens=options.max_tokens)
    return ModelExecutor(model, options.max_turns, options.history, seed=derive(training.seed, "executor"))


def opinion_of(training: Training, project: ProjectPaths) -> SelfJudge:
    """Return whose opinion of an attempt the curator is shown (K5)."""
    match training.judge.opinion:
        case "world":
            return WorldVerdict()
        case "self" if "/" in training.executor.name:
            return ModelOpinion(model_named(project, training.executor.name))
        case "self":
            return OwnOpinion()
        case name if "/" in name:
            return ModelOpinion(model_named(project, name))
        case name:
            raise UsageError(f"{name!r} has no opinion of an attempt.", hint="Take self, world, or PROVIDER/MODEL.")


def judge_of(training: Training, world: World, project: ProjectPaths, kept: Path | None) -> ContentJudge | None:
    """Return the judge of what is written: the world's rules, or PROVIDER/MODEL with its judgements kept in `kept`
    (in memory where that is None).

    None where nobody judges, and r_cnt is unmeasured.
    """
    match training.judge.content:
        case "rules":
            return RuleJudge(world)
        case "off":
            return None
        case name if "/" in name:
            return ModelJudge(model_named(project, name), Judgements(kept))
        case name:
            raise UsageError(f"There is no content judge {name!r}.", hint="Take rules, off, or PROVIDER/MODEL.")
