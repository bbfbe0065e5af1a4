"""Training in several processes, started by torchrun: one GPU each, or CPUs (CURATION 3, K15).

    torchrun --nproc-per-node 8 -m trainer run DIRECTORY

Gradients are the only large thing that is exchanged: summed bucket by bucket. Rollouts are small and go as objects.
Control goes over gloo, gradients of a GPU over nccl.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

from core.curation.jobs import JobPaths
from trainer.together import Alone, Item, Together

# A process waits for another that is paused, or measures for long.
PATIENCE = timedelta(days=7)
BUCKET_BYTES = 256 * 2**20


def wanted(environment: dict[str, str] | None = None) -> tuple[int, int]:
    """Return rank and number of processes as torchrun names them; (0, 1) without it."""
    named = os.environ if environment is None else environment
    return int(named.get("RANK", "0")), int(named.get("WORLD_SIZE", "1"))


@contextmanager
def joined() -> Iterator[Together]:
    """Meet the other processes that torchrun started; alone where there are none.

    Each takes the GPU of its local number, where there are GPUs.
    """
    rank, size = wanted()
    if size == 1:
        yield Alone()
        return
    gpus = torch.cuda.is_available()
    if gpus:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    dist.init_process_group("cpu:gloo,cuda:nccl" if gpus else "gloo", timeout=PATIENCE)
    try:
        yield Processes(rank, size)
    finally:
        dist.destroy_process_group()


@dataclass(frozen=True, slots=True)
class Processes:
    """The processes that met, each with all the weights."""

    rank: int
    size: int

    def gather(self, mine: Sequence[Item]) -> list[Item]:
        """Return everybody's items, in the order of the processes."""
        parts: list[list[Item]] = [[] for _ in range(self.size)]
        dist.all_gather_object(parts, list(mine))
        return [item for part in parts for item in part]

    def add_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Sum `.grad` over the processes; one that scored nothing brings zeros."""
        weights = list(parameters)
        for weight in weights:
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)
        for bucket in buckets([weight.grad for weight in weights if weight.grad is not None], BUCKET_BYTES):
            flat = torch.cat([grad.reshape(-1) for grad in bucket])
            dist.all_reduce(flat)
            start = 0
            for grad in bucket:
                grad.copy_(flat[start : start + grad.numel()].view_as(grad))
                start += grad.numel()

    def clip_gradients(self, parameters: Iterable[nn.Parameter], most: float) -> float:
        """Clip; the gradients are everybody's already, so all come to the same norm."""
        return float(nn.utils.clip_grad_norm_(parameters, most))


def buckets(tensors: Sequence[torch.Tensor], most: int) -> list[list[torch.Tensor]]:
    """Return the tensors in order, neighbours of one type together up to `most` bytes; a larger one goes alone."""
    found: list[list[torch.Tensor]] = []
    held = 0
    for tensor in tensors:
        size = tensor.numel() * tensor.element_size()
        if not found or held + size > most or found[-1][0].dtype != tensor.dtype:
            found.append([])
            held = 0
        found[-1].append(tensor)
        held += size
    return found


class Follower:
    """What a process other than the first has instead of `core.curation.jobs.Work`: it goes along, without a lock."""

    stopping = False
    paused = False

    def __init__(self, root: Path) -> None:
        self.job = JobPaths(root)

    def wait_while_paused(self) -> float:
        """Return at once: it waits for the first process at the next exchange."""
        return 0.0
