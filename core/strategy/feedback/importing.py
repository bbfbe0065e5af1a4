"""A strategy from the text form, brought into the bank as it would be written by hand (STRATEGY S32)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.foundation.errors import ConflictError, UsageError
from core.state import readonly
from core.state.atomic import write_new
from core.strategy.bank.bank import Bank
from core.strategy.conditions.condition import compile_condition
from core.strategy.conditions.errors import ConditionError
from core.strategy.conditions.registry import registry_of
from core.strategy.documents.reading import FaultyFileError, read
from core.strategy.documents.skill import SkillSchema
from core.strategy.documents.strategy import Strategy
from core.strategy.feedback.text_form import read_text, to_document


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of a text: the strategy, its file's text, and skills of it that no agent has."""

    strategy: Strategy
    text: str
    unknown_skills: tuple[str, ...]


def from_text(
    bank: Bank,
    text: str,
    strategy_id: str,
    schemas: Mapping[str, SkillSchema],
    *,
    purpose: str,
    owner: str,
    event: str = "turn",
    created_by: str = "",
) -> Imported:
    """Return the strategy that a text in the text form means. Nothing is written.

    Raises UsageError naming the line for what isn't of the form, the condition for one that can't be compiled, and the
    key where the strategy couldn't be read.
    """
    written = read_text(text)
    try:
        if written.when:
            compile_condition(written.when, registry_of(bank.settings(), schemas.values()))
    except ConditionError as error:
        raise UsageError(
            f"The condition of the draft can't be taken: {error}",
            hint="Names come from the session, from skills' skill.yaml, and from `registry` in bank.yaml.",
        ) from error
    made = to_document(
        written,
        strategy_id,
        purpose=purpose,
        owner=owner,
        event=event,
        created_by=created_by,
        origin={"kind": "imported"},
    )
    try:
        strategy, _ = read(made, Strategy, f"{strategy_id}.yaml")
    except FaultyFileError as error:
        first = error.faults[0]
        raise UsageError(
            f"That makes no strategy: {first.path}: {first.reason}",
            hint="An id is DOMAIN.NAME, an event as in trigger.event.",
        ) from error
    return Imported(strategy, made, tuple(name for name in written.skills if name not in schemas))


def put(bank: Bank, found: Imported) -> str:
    """Write an imported strategy into the bank, unpublished; return the file's name in it.

    Raises ConflictError where there is one of its id.
    """
    readonly.refuse(bank.root)
    name = f"{found.strategy.domain}/{found.strategy.id}.yaml"
    path = bank.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_new(path, found.text.encode("utf-8"))
    except ConflictError:
        raise ConflictError(
            f"There is a strategy {found.strategy.id} already.",
            hint=f"Look at it: exuvia strategy show {found.strategy.id}. To change it, write its next version there.",
        ) from None
    return name
