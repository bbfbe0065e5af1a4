"""What ran before: the memory that conditions ask about (STRATEGY S13, S122)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Past:
    """One execution of a skill. `turn` counts from 1; `code` is the failure's, empty where there was none."""

    turn: int
    skill: str
    ok: bool
    code: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """Executions of a session, and the turn that is under way.

    "The last n turns" are the n turns before this one: what has run within this turn is told by events and results.
    `stability` is the session's score between 0 and 1, None where too little is known.
    """

    past: tuple[Past, ...] = ()
    turn: int = 1
    stability: float | None = None

    def last(self, turns: int) -> tuple[Past, ...]:
        """Return the executions of the last `turns` turns."""
        return tuple(one for one in self.past if self.turn - turns <= one.turn < self.turn)

    def successes(self, turns: int) -> int:
        """Count those that succeeded."""
        return sum(one.ok for one in self.last(turns))

    def failures(self, turns: int) -> int:
        """Count those that failed."""
        return sum(not one.ok for one in self.last(turns))

    def calls(self, skill: str, turns: int) -> int:
        """Count those of one skill, however they ended."""
        return sum(one.skill == skill for one in self.last(turns))
