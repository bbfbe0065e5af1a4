"""What a run has spent, from the traces of its own Sessions (EVOLUTION 2.6 no. 68): known, and how much is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from core.evolution.events import Event, EventName
from core.evolution.specs import RunBudgets
from core.foundation.errors import NotFoundError
from core.models.interface import ModelEntry
from core.state.paths import ProjectPaths
from core.traces.cost import Cost, PerMillion, usage_cost
from core.traces.digest import digest
from core.traces.session_trace import SessionTrace


@dataclass(frozen=True, slots=True)
class Spent:
    """USD and tokens known so far, requests of unknown cost, seconds of work."""

    usd: float = 0.0
    unknown_requests: int = 0
    tokens: int = 0
    seconds: float = 0.0


def sessions(events: Iterable[Event], agent_id: str) -> Mapping[str, str]:
    """Return every Session that a run started, with the agent whose trace it is."""
    found: dict[str, str] = {}
    for event in events:
        if event["event"] == EventName.SESSION:
            found[event["session_id"]] = event.get("agent_id") or agent_id
        elif event["event"] == EventName.TARGET_STARTED:
            found[event["session_id"]] = agent_id
    return found


def spent(project: ProjectPaths, started: Mapping[str, str], entry: ModelEntry, seconds: float) -> Spent:
    """Add up the traces of Sessions; one that left no trace made no request that we could know of."""
    prices: dict[tuple[str, str], PerMillion | None] = {(entry.ref.provider, entry.ref.model_id): entry.price}
    cost, tokens = Cost(), 0
    for session_id, agent_id in started.items():
        try:
            with SessionTrace(project.agent(agent_id), session_id, index=False) as trace:
                told = digest(trace.iter_records())
        except NotFoundError:
            continue
        cost += usage_cost(told.usage, prices)
        tokens += sum(part.tokens.total for part in told.usage)
    return Spent(round(cost.known_usd, 6), cost.unknown_requests, tokens, round(seconds, 1))


def granted(events: Iterable[Event]) -> Spent:
    """Return what was spent when the operator last resumed a run whose budgets were used up; nothing where never."""
    last = Spent()
    for event in events:
        if event["event"] == EventName.GRANTED:
            last = Spent(event["usd"], event.get("unknown_requests", 0), event["tokens"], event["seconds"])
    return last


def since(so_far: Spent, before: Spent) -> Spent:
    """Return what was spent after `before`."""
    return Spent(
        max(so_far.usd - before.usd, 0.0),
        max(so_far.unknown_requests - before.unknown_requests, 0),
        max(so_far.tokens - before.tokens, 0),
        max(so_far.seconds - before.seconds, 0.0),
    )


def over(budgets: RunBudgets, so_far: Spent) -> str | None:
    """Return which budget of a run is used up, or None. Unknown costs make the known sum a lower bound."""
    if budgets.cost_usd is not None and so_far.usd >= budgets.cost_usd:
        return f"The run's money budget is used: {so_far.usd:.4f} of {budgets.cost_usd:.4f} USD."
    if budgets.tokens is not None and so_far.tokens >= budgets.tokens:
        return f"The run's token budget is used: {so_far.tokens} of {budgets.tokens}."
    if budgets.wall_s is not None and so_far.seconds >= budgets.wall_s:
        return f"The run's time budget is used: {so_far.seconds:.0f} of {budgets.wall_s:.0f} s."
    return None
