"""Data sets that a hub serves, loaded by path: the columns they come with, one reader for each (CURATION 1.6).

Files may be JSON lines, a JSON list, CSV, or Parquet where pyarrow is installed. Every error names the file and what
it lacks.
"""

from __future__ import annotations

import csv
import hashlib
import importlib.util
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.foundation import strict_json
from core.foundation.errors import UsageError
from core.foundation.visible import visible_line

_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Problem:
    """A question with its final answer. `difficulty` is on the data set's own scale, None where it has none."""

    id: str
    family: str
    question: str
    answer: str
    difficulty: float | None = None


def rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the records of a file by its ending. Raises UsageError where it is absent, of no known form, or broken."""
    if not path.is_file():
        raise UsageError(f"There is no file {path}.", hint="Fetch the data set yourself and give the file's path.")
    reader = _READERS.get(path.suffix)
    if reader is None:
        raise UsageError(f"{path} is none of {', '.join(_READERS)}.", hint="Export the data set to JSON lines.")
    try:
        yield from reader(path)
    except (OSError, ValueError, csv.Error) as error:
        raise UsageError(f"{path} can't be read: {visible_line(str(error))}.") from error


def _json_lines(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                value = strict_json.parse(line)
                if not isinstance(value, dict):
                    raise ValueError(f"line {number} is no JSON object")
                yield value


def _json(path: Path) -> Iterator[Mapping[str, Any]]:
    value = strict_json.parse(path.read_bytes())
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise ValueError("it is no list of JSON objects")
    yield from value


def _csv(path: Path) -> Iterator[Mapping[str, Any]]:
    csv.field_size_limit(sys.maxsize)
    with path.open(encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines)


def _parquet(path: Path) -> Iterator[Mapping[str, Any]]:
    if importlib.util.find_spec("pyarrow") is None:
        raise UsageError(f"{path} is Parquet, which needs pyarrow.", hint="Install pyarrow, or export to JSON lines.")
    from pyarrow import parquet

    for batch in parquet.ParquetFile(path).iter_batches():
        yield from batch.to_pylist()


_READERS: Mapping[str, Callable[[Path], Iterator[Mapping[str, Any]]]] = {
    ".jsonl": _json_lines,
    ".json": _json,
    ".csv": _csv,
    ".parquet": _parquet,
}


def _column(row: Mapping[str, Any], names: Sequence[str], number: int, path: Path) -> str:
    """Return the first of some columns that is there, as text."""
    for name in names:
        if row.get(name) not in (None, ""):
            return str(row[name]).strip()
    there = ", ".join(visible_line(str(name)) for name in list(row)[:_SHOWN])
    raise UsageError(f"Record {number} of {path} has no {' or '.join(names)}; it has {there or 'nothing'}.")


def _deepmath(row: Mapping[str, Any], number: int, path: Path) -> Problem:
    """DeepMath-103K: question, final_answer, difficulty, topic ("Mathematics -> Algebra -> ...")."""
    question = _column(row, ("question",), number, path)
    topic = _column(row, ("topic",), number, path).split("->")
    difficulty = float(_column(row, ("difficulty",), number, path))
    family = topic[1].strip() if len(topic) > 1 else topic[0].strip()
    answer = _column(row, ("final_answer",), number, path)
    return Problem(_id(question), family, question, answer, difficulty)


def _aime(row: Mapping[str, Any], number: int, path: Path) -> Problem:
    """AIME 2024 and 2025: problem (or question) and an integer answer."""
    question = _column(row, ("problem", "question", "Problem"), number, path)
    answer = _column(row, ("answer", "Answer"), number, path)
    year = str(row.get("year") or row.get("Year") or "aime")
    return Problem(_id(question), year, question, answer)


def _gpqa(row: Mapping[str, Any], number: int, path: Path) -> Problem:
    """GPQA: a question with four choices, shown in an order drawn from the question; the answer is a letter."""
    question = _column(row, ("Question",), number, path)
    right = _column(row, ("Correct Answer",), number, path)
    wrong = [_column(row, (f"Incorrect Answer {at}",), number, path) for at in (1, 2, 3)]
    choices = [right, *wrong]
    random.Random(f"gpqa {question}").shuffle(choices)
    shown = "\n".join(f"{letter}) {choice}" for letter, choice in zip("ABCD", choices, strict=True))
    text = f"{question}\n\n{shown}\n\nAnswer with the letter of the right choice."
    family = str(row.get("High-level domain") or "gpqa")
    return Problem(_id(question), family, text, "ABCD"[choices.index(right)])


def _id(question: str) -> str:
    return hashlib.sha256(question.encode("utf-8", "surrogatepass")).hexdigest()[:12]


PROBLEMS: Mapping[str, Callable[[Mapping[str, Any], int, Path], Problem]] = {
    "deepmath": _deepmath,
    "aime": _aime,
    "gpqa": _gpqa,
}


def load_problems(dataset: str, path: Path) -> tuple[Problem, ...]:
    """Return the problems of a data set's file, in its order; a question that comes twice counts once.

    Raises UsageError for a data set that isn't known, and for a file that is absent, empty or lacks a column.
    """
    reader = PROBLEMS.get(dataset)
    if reader is None:
        raise UsageError(f"There is no data set {dataset!r} of problems.", hint=f"Data sets: {', '.join(PROBLEMS)}.")
    found: dict[str, Problem] = {}
    for number, row in enumerate(rows(path), 1):
        try:
            problem = reader(row, number, path)
        except ValueError as error:
            raise UsageError(f"Record {number} of {path} can't be read: {visible_line(str(error))}.") from error
        found.setdefault(problem.id, problem)
    if not found:
        raise UsageError(f"{path} holds no problem.")
    return tuple(found.values())
