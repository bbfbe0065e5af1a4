"""Everything that a training run can be told, as one frozen record, and as a flat table of keys.

Where the paper is silent or contradicts itself there is a key, marked [amb] in `AMBIGUOUS`, with a default of ours.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from core.foundation.errors import UsageError
from trainer.rewards import RewardWeights


@dataclass(frozen=True, slots=True)
class GrpoOptions:
    """The surrogate of CURATION 1.3; `trainer.grpo` computes it.

    `ratio` [amb]: "token", as verl's default; "sequence", the geometric mean over an answer (GSPO, TRL's "sequence");
    "product", pi(c)/pi_old(c) as the paper's formula is written. `loss_mean` [amb]: over all tokens of a minibatch, or
    over answers of their token means. `beta` [amb]: the text drops the KL term (0.0), Table 4 has 0.001. `std` divides
    the advantage by the group's standard deviation, which SkillOS does not. `minibatches`: optimizer steps a rollout
    batch. `temperature` is that of the rollout.
    """

    epsilon: float = 0.2
    beta: float = 0.0
    std: bool = False
    ratio: Literal["token", "sequence", "product"] = "token"
    loss_mean: Literal["token", "sequence"] = "token"
    minibatches: int = 2
    max_gradient_norm: float = 1.0
    temperature: float = 1.0


@dataclass(frozen=True, slots=True)
class OptimizerOptions:
    """AdamW. `warmup` steps raise the rate from 0; over the run it falls linearly to the share `decay` of it."""

    lr: float = 1e-6
    beta1: float = 0.9
    beta2: float = 0.95
    weight_decay: float = 0.0
    warmup: int = 0
    decay: float = 1.0

    def rate(self, step: int, steps: int) -> float:
        """Return the learning rate of the step after `step` finished ones of `steps`."""
        if step < self.warmup:
            return self.lr * (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, steps - self.warmup)
        return self.lr * (1 - (1 - self.decay) * done)


@dataclass(frozen=True, slots=True)
class GroupOptions:
    """What a step rolls out: `batch` rollouts, or groups, of `rollouts` (N) each, over |G| tasks.

    `batch_counts` [amb]: Table 4's batch of 32 is 4 groups of 8 rollouts ("rollouts"), or 32 groups ("groups").
    |G| is drawn between `smallest` and `largest`. `by`: "family" groups by the world's kinds of task (CURATION 1.5),
    "random" draws mixed sequences (the ablation), "pipeline" makes groups by Table 5's pipeline out of the annotations
    in `file`, whose tasks are the first `file_tasks` of the world's train stream with `file_seed`.
    `strangers` is the share of positions that get a task of any family, which makes a group like a mixed stream.
    """

    batch: int = 32
    batch_counts: Literal["rollouts", "groups"] = "rollouts"
    rollouts: int = 8
    smallest: int = 10
    largest: int = 10
    by: Literal["family", "random", "pipeline"] = "family"
    strangers: float = 0.0
    file: str = ""
    file_tasks: int = 2_000
    file_seed: int = 0

    @property
    def groups(self) -> int:
        """Task groups a step."""
        return self.batch if self.batch_counts == "groups" else max(1, self.batch // self.rollouts)


@dataclass(frozen=True, slots=True)
class RetrievalOptions:
    """`min_overlap`: the share of a title's words that the task must hold (0.0, off, in the paper)."""

    top_k: int = 5
    min_overlap: float = 0.0


@dataclass(frozen=True, slots=True)
class ExecutorOptions:
    """The frozen executor: a scripted one of the world by name, or PROVIDER/MODEL, which plays step by step.

    `temperature` and `max_tokens` a turn are not printed in the paper [amb]; GiGPO's are the defaults.
    """

    name: str = "weak"
    max_turns: int = 30
    history: int = 3
    temperature: float = 0.4
    max_tokens: int = 512


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """`success` [amb]: r_task counts the environment's verdict, its score, or the opinion that the curator is shown.

    `opinion` [amb]: whose opinion that is: "self", the executor's of its own attempt, "world", the environment's
    verdict, or PROVIDER/MODEL. `content`: "rules" is the world's own judge of what is written, PROVIDER/MODEL a model
    with the four criteria, "off" nobody.
    """

    success: Literal["environment", "score", "judged"] = "environment"
    opinion: str = "self"
    content: str = "rules"


@dataclass(frozen=True, slots=True)
class PolicyOptions:
    """`kind` tiny or hf. `path` is a model's folder, or "tiny" for a small random Qwen3. `options` go to the kind's
    `make` as they are.
    """

    kind: Literal["tiny", "hf"] = "tiny"
    path: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImitationOptions:
    """The short phase before GRPO that gives an untrained network a base to start from; 0 steps: none.

    Over the phase the rate falls linearly from `lr` to the share `decay` of it. `beta2` is AdamW's: the phase is short,
    and at 0.999 its steps stay as small to the end as the large gradients of the beginning make them. `updates` is how
    often the script that is imitated updates a skill, of the times that one is in view.
    """

    steps: int = 0
    demonstrations: int = 4_000
    updates: float = 0.16
    batch: int = 48
    lr: float = 1e-3
    decay: float = 1.0
    beta2: float = 0.999

    def rate(self, step: int) -> float:
        """Return the learning rate of the step after `step` finished ones."""
        return self.lr * (1 - (1 - self.decay) * step / max(1, self.steps))


