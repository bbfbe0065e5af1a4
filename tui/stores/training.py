"""The training runs of a Project, each record read once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from core.foundation.errors import ExuviaError
from core.state.paths import ProjectPaths
from tui.stores.views import TrainingView

if TYPE_CHECKING:
    from core.curation.training import Reader
    from core.curation.training_run import TrainingRun

Stamp = tuple[tuple[int, int, int], ...]


class TrainingStore:
    """Invariant: a run whose files are as they were, and that no process works on, is not read again."""

    def __init__(self, project: ProjectPaths) -> None:
        self.project = project
        self._readers: dict[str, Reader] = {}
        self._over: dict[str, tuple[Stamp, TrainingRun]] = {}
        self._live: tuple[str, ...] = ()

    def load(self) -> TrainingView:
        """Read what is new."""
        from core.curation import promotion, training
        from core.curation.jobs import by_time

        runs: list[TrainingRun] = []
        for name in sorted(training.names(self.project), key=by_time, reverse=True):
            try:
                runs.append(self._run(name))
            except (ExuviaError, OSError):
                continue  # no run of ours, or a hurt one: `exuvia train show` says what is wrong with it
        view = TrainingView(tuple(runs))
        self._live = tuple(run.id for run in view.live)
        try:
            return TrainingView(view.runs, promotion.in_use(self.project))
        except ExuviaError as error:
            return TrainingView(view.runs, None, str(error))

    def signs(self) -> tuple[object, ...]:
        """Return what differs where anything shown may differ: a stat a live run, and whether its process lives."""
        from core.curation import jobs

        found: list[object] = [_stamp(self.project.training), _stamp(self.project.curator)]
        for name in self._live:
            root = self.project.training / name
            found += [jobs.alive(root), *(_stamp(path) for path in _files(root))]
        return tuple(found)

    def _run(self, name: str) -> TrainingRun:
        from core.curation.training import Reader
        from core.curation.training_run import OVER

        root = self.project.training / name
        stamp = tuple(_stamp(path) for path in _files(root))
        if name in self._over and self._over[name][0] == stamp:
            return self._over[name][1]
        if name not in self._readers:
            self._readers[name] = Reader(self.project, name)
        run = self._readers[name].read()
        if run.state in OVER and run.pid is None:
            self._over[name] = (stamp, run)
        else:
            self._over.pop(name, None)
        return run


def _files(root: os.PathLike[str]) -> list[str]:
    return [os.path.join(root, name) for name in ("events.jsonl", "engine.pid", "spec.json", "control", "summary.json")]  # noqa: PTH118  # asked twice a second


def _stamp(path: str | os.PathLike[str]) -> tuple[int, int, int]:
    try:
        status = os.stat(path)  # noqa: PTH116  # as above
    except OSError:
        return (0, 0, 0)
    return (status.st_ino, status.st_size, status.st_mtime_ns)
