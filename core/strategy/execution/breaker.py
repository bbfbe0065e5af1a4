"""Circuit breakers: a node that failed often is left alone for a while, then one probe is let through (S33, S7)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from core.strategy.documents.plan import Circuit

State = Literal["closed", "open", "half_open"]


@dataclass(slots=True)
class _Breaker:
    failures: deque[float] = field(default_factory=deque)
    opened: float | None = None
    probing: bool = False


class Breakers:
    """The breakers of one process, by name. Times are a clock's milliseconds.

    Invariant: while a breaker is open no call is let through; after its pause exactly one is, until that one ended.
    """

    def __init__(self) -> None:
        self._all: dict[str, _Breaker] = {}

    def admit(self, name: str, circuit: Circuit, now_ms: float) -> State:
        """Return "open" where a call must not be made; "half_open" makes the caller the probe."""
        breaker = self._all.setdefault(name, _Breaker())
        if breaker.opened is None:
            return "closed"
        if breaker.probing or now_ms - breaker.opened < circuit.half_open_s * 1000:
            return "open"
        breaker.probing = True
        return "half_open"

    def note(self, name: str, circuit: Circuit, now_ms: float, *, ok: bool) -> bool:
        """Tell how an admitted call ended. Return whether the breaker opened by it."""
        breaker = self._all.setdefault(name, _Breaker())
        if ok:
            self._all[name] = _Breaker()
            return False
        breaker.failures.append(now_ms)
        while breaker.failures and now_ms - breaker.failures[0] > circuit.window_s * 1000:
            breaker.failures.popleft()
        if breaker.probing or len(breaker.failures) >= circuit.open_after:
            breaker.opened, breaker.probing = now_ms, False
            return True
        return False

    def forget_probe(self, name: str) -> None:
        """A probe was cancelled and says nothing: the next call may be one."""
        if name in self._all:
            self._all[name].probing = False

    def copy(self) -> Breakers:
        """Return breakers in the same states, of their own."""
        other = Breakers()
        for name, one in self._all.items():
            other._all[name] = _Breaker(deque(one.failures), one.opened, one.probing)
        return other
