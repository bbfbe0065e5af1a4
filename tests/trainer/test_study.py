"""Studies: cells that are run once, and contrasts that claim what their seeds bear and no more (K14)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.foundation import strict_json
from core.foundation.errors import UsageError
from tests.trainer.small import SMALL
from trainer.commands import ablate, arms
from trainer.study import Cell, CellError, contrasts, paired_t, plus_minus, run_cell, table_lines


@pytest.mark.meets("K14")
def test_a_difference_that_the_spread_does_not_bear_is_not_claimed() -> None:
    full = [0.70, 0.75, 0.66, 0.81, 0.72]
    noisy = [0.66, 0.78, 0.60, 0.80, 0.71]
    clear = [0.50, 0.56, 0.45, 0.60, 0.53]
    found = {one.arm: one for one in contrasts(full, {"-content": noisy, "-grouping": clear})}
    assert not found["-content"].separates
    assert found["-grouping"].separates
    assert found["-grouping"].difference == pytest.approx(-0.2)
    detectable, interval = found["-content"].detectable, found["-grouping"].interval
    assert detectable is not None
    assert interval is not None
    assert detectable > abs(found["-content"].difference)
    low, high = interval
    assert low < -0.2 < high < 0


@pytest.mark.meets("K14")
def test_a_paired_t_by_hand() -> None:
    # mean 2, sd 1, n 3: t = 2 / (1 / sqrt 3) = 3.4641, two degrees of freedom: p = 0.07418
    assert paired_t([1.0, 2.0, 3.0]) == pytest.approx(0.07418, abs=1e-5)
    assert paired_t([0.5]) is None
    assert paired_t([0.0, 0.0]) == 1.0
    # Seeds that agree by chance are no certainty (FAULTS: statistics, no width for free): 2 / 2^n, rounding or not.
    assert paired_t([0.05, 0.05]) == 0.5
    assert paired_t([0.3 - 0.1, 0.2, 0.1 + 0.1]) == 0.25


@pytest.mark.meets("K14")
def test_more_arms_need_stronger_evidence() -> None:
    full = [0.70, 0.75, 0.66, 0.81, 0.72]
    other = [value - gap for value, gap in zip(full, [0.02, 0.06, 0.05, 0.01, 0.03], strict=True)]
    (alone,) = contrasts(full, {"a": other})
    first, *_ = contrasts(full, dict.fromkeys("abcd", other))
    assert alone.separates
    assert not first.separates


def summary(sr: float, update: float = 0.8) -> dict[str, Any]:
    arm = {"sr": sr, "steps": 20.0}
    return {
        "heldout": {"none": {"sr": 0.42}, "base": {"sr": 0.5}, "trained": arm},
        "grouped": {"trained": {"sr": sr + 0.05}},
        "ops": {"update": {"last": update}},
    }


@pytest.mark.meets("K14")
def test_the_ablation_table_says_what_does_not_separate() -> None:
    report = {
        "full": [summary(0.7), summary(0.75), summary(0.66), summary(0.8), summary(0.72)],
        "-grouping": [summary(0.71), summary(0.7), summary(0.69), summary(0.78), summary(0.74)],
    }
    document = {"preset": "cpu-demo", "seeds": [1, 2, 3, 4, 5], **ablate.told(report)}
    text = "\n".join(ablate.lines(document))
    assert "doesn't separate" in text
    assert "72.6 ± 5.3" in text
    assert "nothing is claimed" in text
    assert strict_json.parse(strict_json.dumps(document)) == document


@pytest.mark.meets("K14")
def test_every_ablation_of_the_paper_is_an_arm() -> None:
    assert {"full", "-content", "-compression", "-grouping", "+std"} == set(ablate.ARMS)
    assert ablate.FEWEST == 5
    done = subprocess.run(
        [sys.executable, "-P", "-m", "trainer", "ablate", "--seeds", "2"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "5 seeds or more" in done.stderr


def test_a_finished_cell_is_not_run_again(tmp_path: Path) -> None:
    cell = Cell("full", 3, {"steps": 2})
    place = tmp_path / "full-seed-3"
    place.mkdir()
    asked = {"preset": "cpu-demo", "seed": 3, "settings": {"steps": 2}}
    (place / "request.json").write_text(strict_json.dumps(asked))
    (place / "summary.json").write_text('{"done": true}')
    assert run_cell(tmp_path, "cpu-demo", cell) == {"done": True}
    with pytest.raises(UsageError, match="other settings"):
        run_cell(tmp_path, "cpu-demo", Cell("full", 3, {"steps": 4}))


def test_a_cell_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(CellError, match="no world 'nowhere'"):
        run_cell(tmp_path, "cpu-demo", Cell("full", 1, {"world": "nowhere"}))


@pytest.mark.meets("K6", "K14")
def test_arms_by_executors_is_a_table_and_goes_on_where_it_was(tmp_path: Path) -> None:
    given = [f"--set={key}={strict_json.dumps(value)}" for key, value in SMALL.items()]
    command = [sys.executable, "-P", "-m", "trainer", "arms", "--seeds", "2", "--into", str(tmp_path), *given]
    first = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert first.returncode == 0, first.stderr
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    again = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=120, check=False)
    document = strict_json.parse(again.stdout)
    assert [path for path, when in kept.items() if path.stat().st_mtime_ns != when] == [tmp_path / "arms.json"]
    assert set(document["arms"]) == {"none", "base", "trained", "oracle"}
    for by_executor in document["arms"].values():
        assert list(by_executor) == ["weak", "mid", "strong"]
        for values in by_executor.values():
            assert len(values["sr"]) == len(values["steps"]) == 2
    assert "Not run: memp" in first.stdout
    assert "trained with the executor 'weak' only" in first.stdout
    none = document["arms"]["none"]
    assert sum(none["weak"]["sr"]) < sum(none["strong"]["sr"])


def test_scores_are_shown_where_a_world_grades() -> None:
    cell = {"sr": [0.5, 0.6], "steps": [10.0, 12.0], "score": [0.7, 0.8]}
    document = {
        "world": "shop",
        "seeds": [1, 2],
        "trained_with": "weak",
        "executors": ["weak"],
        "not_run": {},
        "arms": {"none": {"weak": cell}},
    }
    assert "55.0 ± 7.1 (11.0 ± 1.4), score 75.0 ± 7.1" in "\n".join(arms.lines(document))


def test_valid_calls_are_told_by_seed_and_what_is_not_measured_is_no_zero() -> None:
    summaries: list[dict[str, Any]] = [
        {
            "heldout": {"none": {"valid_calls": None}, "base": {"valid_calls": 0.5}, "trained": {"valid_calls": 0.9}},
            "grouped": {"base": {"valid_calls": 0.25}, "trained": {"valid_calls": 0.75}},
        },
        {"heldout": {"none": {}, "base": {}, "trained": {}}, "grouped": {}},  # of before it was measured
    ]
    found = arms.valid_calls(summaries)
    assert found["grouped"] == {"base": [0.25, None], "trained": [0.75, None]}
    document = {
        "world": "household",
        "seeds": [11, 12],
        "trained_with": "weak",
        "executors": [],
        "not_run": {},
        "valid_calls": found,
        "arms": {},
    }
    text = "\n".join(arms.lines(document))
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if "1" in line and "|" in line
    ]
    assert ["grouped", "11", "25.0", "75.0", "+50.0"] in rows
    assert ["mixed", "11", "50.0", "90.0", "+40.0"] in rows
    assert ["mixed", "12", "-", "-", "-"] in rows


def test_means_and_tables() -> None:
    assert plus_minus([0.5, None]) == "50.0"
    assert plus_minus([None]) == "-"
    assert table_lines(("a", "bb"), [("ccc", "d")]) == ["| a   | bb |", "|-----|----|", "| ccc | d  |"]
