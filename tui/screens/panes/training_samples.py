"""Samples: what the curator wrote in one rollout, position by position, as pure functions."""

from __future__ import annotations

from typing import Literal

from core.curation.training_samples import Position, SampleOperation, SampleRollout
from tui.stores.training_book import SampleBook, SkillChange, changes, diff, previous
from tui.widgets.line_list import Row
from tui.widgets.spans import Line, Span, fit, short

Looking = Literal["operations", "repository", "since"]
LOOKS: tuple[Looking, ...] = ("operations", "repository", "since")
_KINDS = {"new_skill_insert": "insert", "skill_update": "update", "skill_delete": "delete"}


def position_rows(rollout: SampleRollout | None, width: int) -> list[Row]:
    """Return a rollout's positions: the task, how it went, what the curator did then, the repository after."""
    if rollout is None:
        return []
    room = max(12, min(44, (width - 30) // 2))
    head = f"{'':<4}" + fit("task", room) + " " + fit("", 9) + fit("what the curator did then", room) + "  skills"
    rows = [Row("heading", (((head, "dim"),),), selectable=False)]
    for place, position in enumerate(rollout.positions, 1):
        line: list[Span] = [
            (f"{place:>3} ", "dim"),
            (fit(position.task, room), "plain"),
            (" ", "plain"),
            outcome(position),
        ]
        told = ", ".join(_told(operation) for operation in position.operations) or "nothing"
        bad = any(not operation.valid for operation in position.operations)
        line += [(fit(told, room), "warn" if bad else "plain"), (f"{len(position.repository):>6}", "dim")]
        find = f"{position.family} {position.task} {told} {outcome(position)[0]}"
        rows.append(Row(f"position:{position.position}", (tuple(line),), find=find))
    return rows


def outcome(position: Position) -> Span:
    """Return how the task of a position went; lost is not failed."""
    if position.success is None:
        return fit("lost", 9), "warn"
    return (fit("solved", 9), "good") if position.success else (fit("failed", 9), "bad")


def kind_of(operation: SampleOperation) -> str:
    return _KINDS.get(operation.kind, operation.kind)


def _told(operation: SampleOperation) -> str:
    return ("" if operation.valid else "not valid: ") + f"{kind_of(operation)} {operation.title}".rstrip()


def text_of(book: SampleBook, position: Position | None, looking: Looking) -> list[Line]:
    """Return what a position did, the repository there, or what changed since the step sampled before."""
    rollout = book.chosen
    if position is None or rollout is None:
        return []
    if looking == "repository":
        return _repository(changes(previous(rollout, position), position), "in this position")
    if looking == "since":
        if not book.before:
            return [(("This is the first step that was sampled.", "dim"),)]
        if book.before in book.faults:
            return [((book.faults[book.before], "bad"),)]
        if book.before not in book.read:
            return [((f"Step {book.before} is being read...", "dim"),)]
        earlier = book.counterpart(position)
        if earlier is None:
            told = f"Step {book.before} has no task of the family {position.family}: nothing to set beside this one."
            return [((told, "dim"),)]
        how = "the same task" if earlier.task == position.task else f"another task of the family {position.family}"
        same: list[Line] = [((f"Step {book.before}, {how}: ", "dim"), (earlier.task, "plain")), ()]
        return [*same, *_repository(changes(earlier, position), f"since step {book.before}")]
    return _operations(rollout, position)


def _operations(rollout: SampleRollout, position: Position) -> list[Line]:
    judged = {True: "solved", False: "failed", None: "not judged"}[position.judged]
    lines: list[Line] = [
        (("task       ", "dim"), (position.task, "plain")),
        (("family     ", "dim"), (position.family, "plain"), ("   the curator was told: ", "dim"), (judged, "plain")),
        (("retrieved  ", "dim"), (", ".join(position.retrieved) or "nothing", "plain")),
    ]
    before = previous(rollout, position)
    known = {skill.title: skill.content for skill in before.repository} if before else {}
    if not position.operations:
        lines += [(), (("The curator did nothing.", "dim"),)]
    for operation in position.operations:
        lines += [(), _head(operation)]
        if not operation.content:
            continue
        if operation.title in known and operation.valid:
            lines += [((text, tone),) for text, tone in diff(known[operation.title], operation.content)]
        else:
            lines += [
                ((f"+ {text}", "added" if operation.valid else "dim"),) for text in operation.content.splitlines()
            ]
    return lines


def _head(operation: SampleOperation) -> Line:
    verdict: Span = ("  valid", "good") if operation.valid else (f"  not valid: {operation.reason}", "bad")
    return ((f"{kind_of(operation)} ", "call"), (operation.title, "strong"), verdict)


_HOW = {
    "new": ("new", "added"),
    "changed": ("changed", "warn"),
    "same": ("as before", "dim"),
    "gone": ("gone", "removed"),
}


def _repository(found: tuple[SkillChange, ...], when: str) -> list[Line]:
    if not found:
        return [(("The repository is empty.", "dim"),)]
    lines: list[Line] = []
    for change in found:
        word, tone = _HOW[change.how]
        lines.append(
            ((change.title, "strong"), (f"  {word}", tone), (f" {when}" if change.how != "same" else "", "dim"))
        )
        lines += [((text, shade),) for text, shade in change.lines]
        lines.append(())
    return lines


def title_of(book: SampleBook, looking: Looking) -> tuple[str, Line]:
    """Return the title of the page, and what is beside it."""
    samples, chosen = book.samples, book.chosen
    if not book.steps:
        return "samples: none yet", ()
    place = f"step {book.step} ({book.steps.index(book.step) + 1} of {len(book.steps)} sampled)"
    group = ""
    if samples is not None and chosen is not None:
        group = f", rollout {book.rollout + 1}/{len(samples.rollouts)}"
    words = {"operations": "what it did", "repository": "the repository", "since": f"since step {book.before or '-'}"}
    return short(f"samples: {place}{group}", 70), ((f"{words[looking]} ", "mark"),)
