"""What a run names and never trains: executor, opinion, judge of contents. Nothing here needs torch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from core.curation.asking import model_named
from core.curation.content_judge import ContentJudge, Judgements, ModelJudge, RuleJudge
from core.curation.executors import Executor, ModelExecutor, ScriptedExecutor, check_executor
from core.curation.self_judgement import ModelOpinion, OwnOpinion, SelfJudge, WorldVerdict
from core.curation.worlds import World
from core.foundation.errors import UsageError
from core.state.paths import ProjectPaths
from trainer.seeds import derive
from trainer.settings import Training


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
