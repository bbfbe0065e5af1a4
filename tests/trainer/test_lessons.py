"""The ten lessons of CURATION 1.8: bugs that cost others days, each kept out by a test (or pointed to where it is)."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from core.curation.curators import CurationInput
from core.curation.prompt import HEADINGS, instructions
from core.curation.worlds import ContentVerdict, Episode
from core.skillrepo import calls
from core.skillrepo.operations import DELETE, INSERT, TOOLS, UPDATE
from core.skillrepo.repository import Repository
from tests.trainer.small import Losing, taught
from tests.trainer.small_models import small_policy
from trainer.alarms import WINDOW, alarms
from trainer.evaluate import Bench, compared
from trainer.grpo import Sample, accumulate, advantages, is_flat
from trainer.rewards import Position, RewardWeights, content_score, reward, totals
from trainer.rollout import Roller, Stream
from trainer.settings import GrpoOptions, RetrievalOptions
from trainer.step_report import reward_fields
from trainer.task_groups import mixed_streams
from trainer.worlds import open_world

torch.set_num_threads(1)
WORLD = open_world("household")
GATE = RetrievalOptions(min_overlap=0.51)
TASKS = WORLD.group("train", 3, 6, "heat")


def step_record(**changes: Any) -> dict[str, Any]:
    """Return what the alarms look at, of a step where all is well."""
    record = {
        "ops": {"insert": 40, "update": 50, "delete": 0, "other": 0},
        "reward": {"compression": 0.4},
        "zero_variance_groups": 0.0,
        "positions": {"expected": 40, "measured": 40},
        "judge_unmeasured": 0,
    }
    return {**record, **changes}


@pytest.mark.meets("K11")
def test_1_the_environment_drives_the_positions_and_the_denominator_is_fixed() -> None:
    """A curator that fell silent after two positions once made its own denominator small."""
    talkative = [Position(1.0, calls=1, valid_calls=1, content=1.0, repo_tokens=5, prompt_tokens=50)] * 10
    silent = [*talkative[:2], *([Position(0.0, content=content_score((), ()), prompt_tokens=50)] * 8)]
    found = reward(silent, RewardWeights())
    assert found.task == pytest.approx(1 / 9)  # not 1 / 1
    assert found.calls == pytest.approx(2 / 10)
    assert found.content == pytest.approx(2 / 10)
    (rollout,) = Roller(WORLD, Losing([]), GATE, taught()).roll([Stream(0, 0, TASKS)], seed=1, purpose="x")
    assert len(rollout.turns) == len(TASKS)


@pytest.mark.meets("K11", "K17")
def test_2_how_many_positions_were_measured_is_said_and_alarms() -> None:
    """A length limit over the whole conversation once cut ten positions to two or three, without a word."""
    cut = [Position(1.0, calls=1, valid_calls=1, content=1.0)] * 3 + [Position(None)] * 7
    earned = reward(cut, RewardWeights())
    fields = reward_fields([[earned]], [totals([earned], RewardWeights())])
    assert fields["positions"] == {"expected": 10, "measured": 3}
    kinds = [found.kind for found in alarms([step_record(positions=fields["positions"])])]
    assert kinds == ["unmeasured"]
    assert alarms([step_record()]) == ()


@pytest.mark.meets("K8", "K11")
def test_3_what_was_not_measured_is_a_mask_and_never_a_zero() -> None:
    lost = TASKS[2].id
    (rollout,) = Roller(WORLD, Losing([lost]), GATE, taught()).roll([Stream(0, 0, TASKS)], seed=1, purpose="x")
    positions = [turn.reward_position("environment") for turn in rollout.turns]
    assert positions[2].success is None
    without = [position for index, position in enumerate(positions) if index != 2]
    assert reward(positions, RewardWeights()).task == reward(without, RewardWeights()).task
    assert totals([reward([Position(None)] * 4, RewardWeights())], RewardWeights()) == (None,)
    assert advantages([None, 1.0, 2.0])[0] is None


@pytest.mark.meets("K2")
def test_4_a_curator_has_three_tools_and_no_method_of_ours_is_one() -> None:
    """Public helper methods of an environment class once became tools of the model."""
    assert [tool["name"] for tool in TOOLS] == [INSERT, UPDATE, DELETE]
    repository = Repository(WORLD.oracle())
    methods = [name for name in dir(repository) if not name.startswith("_")]
    assert "copy" in methods
    for name in [*methods, "run", "step", "judge"]:
        (verdict,) = repository.apply(calls.parse(calls.render(name, {"skill_name": "put"})))
        assert not verdict.valid
    assert repository.skills == WORLD.oracle()


@pytest.mark.meets("K15")
def test_5_the_system_prompt_is_in_the_prompt() -> None:
    """It once was handed over and never reached the model."""
    policy = small_policy(max_prompt=3_000, max_answer=8)
    given = CurationInput(WORLD.run(TASKS[0], WORLD.oracle()[:2], "weak"), WORLD.oracle()[:2])
    text = policy.tokenizer.decode(policy.prompt(given))
    assert instructions().strip()[:400] in text
    for heading in HEADINGS:
        assert heading in text
    for tool in TOOLS:
        assert tool["name"] in text
    assert TASKS[0].text in text


@pytest.mark.meets("K4")
def test_6_the_task_stands_at_the_end_of_the_first_observation() -> None:
    """Whoever cuts an observation at its end cuts the task off."""
    for family in WORLD.families:
        task = WORLD.group("test", 5, 1, family)[0]
        intro = WORLD.play(task).intro
        assert intro.rstrip(".").endswith(task.text.rstrip("."))
        assert WORLD.run(task, (), "weak").intro == intro


@pytest.mark.meets("K9")
def test_7_a_judge_that_gives_nothing_does_not_zero_its_term() -> None:
    """r_cnt once was 0 for a whole run, because the judge answered None."""

    class Speechless:
        name = "speechless"

        def judge(self, questions: Any) -> list[ContentVerdict]:
            return [ContentVerdict(None)] * len(questions)

    def earned(judge: Any) -> Any:
        (rollout,) = Roller(WORLD, Losing([]), GATE, taught(), judge).roll([Stream(0, 0, TASKS)], seed=4, purpose="x")
        written = sum(judgement is not None for turn in rollout.turns for judgement in turn.judgements)
        return written, reward([turn.reward_position("environment") for turn in rollout.turns], RewardWeights())

    written, found = earned(Speechless())
    assert written > 0
    assert found.judge_unmeasured > 0
    kinds = [one.kind for one in alarms([step_record(judge_unmeasured=40)])]
    assert kinds == ["judge"]
    # In a group whose judge failed everywhere, r_cnt has no part: nobody is worse for it.
    bare = reward([Position(1.0, calls=1, valid_calls=1, content=None)] * 4, RewardWeights())
    assert bare.content is None
    assert bare.compression == 1.0
    assert totals([bare, bare], RewardWeights())[0] == pytest.approx(1.0 + 1.0 + 0.05)


@pytest.mark.meets("K10", "K17")
def test_8_a_group_of_equal_rewards_teaches_nothing_and_is_counted() -> None:
    assert advantages([1.5, 1.5, 1.5]) == (0.0, 0.0, 0.0)
    assert is_flat([1.5, 1.5, 1.5])
    policy = taught()
    policy.model.zero_grad()
    same = [Sample((9, 10), (11, 12), (-1.0, -1.0), gain) for gain in (0.0, 0.0)]
    accumulate(policy, same, GrpoOptions())
    norms = [float(one.grad.abs().sum()) for one in policy.parameters() if one.grad is not None]
    policy.model.zero_grad()
    assert sum(norms) == 0.0
    first = reward([Position(1.0, calls=1, valid_calls=1, content=1.0)] * 3, RewardWeights())
    second = reward([Position(0.0, calls=1, valid_calls=1, content=1.0)] * 3, RewardWeights())
    groups = [[first, first], [first, second]]
    fields = reward_fields(groups, [totals(group, RewardWeights()) for group in groups])
    assert fields["zero_variance_groups"] == 0.5
    assert [one.kind for one in alarms([step_record(zero_variance_groups=0.5)] * WINDOW)] == ["zero_variance"]


@pytest.mark.meets("K6")
def test_9_the_control_is_measured_again_beside_every_arm_on_the_same_tasks() -> None:
    """A no-memory baseline from another week once made a curator look good."""
    streams = mixed_streams(WORLD, "test", seed=5, purpose="lesson", count=3, tasks=30)
    bench = Bench(WORLD, Losing([]), GATE, 0.7)
    control, oracle = bench.measure("none", "mixed", streams), bench.measure("oracle", "mixed", streams, skills=SKILLS)
    told = compared(control, oracle)
    flat = [
        (bool(one), bool(other))
        for first, second in zip(control.outcomes, oracle.outcomes, strict=True)
        for one, other in zip(first, second, strict=True)
    ]
    assert told["gained"] == sum(other and not one for one, other in flat)
    assert told["lost"] == sum(one and not other for one, other in flat)
    assert oracle.success_micro is not None
    assert control.success_micro is not None
    assert told["difference"] == pytest.approx(oracle.success_micro - control.success_micro)
    assert told["mcnemar_p"] < 0.001
    low, high = told["interval"]
    assert low <= told["difference"] <= high


SKILLS = WORLD.oracle()


@pytest.mark.meets("K16")
def test_10_the_best_on_held_out_is_named_and_every_checkpoint_kept() -> None:
    """The last checkpoint once was back at the baseline. tests/trainer/test_loop.py looks at a run's own files."""
    from tests.trainer import test_loop

    for name in (
        "test_all_weights_are_kept_and_the_optimizer_once",
        "test_the_trained_arm_is_the_best_of_validation_and_never_the_base",
    ):
        assert callable(getattr(test_loop, name))


@pytest.mark.meets("K17")
def test_insert_collapse_is_an_alarm_once_it_lasts() -> None:
    """CURATION 2c finding 5: a fresh title is always a valid call, so useless inserts are paid for."""
    collapsed = step_record(ops={"insert": 97, "update": 2, "delete": 1, "other": 0}, reward={"compression": -0.4})
    assert alarms([collapsed] * (WINDOW - 1)) == ()
    assert [one.kind for one in alarms([collapsed] * WINDOW)] == ["insert_collapse"]
    assert alarms([collapsed] * (WINDOW + 1)) == ()  # told once a window
    assert [one.kind for one in alarms([collapsed] * (2 * WINDOW))] == ["insert_collapse"]
    assert alarms([step_record(), *[collapsed] * (WINDOW - 1)]) == ()


def test_an_episode_that_nobody_judged_is_shown_as_that() -> None:
    episode = Episode(TASKS[0], True, 3, ())
    tokens = [taught().book.tokens[number] for number in taught().prompt(CurationInput(episode, ()))]
    assert "<unjudged>" in tokens
