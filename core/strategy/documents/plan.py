"""How skills are combined: the nodes of a plan (STRATEGY S21 to S33).

A node is a leaf (`run` a skill, `call` a strategy, `skip` a skill, `ask` the user, `emit` an event) or holds others
(`sequence`, `parallel`, `switch`, `loop`). Every node may carry a time limit, retries, recovery and a circuit breaker.
In a file a node is a mapping with exactly one of those nine keys; a list stands for a sequence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from core.strategy.documents.model import Id, Milliseconds, Record, SkillName, type_of_list

KINDS = ("run", "call", "skip", "ask", "emit", "sequence", "parallel", "switch", "loop")
MOST_ITERATIONS = 3
"""No loop goes round more often (S29)."""
ANY = "*"
"""The failure code of `recover` that stands for every code without a row of its own."""


class Retry(Record):
    """How often a failed node is tried again, and the pauses before each try (the last one repeats)."""

    max: Annotated[int, Field(ge=0, le=5)] = 0
    backoff_ms: Annotated[tuple[Annotated[int, Field(ge=0, le=60_000)], ...], type_of_list] = (0,)
    jitter: bool = False


class Recovery(Record):
    """What is done about a failure: another node in its place, an estimate's mark, a repeat, or the plan's end.

    `estimated` marks the output of `do` as an estimate, which a merge passes on (S27).
    """

    retry: Annotated[int, Field(ge=0, le=5)] = 0
    do: Node | None = None
    estimated: bool = False
    abort: bool = False

    @model_validator(mode="after")
    def _does_something(self) -> Recovery:
        if not self.retry and self.do is None and not self.abort:
            raise ValueError("a recovery needs one of retry, do, abort")
        if self.do is not None and self.abort:
            raise ValueError("a recovery either does something or aborts")
        return self


class Circuit(Record):
    """A breaker: opens after that many failures within the window, lets one probe through after the pause (S33)."""

    open_after: Annotated[int, Field(ge=1, le=1_000)] = 5
    window_s: Annotated[float, Field(gt=0)] = 60.0
    half_open_s: Annotated[float, Field(gt=0)] = 30.0


class Transaction(Record):
    """Names that are reserved in the session's store before a node runs and freed if it fails (S86).

    `reserve` names a value of which every session gets another; `idempotency_key` is sent to a skill that writes, so
    that a repeat has no second effect (X2). Both may hold `$path` references.
    """

    reserve: str = ""
    idempotency_key: str = ""


class Case(Record):
    """A branch of a switch, `{if: condition, do: node}` or, as the last one, `{else: node}`. The first that is true is
    taken."""

    when: str = Field(default="", alias="if")
    do: Node | None = None
    otherwise: Node | None = Field(default=None, alias="else")

    @model_validator(mode="after")
    def _one_form(self) -> Case:
        if (self.otherwise is None) != (self.do is not None and bool(self.when)):
            raise ValueError("a branch of a switch has `if` and `do`, or `else` alone")
        if self.otherwise is not None and (self.when or self.do is not None):
            raise ValueError("`else` stands alone")
        return self

    @property
    def node(self) -> Node:
        """What is done."""
        node = self.do or self.otherwise
        assert node is not None
        return node


class Loop(Record):
    """A body that is repeated until its condition holds, `max_iterations` times at most (S29)."""

    do: Node
    until: str
    max_iterations: Annotated[int, Field(ge=1, le=MOST_ITERATIONS)]


class Parallel(Record):
    """Branches that run at the same time (S26).

    `join`: "all" fails with the first branch that fails past its recovery; "any" takes the first that succeeds; a
    number is how many must. `merge` is a skill that is given the outputs of all branches that ended, under their `as`
    names, and whose output is the node's. Without it the output is the mapping of those outputs.
    """

    branches: Annotated[tuple[Node, ...], type_of_list, Field(min_length=1, max_length=16)]
    join: Literal["all", "any"] | Annotated[int, Field(ge=1, le=16)] = "all"
    merge: SkillName | None = None


class Ask(Record):
    """A question to the user. The answer is stored under `into`, a path of the context."""

    text: Mapping[str, str] | str
    options: Annotated[tuple[str, ...], type_of_list] = ()
    into: str
    max_asks: Annotated[int, Field(ge=1, le=5)] = 2


class Node(Record):
    """One node of a plan. `line` is where it stands in its file, 0 where it came from nowhere.

    `alias` is the name under which its output is visible to what comes after it. `with_` are the inputs: plain values,
    or `$path` references that are looked up in the context when the node begins.
    """

    run: SkillName | None = None
    call: Id | None = None
    skip: SkillName | None = None
    ask: Ask | None = None
    emit: str | None = None
    sequence: Annotated[tuple[Node, ...], type_of_list] | None = None
    parallel: Parallel | None = None
    switch: Annotated[tuple[Case, ...], type_of_list] | None = None
    loop: Loop | None = None

    alias: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")] | None = Field(default=None, alias="as")
    with_: Mapping[str, Any] = Field(default_factory=dict, alias="with")
    timeout_ms: Milliseconds | None = None
    retry: Retry = Retry()
    recover: Mapping[str, Recovery] = Field(default_factory=dict)
    circuit: Circuit | None = None
    tx: Transaction | None = None
    optional: bool = False
    line: int = Field(default=0, exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _list_is_a_sequence(cls, value: Any) -> Any:
        return {"sequence": value} if isinstance(value, list) else value

    @model_validator(mode="after")
    def _one_kind(self) -> Node:
        found = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(found) != 1:
            told = f"has {' and '.join(found)}" if found else "has none"
            raise ValueError(f"a node has exactly one of {', '.join(KINDS)}; this one {told}")
        if self.with_ and self.kind not in {"run", "call", "emit"}:
            raise ValueError(f"`with` is for run, call and emit, not for {self.kind}")
        if self.switch is not None and any(not case.when for case in self.switch[:-1]):
            raise ValueError("only the last branch of a switch may be an `else`")
        return self

    @property
    def kind(self) -> str:
        """Which of KINDS it is."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def children(self) -> tuple[Node, ...]:
        """The nodes it holds, in order, those of its recovery last."""
        held: list[Node] = [*(self.sequence or ())]
        held += self.parallel.branches if self.parallel else ()
        held += [case.node for case in self.switch or ()]
        held += [self.loop.do] if self.loop else []
        held += [rule.do for rule in self.recover.values() if rule.do is not None]
        return tuple(held)


for _record in (Recovery, Case, Loop, Parallel, Node):
    _record.model_rebuild()
