"""The runs of a Project, folded again only where their journal changed; every other store stands on these."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from core.evolution.run_paths import run_paths
from core.evolution.run_view import ENDED, RunView
from core.foundation.errors import ExuviaError
from core.state.paths import DEFAULT_AGENT, OPERATOR_AGENT, ProjectPaths

if TYPE_CHECKING:
    from core.evolution.observed_project import Observer

LIVE = frozenset({"running", "waiting"})
_MOMENT = re.compile(r"-([0-9]{8}-[0-9]{6}-[0-9a-f]{4})$")
"""When it began, in the id of a run or a training run: local time."""
_OBSERVE_S = 0.25
"""What reading the traces of other programs may take of a load; the next load goes on."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What the console looks at: an agent and one of its benchmarks ("" where it has none)."""

    agent_id: str
    benchmark_id: str


class Runs:
    """Runs with a journal, and those of other programs as far as their traces tell (`observed`).

    Invariant: `views` is oldest first and as old as the latest `read`; `has_news` says whether that read found an
    observed run otherwise than the one before.
    """

    def __init__(self, project: ProjectPaths) -> None:
        self.project = project
        self.has_news = False
        self._observed: tuple[RunView, ...] = ()
        self.views: tuple[RunView, ...] = ()
        self.damaged: tuple[str, ...] = ()
        self._known: dict[str, tuple[tuple[int, int, bool], RunView]] = {}

    @cached_property
    def observer(self) -> Observer:
        """What tells of other programs' runs."""
        from core.evolution.observed_project import Observer  # after the first paint

        return Observer(self.project, read_s=_OBSERVE_S)

    @property
    def is_behind(self) -> bool:
        """Whether another read would know more of what other programs do."""
        return self.observer.is_behind

    def read(self) -> tuple[RunView, ...]:
        """Read what changed since last time. A run that cannot be read is named in `damaged`."""
        found: list[RunView] = []
        damaged: list[str] = []
        try:
            names = sorted(entry.name for entry in self.project.runs.iterdir() if entry.is_dir())
        except FileNotFoundError:
            names = []
        except OSError as error:
            names = []
            damaged.append(f"runs: {error}")
        for name in sorted(names, key=lambda name: name.partition("-")[2] + name):
            try:
                found.append(self._one(name))
            except (ExuviaError, OSError) as error:
                damaged.append(f"run {name}: {error}")
        self.views = self._with_observed(found)
        self.damaged = (*damaged, *self.observer.unreadable)
        return self.views

    def _with_observed(self, found: list[RunView]) -> tuple[RunView, ...]:
        """Put the runs that no journal tells of among those of ours, by when they began."""
        from core.evolution.observed_project import told_sessions  # after the first paint

        observed = self.observer.read(told_sessions(found))
        self.has_news, self._observed = observed != self._observed, observed
        for view in observed:
            after = next((place for place, other in enumerate(found) if other.started > view.started), len(found))
            found.insert(after, view)
        return tuple(found)

    def _one(self, name: str) -> RunView:
        from core.evolution import runs  # after the first paint

        run = run_paths(self.project, name)
        try:
            status = run.journal.stat()
            stamp = (status.st_size, status.st_mtime_ns)
        except FileNotFoundError:
            stamp = (-1, -1)
        known = self._known.get(name)
        # An ended run stays ended until its journal grows, so its engine need not be looked for.
        if known is not None and known[0][:2] == stamp and known[1].state in ENDED:
            return known[1]
        mark = (*stamp, runs.is_alive(run))
        if known is not None and known[0] == mark:
            return known[1]
        view = runs.read_run(self.project, name)
        self._known[name] = (mark, view)
        return view

    @property
    def live(self) -> tuple[RunView, ...]:
        """Runs whose engine lives, oldest first."""
        return tuple(view for view in self.views if view.state in LIVE)

    def of(self, subject: Subject) -> tuple[RunView, ...]:
        """Return the runs about `subject`, oldest first."""
        return tuple(
            view
            for view in self.views
            if view.agent_id == subject.agent_id and view.benchmark_id in ("", subject.benchmark_id)
        )


def subjects(project: ProjectPaths, views: tuple[RunView, ...]) -> tuple[Subject, ...]:
    """Return everything there is to look at: each agent with each of its benchmarks, also ones being built."""
    found = {Subject(view.agent_id, view.benchmark_id): None for view in reversed(views)}
    for agent_id in project.agent_ids():
        benchmarks = project.agent(agent_id).benchmark_ids()
        if not benchmarks and (agent_id == OPERATOR_AGENT or any(s.agent_id == agent_id for s in found)):
            continue
        found.update({Subject(agent_id, name): None for name in benchmarks or ("",)})
    return tuple(found)


def trained_last(project: ProjectPaths, views: tuple[RunView, ...]) -> bool:
    """Tell whether the newest training run began after every run about an agent, and none of those is at work.

    Reads names only. A run of another program, whose id tells no moment, counts as newer.
    """
    if any(view.state in LIVE for view in views):
        return False
    try:
        with os.scandir(project.training) as entries:
            trained = [found[1] for entry in entries if (found := _MOMENT.search(entry.name))]
    except OSError:
        return False
    moments = [_MOMENT.search(view.run_id) for view in views]
    return bool(trained) and all(moment is not None and moment[1] < max(trained) for moment in moments)


def choose(project: ProjectPaths, views: tuple[RunView, ...]) -> Subject | None:
    """Return what to look at unasked: the newest living run's, else the newest run's, else the newest scoreboard's."""
    for view in (*(v for v in reversed(views) if v.state in LIVE), *reversed(views)):
        return Subject(view.agent_id, view.benchmark_id)
    listed = subjects(project, views)
    if not listed:
        return None

    def age(subject: Subject) -> tuple[bool, float]:
        own = subject.agent_id != DEFAULT_AGENT  # the default agent's benchmark is the example
        if not subject.benchmark_id:
            return own, 0.0
        try:
            board = project.agent(subject.agent_id).benchmark(subject.benchmark_id).scoreboard
            return own, board.stat().st_mtime
        except OSError:
            return own, 0.0

    return max(listed, key=age)
