"""The composite reward of a rollout (CURATION 1.3, K8).

    r = r_task + lambda_f r_fc + lambda_u r_cnt + lambda_c r_comp          lambda_f 1.0, lambda_u 0.1, lambda_c 0.05

The environment walks the positions, so every denominator is the task group's size, never what the curator got
through. Only a position lost to infrastructure leaves a sum, and it leaves the denominator with it: it is masked,
never a zero. A term that nobody could measure is None, and `totals` lets it neither help nor hurt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from core.curation.worlds import ContentVerdict
from core.skillrepo.operations import Verdict

TERMS = ("task", "calls", "content", "compression")
WRITING = ("new_skill_insert", "skill_update")


@dataclass(frozen=True, slots=True)
class RewardWeights:
    """The weights of the four terms. `no_call_validity` is r_fc of an answer without a call [amb: the paper is silent].

    With 1.0 silence would be the best answer; so it is 0.
    """

    task: float = 1.0
    calls: float = 1.0  # lambda_f
    content: float = 0.1  # lambda_u
    compression: float = 0.05  # lambda_c
    no_call_validity: float = 0.0

    def of(self, term: str) -> float:
        """Return the weight of one of TERMS."""
        weight: float = getattr(self, term)
        return weight


@dataclass(frozen=True, slots=True)
class Position:
    """What one position of a rollout gives to its reward.

    `success` is None where the attempt was lost: nothing was curated then. `answered` is False where no answer of the
    curator came (its provider failed, not its tongue): r_fc, r_cnt and r_comp mask the position. `content` is None
    where the judge gave no verdict. Tokens are the policy's own: of the whole repository after the operations, |S_i|,
    and of the curator's input, |chi_i|.
    """

    success: float | None
    answered: bool = True
    calls: int = 0
    valid_calls: int = 0
    content: float | None = None
    repo_tokens: int = 0
    prompt_tokens: int = 1


@dataclass(frozen=True, slots=True)
class Reward:
    """The four terms of a rollout, each None where no position of it could be measured.

    `expected` is |G|, `measured` how many positions had an attempt and an answer (lesson 2), `judge_unmeasured` how
    many answers the judge gave no verdict on (lesson 7).
    """

    task: float | None
    calls: float | None
    content: float | None
    compression: float | None
    expected: int
    measured: int
    judge_unmeasured: int

    def of(self, term: str) -> float | None:
        """Return one of TERMS."""
        value: float | None = getattr(self, term)
        return value


def content_score(verdicts: Sequence[Verdict], judged: Sequence[ContentVerdict | None]) -> float | None:
    """Return Judge(c_i): the mean of VALID over what was inserted and updated [amb: the paper gives no aggregation].

    `judged` stands beside `verdicts`: the judgement of the call's content, None where the call carries none. A call
    that should have brought content and can't be read counts as not VALID. An answer that only deletes or renames is
    as good as its calls are valid; one without a call wrote nothing VALID. None where the judge itself failed on
    every content: that is a mask, never a zero.
    """
    if not verdicts:
        return 0.0
    values: list[float] = []
    unmeasured = False
    for verdict, judgement in zip(verdicts, judged, strict=True):
        if judgement is None:
            if verdict.call.name in WRITING and not verdict.valid:
                values.append(0.0)
        elif judgement.valid is None:
            unmeasured = True
        else:
            values.append(float(judgement.valid))
    if values:
        return fmean(values)
    if unmeasured:
        return None
    return fmean(float(verdict.valid) for verdict in verdicts)


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def reward(positions: Sequence[Position], weights: RewardWeights) -> Reward:
    """Return the terms of one rollout over its |G| positions, in the order of the stream."""
    answered = [position for position in positions if position.success is not None and position.answered]
    contents = [position.content for position in answered]
    return Reward(
        # r_task = 1/(|G|-1) sum_{i=2..|G|} success_i: the first task meets an empty repository
        task=_mean([position.success for position in positions[1:] if position.success is not None]),
        # r_fc = 1/|G| sum_i valid_i / generated_i
        calls=_mean([p.valid_calls / p.calls if p.calls else weights.no_call_validity for p in answered]),
        # r_cnt = 1/|G| sum_i Judge(c_i)
        content=_mean([content for content in contents if content is not None]),
        # r_comp = 1/|G| sum_i (1 - |S_i| / |chi_i|); below zero where the repository outgrows what is read
        compression=_mean([1 - position.repo_tokens / position.prompt_tokens for position in answered]),
        expected=len(positions),
        measured=len(answered),
        judge_unmeasured=sum(content is None for content in contents),
    )


def totals(group: Sequence[Reward], weights: RewardWeights) -> tuple[float | None, ...]:
    """Return r of each rollout of one group.

    A rollout whose r_task is unknown has no reward: None, and no part in the group's mean. Another term that it lacks
    is filled with the mean of those that have it, so that it moves no advantage; where nobody has it, it is left out.
    """
    known = [one for one in group if one.task is not None]
    filling = {term: _mean([value for one in known if (value := one.of(term)) is not None]) for term in TERMS}

    def total(one: Reward) -> float | None:
        if one.task is None:
            return None
        parts = ((weights.of(term), one.of(term), filling[term]) for term in TERMS)
        return sum(
            weight * (value if value is not None else (fill if fill is not None else 0.0))
            for weight, value, fill in parts
        )

    return tuple(total(one) for one in group)
