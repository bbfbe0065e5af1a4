"""Putting a run together from its settings: threads, policy, executor, judge, task groups."""

from __future__ import annotations

import torch

from core.curation.jobs import Work
from core.curation.worlds import World
from core.foundation.errors import UsageError
from trainer.grpo import Alone, Together
from trainer.loop import Trainer
from trainer.policies.loading import make_policy
from trainer.policies.policy import Policy
from trainer.rollout import ContentJudge, Executor, ScriptedExecutor
from trainer.seeds import derive
from trainer.settings import Training


def make_trainer(training: Training, world: World, work: Work, *, together: Together | None = None) -> Trainer:
    """Return the trainer of a run. Raises UsageError where something it names isn't there."""
    torch.set_num_threads(training.threads)
    torch.manual_seed(derive(training.seed, "torch"))
    # A resumed run must end with the same bits; an operation that can't promise it is an error then.
    torch.use_deterministic_algorithms(training.device == "cpu" or not torch.cuda.is_available())
    return Trainer(
        training=training,
        world=world,
        executor=executor_of(training, world),
        policy=policy_of(training, world),
        judge=judge_of(training, world),
        work=work,
        together=together or Alone(),
    )


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


def executor_of(training: Training, world: World) -> Executor:
    """Return the frozen executor that the settings name."""
    name = training.executor.name
    if name in world.executors:
        return ScriptedExecutor(world, name)
    raise UsageError(
        f"The world {world.name!r} has no executor {name!r}.",
        hint=f"Its own are: {', '.join(world.executors) or 'none'}; a model is named PROVIDER/MODEL.",
    )


def judge_of(training: Training, world: World) -> ContentJudge | None:
    """Return the judge of what is written; None where nobody judges, and r_cnt is unmeasured."""
    if training.judge.content == "rules":
        return world.judge
    if training.judge.content == "off":
        return None
    raise UsageError(
        f"There is no content judge {training.judge.content!r}.", hint="Take rules, off, or PROVIDER/MODEL."
    )
