"""Jobs as real processes: started detached, found, paused, stopped, killed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.agents.isolation import processes
from core.curation import jobs
from core.foundation.errors import ConflictError
from core.state import readonly
from core.state.jsonlines import read_lines

ROOT = Path(__file__).parents[2]


def until(met: Callable[[], object], timeout_s: float = 30.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not met():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Path]:
    root = tmp_path / jobs.new_id("probe")
    root.mkdir()
    yield root
    if (who := processes.recorded(jobs.JobPaths(root).engine)) is not None:
        processes.kill_tree(who, grace_s=0.1)


def begin(job: Path, manner: str = "") -> int:
    environment = {"PYTHONPATH": str(ROOT)}
    return jobs.start(job, ["-m", "tests.curation.job_stand_in", str(job), manner], environment=environment)


def records(job: Path) -> tuple[dict[str, object], ...]:
    return read_lines(jobs.JobPaths(job).events).records


def test_a_job_runs_in_a_session_of_its_own_and_ends_itself_when_it_is_stopped(job: Path) -> None:
    pid = begin(job)
    until(lambda: records(job))
    assert jobs.alive(job)
    assert jobs.pid(job) == pid
    assert os.getsid(pid) == pid != os.getsid(0)
    assert jobs.JobPaths(job).heartbeat.exists()
    assert jobs.stop(job)
    assert not jobs.alive(job)
    assert records(job)[-1] == {"left": True}


def test_only_one_process_works_on_a_job(job: Path) -> None:
    begin(job)
    until(lambda: records(job))
    with pytest.raises(ConflictError, match="at work already"):
        begin(job)
    with pytest.raises(ConflictError, match="being worked on"), jobs.at_work(job):
        pass


def test_a_job_waits_while_it_is_told_to_pause_and_goes_on_after(job: Path) -> None:
    jobs.order(job, "pause")
    begin(job)
    until(jobs.JobPaths(job).heartbeat.exists)
    time.sleep(0.3)
    assert records(job) == ()
    jobs.order(job, "run")
    until(lambda: records(job))


def test_a_paused_job_can_be_stopped(job: Path) -> None:
    jobs.order(job, "pause")
    begin(job)
    until(jobs.JobPaths(job).heartbeat.exists)
    assert jobs.stop(job, grace_s=10)
    assert records(job)[-1] == {"left": True}


def test_a_job_that_does_not_listen_is_killed_after_the_grace(job: Path) -> None:
    begin(job, "deaf")
    until(lambda: records(job))
    assert not jobs.stop(job, grace_s=0.3)
    assert not jobs.alive(job)
    assert {"left": True} not in records(job)


def test_a_killed_job_leaves_nothing_that_bars_the_next_one(job: Path) -> None:
    os.kill(begin(job), 9)
    until(lambda: not jobs.alive(job))
    begin(job)
    until(lambda: records(job))
    assert jobs.stop(job)


def test_the_last_words_of_a_job_that_failed_are_found(job: Path) -> None:
    begin(job, "faulty")
    until(lambda: jobs.last_words(job))
    assert jobs.last_words(job) == "nothing to work with"
    until(lambda: not jobs.alive(job))


def test_a_read_only_home_starts_and_stops_nothing(job: Path) -> None:
    begin(job)
    until(lambda: records(job))
    with readonly.sealed(job):
        for act in (lambda: begin(job), lambda: jobs.stop(job), lambda: jobs.order(job, "pause")):
            with pytest.raises(readonly.ReadOnlyError):
                act()
    assert jobs.alive(job)


def test_ids_sort_by_their_moment_whatever_their_kind() -> None:
    ids = ["zeta-20260101-100000-aaaa", "alpha-beta-20260103-100000-aaaa", "m-20260102-100000-bbbb"]
    assert sorted(ids, key=jobs.by_time) == [ids[0], ids[2], ids[1]]
