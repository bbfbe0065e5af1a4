"""Stream runs as processes with files: killed anywhere, resumed, compared with one that was not (K6)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from core.curation import jobs, stream_engine, streams
from core.curation.stream_files import StreamPaths, read_journal
from core.curation.stream_repositories import place_of
from core.curation.stream_spec import StreamSpec, load_spec, read_spec, spec_json
from core.curation.worlds import World
from core.foundation.errors import ConflictError, DamagedError, NotFoundError, UsageError
from core.skillrepo.kept import at
from core.state import readonly
from core.state.paths import ProjectPaths

from .kitchen import Kitchen

pytestmark = pytest.mark.meets("K6")


@pytest.fixture
def project(tmp_path: Path) -> ProjectPaths:
    root = tmp_path / "default"
    root.mkdir()
    return ProjectPaths(root)


def kitchen(spec: StreamSpec, project: ProjectPaths) -> World:
    del project
    return Kitchen(**spec.options)


def walked(project: ProjectPaths, spec: StreamSpec, run_id: str = "run-1") -> StreamPaths:
    paths = streams.prepare(project, spec, run_id=run_id)
    assert stream_engine.run(paths.root, project, kitchen) == 0
    return paths


def places(paths: StreamPaths) -> list[tuple[Any, ...]]:
    """Return every position that stands whole in the journal."""
    lines = [json.loads(line) for line in paths.events.read_text().splitlines() if _is_json(line)]
    return [(line["arm"], line["position"], line["places"]) for line in lines if line["event"] == "position"]


SPEC = StreamSpec("kitchen", arms=("verbatim", "oracle", "shuffled", "prompted", "trained"), seeds=(1, 2))


def test_a_run_leaves_its_numbers_its_report_and_its_repositories(project: ProjectPaths) -> None:
    paths = walked(project, SPEC)
    run = streams.read_run(project, "run-1")
    assert run.state == "finished"
    shares = {arm.name: arm.success_micro for arm in run.summary.arms}
    assert shares == {
        "none": 0.25,
        "verbatim": pytest.approx(shares["verbatim"]),
        "oracle": 1.0,
        "shuffled": 0.0,
        "prompted": None,
        "trained": None,
    }
    assert run.summary.sound is True
    document = json.loads(paths.summary.read_text())
    assert document["arms"]["oracle"]["against"]["difference"] == 0.75
    assert document["facts"]["fingerprint"] == Kitchen().fingerprint
    assert "| oracle" in paths.report.read_text()
    assert "say --model" in paths.report.read_text()
    assert "say --curator" in paths.report.read_text()
    # The repository of a stream opens like any other, at any position of its log.
    kept = place_of(paths, "verbatim", 1)
    journal = read_journal(paths)
    assert len(at(kept).repository) == journal.arms["verbatim"].positions[-1][0].skills > 1
    assert len(at(kept, 1).repository) == 1
    assert not place_of(paths, "oracle", 1).exists()
    assert not paths.episodes.exists()  # a scripted attempt can be had again


def test_the_control_is_measured_even_where_nobody_asks(project: ProjectPaths) -> None:
    walked(project, StreamSpec("kitchen", arms=("oracle",), seeds=(1,), tasks=4))
    run = streams.read_run(project, "run-1")
    assert [arm.name for arm in run.summary.arms] == ["none", "oracle"]
    assert run.spec.arms == ("none", "oracle")


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_a_journal_that_was_torn_anywhere_is_gone_on_with(project: ProjectPaths, share: float) -> None:
    whole = walked(project, SPEC, "whole")
    torn = streams.prepare(project, SPEC, run_id="torn")
    raw = whole.events.read_bytes()
    torn.events.write_bytes(raw[: int(len(raw) * share)])
    assert stream_engine.run(torn.root, project, kitchen) == 0

    # A torn line costs itself; every position is there once, as if nobody had torn anything.
    assert places(torn) == places(whole)
    first, second = (json.loads(paths.summary.read_text()) for paths in (whole, torn))
    for document in (first, second):
        document.pop("damaged")
        for arm in document["arms"].values():
            arm.pop("seconds")
    assert first == second


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def test_a_run_over_other_tasks_than_it_began_with_is_refused(project: ProjectPaths) -> None:
    paths = walked(project, StreamSpec("kitchen", arms=("none",), seeds=(1,), tasks=4))
    text = paths.spec.read_text()
    paths.spec.write_text(text.replace('"tasks": 4', '"tasks": 5'))
    lines = paths.events.read_text().splitlines(keepends=True)
    paths.events.write_text("".join(lines[:3]))
    assert stream_engine.run(paths.root, project, kitchen) == 1
    run = streams.read_run(project, "run-1")
    assert run.state == "failed"
    assert "is not what it was" in run.reason


def test_what_infrastructure_breaks_ends_the_run_which_can_be_resumed(project: ProjectPaths) -> None:
    lost = frozenset(f"test-1-{position}" for position in range(2, 12))
    spec = StreamSpec("kitchen", arms=("none",), seeds=(1,), options={"lose": sorted(lost)})
    paths = streams.prepare(project, spec, run_id="run-1")

    def broken(spec: StreamSpec, project: ProjectPaths) -> World:
        return Kitchen(lose=frozenset(spec.options["lose"]))

    assert stream_engine.run(paths.root, project, broken) == 1
    run = streams.read_run(project, "run-1")
    assert run.state == "failed"
    assert "the line went dead" in run.reason
    none = run.summary.arm("none")
    assert none is not None
    assert none.masked == 3
    assert stream_engine.run(paths.root, project, lambda spec, project: Kitchen()) == 0
    run = streams.read_run(project, "run-1")
    none = run.summary.arm("none")
    assert run.state == "finished"
    assert none is not None
    assert (none.attempts, none.masked) == (9, 3)


def test_a_missing_model_or_executor_is_named(project: ProjectPaths) -> None:
    paths = streams.prepare(project, StreamSpec("kitchen", executor="strong", seeds=(1,)), run_id="a")
    assert stream_engine.run(paths.root, project, kitchen) == 1
    assert "no executor 'strong'" in streams.read_run(project, "a").reason
    paths = streams.prepare(
        project, StreamSpec("kitchen", model="acme/none", arms=("memp",), seeds=(1,), max_tokens=9), run_id="b"
    )
    (project.root / ".project_config.toml").write_text("")
    assert stream_engine.run(paths.root, project, kitchen) == 0
    memp = streams.read_run(project, "b").summary.arm("memp")
    assert memp is not None
    assert memp.state == "not run"
    assert "acme" in memp.reason


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"arms": ("none", "magic")}, "no arm 'magic'"),
        ({"seeds": ()}, "one seed"),
        ({"seeds": (1, 1)}, "each of them once"),
        ({"tasks": 0}, "tasks is 0"),
        ({"min_overlap": 1.5}, "from 0 to 1"),
        ({"temperature": 0.0}, "temperature"),
        ({"executor": "acme/one"}, "acme/one is a real model and the run has no budget"),
        ({"executor": "rehearsal/rehearsal-1", "judge": "acme/two"}, "acme/two is a real model"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_made(
    project: ProjectPaths, change: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        streams.prepare(project, StreamSpec("kitchen", **change), run_id="x")
    assert not project.streams.exists()


def test_a_spec_survives_its_file(project: ProjectPaths) -> None:
    spec = StreamSpec(
        "shop", arms=("oracle",), seeds=(4, 9), tasks=7, order="grouped", family="price", executor="mid",
        min_overlap=0.51, temperature=0.7, options={"size": 3},
    ).checked()  # fmt: skip
    assert read_spec(json.loads(json.dumps(spec_json(spec)))) == spec
    paths = streams.prepare(project, spec, run_id="x")
    assert load_spec(paths.spec) == spec
    with pytest.raises(ConflictError, match="already a run"):
        streams.prepare(project, spec, run_id="x")
    paths.spec.write_text(paths.spec.read_text().replace('"grouped"', '"sorted"'))
    with pytest.raises(DamagedError, match="sorted"):
        load_spec(paths.spec)
    with pytest.raises(NotFoundError):
        streams.read_run(project, "y")
    with pytest.raises(UsageError):
        streams.read_run(project, "../x")


def test_a_home_that_is_opened_read_only_takes_no_run(project: ProjectPaths) -> None:
    with readonly.sealed(project.root), pytest.raises(readonly.ReadOnlyError):
        streams.prepare(project, StreamSpec("kitchen"))


# ----------------------------------------------------------------------------------------------- real processes


def start(project: ProjectPaths, *, seeds: int = 3, run_id: str = "run-1") -> StreamPaths:
    spec = StreamSpec("household", arms=("verbatim", "oracle"), seeds=tuple(range(1, seeds + 1)), tasks=40)
    return streams.prepare(project, spec, run_id=run_id)


def positions(paths: StreamPaths) -> int:
    return paths.events.read_bytes().count(b'"event": "position"') if paths.events.exists() else 0


def ended(project: ProjectPaths, run_id: str) -> streams.StreamRun:
    deadline = time.monotonic() + 120
    while (run := streams.read_run(project, run_id)).pid is not None:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return run


def test_a_run_that_is_killed_goes_on_where_it_was(project: ProjectPaths) -> None:
    paths = start(project)
    streams.launch(paths)
    deadline = time.monotonic() + 120
    while positions(paths) < 45:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    pid = jobs.pid(paths.root)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    run = ended(project, "run-1")
    assert run.state == "dead"
    begun = positions(paths)
    streams.launch(streams.resume(project, "run-1"))
    assert ended(project, "run-1").state == "finished"
    journal = read_journal(paths)
    assert journal.lives == 2
    assert begun < positions(paths) == 120
    assert journal.damaged <= 1
    other = start(project, run_id="run-2")
    environment = {**os.environ, "PYTHONHASHSEED": "123"}
    assert (
        subprocess.run([sys.executable, "-P", "-m", "trainer", "stream", other.root], env=environment).returncode == 0
    )
    # The same run in another process, under another hash seed, that nobody killed: the same, place by place.
    again = read_journal(other)
    for name in ("none", "verbatim", "oracle"):
        assert journal.arms[name].positions == again.arms[name].positions
    with pytest.raises(UsageError, match="finished"):
        streams.resume(project, "run-1")


def test_a_run_stops_at_a_whole_position_and_is_listed(project: ProjectPaths) -> None:
    paths = start(project, seeds=8)
    streams.launch(paths)
    deadline = time.monotonic() + 120
    while positions(paths) < 5:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    with pytest.raises(ConflictError, match="at work"):
        streams.resume(project, "run-1")
    stopped = streams.stop(project, "run-1")
    if stopped.state != "finished":  # it may have been quicker
        assert stopped.state == "stopped"
        assert paths.report.is_file()
    assert [run.id for run in streams.list_runs(project)] == ["run-1"]


def test_the_process_needs_no_torch(project: ProjectPaths) -> None:
    paths = start(project, seeds=1)
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "from trainer.__main__ import main\n"
        f"code = main(['stream', {str(paths.root)!r}])\n"
        "raise SystemExit(code or ('numpy' in sys.modules and 9))"
    )
    assert subprocess.run([sys.executable, "-P", "-c", script]).returncode == 0
