"""verl's agent loop for a curator: the one module that imports verl (0.9), and only inside its workers.

verl makes an instance for each session, from the file `agent.yaml` that `export-verl` wrote.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import gettempdir
from typing import Any
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput

from core.foundation import strict_json
from core.state.paths import ProjectPaths
from trainer.frozen import executor_of, judge_of
from trainer.settings import training_of
from trainer.verl.session import Generated, Output, ServedPolicy, group_of, walk
from trainer.worlds import open_world


class CuratorAgentLoop(AgentLoopBase):  # type: ignore[misc]  # verl is untyped
    """Walks one rollout of a task group and hands verl |G| outputs with one reward."""

    def __init__(self, *args: Any, training: str, project: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = ProjectPaths(Path(project))  # where a PROVIDER/MODEL is configured
        self.training = training_of(strict_json.parse(training.encode()))

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> list[AgentLoopOutput]:
        """Return the outputs of the session that `row` names; the position loop runs in a thread and asks back here."""
        here = asyncio.get_running_loop()

        def generate(prompt: Sequence[int], temperature: float) -> Generated:
            # verl's own temperature wins: in validation it is another one.
            asked = {"temperature": temperature, **sampling_params}
            return asyncio.run_coroutine_threadsafe(self._ask(list(prompt), asked), here).result()

        made = await asyncio.to_thread(self._walk, generate, row)
        return [_as_verl(output) for output in made]

    def _walk(self, generate: Any, row: dict[str, Any]) -> list[Output]:
        training = self.training
        world = open_world(training.world, **training.world_options)
        policy = ServedPolicy(
            self.tokenizer, generate, max_prompt=training.max_prompt, max_answer=training.max_response
        )
        # Judgements of one worker; each keeps its own, several must not write one file.
        kept = Path(gettempdir()) / f"exuvia-judgements-{os.getpid()}.jsonl"
        return walk(
            training,
            world,
            policy,
            group_of(training, world, row),
            executor=executor_of(training, world, self.project),
            judge=judge_of(training, world, self.project, kept),
            step=int(row["step"]) + 1,
        )

    async def _ask(self, prompt: list[int], sampling_params: dict[str, Any]) -> Generated:
        said = await self.server_manager.generate(
            request_id=uuid4().hex, prompt_ids=prompt, sampling_params=sampling_params
        )
        logprobs = tuple(said.log_probs) if said.log_probs else None
        return Generated(tuple(said.token_ids), logprobs, dict(said.extra_fields or {}))


def _as_verl(output: Output) -> AgentLoopOutput:
    extra = {**output.extra, "turn_scores": [], "tool_rewards": []}
    if output.reward is not None:
        # verl copies both to the session's other outputs and fails where this key is missing.
        extra["reward_extra_info"] = {name: value for name, value in output.terms.items() if value is not None}
    return AgentLoopOutput(
        prompt_ids=list(output.prompt),
        response_ids=list(output.answer),
        response_mask=[1] * len(output.answer),
        response_logprobs=None if output.logprobs is None else list(output.logprobs),
        reward_score=output.reward,
        num_turns=2,
        metrics=AgentLoopMetrics(),
        extra_fields=extra,
    )