@dataclass(frozen=True, slots=True)
class EvaluationOptions:
    """Held-out measurement. The final one: `streams` mixed streams of `tasks` tasks of the split "test" (0: the world's
    own number), an empty repository each; and `groups` groups as trained. Checkpoints are compared on `validation`
    streams of `validation_tasks` tasks of the split "train", so that the best one is not chosen by the final tasks.
    """

    streams: int = 3
    tasks: int = 0
    groups: int = 12
    temperature: float = 0.7
    validation: int = 6
    validation_tasks: int = 60


@dataclass(frozen=True, slots=True)
class Training:
    """One run, resolved. `steps` are GRPO steps; the `every` keys count them too (0: never)."""

    preset: str = ""
    seed: int = 0
    world: str = "household"
    world_options: Mapping[str, Any] = field(default_factory=dict)
    steps: int = 60
    evaluate_every: int = 10
    checkpoint_every: int = 10
    sample_every: int = 5
    max_prompt: int = 16_384
    max_response: int = 4_096
    device: str = "auto"
    dtype: str = "auto"
    threads: int = 2
    executor: ExecutorOptions = field(default_factory=ExecutorOptions)
    policy: PolicyOptions = field(default_factory=PolicyOptions)
    imitation: ImitationOptions = field(default_factory=ImitationOptions)
    group: GroupOptions = field(default_factory=GroupOptions)
    retrieval: RetrievalOptions = field(default_factory=RetrievalOptions)
    reward: RewardWeights = field(default_factory=RewardWeights)
    judge: JudgeOptions = field(default_factory=JudgeOptions)
    grpo: GrpoOptions = field(default_factory=GrpoOptions)
    optimizer: OptimizerOptions = field(default_factory=OptimizerOptions)
    evaluation: EvaluationOptions = field(default_factory=EvaluationOptions)


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """A point on which the paper is silent or contradicts itself; `other` is the reading that the default is not."""

    key: str
    question: str
    other: str


AMBIGUOUS = (
    Ambiguity("judge.success", "whose verdict r_task counts: the text has the environment's and the judge's", "judged"),
    Ambiguity("judge.opinion", "whose verdict the curator reads: the executor's own, or the world's", "world"),
    Ambiguity("reward.no_call_validity", "r_fc of an answer without a call; with 1 silence would be optimal", "1.0"),
    Ambiguity("grpo.beta", "the text drops the KL term, Table 4 has a coefficient", "0.001"),
    Ambiguity("grpo.epsilon", "the clip range is not printed; verl's default", "-"),
    Ambiguity("grpo.ratio", "the formula has one ratio an answer, verl's default one a token", "product, sequence"),
    Ambiguity("grpo.loss_mean", "how tokens are averaged is not said; verl's default", "sequence"),
    Ambiguity("group.batch_counts", "what the batch of 32 counts: rollouts (4 groups of 8), or groups", "groups"),
    Ambiguity("executor.temperature", "how the executor decodes is not printed; GiGPO's", "-"),
    Ambiguity("executor.max_tokens", "most tokens a turn of the executor; GiGPO's", "-"),
    Ambiguity("retrieval.min_overlap", "no floor under BM25 is mentioned", "0.51"),
)
"""Besides these: several contents of one answer count by their mean (K8), and both the micro and the macro average are
reported, since the paper says one and prints the other."""


def table(training: Training) -> dict[str, Any]:
    """Return the flat table: "grpo.beta" and the like to plain JSON values, in a fixed order."""
    return dict(_flat(training, ""))


