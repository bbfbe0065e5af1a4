"""Handing a run over to verl: configuration by golden file, and the agent loop with a stand-in for verl (K20)."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from core.curation.content_judge import RuleJudge
from core.curation.executors import ScriptedExecutor
from core.foundation.errors import ConflictError, UsageError
from trainer.commands.export_verl import main
from trainer.policies.policy import Policy
from trainer.presets import PRESETS, resolve
from trainer.rewards import reward, totals
from trainer.rollout import Roller
from trainer.settings import Training, training_of
from trainer.task_groups import rollouts_of, task_groups
from trainer.verl.config import Machines, export, nested, overrides, rows_of
from trainer.verl.session import Generated, ServedPolicy, group_of, walk
from trainer.worlds import open_world

from .small_models import small_policy

pytestmark = pytest.mark.meets("K20")
FIXTURES = Path(__file__).parents[1] / "fixtures" / "verl"
PLACE = {"model": "/models/Qwen3-8B", "data": "/shared/run", "agent": "/shared/run/agent.yaml"}


def keys_of(preset: str, **settings: Any) -> dict[str, Any]:
    return overrides(resolve(preset, seed=7, settings=settings), Machines(nodes=2), **PLACE)


@pytest.mark.parametrize("preset", ["alfworld-table4", "webshop-table4", "reasoning-table4", "qwen3-8b-lora-1gpu"])
def test_the_configuration_is_the_golden_one(preset: str) -> None:
    golden = json.loads((FIXTURES / f"{preset}.json").read_text())
    assert keys_of(preset) == golden


@pytest.mark.parametrize("preset", [name for name, one in PRESETS.items() if one.settings.get("policy.kind") == "hf"])
def test_verl_knows_every_key(preset: str) -> None:
    """The list was made by composing verl 0.9.1's own ppo_trainer.yaml."""
    known = set((FIXTURES / "keys-0.9.1.txt").read_text().split())
    assert set(keys_of(preset)) <= known


def test_batches_are_counted_as_verl_counts_them() -> None:
    keys = keys_of("alfworld-table4")
    groups, rollouts, size = 4, 8, 10
    assert keys["data.train_batch_size"] == groups  # prompts, not rollouts
    mini = keys["actor_rollout_ref.actor.ppo_mini_batch_size"]
    rows = groups * rollouts * size
    assert rows / (mini * keys["actor_rollout_ref.rollout.n"]) == 2  # optimizer steps a batch, as in our own loop
    # verl refuses a mini batch larger than the batch of prompts unless batches are dynamic.
    assert mini > groups
    assert keys["actor_rollout_ref.actor.use_dynamic_bsz"] is True


def test_advantages_have_no_std_and_the_kl_term_is_in_the_loss() -> None:
    keys = keys_of("alfworld-table4")
    assert keys["algorithm.adv_estimator"] == "grpo"
    assert keys["algorithm.norm_adv_by_std_in_grpo"] is False
    assert keys["algorithm.use_kl_in_reward"] is False
    assert (keys["actor_rollout_ref.actor.use_kl_loss"], keys["actor_rollout_ref.actor.kl_loss_coef"]) == (True, 0.001)
    assert keys_of("alfworld-table4", **{"grpo.beta": 0.0})["actor_rollout_ref.actor.use_kl_loss"] is False


def test_a_ratio_that_verl_has_not_is_refused() -> None:
    with pytest.raises(UsageError, match="one ratio a token"):
        keys_of("alfworld-table4", **{"grpo.ratio": "sequence"})


def test_rows_name_every_group_of_every_step_once() -> None:
    training = resolve("alfworld-table4", settings={"steps": 3})
    rows = rows_of(training)
    assert [(row["step"], row["group"]) for row in rows] == [(step, group) for step in range(3) for group in range(4)]
    assert [row["extra_info"]["index"] for row in rows] == list(range(12))


