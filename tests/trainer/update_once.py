"""One GRPO update of a small language model, alone and in two processes; a program of test_distributed.

The processes are forks of this one, with the environment that torchrun would give them: what a model needs is imported
once.
"""

from __future__ import annotations

import os
import socket
import sys
import traceback
from dataclasses import astuple

import torch

from tests.trainer.small_models import curation, flat, small_policy
from trainer.distributed import joined
from trainer.grpo import Sample, update
from trainer.settings import GrpoOptions


def update_to(path: str) -> None:
    """Update once and write report and weights to `path`."""
    policy = small_policy(max_answer=12)
    prompts = [tuple(policy.prompt(curation(number))) for number in (0, 0, 1)]
    answers = policy.generate(prompts, temperature=1.0, seeds=range(3))
    samples = [
        Sample(prompt, answer.ids, answer.logprobs, gain)
        for prompt, answer, gain in zip(prompts, answers, (0.5, -0.25, -0.25), strict=True)
    ]
    before = flat(policy)
    policy.keep_reference()
    optimizer = torch.optim.SGD(policy.parameters(), 0.5)  # AdamW makes a step of rounding where a gradient is zero
    with joined() as together:
        report = update(policy, optimizer, samples, GrpoOptions(beta=0.001, minibatches=2), together=together)
        if together.rank == 0:
            told = [float(value) for value in astuple(report) if value is not None]
            torch.save({"report": told, "weights": flat(policy), "before": before}, path)


def in_processes(count: int, path: str) -> None:
    """Update in so many processes that meet over loopback. Raises ChildProcessError where one of them fails."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    children = []
    for rank in range(count):
        child = os.fork()
        if child == 0:
            named = {"RANK": rank, "WORLD_SIZE": count, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
            os.environ.update({name: str(value) for name, value in named.items()})
            try:
                update_to(path)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        children.append(child)
    ended = [os.waitpid(child, 0)[1] for child in children]
    if any(ended):
        raise ChildProcessError(f"of {count} processes one failed: {ended}")


if __name__ == "__main__":
    in_processes(1, sys.argv[1])
    in_processes(2, sys.argv[2])
