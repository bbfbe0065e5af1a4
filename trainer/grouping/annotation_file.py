"""The file of annotations: append-only JSON lines, one a task, so that annotating can stop and go on anywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.curation.worlds import Task
from core.foundation.errors import UsageError
from core.foundation.visible import visible_line
from core.state.jsonlines import append_record, read_lines
from trainer.grouping.attributes import KINDS, Annotated, Attributes


def hash_of(task: Task) -> str:
    """Return the sha256 of what was annotated: an annotation of another text is no annotation of this one."""
    return hashlib.sha256(task.text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Annotation:
    """What is known of one task. `attributes` is None where every answer was refused; `reason` says why then."""

    task: str
    text_sha256: str
    model: str
    attributes: Attributes | None
    difficulty: float | None
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the record of the file."""
        phrases = None if self.attributes is None else {kind: list(self.attributes.of(kind)) for kind in KINDS}
        return {
            "task": self.task,
            "text_sha256": self.text_sha256,
            "model": self.model,
            "attributes": phrases,
            "difficulty": self.difficulty,
            "reason": self.reason,
        }


def _read(record: Mapping[str, Any]) -> Annotation:
    phrases, difficulty = record["attributes"], record["difficulty"]
    attributes = None
    if phrases is not None:
        attributes = Attributes(**{kind: tuple(str(entry) for entry in phrases[kind]) for kind in KINDS})
    return Annotation(
        task=str(record["task"]),
        text_sha256=str(record["text_sha256"]),
        model=str(record["model"]),
        attributes=attributes,
        difficulty=None if difficulty is None else float(difficulty),
        reason=str(record["reason"]),
    )


def load(path: Path) -> dict[str, Annotation]:
    """Return the annotations of a file by task; the last of a task counts. Raises UsageError naming the broken line."""
    if not path.is_file():
        raise UsageError(f"There are no annotations at {path}.", hint="python -P -m trainer annotate writes them.")
    found: dict[str, Annotation] = {}
    for number, record in enumerate(read_lines(path).records, 1):
        try:
            annotation = _read(record)
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"Record {number} of {path} is no annotation: {visible_line(str(error))}.") from error
        found[annotation.task] = annotation
    return found


def append(path: Path, annotation: Annotation) -> None:
    """Add an annotation to the file, which may not exist yet."""
    append_record(path, annotation.as_json())


def annotated(tasks: Sequence[Task], known: Mapping[str, Annotation]) -> tuple[Annotated, ...]:
    """Return the tasks that can be grouped: those whose own text was annotated.

    A task's difficulty is its data set's where it has one, else the annotator's.
    """
    found = []
    for task in tasks:
        annotation = known.get(task.id)
        if annotation is None or annotation.attributes is None or annotation.text_sha256 != hash_of(task):
            continue
        difficulty = task.difficulty if task.difficulty is not None else annotation.difficulty
        if difficulty is not None:
            found.append(Annotated(task.id, annotation.attributes, difficulty))
    return tuple(found)
