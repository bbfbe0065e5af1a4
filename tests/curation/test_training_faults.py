"""Odd or many events of a training run or a stream: read in pieces, never quadratic, no path leads out of the run."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from typing import Any

import pytest

from core.curation import promotion, training, training_thinning
from core.curation.stream_files import StreamPaths, read_journal
from core.foundation.errors import ExuviaError
from core.state.paths import ProjectPaths
from tests.curation.training_files import TrainingFiles

RUN = "odd-20260101-000000-aaaa"


def written(project: ProjectPaths, *lines: dict[str, Any]) -> Path:
    root = project.training / RUN
    root.mkdir(parents=True)
    (root / "request.json").write_text("{}")
    text = "".join(json.dumps({"time": "2026-01-01T00:00:00.000Z", **line}) + "\n" for line in lines)
    (root / "events.jsonl").write_text(text)
    return root


def step(number: int, **more: Any) -> dict[str, Any]:
    return {"event": "step", "step": number, "steps": 9, "reward": {"total": 0.5}, **more}


@pytest.mark.parametrize("path", ["/etc", "../../..", "a\0b", "\ud800", "", "x" * 5_000, "\x1b[2J", "checkpoints"])
def test_a_checkpoint_whose_path_is_none_is_refused(tmp_path: Path, path: str) -> None:
    # FAULTS: path traversal. `events.jsonl` may come from anybody who handed the run over.
    project = ProjectPaths(tmp_path)
    written(project, {"event": "checkpoint", "step": 1, "path": path, "sha256": "sha256:0"})
    with pytest.raises(ExuviaError) as caught:
        promotion.propose(project, RUN)
    assert caught.value.hint


def test_pieces_are_read_as_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = ProjectPaths(tmp_path)
    lines = [step(number, headings={"Tips": number}) for number in range(1, 40)]
    root = written(project, *lines, {"event": "resume", "step": 30}, *lines[30:])
    with (root / "events.jsonl").open("ab") as file:
        file.write(b'not json\n\xff\n[1]\n{"event": "step", "step": true}\n{"event": "st')
    whole = training.read_run(project, RUN)
    assert len(whole.history.steps) == 39
    assert whole.damaged_lines == 4
    for piece in (1, 100, 1_000):
        monkeypatch.setattr(training, "_PIECE", piece)
        again = training.read_run(project, RUN)
        assert (again.history, again.damaged_lines) == (whole.history, whole.damaged_lines)


def test_a_count_that_no_counter_reaches_is_none(tmp_path: Path) -> None:
    project = ProjectPaths(tmp_path)
    written(project, step(10**300), step(1, masked=10**30), step(2, seconds={"total": 1.0}))
    run = training.read_run(project, RUN)
    assert [one.step for one in run.history.steps] == [2]
    assert run.damaged_lines == 2
    assert run.seconds_left is None  # nobody works on it


def test_thousands_of_measurements_are_read_at_once(tmp_path: Path) -> None:
    # FAULTS: O(N) parse. Each took as long as all before it: minutes for what takes a moment.
    project = ProjectPaths(tmp_path)
    arms = ("base", "trained")
    lines = [{"event": "evaluation", "step": n // 2, "arm": arms[n % 2], "stream": "mixed"} for n in range(12_000)]
    written(project, *lines, *lines[-4:])
    began = time.process_time()
    assert len(training.read_run(project, RUN).history.evaluations) == 12_000
    assert time.process_time() - began < 5


@pytest.mark.parametrize("odd", [[[]], [{"a": 1}], ["x"], [True], [1.5], [-1], [None], {}, 3])
@pytest.mark.parametrize("key", ["seeds", "lengths"])
def test_facts_of_a_stream_are_numbers_or_a_damaged_line(tmp_path: Path, key: str, odd: object) -> None:
    texts = dict.fromkeys(("world", "fingerprint", "executor", "judge", "content_judge", "tasks_hash"), "x")
    facts = {**texts, "max_steps": 3, "seeds": [1], "lengths": [2], key: odd}
    paths = StreamPaths(tmp_path)
    paths.events.write_text(json.dumps({"time": "", "event": "start", "facts": facts}) + "\n")
    journal = read_journal(paths)
    assert (journal.facts, journal.damaged) == (None, 1)


def test_a_very_long_run_is_read_in_part_and_what_matters_of_it_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = ProjectPaths(tmp_path)
    files = TrainingFiles(project, RUN, steps=4000)
    files.begin()
    for step in range(1, 4001):
        files.event("imitation", step, step=400 + step, steps=4400, loss=0.5, seconds=1.0)
        if step % 1000 == 0:
            files.event("alarm", step, step=step, kind="insert_collapse", text=f"alarm {step}")
            files.arm("trained", step, 0.5, 20.0, 3.0)
            files.checkpoint(step, 0.5)
    whole = training.read_run(project, RUN)
    assert whole.passed_lines == 0
    size = files.job.events.stat().st_size
    monkeypatch.setattr(training_thinning, "WHOLE", size // 2)
    monkeypatch.setattr(training_thinning, "_PARSED", size // 10)
    monkeypatch.setattr(training_thinning, "_EDGE", 4096)
    reader = training.Reader(project, RUN)
    run = reader.read()
    steps = [one.step for one in run.history.imitation]
    assert 380 < len(steps) < 520
    assert len(steps) + run.passed_lines == len(whole.history.imitation)
    assert steps[:5] == [one.step for one in whole.history.imitation[:5]]  # both ends as they are
    assert steps[-5:] == [4396, 4397, 4398, 4399, 4400]
    assert max(later - one for one, later in itertools.pairwise(steps[4:])) <= 11  # evenly between
    for name in ("alarms", "evaluations", "checkpoints"):
        assert getattr(run.history, name) == getattr(whole.history, name)
    files.event("imitation", 9, step=4401, steps=4401, loss=0.5, seconds=1.0)
    with files.job.events.open("a") as file:
        file.write("{\n")
    again = reader.read()
    assert again.history.imitation[-1].step == 4401  # what comes later is read
    assert (again.passed_lines, again.damaged_lines) == (run.passed_lines, 1)
