"""The tiny policy: what it samples is what it scores, alone or in a batch, saved or not (K16)."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
import torch

from core.foundation.errors import DamagedError, NotFoundError, UsageError
from trainer.policies.loading import make_policy, open_policy
from trainer.policies.tiny import TinyPolicy, make

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def policy() -> TinyPolicy:
    return make("household", seed=1, max_prompt=80, max_answer=16, width=32, layers=2, heads=2)


def prompts(policy: TinyPolicy, count: int) -> list[list[int]]:
    draw = random.Random(4)
    return [[draw.randrange(8, len(policy.book)) for _ in range(draw.randint(3, 60))] for _ in range(count)]


def test_sampled_and_scored_log_probabilities_agree(policy: TinyPolicy) -> None:
    asked = prompts(policy, 12)
    answers = policy.generate(asked, temperature=1.0, seeds=list(range(12)))
    scored = policy.logprobs(asked, [answer.ids for answer in answers])
    for row, answer in enumerate(answers):
        found = scored.logprobs[row, : len(answer.ids)].detach()
        torch.testing.assert_close(found, torch.tensor(answer.logprobs), atol=1e-5, rtol=1e-5)
        assert scored.mask[row].sum() == len(answer.ids)


def test_temperature_is_that_of_the_sampling(policy: TinyPolicy) -> None:
    asked = prompts(policy, 6)
    answers = policy.generate(asked, temperature=0.5, seeds=list(range(6)))
    scored = policy.logprobs(asked, [answer.ids for answer in answers], temperature=0.5)
    for row, answer in enumerate(answers):
        found = scored.logprobs[row, : len(answer.ids)].detach()
        torch.testing.assert_close(found, torch.tensor(answer.logprobs), atol=1e-5, rtol=1e-5)


def test_an_answer_depends_on_its_prompt_and_seed_alone(policy: TinyPolicy) -> None:
    asked = prompts(policy, 9)
    together = policy.generate(asked, temperature=1.0, seeds=list(range(9)))
    for row in (0, 4, 8):
        (alone,) = policy.generate([asked[row]], temperature=1.0, seeds=[row])
        assert alone.ids == together[row].ids
    assert policy.generate(asked, temperature=1.0, seeds=[99] * 9) != together


def test_sampling_follows_the_distribution(policy: TinyPolicy) -> None:
    asked = prompts(policy, 1)[0]
    count = 3_000
    answers = policy.generate([asked] * count, temperature=1.0, seeds=list(range(count)))
    first = [answer.ids[0] for answer in answers]
    token = max(set(first), key=first.count)
    expected = float(policy.logprobs([asked], [[token]]).logprobs.detach().exp())
    error = math.sqrt(expected * (1 - expected) / count)
    assert abs(first.count(token) / count - expected) < 4.5 * error


def test_temperature_0_takes_the_likeliest_token(policy: TinyPolicy) -> None:
    asked = prompts(policy, 3)
    answers = policy.generate(asked, temperature=0.0, seeds=[1, 2, 3])
    assert answers == policy.generate(asked, temperature=0.0, seeds=[7, 8, 9])


def test_an_answer_ends_or_says_that_it_was_cut(policy: TinyPolicy) -> None:
    for answer in policy.generate(prompts(policy, 40), temperature=1.0, seeds=list(range(40))):
        assert answer.cut == (policy.book.eos not in answer.ids)
        assert len(answer.ids) == policy.max_answer if answer.cut else answer.ids[-1] == policy.book.eos


def test_padding_changes_no_score(policy: TinyPolicy) -> None:
    asked = prompts(policy, 5)
    answers = [[9, 10, 11], [12], [13, 14], [9] * 10, [8, 8]]
    whole = policy.logprobs(asked, answers).logprobs.detach()
    for row in range(5):
        alone = policy.logprobs([asked[row]], [answers[row]]).logprobs.detach()[0]
        torch.testing.assert_close(whole[row, : len(answers[row])], alone, atol=1e-5, rtol=1e-5)


@pytest.mark.meets("K19")
def test_a_saved_policy_is_the_same_bit_for_bit(policy: TinyPolicy, tmp_path: Path) -> None:
    policy.save(tmp_path)
    again = open_policy(tmp_path)
    assert again.worlds == ("household",)
    for name, value in policy.state().items():
        assert torch.equal(value, again.state()[name])
    asked = prompts(policy, 4)
    seeds = [1, 2, 3, 4]
    assert again.generate(asked, temperature=1.0, seeds=seeds) == policy.generate(asked, temperature=1.0, seeds=seeds)


def test_the_same_seed_makes_the_same_weights_and_leaves_torchs_own_alone() -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    shape = {"max_prompt": 40, "max_answer": 8, "width": 16, "layers": 1, "heads": 2}
    first, second = make("shop", seed=5, **shape), make("shop", seed=5, **shape)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(value, second.state()[name]) for name, value in first.state().items())
    other = make("shop", seed=6, **shape)
    assert not all(torch.equal(value, other.state()[name]) for name, value in first.state().items())


def test_the_reference_stays_while_the_policy_moves() -> None:
    policy = make("shop", seed=5, max_prompt=40, max_answer=8, width=16, layers=1, heads=2)
    with pytest.raises(RuntimeError, match="keep_reference"):
        policy.logprobs([[9]], [[10]], reference=True)
    policy.keep_reference()
    before = policy.logprobs([[9]], [[10]], reference=True)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.1)
    assert torch.equal(policy.logprobs([[9]], [[10]], reference=True).logprobs, before.logprobs)
    assert not before.logprobs.requires_grad
    assert not torch.equal(policy.logprobs([[9]], [[10]]).logprobs.detach(), before.logprobs)


def test_it_refuses_other_worlds_and_real_agents_with_the_reason(policy: TinyPolicy) -> None:
    assert policy.refuses("household") == ""
    assert "trained for the world 'household'" in policy.refuses("shop")
    reason = policy.refuses("benchmark:clerk/data-chores")
    assert "cannot read a real agent's work" in reason
    assert "hf" in reason


def test_what_is_no_policy_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no policy"):
        open_policy(tmp_path)
    (tmp_path / "policy.json").write_text('{"kind": "giant"}')
    with pytest.raises(DamagedError, match="names no kind"):
        open_policy(tmp_path)
    (tmp_path / "policy.json").write_text("{")
    with pytest.raises(DamagedError, match="cannot be read"):
        open_policy(tmp_path)
    with pytest.raises(UsageError, match="no kind of policy"):
        make_policy("giant", "household", seed=0)
    with pytest.raises(UsageError, match="no option 'depth'"):
        make("household", seed=0, max_prompt=9, max_answer=9, depth=3)


def test_a_policy_of_other_phrases_is_refused(policy: TinyPolicy, tmp_path: Path) -> None:
    policy.save(tmp_path)
    path = tmp_path / "policy.json"
    path.write_text(path.read_text().replace('"INSERT"', '"ADD"'))
    with pytest.raises(DamagedError, match="other phrases"):
        open_policy(tmp_path)
