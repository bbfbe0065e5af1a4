"""Is what the rehearsal learned real? Take it away, spoil it, dress the work up otherwise, bring new work."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import pytest

from core.evolution.leaks import shared_run, texts_of
from core.models.rehearsal.lesson_library import Lesson, lessons
from tests.rehearsal.rewriting import dressed, permute_columns
from tests.rehearsal.workbench import State, cases, naive, open_cases, oracle, score, work

BY_ID = {lesson.id: lesson for lesson in lessons()}
SKILL_OF = ("tidy-records", "read-logs", "move-settings", "tidy-records", "archive-once", "letters-to-table")
PLACES = pytest.mark.parametrize("place", range(6), ids=[case.name for case in open_cases()])


def without(state: State, name: str) -> State:
    return State(state.agents_md, tuple(pair for pair in state.skills if pair[0] != name), state.max_turns)


def spoiled(state: State, name: str) -> State:
    """Return the state with one word of the skill's scripts turned into another."""
    skills = tuple(
        (skill, text.replace("python3 -", "python3 -c 0 -") if skill == name else text) for skill, text in state.skills
    )
    return State(state.agents_md, skills, state.max_turns)


@PLACES
def test_without_its_skill_the_score_falls_back(place: int) -> None:
    case = open_cases()[place]
    bare = State(oracle().agents_md, (), oracle().max_turns)
    assert score(case, without(oracle(), SKILL_OF[place])) == score(case, bare)
    assert score(case, oracle()) >= score(case, bare) + 20


@PLACES
def test_with_a_spoiled_skill_the_score_falls(place: int) -> None:
    case = open_cases()[place]
    assert score(case, spoiled(oracle(), SKILL_OF[place])) <= score(case, oracle()) - 20


@PLACES
def test_another_id_changes_nothing(place: int, tmp_path: Path) -> None:
    case = open_cases()[place]
    other = dressed(case, tmp_path, place)
    assert score(other, oracle()) - score(other, naive()) == score(case, oracle()) - score(case, naive())


@pytest.mark.parametrize("seed", [1, 2])
@PLACES
def test_other_words_keep_the_gain(place: int, seed: int, tmp_path: Path) -> None:
    case = open_cases()[place]
    other = dressed(case, tmp_path, seed, words=True)
    gain = score(case, oracle()) - score(case, naive())
    assert abs(score(other, oracle()) - score(other, naive()) - gain) <= 5


@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize("place", [0, 3, 6])
def test_another_order_of_columns_keeps_the_gain(place: int, seed: int, tmp_path: Path) -> None:
    case = cases()[place]
    other = dressed(case, tmp_path, seed, columns=True)
    before = {path.name: path.read_bytes() for path in (case / "statement").rglob("*.*")}
    after = {path.name: path.read_bytes() for path in (other / "statement").rglob("*.*")}
    assert before != after
    gain = score(case, oracle()) - score(case, naive())
    assert abs(score(other, oracle()) - score(other, naive()) - gain) <= 5


NEW = """\
# Hives

Beekeepers of three valleys typed their hives into `hives.csv`. The association needs a tidy register of the hives.

Make `colonies.csv`, a single row for every `hive`, ordered by `hive`, with these fields:

- `hive`: the plate on the box
- `queen`: the colour of her mark
- `opened`: day of the first look, `YYYY-MM-DD`
- `honey`: kilograms with two decimals

`entered_at` is when an entry was made; open questions and letters of the association are in `letters/`.
"""


def new_case(root: Path, seed: int) -> tuple[Path, set[tuple[str, ...]], set[str]]:
    """Make a register that no benchmark has; return its statement, the right rows and the keys that stay open."""
    rng = random.Random(seed)
    statement = root / "statement"
    (statement / "letters").mkdir(parents=True)
    rows: list[dict[str, str]] = []
    right: set[tuple[str, ...]] = set()
    undecided: set[str] = set()
    for number in range(1, 121):
        hive, queen = f"V{number:03d}", rng.choice(("Blue", "White", "Red"))
        day, month, year, honey = (
            rng.randint(1, 28),
            rng.randint(1, 12),
            rng.randint(2019, 2024),
            rng.randint(100, 4000) / 100,
        )
        entry = {
            "hive": hive,
            "queen": queen,
            "opened": f"{day:02d}/{month:02d}/{year}",
            "honey": f"{honey:.2f}".replace(".", ","),
        }
        entry["entered_at"] = f"2024-05-{rng.randint(10, 28)}"
        if number % 4 == 0:
            rows.append({**entry, "hive": hive.lower() + " ", "queen": "Yellow", "entered_at": "2024-04-01"})
        if number % 10 == 3:
            entry["honey"] = "?"
            undecided.add(hive)
        else:
            right.add((hive, queen, f"{year}-{month:02d}-{day:02d}", f"{honey:.2f}"))
        rows.append(entry)
    with (statement / "hives.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    (statement / "README.md").write_text(NEW, encoding="utf-8")
    (statement / "letters" / "board.txt").write_text(
        "We write the day first, then the month. Figures carry a decimal comma.\n", encoding="utf-8"
    )
    return statement, right, undecided


@pytest.mark.parametrize("seed", [11, 12])
def test_a_case_that_no_benchmark_has_improves_too(seed: int, tmp_path: Path) -> None:
    statement, right, undecided = new_case(tmp_path, seed)
    permute_columns(statement, seed)

    def share(name: str, state: State) -> float:
        work(statement, tmp_path / name, state)
        with (tmp_path / name / "colonies.csv").open(encoding="utf-8", newline="") as file:
            found = [(row["hive"].strip(), row["queen"], row["opened"], row["honey"]) for row in csv.DictReader(file)]
        return len(right & set(found)) / max(len(right), len(found))

    hurried, taught = share("hurried", naive()), share("taught", oracle())
    assert hurried < 0.3
    assert taught > 0.95
    with (tmp_path / "taught" / "exceptions.csv").open(encoding="utf-8", newline="") as file:
        assert {row["key"] for row in csv.DictReader(file)} == undecided


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.id)
def test_no_lesson_holds_anything_of_a_rubric(lesson: Lesson) -> None:
    rubrics = {text for case in cases() for name, text in texts_of(case / "rubric").items() if name != "gold.json"}
    assert [run for text in sorted(rubrics) if (run := shared_run(lesson.body, text))] == []
    assert "rubric" not in lesson.body.lower()
