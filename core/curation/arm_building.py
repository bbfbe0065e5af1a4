"""The arms of a run, made from its spec; one that lacks what it needs is not run, with the reason (K6)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from core.curation import curator_process
from core.curation.arms import Arm, CuratedArm, FixedArm, NotRun
from core.curation.asking import Model, model_named
from core.curation.content_judge import ContentJudge, Judgements, ModelJudge, RuleJudge
from core.curation.curators import Curator
from core.curation.executors import Executor, MeteredExecutor, ModelExecutor, ScriptedExecutor, check_executor
from core.curation.memp import memp_arm
from core.curation.meter import Meter
from core.curation.model_curator import ModelCurator
from core.curation.reasoning_bank import reasoning_bank_arm
from core.curation.self_judgement import ModelOpinion, OwnOpinion, SelfJudge, WorldVerdict
from core.curation.stream_spec import StreamSpec
from core.curation.verbatim import VerbatimCurator
from core.curation.worlds import World
from core.foundation.errors import ExuviaError, UsageError
from core.models.route import REHEARSAL
from core.state.paths import ProjectPaths

UNTRAINED = "step-00000"
"""The checkpoint of a training run before its first step of GRPO: the base policy."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """What a run is made from: its spec, its world, the project that knows the models, and what meters them."""

    spec: StreamSpec
    world: World
    project: ProjectPaths
    meter: Meter

    def arms(self) -> list[Arm | NotRun]:
        """Return the spec's arms, in order."""
        return [self._arm(name) for name in self.spec.arms]

    def executor(self) -> Executor:
        """Return the executor. Raises UsageError where the world has none of that name, or nobody knows the model."""
        spec = self.spec
        name = spec.executor or next(iter(self.world.executors), "")
        if "/" in name:
            return ModelExecutor(self._model(name), spec.max_turns, spec.history, spec.seed)
        check_executor(self.world, name)
        asked: str = getattr(self.world, "model", "")  # a world whose executor is a model by itself says which
        if not asked or asked.partition("/")[0] == REHEARSAL:
            return ScriptedExecutor(name)
        if spec.max_tokens is None:
            raise UsageError(
                f"World {self.world.name} asks {asked}, a real model, and the run has no token budget.",
                hint="Say --max-tokens N.",
            )
        return MeteredExecutor(ScriptedExecutor(name), self.meter)

    def judge(self, executor: Executor) -> SelfJudge:
        """Return whose opinion the curator sees: by default the executor's own."""
        match self.spec.judge:
            case "world":
                return WorldVerdict()
            case "self":
                return ModelOpinion(executor.model) if isinstance(executor, ModelExecutor) else OwnOpinion()
            case name:
                return ModelOpinion(self._model(name))

    def content_judge(self, kept: Path) -> ContentJudge | None:
        """Return who judges what is written; `kept` is the file in which a model's judgements are kept."""
        match self.spec.content_judge:
            case "off":
                return None
            case "rules":
                return RuleJudge(self.world)
            case name:
                return ModelJudge(self._model(name), Judgements(kept))

    def _arm(self, name: str) -> Arm | NotRun:
        if name == "none":
            return FixedArm(name, (), self.spec.retrieval)
        if name in ("oracle", "shuffled"):
            skills = self.world.oracle()
            if not skills:
                return NotRun(name, f"the world {self.world.name} has no skills written by hand")
            return FixedArm(name, skills, self.spec.retrieval, shuffled=name == "shuffled")
        if name == "verbatim":
            return self._curated(name, lambda: nullcontext(VerbatimCurator()))
        return self._of_policy(name) if name in ("trained", "base") else self._of_model(name)

    def _of_policy(self, name: str) -> Arm | NotRun:
        spec = self.spec
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
        return self._curated(name, lambda: curator_process.trained(path, temperature=spec.temperature))

    def _of_model(self, name: str) -> Arm | NotRun:
        if self.spec.model is None:
            return NotRun(name, "it needs a model, and none is named; say --model PROVIDER/MODEL")
        try:
            model = self._model(self.spec.model)
        except ExuviaError as error:
            return NotRun(name, str(error))
        if name == "reasoningbank":
            return reasoning_bank_arm(model)
        if name == "memp":
            return memp_arm(model)
        curator = ModelCurator(model, native=self.spec.native, extra=self.spec.extra)
        return self._curated(name, lambda: nullcontext(curator))

    def _curated(self, name: str, open_: Callable[[], AbstractContextManager[Curator]]) -> Arm:
        return CuratedArm(name, open_, self.spec.retrieval, extra=self.spec.extra)

    def _model(self, name: str) -> Model:
        spec = self.spec
        return replace(model_named(self.project, name, seed=spec.seed), parallel=spec.parallel, meter=self.meter)


def base_of(policy: Path) -> Path | None:
    """Return the untrained checkpoint beside a policy: in its training run, or next to its own checkpoint."""
    for place in (policy / "checkpoints" / UNTRAINED, policy.parent / UNTRAINED):
        if place.is_dir():
            return place
    return None
