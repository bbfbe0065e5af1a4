"""Print what the rehearsal Target scores: each stage of the Cases, each lesson alone, all together.

python -m tests.perf.rehearsal_table [SEED] [--checks]
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from core.models.rehearsal.lesson_library import lessons
from tests.rehearsal.workbench import State, cases, held_out, oracle, revision_at, score


def stages() -> list[tuple[str, list[Path]]]:
    """Return the revision of every Case at each pilot, in order of the pilots."""
    return [(f"pilot {pilot}", [revision_at(case, pilot) for case in cases()]) for pilot in range(1, 5)]


def line(name: str, places: Iterable[Path], state: State, seed: int) -> str:
    """Return a row of the table."""
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda place: score(place, state, seed), places))
    held = len(held_out())
    open_ = found[: len(found) - held]
    return (
        f"{name:54s}"
        + "".join(f"{value:6.0f}" for value in found)
        + f" | open {sum(open_) / len(open_):5.1f} held out {sum(found[len(open_) :]) / max(1, held):5.1f}"
    )


def tell(text: str) -> None:
    """Print at once: the table is watched while it grows."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    """Print the table."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    naive = State()
    for name, places in stages():
        tell(line(name, places, naive, seed))
    for lesson in lessons():
        tell(line(lesson.id, cases(), naive.with_lessons(lesson), seed))
    by_id = {lesson.id: lesson for lesson in lessons()}
    for lesson in lessons():
        if lesson.related:
            bundle = [lesson, *(by_id[other] for other in lesson.related)][:3]
            tell(line(" + ".join(one.id for one in bundle), cases(), naive.with_lessons(*bundle), seed))
    good = [lesson for lesson in lessons() if lesson.id in GOOD]
    tell(line("all good, low turn limit", cases(), naive.with_lessons(*(g for g in good if g.edit != "config")), seed))
    tell(line("oracle", cases(), oracle(), seed))
    tell(line("all good", cases(), naive.with_lessons(*good), seed))


GOOD = frozenset(
    {
        "account-for-everything",
        "archive-once",
        "documents-first",
        "letters-to-table",
        "more-turns",
        "move-settings",
        "read-logs",
        "tidy-records",
    }
)

if __name__ == "__main__":
    main()
