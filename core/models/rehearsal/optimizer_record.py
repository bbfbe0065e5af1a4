"""What became of each lesson, read back from the Optimizer's own calls and the engine's history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from core.models.rehearsal.choosing import Record, Seen, effects
from core.models.rehearsal.lesson_library import Lesson
from core.models.rehearsal.transcript import Step, Transcript


def case_scores(rows: object) -> dict[str, float]:
    """Return the score of each Case in rows of the engine: its own, or the mean of its runs."""
    scores: dict[str, float] = {}
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict):
            continue
        runs = [run.get("score") for run in row.get("runs") or [] if isinstance(run, dict)]
        known = [float(score) for score in runs if isinstance(score, int | float)]
        given = row.get("score")
        if isinstance(given, int | float):
            scores[str(row.get("case_id", row.get("case")))] = float(given)
        elif known:
            scores[str(row.get("case_id", row.get("case")))] = sum(known) / len(known)
    return scores


def record_of(talk: Transcript, library: Sequence[Lesson], seen: Seen, not_the_lesson: Set[str]) -> Record:
    """Return the record of the library's lessons.

    `not_the_lesson` are refusals of a proposal that say nothing of the lessons in it. What a lesson did is known from
    the evaluation that followed its proposal; a rejected lesson of which that is not known counts as without effect.
    """
    history = [entry for entry in talk.state.get("history") or [] if isinstance(entry, dict)]
    effect: dict[str, float] = {}
    refused: set[str] = set()
    proposed: list[Lesson] = []
    before: dict[str, float] = {}
    for step in talk.steps:
        if step.name == "propose_candidate":
            parts = _parts(library, step.argument("hypothesis"))
            if step.ok:
                proposed, before = parts, _reference_in(step)
            elif step.refused is not None and step.refused not in not_the_lesson:
                reason = str((step.answer or {}).get("reason", ""))
                named = [lesson for lesson in parts if lesson.path in reason]
                refused |= {lesson.id for lesson in named or parts}
        elif step.name == "evaluate_candidate" and step.ok and before:
            measured = case_scores((step.answer or {}).get("cases"))
            effect.update(effects(proposed, replace(seen, scores=before), measured, before))
    in_force: set[str] = set()
    for entry in history:
        parts = _parts(library, str(entry.get("hypothesis", "")))
        if entry.get("decision") == "accepted":
            removed = {str(edit.get("path")) for edit in entry.get("edits") or [] if _is_removal(edit)}
            in_force |= {lesson.id for lesson in parts}
            in_force -= {lesson.id for lesson in library if lesson.path in removed and lesson not in parts}
        elif entry.get("decision") == "rejected":
            for lesson in parts:
                # Alone in a Candidate that was no better, a lesson is refuted, whatever it did on its own Cases.
                known = effect.get(lesson.id, 0.0)
                effect[lesson.id] = min(known, 0.0) if len(parts) == 1 else known
        elif sum(_same(entry, other) for other in history) > 1:  # it could not be measured twice
            refused |= {lesson.id for lesson in parts}
    kinds = {lesson.edit for entry in history for lesson in _parts(library, str(entry.get("hypothesis", "")))}
    return Record(frozenset(in_force), effect, frozenset(refused), frozenset(kinds))


def _parts(library: Sequence[Lesson], hypothesis: str) -> list[Lesson]:
    """Return the lessons of a Candidate: each states its hypothesis whole."""
    return [lesson for lesson in library if lesson.hypothesis and lesson.hypothesis in hypothesis]


def _reference_in(step: Step) -> dict[str, float]:
    state = (step.answer or {}).get("state")
    reference = state.get("reference") if isinstance(state, dict) else None
    return case_scores(reference.get("cases")) if isinstance(reference, dict) else {}


def _is_removal(edit: Mapping[str, Any]) -> bool:
    return edit.get("added") == 0 and int(edit.get("removed") or 0) > 0


def _same(entry: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return entry.get("hypothesis") == other.get("hypothesis") and other.get("decision") == "unevaluable"
