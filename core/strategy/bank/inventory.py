"""What a bank holds, by domain: counts by state, the owner, when the next review is due (STRATEGY S77)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from core.strategy.bank.bank import Entry
from core.strategy.bank.journal import Journal
from core.strategy.bank.states import State, moment
from core.strategy.documents.release import Band, BankSettings

_QUARTER = timedelta(days=91)


@dataclass(frozen=True, slots=True)
class Domain:
    """A group of strategies. `owner` is "" and `due` None where bank.yaml doesn't know it: then nobody answers for it.

    `due` is the moment at which the next review is due; with no review yet, that is now (`overdue`).
    """

    name: str
    owner: str
    count: int
    states: Mapping[State, int]
    reviewed: datetime | None
    due: datetime | None
    overdue: bool


@dataclass(frozen=True, slots=True)
class Inventory:
    """All domains by name. `retired` counts the strategies that were archived within 91 days, `retired_share` is
    their share of all that there were, None of an empty bank."""

    domains: tuple[Domain, ...]
    strategies: int
    faulty: int
    retired: int
    retired_share: float | None


def inventory(entries: Iterable[Entry], journal: Journal, settings: BankSettings, now: datetime) -> Inventory:
    """Return what the bank holds at `now`. Pure."""
    alive: dict[str, list[Entry]] = {name: [] for name in settings.domains}
    retired = faulty = 0
    for one in entries:
        faulty += bool(one.faults)
        if one.state == "archived" and (one.authored is None or one.published):
            retired += any(moment(version.since) > now - _QUARTER for version in one.versions)
            continue
        alive.setdefault(one.domain, []).append(one)
    domains = tuple(
        _domain(name, held, settings.domains.get(name), journal.reviewed.get(name), now)
        for name, held in sorted(alive.items())
    )
    count = sum(domain.count for domain in domains)
    share = retired / (count + retired) if count + retired else None
    return Inventory(domains, count, faulty, retired, share)


def _domain(name: str, held: list[Entry], band: Band | None, reviewed: str | None, now: datetime) -> Domain:
    states = Counter(one.state for one in held)
    if band is None:
        return Domain(name, "", len(held), states, _last("", reviewed), None, overdue=False)
    last = _last(band.reviewed, reviewed)
    due = now if last is None else last + timedelta(days=band.review_days)
    return Domain(name, band.owner, len(held), states, last, due, overdue=due <= now)


def _last(written: str, told: str | None) -> datetime | None:
    """Return the later of the review in bank.yaml and the one in the journal, None for neither or for no time."""
    found = []
    for text in (written, told):
        try:
            found.append(moment(text or ""))
        except ValueError:
            continue  # check_bank tells a `reviewed` that is no time
    return max(found, default=None)