def _flat(record: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for one in fields(record):
        value = getattr(record, one.name)
        if is_dataclass(value):
            yield from _flat(value, f"{prefix}{one.name}.")
        elif isinstance(value, Mapping):
            for key in sorted(value):
                yield f"{prefix}{one.name}.{key}", value[key]
        else:
            yield f"{prefix}{one.name}", value


def with_settings(training: Training, settings: Mapping[str, Any]) -> Training:
    """Return it with the values of flat keys. Raises UsageError naming a key or a value that can't be."""
    for key in sorted(settings):
        training = _with(training, key.split("."), settings[key], key)
    return training


def _with(record: Any, path: list[str], value: Any, key: str) -> Any:
    name, *rest = path
    names = [one.name for one in fields(record)]
    if name not in names:
        raise UsageError(f"There is no setting {key!r}.", hint=_meant(key) or f"Known here: {', '.join(names)}.")
    held = getattr(record, name)
    if is_dataclass(held):
        if not rest:
            raise UsageError(f"{key!r} is a group of settings.", hint=f"Name one: {key}.{fields(held)[0].name}")
        return replace(record, **{name: _with(held, rest, value, key)})
    if isinstance(held, Mapping):
        if len(rest) != 1:
            raise UsageError(f"{key!r} needs one name behind {name}.", hint=f"For example {name}.NAME")
        return replace(record, **{name: {**held, rest[0]: value}})
    if rest:
        raise UsageError(f"There is no setting {key!r}.", hint=f"{name} has no parts.")
    return replace(record, **{name: _fitting(get_type_hints(type(record))[name], value, key)})


def _fitting(kind: Any, value: Any, key: str) -> Any:
    """Return `value` as the field's type takes it. Whole numbers pass for floats; nothing else is converted."""
    origin = get_origin(kind)
    if origin is Literal:
        if value not in get_args(kind):
            raise UsageError(f"{key} can't be {value!r}.", hint=f"One of: {', '.join(map(str, get_args(kind)))}.")
        return value
    if origin in (Union, types.UnionType):
        raise TypeError(f"{key}: a setting has one type")
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not kind:
        raise UsageError(f"{key} can't be {value!r}.", hint=f"It is {_KINDS.get(kind, kind.__name__)}.")
    return value


_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def _meant(key: str) -> str:
    """Return which whole keys end with the name that was typed; "" for none."""
    ends = [known for known in table(Training()) if known.rpartition(".")[2] == key.rpartition(".")[2]]
    return f"Do you mean {' or '.join(ends)}?" if ends else ""


def training_of(document: Mapping[str, Any]) -> Training:
    """Return the run that a flat table tells; keys that only describe (the world's fingerprint) may stand in it."""
    known = {key: value for key, value in document.items() if key.split(".")[0] in _TOP}
    return with_settings(Training(), known)


_TOP = frozenset(one.name for one in fields(Training))


_LEAST: tuple[tuple[tuple[str, ...], int], ...] = (
    (("seed", "steps", "evaluate_every", "checkpoint_every", "sample_every"), 0),
    (("max_prompt", "max_response", "threads", "executor.max_turns", "executor.max_tokens"), 1),
    (("executor.history", "executor.temperature", "imitation.steps", "retrieval.top_k", "grpo.beta"), 0),
    (("imitation.batch", "imitation.demonstrations", "group.batch", "group.file_tasks", "grpo.minibatches"), 1),
    (("optimizer.weight_decay", "optimizer.warmup", "optimizer.decay", "imitation.decay"), 0),
    (("evaluation.streams", "evaluation.tasks", "evaluation.groups", "evaluation.temperature"), 0),
    (("evaluation.validation", "evaluation.validation_tasks", "group.file_seed"), 0),
    (("reward.task", "reward.calls", "reward.content", "reward.compression"), 0),
)
_ABOVE_ZERO = ("optimizer.lr", "imitation.lr", "grpo.max_gradient_norm")
_BETAS = "optimizer.beta1, optimizer.beta2 and imitation.beta2 lie between 0 and 1"
_MOST_THREADS = 1_024


def problem_of(training: Training) -> str:
    """Return why a run can't be as it is told, in one sentence; empty where it can."""
    group, grpo, weights = training.group, training.grpo, training.reward
    values = table(training)
    for keys, least in _LEAST:
        for key in keys:
            if values[key] < least:
                return f"{key} must be at least {least}"
    for key in _ABOVE_ZERO:
        if values[key] <= 0:
            return f"{key} must be above 0"
    checks = (
        (group.rollouts >= 2, "group.rollouts must be at least 2: one rollout has no advantage over itself"),
        (2 <= group.smallest <= group.largest, "group.smallest must be at least 2 and at most group.largest"),
        (
            group.batch_counts == "groups" or group.batch % group.rollouts == 0,
            "group.batch counts rollouts, so it must be a multiple of group.rollouts",
        ),
        (0 <= training.imitation.updates <= 1, "imitation.updates is a share, 0 to 1"),
        (0 <= group.strangers <= 1, "group.strangers is a share, 0 to 1"),
        (0 < grpo.epsilon < 1, "grpo.epsilon lies between 0 and 1"),
        (grpo.temperature > 0, "grpo.temperature must be above 0: rollouts of one group must differ"),
        (all(0 <= values[key] < 1 for key in ("optimizer.beta1", "optimizer.beta2", "imitation.beta2")), _BETAS),
        (values["optimizer.lr"] <= 1 and values["imitation.lr"] <= 1, "optimizer.lr and imitation.lr can't be above 1"),
        (0 <= training.retrieval.min_overlap <= 1, "retrieval.min_overlap is a share, 0 to 1"),
        (0 <= weights.no_call_validity <= 1, "reward.no_call_validity is a share, 0 to 1"),
        (training.threads <= _MOST_THREADS, f"threads can't be above {_MOST_THREADS}"),
    )
    return next((words for fine, words in checks if not fine), "")


def lacking(training: Training) -> str:
    """Return what a run that is told well still lacks here, in one sentence; empty where it can begin."""
    if training.group.by == "pipeline" and not training.group.file:
        return "group.by pipeline needs group.file, the annotations that `python -P -m trainer annotate` wrote"
    if training.policy.kind == "hf" and not training.policy.path:
        return 'an hf policy needs policy.path: a model\'s folder, or "tiny" for a small random Qwen3'
    return ""
