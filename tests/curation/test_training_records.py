"""Records of a training run: read strictly, hurt lines shown, unknown never zero."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.curation import training_records as records
from core.curation.training_records import Checkpoint, End, Evaluation, TrainingStep
from core.curation.training_run import History, TrainingRun, fold, state_of

STEP: dict[str, Any] = {
    "time": "2026-01-01T10:00:00.000Z", "event": "step", "step": 3, "steps": 60,
    "reward": {"total": 1.5, "task": 0.5, "calls": 0.9, "content": None, "compression": -0.2},
    "spread": {"total": 0.1, "task": 0.1, "calls": 0.0, "content": None, "compression": 0.05},
    "advantage": {"min": -0.4, "max": 0.3, "std": 0.12}, "zero_variance_groups": 0.25, "entropy": 0.8,
    "clip_fraction": 0.02, "gradient_norm": 0.7, "loss": -0.01, "kl": None, "lr": 4e-4,
    "ops": {"insert": 30, "update": 10, "delete": 0, "other": 0}, "valid_calls": 0.9,
    "positions": {"expected": 320, "measured": 318}, "masked": 2, "judge_unmeasured": 1, "success": 0.5,
    "steps_mean": 20.5, "repo_skills": 4.5, "repo_tokens": 800.0, "tokens": {"prompt": 900, "answer": 300},
    "tokens_per_s": 1500.0, "seconds": {"total": 2.0, "generate": 1.0}, "headings": {"workflow": 4},
    "meta_share": 0.2, "coverage": 0.6, "skills_per_example": 1.5,
    "device": {"kind": "cpu", "utilisation": None, "memory_bytes": None, "cpu_percent": 180.0, "rss_bytes": 10},
}  # fmt: skip


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in STEP.items() if key != name}


def step(number: int, **changes: Any) -> TrainingStep:
    record = records.record_of({**STEP, "step": number, **changes})
    assert isinstance(record, TrainingStep)
    return record


@pytest.mark.meets("K17")
def test_a_step_is_read_whole() -> None:
    found = step(3)
    assert found.reward.of("total") == 1.5
    assert found.reward.content is None  # not measured is not 0
    assert found.operations.share("insert") == 0.75
    assert (found.positions_expected, found.positions_measured) == (320, 318)
    assert found.advantage == (-0.4, 0.3, 0.12)
    assert found.device.cpu_percent == 180.0


@pytest.mark.meets("K17")
@pytest.mark.parametrize("name", [name for name in STEP if name not in {"time", "event", "step", "steps"}])
def test_a_measure_that_is_missing_is_unknown_and_never_zero(name: str) -> None:
    found = records.record_of(without(name))
    assert isinstance(found, TrainingStep)
    if name in {"entropy", "loss", "success", "valid_calls", "masked", "coverage"}:
        assert getattr(found, name) is None
    if name == "ops":
        assert found.operations.share("insert") is None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"entropy": True}, "entropy: True is not a number"),
        ({"valid_calls": 3}, "valid_calls: 3 is not a share"),
        ({"reward": [1]}, r"reward: \[1\] is not an object"),
        ({"reward": {"total": "x"}}, "reward.total: 'x' is not a number"),
        ({"positions": {"expected": -1}}, "positions.expected: -1 is not a whole number"),
        ({"step": None}, "step: None is not a whole number"),
        ({"time": 5}, "time: 5 is not a text"),
    ],
)
def test_a_measure_that_cannot_be_is_refused_by_its_name(change: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        records.record_of({**STEP, **change})


def test_hurt_lines_are_gaps_unknown_events_are_skipped_and_a_torn_tail_waits(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    lines = [json.dumps(STEP), '{"time": "t", "event": "step", "step": "x"}', '{"event": "news", "time": "t"}', "\0\0{"]
    path.write_text("\n".join(lines) + "\n" + '{"time": "t", "event": "pau')
    found = records.read(path)
    assert [type(record) for record in found.records] == [TrainingStep]
    assert len(found.gaps) == 2
    assert found.skipped == 1
    with path.open("a") as file:
        file.write('se"}\n')
    later = records.read(path, start=found.end)
    assert [type(record) for record in later.records] == [records.Paused]
    assert not later.gaps


def test_what_no_reader_could_read_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "run" / "events.jsonl"
    with pytest.raises(ValueError, match="share"):
        records.write(path, "checkpoint", step=1, path="p", sha256="s", heldout=45.0)
    assert not path.exists()
    records.write(path, "checkpoint", step=1, path="p", sha256="s", heldout=0.45)
    assert isinstance(records.read(path).records[0], Checkpoint)


def test_steps_done_again_after_a_kill_replace_those_of_the_killed_process() -> None:
    first = fold(History(), [step(1), step(2), step(3, entropy=0.9), records.Resumed("t", 2), step(3, entropy=0.1)])
    assert [s.step for s in first.steps] == [1, 2, 3]
    assert first.steps[-1].entropy == 0.1
    again = fold(first, [step(2)])
    assert [s.step for s in again.steps] == [1, 2]


def test_what_lies_beyond_the_checkpoint_that_a_new_process_goes_on_from_counts_no_more() -> None:
    kept, lost = Checkpoint("t", 10, "a", "s", 0.5), Checkpoint("t", 20, "b", "s", 0.9)
    alarm = records.Alarm("t", 18, "unmeasured", "x")
    before = fold(History(), [step(9), kept, step(18), alarm, lost, step(21)])
    after = fold(before, [records.Resumed("t", 10)])
    assert ([s.step for s in after.steps], after.checkpoints, after.alarms) == ([9], (kept,), ())
    assert fold(before, [records.Resumed("t", None)]).checkpoints == (kept, lost)  # after a pause nothing is lost


def test_the_best_checkpoint_is_the_best_on_heldout_tasks_and_not_the_last() -> None:
    kept = [Checkpoint("t", 10, "a", "s", 0.6), Checkpoint("t", 20, "b", "s", 0.7), Checkpoint("t", 30, "c", "s", None)]
    run = TrainingRun("r", "finished", history=History(checkpoints=tuple(kept)))
    assert run.best is kept[1]
    unmeasured = TrainingRun("r", "finished", history=History(checkpoints=(kept[2],)))
    assert unmeasured.best is kept[2]


def test_the_time_left_follows_the_pace_and_is_unknown_where_nothing_is() -> None:
    run = TrainingRun("r", "running", history=History(steps=(step(10), step(11))))
    assert run.seconds_left == 2.0 * 49
    assert TrainingRun("r", "running").seconds_left is None
    assert TrainingRun("r", "running", history=History(steps=(step(1, seconds={}),))).seconds_left is None


def test_the_state_is_told_by_records_and_process_together() -> None:
    begun = fold(History(), [records.Start("t", {}, 1, "cpu")])
    ended = fold(begun, [End("2026-01-01T10:00:00.000Z", "stopped", "asked", None)])
    moment = 1767261600.0  # the same instant
    assert state_of(History(), None) == "dead"
    assert state_of(History(), moment) == "starting"
    assert state_of(begun, moment) == "running"
    assert state_of(begun, None) == "dead"
    assert state_of(fold(begun, [records.Paused("t")]), moment) == "paused"
    assert state_of(ended, None) == "stopped"
    assert state_of(ended, moment - 5) == "stopped"  # its process is on its way out
    assert state_of(ended, moment + 5) == "starting"  # a new one has not spoken yet
    assert state_of(fold(ended, [records.Resumed("t", 3)]), moment + 5) == "running"


def test_a_later_evaluation_of_an_arm_replaces_an_earlier_one_of_the_same_step() -> None:
    def evaluation(at: int, success: float) -> Evaluation:
        line = {"time": "t", "event": "evaluation", "step": at, "arm": "trained", "stream": "mixed"}
        found = records.record_of({**line, "success_micro": success})
        assert isinstance(found, Evaluation)
        return found

    history = fold(History(), [evaluation(0, 0.4), evaluation(60, 0.6), evaluation(60, 0.7)])
    assert [e.success_micro for e in history.evaluations] == [0.4, 0.7]
    run = TrainingRun("r", "finished", history=history)
    found = run.heldout("trained")
    assert found is not None
    assert found.success_micro == 0.7
    assert run.heldout("none") is None
