"""The arms of a run, made from its spec; one that lacks what it needs is not run, with the reason (K6)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

from core.curation import curator_process
from core.curation.arms import Arm, CuratedArm, FixedArm, NotRun
from core.curation.asking import Model, model_named
from core.curation.content_judge import ContentJudge, Judgements, ModelJudge, RuleJudge
from core.curation.curators import Curator
from core.curation.executors import Executor, ModelExecutor, ScriptedExecutor, check_executor
from core.curation.memp import MempArm
from core.curation.model_curator import ModelCurator
from core.curation.reasoning_bank import ReasoningBankArm
from core.curation.self_judgement import ModelOpinion, OwnOpinion, SelfJudge, WorldVerdict
from core.curation.stream_spec import StreamSpec
from core.curation.verbatim import VerbatimCurator
from core.curation.worlds import World
from core.foundation.errors import ExuviaError, UsageError
from core.state.paths import ProjectPaths

UNTRAINED = "step-00000"
"""The checkpoint of a training run before its first step of GRPO: the base policy."""


def build_arms(spec: StreamSpec, world: World, project: ProjectPaths) -> list[Arm | NotRun]:
    """Return the spec's arms, in order."""
    return [_arm(name, spec, world, project) for name in spec.arms]


def build_executor(spec: StreamSpec, world: World, project: ProjectPaths) -> Executor:
    """Return the executor. Raises UsageError where the world has none of that name, or nobody configured the model."""
    name = spec.executor or next(iter(world.executors), "")
    if "/" in name:
        return ModelExecutor(_model(spec, project, name), spec.max_turns, spec.history, spec.seed)
    check_executor(world, name)
    return ScriptedExecutor(name)


def build_judge(spec: StreamSpec, executor: Executor, project: ProjectPaths) -> SelfJudge:
    """Return whose opinion the curator sees: by default the executor's own."""
    if spec.judge == "world":
        return WorldVerdict()
    if spec.judge != "self":
        return ModelOpinion(_model(spec, project, spec.judge))
    return ModelOpinion(executor.model) if isinstance(executor, ModelExecutor) else OwnOpinion()


def build_content_judge(spec: StreamSpec, world: World, project: ProjectPaths, kept: Path) -> ContentJudge | None:
    """Return who judges what is written; `kept` is the file in which a model's judgements are kept."""
    match spec.content_judge:
        case "off":
            return None
        case "rules":
            return RuleJudge(world)
        case name:
            return ModelJudge(_model(spec, project, name), Judgements(kept))


def base_of(policy: Path) -> Path | None:
    """Return the untrained checkpoint beside a policy: in its training run, or next to its own checkpoint."""
    for place in (policy / "checkpoints" / UNTRAINED, policy.parent / UNTRAINED):
        if place.is_dir():
            return place
    return None


def _arm(name: str, spec: StreamSpec, world: World, project: ProjectPaths) -> Arm | NotRun:
    retrieval = spec.retrieval
    if name == "none":
        return FixedArm(name, (), retrieval)
    if name in ("oracle", "shuffled"):
        skills = world.oracle()
        if not skills:
            return NotRun(name, f"the world {world.name} has no skills written by hand")
        return FixedArm(name, skills, retrieval, shuffled=name == "shuffled")
    if name == "verbatim":
        return _curated(name, spec, lambda: nullcontext(VerbatimCurator()))
    if name in ("trained", "base"):
        return _policy(name, spec)
    return _of_model(name, spec, project)


def _policy(name: str, spec: StreamSpec) -> Arm | NotRun:
    given = spec.curator if name == "trained" else spec.base
    path = Path(given) if given else None
    if path is None and name == "base" and spec.curator:
        path = base_of(Path(spec.curator))
        if path is None:
            return NotRun(name, "no untrained checkpoint lies beside the policy; name one with --base PATH")
    if path is None:
        return NotRun(name, f"no policy is named; say --{'curator' if name == 'trained' else name} PATH")
    if not path.exists():
        return NotRun(name, f"there is no policy at {path}")
    return _curated(name, spec, lambda: curator_process.trained(path, temperature=spec.temperature))


def _of_model(name: str, spec: StreamSpec, project: ProjectPaths) -> Arm | NotRun:
    if spec.model is None:
        return NotRun(name, "it needs a model, and none is named; say --model PROVIDER/MODEL")
    try:
        model = _model(spec, project, spec.model)
    except ExuviaError as error:
        return NotRun(name, str(error))
    if name == "reasoningbank":
        return ReasoningBankArm(model)
    if name == "memp":
        return MempArm(model)
    curator = ModelCurator(model, native=spec.native, extra=spec.extra)
    return _curated(name, spec, lambda: nullcontext(curator))


def _curated(name: str, spec: StreamSpec, open_: Callable[[], AbstractContextManager[Curator]]) -> Arm:
    return CuratedArm(name, open_, spec.retrieval, extra=spec.extra)


def _model(spec: StreamSpec, project: ProjectPaths, name: str) -> Model:
    if "/" not in name:
        raise UsageError(f"{name!r} names no model.", hint="Write PROVIDER/MODEL, as in openai/gpt-5.")
    return replace(model_named(project, name, seed=spec.seed), parallel=spec.parallel)
