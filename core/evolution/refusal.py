"""What a tool says when the protocol forbids a step: a code for scripts and a reason that a model can act on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """`code` is stable; `reason` says what is wrong, with what, and how to go on."""

    code: str
    reason: str


def listed(names: tuple[str, ...] | list[str] | set[str] | frozenset[str]) -> str:
    """Return names sorted, for a reason's text."""
    return ", ".join(sorted(names))
