"""What a plan sees: the session's values at that moment, and the outputs of its own nodes by name (S28, S16)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from core.strategy.execution.paths import MISSING, look, with_value
from core.strategy.execution.session import SessionState

Sees = Literal["session", "strategy", "none"]
"""What a strategy sees that is called: the session's values, the caller's names too, or nothing but its inputs (S7)."""


class Scope:
    """The names of one plan, over those of the plan or branch that it stands in.

    Invariant: a branch sees nothing of its siblings until they are joined: its names and writes are its own, and
    `join` brings them out in the order of the branches, so that time decides nothing (S91).
    """

    def __init__(
        self, session: SessionState, outer: Scope | None = None, *, branch: bool = False, sees: Sees = "strategy"
    ) -> None:
        self.session = session
        self.names: dict[str, Any] = {}
        self._outer = outer
        self._branch = branch
        self._sees = sees
        self._writes: list[tuple[str, Any]] = []

    def look(self, path: str) -> Any:
        """Return the value at a path, MISSING where there is none."""
        return self.at_once()(path)

    def at_once(self) -> Callable[[str], Any]:
        """Return a `look` for several names at this moment: the store is read once for all of them."""
        held = None if self._bare else self.session.values()

        def look_up(path: str) -> Any:
            head, _, rest = path.partition(".")
            value = self._named(head)
            if value is not MISSING:
                return look(value, rest) if rest else value
            return MISSING if held is None else look(self._written(head, held), path)

        return look_up

    def name(self, name: str, value: Any) -> None:
        """Make an output visible to what comes after it."""
        self.names[name] = value

    def write(self, changes: Mapping[str, Any], *, expected: int | None = None) -> None:
        """Set values of the context; inside a branch they wait until it is joined. Raises ConflictError."""
        if self._holder is not None:
            self._holder._writes += changes.items()
        elif changes:
            values = {f"values.{path}": value for path, value in changes.items()}
            self.session.store.write(self.session.id, values, expected=expected)

    def branch(self) -> Scope:
        """Return a scope for one branch."""
        return Scope(self.session, self, branch=True)

    def join(self, branch: Scope) -> None:
        """Bring out what a branch named and wrote."""
        self.names |= branch.names
        self.write(dict(branch._writes))

    @property
    def waits(self) -> bool:
        """Whether writes wait for a join."""
        return self._holder is not None

    @property
    def _holder(self) -> Scope | None:
        scope: Scope | None = self
        while scope is not None and not scope._branch:
            scope = scope._outer
        return scope

    def _named(self, head: str) -> Any:
        scope: Scope | None = self
        while scope is not None:
            if head in scope.names:
                return scope.names[head]
            scope = scope._outer if scope._sees == "strategy" else None
        return MISSING

    @property
    def _bare(self) -> bool:
        scope: Scope | None = self
        while scope is not None and scope._sees == "strategy":
            scope = scope._outer
        return scope is not None and scope._sees == "none"

    def _written(self, head: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the session's values with what waits to be written under `head`."""
        chain: list[Scope] = []
        scope: Scope | None = self
        while scope is not None:
            chain.append(scope)
            scope = scope._outer
        for one in reversed(chain):
            for path, value in one._writes:
                if path.partition(".")[0] == head:
                    values = with_value(values, path, value)
        return values
