"""What a run may take before it is started: Sessions, tokens, money, time. The command line and the form say the same.

Money and tokens stand on a Session of ordinary length (core.agents.estimate); time stands on how long cells took here
with the same model, where any did. What is not known is said to be unknown, never 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from core.foundation.clock import parse_ms
from core.foundation.errors import UsageError

if TYPE_CHECKING:
    from core.evolution.run_view import RunView
    from core.models.interface import ModelEntry
    from core.state.paths import ProjectPaths

REHEARSAL = "rehearsal"
CALLS_A_CELL = 2  # a Target's Session and its Evaluator's
CASES_OF_A_BUILD = 8  # what a Builder plans at most unless it is told otherwise
_SPREAD = 2.0  # runs differ by about this factor either way in time


@dataclass(frozen=True, slots=True)
class Expected:
    """What a run may take: at most so many Sessions; USD from `low` to `high`, seconds likewise, None where unknown."""

    sessions: int
    tokens: int
    low: float | None
    high: float | None
    rehearsal: bool
    seconds: tuple[float, float] | None = None

    def words(self) -> str:
        """Return it as people read it."""
        time = "" if self.seconds is None else f", {_span(self.seconds[0])} to {_span(self.seconds[1])}"
        if self.rehearsal:
            return f"up to {self.sessions} sessions by the rehearsal model{time}; it costs nothing"
        usd = "unknown (no price configured)" if self.low is None else f"${self.low:.2f} to ${self.high:.2f}"
        return f"up to {self.sessions} sessions, about {self.tokens:,} tokens, cost {usd}{time}"


def chosen_model(project: ProjectPaths, model: str | None) -> tuple[dict[str, str], ModelEntry]:
    """Return the pair that `model` ("PROVIDER/ID") names, or the project's default, with what is configured of it.

    Raises UsageError for half a pair, NotFoundError for one that nobody configured.
    """
    from core.models.registry import resolve
    from core.state.project import read_project

    if model is not None:
        provider, slash, model_id = model.partition("/")
        if not slash or not provider or not model_id:
            raise UsageError(f"{model!r} is half a model.", hint="Name the pair: --model PROVIDER/ID")
    else:
        default = read_project(project).default_model
        provider, model_id = (REHEARSAL, "rehearsal-1") if default is None else (default.provider, default.model_id)
    _, entry = resolve(project, provider, model_id)
    return {"provider": provider, "model_id": model_id}, entry


def build_cells(pilots: int, cases: int | None = None) -> int:
    """Return how many cells a Builder's pilots fill at most."""
    return pilots * (cases or CASES_OF_A_BUILD)


def sessions_of(cells: int, *, role: bool) -> int:
    """Return how many Sessions `cells` take, with the `role`'s own where one leads the run."""
    return cells * CALLS_A_CELL + (1 if role else 0)


def expected(sessions: int, entry: ModelEntry, *, concurrency: int = 1, cell_s: float | None = None) -> Expected:
    """Return what a run of at most `sessions` may take; `cell_s` is how long a cell takes here, None: unknown."""
    from core.agents.estimate import estimate

    likely = estimate(sessions, entry)
    seconds = None
    if cell_s is not None:
        whole = cell_s * (sessions // CALLS_A_CELL) / max(1, concurrency)
        seconds = (whole / _SPREAD, whole * _SPREAD)
    return Expected(sessions, likely.tokens, likely.usd_low, likely.usd_high, entry.ref.provider == REHEARSAL, seconds)


def needs_budget(provider: str, budgets: Mapping[str, Any]) -> bool:
    """Tell whether a run must not start like this: by a real model, without a limit of money or tokens."""
    return provider != REHEARSAL and budgets.get("cost_usd") is None and budgets.get("tokens") is None


def cell_seconds(views: Iterable[RunView], provider: str, model_id: str) -> float | None:
    """Return how many seconds of one worker a cell took in runs by the same model; None where none tells.

    Runs that only measure tell best: what a Builder waits for a person is in its time too.
    """
    measured: list[float] = []
    built: list[float] = []
    for view in views:
        model = view.spec.get("model")
        began, ended = (
            parse_ms(view.started) if view.started else None,
            parse_ms(view.updated) if view.updated else None,
        )
        cells = sum(cell.state == "scored" for cell in view.cells)
        if not isinstance(model, Mapping) or began is None or ended is None or not cells or view.state != "finished":
            continue
        if ended <= began:  # the clock was set back meanwhile: nobody knows how long it took
            continue
        if (model.get("provider"), model.get("model_id")) == (provider, model_id):
            workers = view.spec.get("concurrency", 1)
            each = (ended - began) / 1000 * (workers if isinstance(workers, int) else 1) / cells
            (built if view.kind == "build" else measured).append(each)
    return median(measured or built) if measured or built else None


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
