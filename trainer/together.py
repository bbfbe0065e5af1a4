"""Several processes that train one policy, as the loop sees them; `Alone` is one (trainer.distributed has the others).

Every process runs the same loop on the same random numbers. What is shared is work: each walks rollouts of its own and
scores answers of its own, then all know all rollouts and have the sum of all gradients. So a run in two processes is
the run in one, but for rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from torch import nn

Item = TypeVar("Item")


class Together(Protocol):
    """The processes of a run; `rank` is this one's number below `size`."""

    @property
    def rank(self) -> int: ...

    @property
    def size(self) -> int: ...

    def gather(self, mine: Sequence[Item]) -> list[Item]:
        """Return everybody's items, in the order of the processes."""
        ...

    def add_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Put the sum of their gradients in everybody's `.grad`."""
        ...

    def clip_gradients(self, parameters: Iterable[nn.Parameter], most: float) -> float:
        """Scale the gradients down to the norm `most` where theirs is larger; return the norm before."""
        ...


class Alone:
    """One process."""

    rank, size = 0, 1

    def gather(self, mine: Sequence[Item]) -> list[Item]:
        return list(mine)

    def add_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        del parameters

    def clip_gradients(self, parameters: Iterable[nn.Parameter], most: float) -> float:
        return float(nn.utils.clip_grad_norm_(parameters, most))


def share(items: Sequence[Item], together: Together) -> list[Item]:
    """Return this process's part of a list that every process has, so that `gather` of the parts is the list.

    Neighbours stay together: of four groups with eight rollouts each, two processes walk two whole groups each.
    """
    count = len(items)
    return list(items[count * together.rank // together.size : count * (together.rank + 1) // together.size])
