"""The composite reward: a rollout computed by hand, and what is masked (CURATION 1.3, K8; lessons 1, 3, 7)."""

from __future__ import annotations

import pytest

from core.curation.worlds import ContentVerdict
from core.skillrepo.operations import Call, Verdict
from trainer.rewards import Position, Reward, RewardWeights, content_score, reward, totals

WEIGHTS = RewardWeights()


def verdict(name: str, *, valid: bool) -> Verdict:
    return Verdict(Call(name, {}, "", "tool_call"), valid)


def judged(valid: bool | None) -> ContentVerdict:
    return ContentVerdict(valid)


@pytest.mark.meets("K8")
def test_a_rollout_computed_by_hand() -> None:
    positions = [
        # the first task's success never counts: its repository was empty
        Position(success=1.0, calls=1, valid_calls=1, content=1.0, repo_tokens=30, prompt_tokens=100),
        Position(success=0.0, calls=2, valid_calls=1, content=0.5, repo_tokens=60, prompt_tokens=120),
        Position(success=1.0, calls=0, valid_calls=0, content=0.0, repo_tokens=60, prompt_tokens=150),
        Position(success=1.0, calls=1, valid_calls=1, content=1.0, repo_tokens=90, prompt_tokens=90),
    ]
    found = reward(positions, WEIGHTS)
    assert found.task == pytest.approx(2 / 3)  # (0 + 1 + 1) / (4 - 1)
    assert found.calls == pytest.approx((1 + 0.5 + 0 + 1) / 4)
    assert found.content == pytest.approx((1 + 0.5 + 0 + 1) / 4)
    assert found.compression == pytest.approx((0.7 + 0.5 + 0.6 + 0.0) / 4)
    (total,) = totals([found], WEIGHTS)
    assert total == pytest.approx(2 / 3 + 0.625 + 0.1 * 0.625 + 0.05 * 0.45)
    assert (found.expected, found.measured, found.judge_unmeasured) == (4, 4, 0)


@pytest.mark.meets("K8", "K11")
def test_a_lost_position_is_masked_and_no_zero() -> None:
    kept = [Position(1.0), Position(1.0, calls=1, valid_calls=1, content=1.0), Position(0.0, calls=1, valid_calls=1)]
    lost = [*kept, Position(None)]
    assert reward(lost, WEIGHTS).task == reward(kept, WEIGHTS).task == 0.5
    assert reward(lost, WEIGHTS).calls == reward(kept, WEIGHTS).calls
    assert (reward(lost, WEIGHTS).expected, reward(lost, WEIGHTS).measured) == (4, 3)


@pytest.mark.meets("K8")
def test_an_answer_that_never_came_masks_the_curators_terms_and_keeps_the_success() -> None:
    found = reward(
        [Position(0.0, calls=1, valid_calls=1, content=1.0), Position(1.0, answered=False), Position(0.0)],
        RewardWeights(no_call_validity=0.25),
    )
    assert found.task == 0.5
    assert found.calls == pytest.approx((1.0 + 0.25) / 2)
    assert found.measured == 2


@pytest.mark.meets("K8")
def test_a_repository_larger_than_what_is_read_costs() -> None:
    found = reward([Position(1.0), Position(1.0, repo_tokens=300, prompt_tokens=100)], WEIGHTS)
    assert found.compression == pytest.approx((1.0 - 2.0) / 2)


@pytest.mark.meets("K8")
def test_nothing_measured_is_none_and_never_zero() -> None:
    assert reward([Position(1.0), Position(None)], WEIGHTS).task is None
    found = reward([Position(None), Position(None)], WEIGHTS)
    assert (found.task, found.calls, found.content, found.compression) == (None, None, None, None)
    assert totals([found], WEIGHTS) == (None,)


@pytest.mark.meets("K8")
def test_a_term_that_one_rollout_lacks_moves_no_advantage() -> None:
    def with_content(content: float | None) -> Reward:
        return Reward(0.5, 1.0, content, 0.0, 10, 10, 0)

    first, second, third = totals([with_content(0.2), with_content(0.6), with_content(None)], WEIGHTS)
    assert first is not None
    assert second is not None
    assert third == pytest.approx((first + second) / 2)
    assert totals([with_content(None)] * 2, WEIGHTS) == (1.5, 1.5)


@pytest.mark.meets("K8", "K9")
@pytest.mark.parametrize(
    ("verdicts", "judgements", "score"),
    [
        ([], [], 0.0),
        ([("new_skill_insert", True)], [True], 1.0),
        ([("new_skill_insert", True), ("skill_update", True)], [True, False], 0.5),
        ([("new_skill_insert", False)], [None], 0.0),  # it brought no content that can be read
        ([("skill_delete", True)], [None], 1.0),
        ([("skill_delete", False)], [None], 0.0),
        ([("skill_delete", True), ("new_skill_insert", True)], [None, False], 0.0),
    ],
)
def test_content_score(verdicts: list[tuple[str, bool]], judgements: list[bool | None], score: float) -> None:
    made = [verdict(name, valid=valid) for name, valid in verdicts]
    assert content_score(made, [None if one is None else judged(one) for one in judgements]) == score


@pytest.mark.meets("K9")
def test_a_judge_without_a_verdict_is_a_mask() -> None:
    inserted = verdict("new_skill_insert", valid=True)
    assert content_score([inserted], [judged(None)]) is None
    assert content_score([inserted, inserted], [judged(None), judged(True)]) == 1.0
    found = reward([Position(1.0, calls=1, valid_calls=1, content=None)] * 3, WEIGHTS)
    assert found.content is None
    assert found.judge_unmeasured == 3
