"""The file of annotations: append-only JSON lines, one a task, so that annotating can stop and go on anywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.curation.fields import Fields
from core.curation.worlds import Task
from core.foundation.errors import UsageError
from core.foundation.visible import visible_line
from core.state.jsonlines import Lines, append_record, read_lines
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


def _read(fields: Fields) -> Annotation:
    attributes = None
    if "attributes" not in fields.names:
        raise ValueError("it has no attributes")
    if fields.has("attributes"):
        phrases = fields.part("attributes")
        if lacking := [kind for kind in KINDS if kind not in phrases.names]:
            raise ValueError(f"its attributes have no {lacking[0]}")
        attributes = Attributes(**{kind: phrases.texts(kind) for kind in KINDS})
    return Annotation(
        task=fields.text("task"),
        text_sha256=fields.text("text_sha256"),
        model=fields.text("model"),
        attributes=attributes,
        difficulty=fields.number("difficulty"),
        reason=fields.text("reason"),
    )


def load(path: Path) -> dict[str, Annotation]:
    """Return the annotations of a file by task; the last of a task counts. Raises UsageError naming the broken line.

    A line that is no JSON (a kill tore it) is passed over: its task counts as not annotated. See `torn`.
    """
    if not path.is_file():
        raise UsageError(
            f"There are no annotations at {visible_line(str(path))}.", hint="python -P -m trainer annotate writes them."
        )
    found: dict[str, Annotation] = {}
    for line in _lines(path).lines:
        try:
            annotation = _read(Fields(line.record))
        except ValueError as error:
            with path.open("rb") as file:
                number = file.read(line.start).count(b"\n") + 1
            raise UsageError(
                f"Line {number} of {visible_line(str(path))} is no annotation: {visible_line(str(error))}.",
                hint="Take that line out; annotate then asks about its task again.",
            ) from error
        found[annotation.task] = annotation
    return found


def torn(path: Path) -> int:
    """Return how many lines of a file can't be read; 0 where there is none."""
    return len(_lines(path).gaps)


def _lines(path: Path) -> Lines:
    try:
        return read_lines(path)
    except OSError as error:
        raise UsageError(
            f"The annotations at {visible_line(str(path))} can't be read: {error.strerror or error}.",
            hint="Check the path and who may read it.",
        ) from error


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
