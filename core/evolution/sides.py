"""What can be compared: every kept state of an agent, and the files of its benchmarks, then and now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["current", "snapshot", "candidate", "reference", "frozen", "benchmark", "lowest", "archive"]


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison, named; nothing is read before it is opened.

    States of an agent: `current`, `snapshot` (`version`; with `content` the one that holds it), `candidate` and
    `reference` (the state with and before the Candidate `version` of `run_id`), `archive` (a file at `path` that is
    about to be imported). Files of a benchmark: `frozen` (as `run_id` froze them), `benchmark` (as they are now),
    `lowest` (the pilot that `run_id` keeps).
    """

    kind: Kind
    agent_id: str
    version: int = 0
    run_id: str = ""
    content: str = ""
    benchmark_id: str = ""
    path: str = ""
