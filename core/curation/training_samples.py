"""What rollouts of one step did, position by position: `<run>/samples/step-NNNNN.json` (K17)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from core.curation.fields import Fields
from core.foundation import strict_json
from core.foundation.errors import DamagedError, NotFoundError

LARGEST = 16 * 1024 * 1024  # bytes; a file beyond that is no sample


@dataclass(frozen=True, slots=True)
class SampleOperation:
    """An operation that the curator asked for, with its verdict. `content` is what it wrote, empty for a delete."""

    kind: str
    title: str
    valid: bool
    reason: str
    content: str


@dataclass(frozen=True, slots=True)
class SampleSkill:
    title: str
    content: str


@dataclass(frozen=True, slots=True)
class Position:
    """One place of a rollout: the task, how it went, what was retrieved, the operations, and the repository after them.

    `success` is the world's verdict, None where it was lost to infrastructure; `judged` what the curator was told.
    """

    position: int
    task: str
    family: str
    success: bool | None
    judged: bool | None
    retrieved: tuple[str, ...]
    operations: tuple[SampleOperation, ...]
    repository: tuple[SampleSkill, ...]


@dataclass(frozen=True, slots=True)
class SampleRollout:
    group: int
    rollout: int
    positions: tuple[Position, ...]


@dataclass(frozen=True, slots=True)
class StepSamples:
    step: int
    rollouts: tuple[SampleRollout, ...]


def read_samples(path: Path) -> StepSamples:
    """Return the samples in a file. Raises NotFoundError, or DamagedError where it can't be read."""
    try:
        if path.stat().st_size > LARGEST:
            raise DamagedError(f"{path.name} is too large for samples.", hint="Look at it with another tool.")
        document = strict_json.parse(path.read_bytes())
        if not isinstance(document, dict):
            raise ValueError("not a JSON object")
        fields = Fields(document)
        return StepSamples(fields.whole("step"), tuple(_rollout(rollout) for rollout in fields.parts("rollouts")))
    except FileNotFoundError as error:
        raise NotFoundError(f"There is no file {path.name}.", hint="It may not be written yet.") from error
    except (OSError, ValueError) as error:
        raise DamagedError(f"{path.name} cannot be read: {error}", hint="The other steps' samples stand.") from error


def _rollout(fields: Fields) -> SampleRollout:
    positions = tuple(_position(position) for position in fields.parts("positions"))
    return SampleRollout(fields.whole("group"), fields.whole("rollout"), positions)


def _position(fields: Fields) -> Position:
    return Position(
        position=fields.whole("position"),
        task=fields.text("task"),
        family=fields.text("family", ""),
        success=fields.flag("success"),
        judged=fields.flag("judged"),
        retrieved=fields.texts("retrieved"),
        operations=tuple(_operation(operation) for operation in fields.parts("ops")),
        repository=tuple(SampleSkill(skill.text("title"), skill.text("content")) for skill in fields.parts("repo")),
    )


def _operation(fields: Fields) -> SampleOperation:
    valid = fields.flag("valid")
    if valid is None:
        raise ValueError("valid: an operation without a verdict")
    return SampleOperation(
        kind=fields.text("op"),
        title=fields.text("title", ""),
        valid=valid,
        reason=fields.text("reason", ""),
        content=fields.text("content", ""),
    )