def test_the_command_writes_the_folder_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "run"
    argv = [str(target), "--preset", "alfworld-table4", "--model", "/m", "--seed", "3", "--set", "steps=2"]
    assert main([*argv, "--json"]) == 0
    written = [Path(file).name for file in json.loads(capsys.readouterr().out)["files"]]
    assert written == ["config.yaml", "agent.yaml", "groups.jsonl", "run.sh", "README.md"]
    assert (target / "run.sh").stat().st_mode & 0o111
    assert len((target / "groups.jsonl").read_text().splitlines()) == 8
    import yaml

    document = yaml.safe_load((target / "config.yaml").read_text())
    assert document.pop("hydra") == {"searchpath": ["pkg://verl.trainer.config"]}
    assert document.pop("defaults") == ["ppo_trainer", "_self_"]
    training = resolve("alfworld-table4", seed=3, settings={"steps": 2})
    paths = {"data": str(target), "agent": f"{target}/agent.yaml"}
    assert document == nested(overrides(training, Machines(), model="/m", **paths))
    (agent,) = yaml.safe_load((target / "agent.yaml").read_text())
    assert training_of(json.loads(agent["training"])) == training
    assert main(argv) == 1
    assert "not empty" in capsys.readouterr().err
    with pytest.raises(ConflictError):
        export(training, target, Machines(), model="/m")


def test_an_unknown_preset_is_said_with_the_known_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "x"), "--preset", "nothing", "--model", "/m"]) == 2
    assert "alfworld-table4" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--nodes", "0"], "0 nodes can't be"),
        (["--gpus", "-1"], "-1 GPUs can't be"),
        (["--tensor-parallel", "0"], "0 tensor parallel can't be"),
        (["--tensor-parallel", "3"], "8 GPUs can't be shared out in groups of 3"),
        (["--gpu-memory", "nan"], "can't have nan of a GPU's memory"),
        (["--gpu-memory", "1e400"], "can't have inf"),
        (["--gpu-memory", "2"], "can't have 2"),
        (["--model", ""], "no name of a model"),
        (["--model", "a\nb: c"], "no name of a model"),
        (["--model", "m\udcff"], "no name of a model"),
    ],
    ids=str,
)
def test_what_can_not_be_run_is_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], words: str
) -> None:
    target = tmp_path / "run"
    assert main([str(target), "--preset", "alfworld-table4", "--model", "/m", *more]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert len(said.splitlines()) == 2  # and the way out
    assert not target.exists()


@pytest.mark.parametrize("place", ["file", "file/below", "link", "full"])
def test_a_place_that_can_not_be_a_new_folder_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "run.sh").write_text("mine")
    assert main([str(tmp_path / place), "--preset", "alfworld-table4", "--model", "/m"]) == 1
    assert str(tmp_path / place) in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == (tmp_path / "full" / "run.sh").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


# The agent loop -------------------------------------------------------------------------------------------------


def small_training(**settings: Any) -> Training:
    small = {"group.batch": 4, "group.rollouts": 2, "group.smallest": 3, "group.largest": 3, "max_response": 24}
    return resolve("qwen3-tiny-ci", seed=5, settings={**small, **settings})


def served_by(policy: Any, seeds: Any) -> Any:
    """Return a server that answers as `policy` does with the next of `seeds`."""

    def generate(prompt: Any, temperature: float) -> Generated:
        (answer,) = policy.generate([list(prompt)], temperature=temperature, seeds=[next(seeds)])
        return Generated(answer.ids, answer.logprobs)

    return generate


def test_a_session_earns_what_the_same_rollout_earns_in_our_own_loop() -> None:
    training = small_training()
    policy = small_policy(max_prompt=training.max_prompt, max_answer=24)
    world = open_world("household")
    executor = ScriptedExecutor("weak")
    groups = task_groups(world, training.group, seed=training.seed, step=1)
    ours: Policy = policy  # the protocol fits
    judge = RuleJudge(world)
    roller = Roller(world, executor, training.retrieval, ours, judge)
    rollouts = roller.roll(rollouts_of(groups, 2), seed=training.seed, purpose="step-2")
    from trainer.seeds import derive

    for rollout in rollouts:
        group, number = rollout.stream.group, rollout.stream.rollout
        seeds = iter([derive(training.seed, "step-2", group, number, position) for position in range(3)])
        served = ServedPolicy(policy.tokenizer, served_by(policy, seeds), max_prompt=training.max_prompt, max_answer=24)
        row = {"step": 1, "group": group, "session_id": number}
        stream = group_of(training, world, row)
        assert stream.tasks == rollout.stream.tasks
        made = walk(training, world, served, stream, executor=executor, judge=judge, step=2)
        positions = [turn.reward_position("environment") for turn in rollout.turns]
        (wanted,) = totals([reward(positions, training.reward)], training.reward)
        assert [(output.prompt, output.answer) for output in made] == [
            (turn.prompt, turn.answer.ids) for turn in rollout.turns if turn.answer is not None
        ]
        assert [output.reward for output in made] == [None, None, wanted]
        assert made[-1].terms["positions"] == 3


