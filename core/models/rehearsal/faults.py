"""Faults on purpose: what goes wrong between a real model and its harness, at a given rate, reproducibly.

Whether a fault happens depends on the seed, the cell and how often that cell came to this point in the provider's
life. At a rate below 1 a fault never strikes the same cell twice in a row, so bounded repair gets through; at 1 it
always strikes.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter

from core.models.interface import ProviderError, Request, Text, ToolCall
from core.models.rehearsal.options import RehearsalOptions
from core.models.rehearsal.transcript import Reply, Transcript, draw, fields

RETRY_AFTER_S = 0.05
_CELL_FIELDS = ("test_agent_id", "benchmark_id", "case_id", "expected_version", "run")


class Faults:
    """Strikes by rate. Invariant: the counters say how often each (fault, seed, cell) was drawn, and only grow."""

    def __init__(self, options: RehearsalOptions) -> None:
        self._options = options
        self._drawn: Counter[tuple[str, int, str]] = Counter()
        self._counting = threading.Lock()  # a served model is asked by several threads

    async def before(self, role: str, request: Request, seed: int) -> None:
        """Delay or fail the request where a fault is due. Raises ProviderError."""
        if not self._options.faults:
            return
        cell = _cell(role, request)
        if self._strikes("http_429", seed, cell):
            raise ProviderError("429 Too Many Requests (a fault on purpose)", retry_after_s=RETRY_AFTER_S)
        if role != "evaluator":
            return
        names = [step.name for step in Transcript.of(request).steps]
        if "launch_target" not in names:
            if self._strikes("slow", seed, cell):
                await asyncio.sleep(self._options.slow_s)
            if self._strikes("crash_before_launch", seed, cell):
                raise ProviderError("The Evaluator crashed before the launch (a fault on purpose)", permanent=True)
        elif names[-1] == "launch_target" and self._strikes("crash_after_target", seed, cell):
            raise ProviderError("The Evaluator crashed after its Target (a fault on purpose)", permanent=True)

    def spoil(self, role: str, request: Request, seed: int, reply: Reply) -> Reply:
        """Return an Evaluator's reply as a careless model would send it: fenced, or with a word before it."""
        if role != "evaluator" or not self._options.faults or not reply:
            return reply
        cell = _cell(role, request)
        first = reply[0]
        if isinstance(first, ToolCall):
            # A word beside a call counts: the caller reads everything that was written in the turn.
            if first.name == "launch_target" and self._strikes("narration", seed, cell):
                return (Text("assistant", "Starting the agent now.\n"), *reply)
            return reply
        if isinstance(first, Text) and self._strikes("fenced", seed, cell):
            return (Text("assistant", f"```yaml\n{first.text}```\n"), *reply[1:])
        return reply

    def _strikes(self, fault: str, seed: int, cell: str) -> bool:
        rate = self._options.faults.get(fault, 0.0)
        if rate <= 0:
            return False
        key = (fault, seed, cell)
        with self._counting:
            self._drawn[key] += 1
            nth = self._drawn[key]
        return _due(rate, key, nth)


def _due(rate: float, key: tuple[str, int, str], nth: int) -> bool:
    if rate >= 1:
        return True
    struck = False
    for occurrence in range(1, nth + 1):
        struck = not struck and draw(*key, occurrence) < rate
    return struck


def _cell(role: str, request: Request) -> str:
    if role != "evaluator":
        return role
    asked = fields(Transcript.of(request).first_user)
    return "/".join(asked.get(name, ["?"])[0] for name in _CELL_FIELDS)
