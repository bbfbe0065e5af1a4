"""Presets and settings: Table 4 to the letter, every open point a key, wrong values refused (K12, CURATION 1.4)."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from core.foundation import strict_json
from core.foundation.errors import UsageError
from trainer.presets import PRESETS, TABLE4, differences, resolve, resolved_lines
from trainer.settings import AMBIGUOUS, OptimizerOptions, table, training_of


@pytest.mark.meets("K12")
@pytest.mark.parametrize("column", ["alfworld", "webshop", "reasoning"])
def test_a_paper_preset_is_table_4(column: str) -> None:
    training = resolve(f"{column}-table4")
    assert differences(training) == {}
    assert table(training)["retrieval.min_overlap"] == 0.0
    assert (training.reward.calls, training.reward.content, training.reward.compression) == (1.0, 0.1, 0.05)


@pytest.mark.meets("K12")
def test_table_4_as_the_paper_prints_it() -> None:
    assert TABLE4["alfworld"]["optimizer.lr"] == 1e-6
    assert [TABLE4[name]["steps"] for name in ("alfworld", "webshop", "reasoning")] == [60, 50, 100]
    sizes = [(TABLE4[name]["group.smallest"], TABLE4[name]["group.largest"]) for name in TABLE4]
    assert sizes == [(10, 10), (10, 10), (5, 12)]
    shared = {"group.batch": 32, "group.rollouts": 8, "grpo.temperature": 1.0, "grpo.beta": 0.001}
    limits = {"max_prompt": 16_384, "max_response": 4_096, "retrieval.top_k": 5}
    for column in TABLE4.values():
        assert {**shared, **limits}.items() <= column.items()
    assert [TABLE4[name]["executor.max_turns"] for name in TABLE4] == [30, 30, 1]


@pytest.mark.meets("K12", "K15")
def test_no_preset_loses_its_steps_in_the_rounding_of_bfloat16_weights() -> None:
    """A weight of 0.02 in bfloat16 has neighbours 1e-4 away: a step of Table 4's 1e-6 leaves it where it is."""
    for name in PRESETS:
        training = resolve(name)
        adapters = training.policy.options.get("lora_rank")
        assert adapters or training.dtype != "bfloat16", name


@pytest.mark.meets("K12")
def test_a_batch_of_32_is_four_groups_unless_it_counts_groups() -> None:
    assert resolve("alfworld-table4").group.groups == 4
    assert resolve("alfworld-table4", settings={"group.batch_counts": "groups"}).group.groups == 32


@pytest.mark.meets("K12")
@pytest.mark.parametrize("name", sorted(PRESETS))
def test_the_resolved_table_is_whole_and_reads_back(name: str) -> None:
    training = resolve(name, seed=7)
    written = strict_json.parse(strict_json.dumps(table(training)))
    assert training_of(written) == training
    shown = "\n".join(resolved_lines(training))
    assert all(key in shown for key in table(training))
    assert PRESETS[name].summary.endswith(".")


@pytest.mark.meets("K12")
def test_every_open_point_is_a_key_and_is_marked() -> None:
    training = resolve("cpu-demo")
    lines = resolved_lines(training)
    for open_point in AMBIGUOUS:
        assert open_point.key in table(training)
        (line,) = [line for line in lines if line.split()[0] == open_point.key]
        assert "[amb]" in line
    (line,) = [line for line in lines if line.split()[0] == "optimizer.lr"]
    assert "Table 4: 1e-06" in line


@pytest.mark.meets("K12", "K14")
def test_a_setting_changes_what_it_names() -> None:
    settings = {"grpo.std": True, "reward.content": 0, "policy.options.layers": 3, "group.by": "random"}
    training = resolve("cpu-demo", settings=settings)
    assert training.grpo.std is True
    assert training.reward.content == 0.0
    assert training.policy.options == {"width": 96, "layers": 3}
    assert training.group.by == "random"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"grpo.betta": 0.1}, "no setting 'grpo.betta'"),
        ({"grpo": 1}, "a group of settings"),
        ({"steps": 1.5}, "steps can't be 1.5"),
        ({"steps": True}, "steps can't be True"),
        ({"grpo.ratio": "word"}, "grpo.ratio can't be 'word'"),
        ({"steps.more": 1}, "no setting 'steps.more'"),
        ({"policy.options": 3}, "needs one name"),
        ({"group.rollouts": 1}, "at least 2"),
        ({"group.rollouts": 5}, "multiple of group.rollouts"),
        ({"grpo.temperature": 0}, "temperature must be above 0"),
        ({"group.smallest": 12}, "group.smallest"),
        ({"reward.no_call_validity": 2.0}, "is a share"),
    ],
)
def test_what_cannot_be_is_refused_with_its_name(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        resolve("cpu-demo", settings=settings)
    assert caught.value.hint


def test_the_rate_rises_at_first_and_falls_to_its_share() -> None:
    options = OptimizerOptions(lr=1.0, warmup=4, decay=0.5)
    assert [options.rate(step, 12) for step in range(4)] == [0.25, 0.5, 0.75, 1.0]
    assert options.rate(4, 12) == 1.0
    assert options.rate(12, 12) == 0.5
    assert OptimizerOptions(lr=2.0).rate(7, 9) == 2.0


def test_an_unknown_preset_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no preset 'cpu'") as caught:
        resolve("cpu")
    assert "cpu-demo" in caught.value.hint


def test_what_only_decides_needs_no_torch() -> None:
    """Presets, rewards, task groups, alarms and worlds serve the command line; torch alone takes seconds to import."""
    modules = (
        "trainer.presets, trainer.rewards, trainer.settings, trainer.alarms, trainer.seeds, trainer.worlds.household"
    )
    code = f"import sys; import {modules}; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-P", "-c", code], check=False).returncode == 0