def test_a_session_whose_reward_is_unknown_has_no_output() -> None:
    training = small_training()
    world = open_world("household")

    class Lost:
        name = "lost"

        def run(self, world: Any, given: Any) -> Any:
            from core.curation.worlds import Episode

            return [Episode(task, None, 0, (), failure="the server is gone") for task, _ in given]

    served = ServedPolicy(small_policy().tokenizer, None, max_prompt=512, max_answer=8)  # type: ignore[arg-type]  # never asked
    stream = group_of(training, world, {"step": 0, "group": 0})
    assert walk(training, world, served, stream, executor=Lost(), judge=None, step=1) == []


class StandIn(BaseModel):
    """verl 0.9.1's AgentLoopOutput, as far as a loop fills it in."""

    prompt_ids: list[int]
    response_ids: list[int]
    response_mask: list[int]
    response_logprobs: list[float] | None = None
    reward_score: float | None = None
    num_turns: int = 0
    metrics: Any
    extra_fields: dict[str, Any] = {}


class StandInBase:
    def __init__(self, *, server_manager: Any, tokenizer: Any, **_: Any) -> None:
        self.server_manager, self.tokenizer = server_manager, tokenizer


@pytest.fixture
def loop_class(monkeypatch: pytest.MonkeyPatch) -> Any:
    module = ModuleType("verl.experimental.agent_loop.agent_loop")
    module.AgentLoopBase = StandInBase  # type: ignore[attr-defined]  # a stand-in
    module.AgentLoopOutput = StandIn  # type: ignore[attr-defined]
    module.AgentLoopMetrics = SimpleNamespace  # type: ignore[attr-defined]
    for name in ("verl", "verl.experimental", "verl.experimental.agent_loop"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.delitem(sys.modules, "trainer.verl.agent_loop", raising=False)
    yield importlib.import_module("trainer.verl.agent_loop").CuratorAgentLoop
    sys.modules.pop("trainer.verl.agent_loop", None)


def test_the_agent_loop_hands_verl_one_output_a_position_and_one_reward(loop_class: Any) -> None:
    policy = small_policy()
    asked: list[dict[str, Any]] = []

    class Server:
        async def generate(self, *, request_id: str, prompt_ids: list[int], sampling_params: dict[str, Any]) -> Any:
            asked.append(sampling_params)
            ids = policy.encode("nothing to keep")
            return SimpleNamespace(token_ids=ids, log_probs=[-1.0] * len(ids), extra_fields={"min_global_steps": 4})

    training = small_training()
    from core.foundation.strict_json import dumps
    from trainer.settings import table

    loop = loop_class(
        server_manager=Server(),
        tokenizer=policy.tokenizer,
        training=dumps(table(training)),
        project="/p",
        name="exuvia_curator",
    )
    row = {"step": 0, "group": 1, "session_id": 1, "raw_prompt": [], "index": 1, "uid": "u"}
    outputs = asyncio.run(loop.run({"temperature": 0.25, "top_p": 1.0}, **row))
    assert len(outputs) == 3
    for output in outputs:
        assert output.response_mask == [1] * len(output.response_ids)
        assert output.response_logprobs == [-1.0] * len(output.response_ids)
        assert output.extra_fields["min_global_steps"] == 4
    # verl copies these two from the last output to the others, and looks the second up without a default.
    assert [output.reward_score is None for output in outputs] == [True, True, False]
    assert "task" in outputs[-1].extra_fields["reward_extra_info"]
    assert all(params["temperature"] == 0.25 for params in asked)


def test_nothing_but_the_agent_loop_imports_verl() -> None:
    for path in sorted((Path(__file__).parents[2] / "trainer").rglob("*.py")):
        imports = [line for line in path.read_text().splitlines() if line.startswith(("import verl", "from verl"))]
        assert not imports or path.name == "agent_loop.py", path
