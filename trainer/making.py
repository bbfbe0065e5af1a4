"""Putting a run together from its settings: threads, policy, task groups, and what is frozen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from core.curation.jobs import Work
from core.curation.worlds import Task, World
from core.state.paths import ProjectPaths
from trainer.distributed import Follower
from trainer.frozen import executor_of, judge_of, opinion_of
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
